//! One end of a flow: its endpoint, its application, and where its packets go.

use std::mem;

use bentpipe_link::{Stream, Streams};
use bentpipe_pep::split::Side;
use bentpipe_transport::{Endpoint, Event, PathId, Ports};
use bentpipe_units::Instant;
use bentpipe_wire::Segment;

use super::readdressing::Readdressing;
use crate::app::{App, Progress};
use crate::connection::{Connection, Place};
use crate::flows::ports;
use crate::network::Network;
use crate::packet::PacketId;
use crate::{FlowSpec, Protocol};

/// Which end of which proxied connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proxied {
    pub(crate) relay: u32,
    pub(crate) side: Side,
}

/// One end of a flow.
pub(crate) struct End {
    /// Its endpoint; none before the connection is opened.
    pub(crate) endpoint: Option<Connection>,
    pub(crate) app: App,
    /// For each path the node of this end and that of the peer.
    pub(crate) paths: Vec<[u16; 2]>,
    /// Bytes of packets sent on each path, where there are several.
    pub(crate) path_bytes: Vec<u64>,
    pub(crate) start: Option<Instant>,
    pub(crate) protocol: Protocol,
    pub(crate) ports: Ports,
    pub(crate) entropy: Stream,
    /// The generator of its traffic.
    pub(crate) generator: Option<u32>,
    /// The proxy that it belongs to.
    pub(crate) proxied: Option<Proxied>,
    /// What it does about addresses that come and go.
    pub(crate) readdressing: Option<Box<Readdressing>>,
}

impl End {
    /// Number of the path between two nodes; that of the first stands for any that is not known.
    #[inline]
    pub(super) fn path_of(&self, node: u16, peer: u16) -> PathId {
        let known = match &self.paths[..] {
            [_] => None,
            paths => paths.iter().position(|path| *path == [node, peer]),
        };
        PathId(known.unwrap_or(0) as u32)
    }

    /// What the endpoint is to be opened with.
    pub(crate) fn place(&mut self) -> (&Protocol, Place) {
        let all = || (0..self.paths.len() as u32).map(PathId).collect();
        let paths = self.readdressing.as_ref().map_or_else(all, |own| own.first_paths());
        let entropy = self.entropy.bits();
        (&self.protocol, Place { ports: self.ports, paths, entropy })
    }

    /// Its endpoint was just made: where addresses come and go, its paths are named.
    pub(super) fn name_paths(&mut self) {
        if let (Some(Connection::Sctp(association)), Some(own)) =
            (&mut self.endpoint, &self.readdressing)
        {
            own.name_paths(association);
        }
    }

    /// Its endpoint was just made: it is told if the first link is down.
    pub(crate) fn notify_if_down(&mut self, now: Instant, network: &Network<'_>) {
        if let Some(connection) = &mut self.endpoint {
            network.notify_if_down(now, connection.endpoint_mut(), self.paths[0]);
        }
    }

    /// A packet with a congestion header arrived.
    #[cold]
    pub(super) fn handle_congestion(&mut self, now: Instant, network: &Network<'_>, id: PacketId) {
        if let (Some(connection), Some(header)) = (&mut self.endpoint, network.congestion(id)) {
            connection.endpoint_mut().handle_congestion(now, &header);
        }
    }

    /// A segment arrived. True when that was all: otherwise the end must be drained.
    #[inline(always)]
    pub(super) fn handle_segment(
        &mut self,
        now: Instant,
        path: PathId,
        segment: &mut Segment,
    ) -> bool {
        match &mut self.endpoint {
            Some(Connection::Xstp(session)) => {
                handle_segment(now, path, segment, &mut **session, &mut self.app)
            }
            Some(Connection::Tcp(connection)) => {
                handle_segment(now, path, segment, &mut **connection, &mut self.app)
            }
            Some(Connection::Sctp(association)) => {
                if let Some(own) = &self.readdressing {
                    own.meet(now, association, path, segment);
                }
                handle_segment(now, path, segment, &mut **association, &mut self.app)
            }
            Some(Connection::Bentpipe(_)) | None => true,
        }
    }

    /// Time has come to this point: calls the endpoint, or else the application, if it is due.
    /// Returns whether each of them was.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> (bool, bool) {
        match &mut self.endpoint {
            Some(Connection::Xstp(session)) => handle_timeout(now, &mut **session, &mut self.app),
            Some(Connection::Tcp(connection)) => {
                handle_timeout(now, &mut **connection, &mut self.app)
            }
            Some(Connection::Sctp(association)) => {
                let own = self.readdressing.as_mut();
                let moved = own.is_some_and(|own| own.handle_timeout(now, association));
                let (due, app_due) = handle_timeout(now, &mut **association, &mut self.app);
                (due || moved, app_due)
            }
            Some(Connection::Bentpipe(hosted)) => handle_timeout(now, &mut **hosted, &mut self.app),
            None => (false, false),
        }
    }

    /// When endpoint or application want to be called next.
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        let endpoint =
            self.endpoint.as_ref().and_then(|connection| connection.endpoint().poll_timeout());
        let change = self.readdressing.as_ref().and_then(|own| own.next_timer());
        Instant::earliest(Instant::earliest(endpoint, change), self.app.next_timer())
    }

    /// The application has got more to send.
    pub(crate) fn feed(&mut self, now: Instant) {
        match &mut self.endpoint {
            Some(Connection::Xstp(session)) => {
                self.app.on_event(now, &mut **session, Event::Writable);
            }
            Some(Connection::Tcp(connection)) => {
                self.app.on_event(now, &mut **connection, Event::Writable);
            }
            Some(Connection::Sctp(association)) => {
                self.app.on_event(now, &mut **association, Event::Writable);
            }
            Some(Connection::Bentpipe(hosted)) => {
                self.app.on_event(now, &mut **hosted, Event::Writable);
            }
            None => {}
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.endpoint.as_ref().is_some_and(|connection| connection.endpoint().is_closed())
    }

    /// How far its application is.
    pub(crate) fn progress(&self) -> Progress {
        self.app.progress()
    }
}

/// Room to count bytes on each path, where there are several.
fn path_bytes(flow: &FlowSpec) -> Vec<u64> {
    let count = flow.paths().count();
    if count > 1 { vec![0; count] } else { Vec::new() }
}

/// The two ends of connection `number` of a flow; `index` numbers the pairs of all flows.
pub(super) fn pair(
    flow: &FlowSpec,
    index: usize,
    number: usize,
    generator: Option<u32>,
    streams: &Streams,
) -> [End; 2] {
    let (client, server) = ports(index);
    let entropy = |side: &str| match number {
        0 => streams.stream(&format!("flow/{}/{side}", flow.name)),
        _ => streams.stream(&format!("flow/{}/{number}/{side}", flow.name)),
    };
    let [out, back]: [Vec<[u16; 2]>; 2] = [[0, 1], [1, 0]].map(|[own, peer]| {
        flow.paths().map(|ends| [ends[own] as u16, ends[peer] as u16]).collect()
    });
    let mut source = End {
        endpoint: None,
        app: App::source(flow.source),
        readdressing: Readdressing::new(&flow.protocol, &out),
        paths: out,
        path_bytes: path_bytes(flow),
        start: generator.is_none().then_some(flow.source.start),
        protocol: flow.protocol.clone(),
        ports: Ports { local: client, peer: server },
        entropy: entropy("client"),
        generator,
        proxied: None,
    };
    let mut sink = End {
        endpoint: None,
        app: if generator.is_some() { App::followed_sink() } else { App::sink() },
        readdressing: Readdressing::new(&flow.protocol, &back),
        paths: back,
        path_bytes: path_bytes(flow),
        start: None,
        protocol: flow.protocol.clone(),
        ports: Ports { local: server, peer: client },
        entropy: entropy("server"),
        generator,
        proxied: None,
    };
    if let Some(last) = flow.proxies.last() {
        sink.paths = vec![[flow.to as u16, last.node as u16]];
        sink.protocol = last.protocol.clone();
    }
    if let Some([_, last]) = flow.gateways {
        sink.paths = vec![[flow.to as u16, last as u16]];
    }
    if let Some(request) = flow.request {
        (source.app, sink.app) = (App::server(flow.source, request), App::client(request));
        mem::swap(&mut source.ports, &mut sink.ports);
        mem::swap(&mut source.start, &mut sink.start);
        (source.protocol, sink.protocol) = (source.protocol.turned(), sink.protocol.turned());
    }
    [source, sink]
}

/// The two ends that a proxy has of connection `index`, the `number`th of its flow: the one that listens
/// and the one that opens. They have the ports that the outer ends of the connection have.
pub(crate) fn proxy_ends(
    flow: &FlowSpec,
    index: usize,
    number: usize,
    relay: u32,
    proxy: usize,
    streams: &Streams,
) -> [End; 2] {
    let name = &flow.proxies[proxy].name;
    let (client, server) = ports(index);
    let end = |nodes: [usize; 2], protocol, ports, side, which| End {
        endpoint: None,
        app: App::Relay,
        paths: vec![nodes.map(|node| node as u16)],
        path_bytes: Vec::new(),
        start: None,
        protocol,
        ports,
        entropy: match number {
            0 => streams.stream(&format!("flow/{}/{name}/{which}", flow.name)),
            _ => streams.stream(&format!("flow/{}/{number}/{name}/{which}", flow.name)),
        },
        generator: None,
        proxied: Some(Proxied { relay, side }),
        readdressing: None,
    };
    let ([before, here], from_sender) = flow.leg(proxy);
    let ([_, behind], to_receiver) = flow.leg(proxy + 1);
    let (listens, opens) = match flow.request {
        None => (([here, before], from_sender.clone()), ([here, behind], to_receiver.clone())),
        Some(_) => (([here, behind], to_receiver.turned()), ([here, before], from_sender.turned())),
    };
    let listening = Ports { local: server, peer: client };
    let opening = Ports { local: client, peer: server };
    [
        end(listens.0, listens.1, listening, Side::Near, "near"),
        end(opens.0, opens.1, opening, Side::Far, "far"),
    ]
}

#[inline]
fn handle_segment(
    now: Instant,
    path: PathId,
    segment: &mut Segment,
    endpoint: &mut impl Endpoint,
    app: &mut App,
) -> bool {
    endpoint.handle_segment(now, path, segment);
    let quiet = app.only_reads() && endpoint.readiness().is_quiet;
    if quiet && let Some(event) = endpoint.poll_event() {
        app.on_event(now, endpoint, event);
    }
    quiet
}

fn handle_timeout(now: Instant, endpoint: &mut impl Endpoint, app: &mut App) -> (bool, bool) {
    let endpoint_due = endpoint.poll_timeout().is_some_and(|at| at <= now);
    let app_due = !endpoint_due && app.next_timer().is_some_and(|at| at <= now);
    if endpoint_due {
        endpoint.handle_timeout(now);
    } else if app_due {
        app.on_timer(now, endpoint);
    }
    (endpoint_due, app_due)
}
