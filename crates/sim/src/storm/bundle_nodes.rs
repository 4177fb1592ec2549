//! What `bentpipe bundle node` does, in a storm.

use std::io;
use std::net::SocketAddr;

use bentpipe_association::host::{Connection, Host, Runtime as _};
use bentpipe_association::{PublicKey, Tuning};
use bentpipe_bundle::layer::Hello;
use bentpipe_bundle::layer::xstp::{PORT, Xstp};
use bentpipe_bundle::{
    Config, DtnTime, Folder as _, Limits, MemoryFolder, Node, NodeId, Peer, Progress, Queue,
    Reports, Request, SharedNode, Terms, carry, endpoint, keep,
};
use bentpipe_units::Span;

use super::CALENDAR;
use super::settings::Settings;
use crate::program::{Program, Virtual};

pub(super) const RELAY: usize = 0;
pub(super) const SOURCE: usize = 1;
pub(super) const DESTINATION: usize = 2;
/// Nodes in a row.
pub(super) const NODES: usize = 3;
const NAMES: [&str; NODES] = ["dtn://relay/", "dtn://earth/", "dtn://mars/"];

/// A connection that hears nothing ends after this.
const IDLE: Span = Span::from_secs(60);
/// Time between two calls.
const PAUSE: Span = Span::from_secs(1);
/// Largest bundle.
const LARGEST: u64 = 100_000;

/// A machine with a bundle node.
#[derive(Debug)]
pub(super) struct Machine {
    place: usize,
    pub(super) folder: MemoryFolder,
    pub(super) node: Option<SharedNode<MemoryFolder>>,
}

impl Machine {
    pub(super) const fn new(place: usize, folder: MemoryFolder) -> Self {
        Self { place, folder, node: None }
    }

    /// Bundles that its node holds.
    pub(super) fn holds(&self) -> Option<usize> {
        self.node.as_ref().map(|node| node.look(|node| node.holds().0))
    }

    /// Whether its disk does nothing any more.
    pub(super) fn has_dead_disk(&self) -> bool {
        self.folder.clone().sync().is_err()
    }

    pub(super) fn lose_power(&mut self) {
        self.folder = self.folder.lose_power();
    }

    /// Its node begins, as a part of a program.
    pub(super) fn start(
        &mut self,
        program: &Program,
        peers: &[PublicKey],
        relay: SocketAddr,
        salt: u64,
        settings: &Settings,
    ) -> io::Result<()> {
        let (host, runtime) = (program.host().clone(), program.runtime().clone());
        let clock = runtime.clone();
        let calendar =
            move || DtnTime::from_unix_nanos(CALENDAR * 1_000_000_000 + clock.now().as_nanos());
        self.folder.fail(0);
        let node = Node::open(config(self.place), self.folder.clone(), calendar(), salt)?;
        let node = SharedNode::new(node, calendar, |_| ());
        self.node = Some(node.clone());
        host.limit_memory(settings.memory, settings.connections);
        host.set_fec(settings.fec);
        let tuning = Tuning { buffer: settings.buffer, idle_timeout: IDLE, ..Tuning::default() };
        let part = Part { place: self.place, node, host, runtime, tuning };
        program.spawn(keep(part.node.clone(), part.runtime.clone()));
        if self.place == RELAY {
            let neighbours = [peers[SOURCE], peers[DESTINATION]];
            program.spawn(part.accept(neighbours));
        } else {
            program.spawn(part.call(relay, peers[RELAY]));
        }
        Ok(())
    }
}

/// What the futures of a node need.
#[derive(Clone)]
struct Part {
    place: usize,
    node: SharedNode<MemoryFolder>,
    host: Host,
    runtime: Virtual,
    tuning: Tuning,
}

impl Part {
    fn session(&self) -> Xstp {
        Xstp::new(&Hello { node: NAMES[self.place].to_owned(), largest: LARGEST })
    }

    fn terms(place: usize, connection: &Connection) -> Terms {
        let progress = Some(Progress::new(connection.acknowledged()));
        Terms { peer: Peer::Neighbour(place), idle_timeout: IDLE, progress }
    }

    /// Carries bundles over a connection, which sends nothing more when it is given up.
    async fn carry(&self, mut connection: Connection, session: Xstp, terms: &Terms) {
        let ended = carry(&self.runtime, &self.node, &mut connection, session, terms).await;
        if ended.is_err() {
            connection.abort();
        }
    }

    /// The relay is called by its neighbours.
    async fn accept(self, neighbours: [PublicKey; 2]) {
        neighbours.into_iter().for_each(|peer| self.host.allow(peer));
        self.host.listen(self.tuning.config().expect("settings without a rate"));
        loop {
            let connection = self.host.accept().await;
            let peer = connection.peer();
            let Some(place) = neighbours.iter().position(|it| *it == peer) else { continue };
            let part = self.clone();
            let serving = async move {
                let (session, terms) = (part.session(), Self::terms(place, &connection));
                part.carry(connection, session, &terms).await;
            };
            self.runtime.spawn(serving).detach();
        }
    }

    /// The others call it, again and again.
    async fn call(self, relay: SocketAddr, key: PublicKey) {
        let settings = self.tuning.persistent_config().expect("settings without a rate");
        loop {
            let connecting = self.host.connect(relay, key, PORT, settings.clone());
            if let Some(Ok(connection)) = self.runtime.timeout(IDLE, connecting).await {
                let (session, terms) = (self.session(), Self::terms(0, &connection));
                self.carry(connection, session, &terms).await;
            }
            debug_assert_eq!(self.node.look(|node| node.sessions(&Queue::Neighbour(0))), 0);
            self.runtime.sleep(PAUSE).await;
        }
    }
}

fn config(place: usize) -> Config {
    let node = |place: usize| -> NodeId { NAMES[place].parse().expect("a node") };
    let neighbours = match place {
        RELAY => vec![node(SOURCE), node(DESTINATION)],
        _ => vec![node(RELAY)],
    };
    let all = || bentpipe_bundle::Route { to: "*".parse().expect("a pattern"), via: 0 };
    let routes = if place == RELAY { Vec::new() } else { vec![all()] };
    let limits = Limits { bundles: 100, bytes: 1_000_000, largest: LARGEST, ..Limits::default() };
    Config { node: node(place), neighbours, routes, limits, retry: Span::from_secs(10) }
}

/// What the source's application sends.
pub(super) fn request(payload: Vec<u8>, reports: bool) -> Request {
    let at = |text: &str| endpoint(text).expect("an endpoint");
    Request {
        to: at("dtn://mars/mail"),
        from: at("dtn://earth/mail"),
        report_to: at("dtn://earth/reports"),
        reports: Reports { delivery: reports, forwarding: reports, ..Reports::default() },
        lifetime: Span::from_secs(24 * 3600),
        payload,
    }
}
