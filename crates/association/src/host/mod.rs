//! A host as applications see it: connections that are read and written by futures, on any executor.
//!
//! Somebody runs the machine behind it: `bentpipe-net` on a socket, `bentpipe-sim` in virtual time.

mod bonded;
mod connection;
mod runtime;
mod shared;

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bentpipe_record::TransportCounters;
use bentpipe_transport::SenderState;
use bentpipe_transport::xstp::Config;
use bentpipe_tunnel::Datagram;
use bentpipe_units::{BitRate, ByteCount, Instant};

use crate::endpoint::{
    ConnectionRef, Datagrams, Endpoint, Fec, LINKS, Links, PeerState, Plan, Share,
};
use crate::key::PublicKey;

pub use self::bonded::{Bonded, Joining};
pub use self::connection::Connection;
pub use self::runtime::Runtime;
pub use self::shared::{Clock, Handle, Shared, lock};

/// A host on the network. Clones are the same host.
///
/// It goes on until the last clone and the last connection are gone.
#[derive(Clone, Debug)]
pub struct Host {
    handle: Arc<Handle<Endpoint>>,
}

impl Host {
    /// The host of a machine that somebody runs.
    pub fn new(handle: Arc<Handle<Endpoint>>) -> Self {
        Self { handle }
    }

    /// The machine, for whoever runs it.
    pub fn shared(&self) -> &Arc<Shared<Endpoint>> {
        &self.handle.shared
    }

    /// The time now, on the host's clock.
    pub fn now(&self) -> Instant {
        self.shared().now()
    }

    /// Its public key, by which peers name it.
    pub fn public_key(&self) -> PublicKey {
        self.handle.shared.endpoint().public_key()
    }

    /// Whether what this host sends is protected by parity, in associations that begin from now on.
    pub fn set_fec(&self, fec: Fec) {
        self.handle.shared.endpoint().set_fec(fec);
    }

    /// What it may cost in an hour, such as [`LEARN`](crate::LEARN), for each peer, to find out what a path carries while nobody uses it
    /// and when the first content is sent, in associations that begin from now on: short packet trains, over links whose rate is not
    /// known. Connections then begin with what the path carries, in place of slow start. Nothing is found out without a word.
    pub fn set_learning(&self, an_hour: ByteCount) {
        self.handle.shared.endpoint().set_learning(an_hour);
    }

    /// What the connections of one peer, at most so many, may hold together: bytes that wait to be sent,
    /// acknowledged or read. Half of it is split evenly between them, the other half is for whoever needs more.
    /// Without a word nothing but the buffer of each bounds it. It holds for associations that begin from now on.
    pub fn limit_memory(&self, bytes: ByteCount, connections: usize) {
        self.handle.shared.endpoint().limit_memory(bytes, connections);
    }

    /// All that this host sends over a link, counted from 0, to peers with a [`Share`] of it leaves at this rate at
    /// most, headers of IP and UDP included. Without a word only the shares bound it.
    pub fn set_rate(&self, link: usize, rate: BitRate) {
        let shared = &self.handle.shared;
        shared.endpoint().set_rate(shared.now(), link, rate);
    }

    /// What is sent to a peer over a link, counted from 0, takes this share of it, from now on and in associations to
    /// come: connections to it are scheduled in rounds, with repairs and short objects ahead of bulk.
    pub fn set_share(&self, link: usize, peer: PublicKey, share: Share) {
        let shared = &self.handle.shared;
        shared.endpoint().set_share(shared.now(), link, peer, share);
        shared.changed.notify_one();
    }

    /// The paths by which a peer is reached, in associations to come, whatever address is given then. This host
    /// monitors them; both send by the first one that works.
    pub fn plan(&self, peer: PublicKey, plan: Plan) {
        self.handle.shared.endpoint().plan(peer, plan);
    }

    /// The links to a peer; none where there is no association.
    pub fn links(&self, peer: PublicKey) -> Links {
        self.handle.shared.endpoint().links(peer)
    }

    /// A link may be used from now on, or no more, see [`Endpoint::set_link_open`].
    pub fn set_link_open(&self, link: usize, is_open: bool) {
        let shared = &self.handle.shared;
        shared.endpoint().set_link_open(shared.now(), link, is_open);
        shared.changed.notify_one();
    }

    /// Bytes that each link has carried, both directions, headers of IP and of UDP or TCP included.
    pub fn carried_by_links(&self) -> [ByteCount; LINKS] {
        self.handle.shared.endpoint().carried_by_links()
    }

    /// What is known of a peer.
    pub fn peer_state(&self, peer: PublicKey) -> PeerState {
        self.handle.shared.endpoint().peer_state(peer)
    }

    /// What is known of connections, each while it exists.
    pub fn look(
        &self,
        connections: impl Iterator<Item = Option<ConnectionRef>>,
    ) -> Vec<Option<(SenderState, TransportCounters)>> {
        let endpoint = self.handle.shared.endpoint();
        connections.map(|connection| endpoint.look(connection?)).collect()
    }

    /// The rate at which all that this host sends leaves at most, if one was set.
    pub fn link_rate(&self) -> Option<BitRate> {
        self.handle.shared.endpoint().link_rate()
    }

    /// Lets a peer in.
    pub fn allow(&self, peer: PublicKey) {
        self.handle.shared.endpoint().allow(peer);
    }

    /// Lets allowed peers open connections, with these settings. [`Host::accept`] gives them out.
    pub fn listen(&self, config: Arc<Config>) {
        self.handle.shared.endpoint().listen(config);
    }

    /// The next connection that a peer opened.
    pub async fn accept(&self) -> Connection {
        let id = poll_fn(|cx| self.handle.shared.endpoint().poll_accept(cx)).await;
        Connection::new(self.handle.clone(), id)
    }

    /// How datagrams of applications are carried, in associations that begin from now on.
    pub fn set_datagrams(&self, datagrams: Datagrams) {
        self.handle.shared.endpoint().set_datagrams(datagrams);
    }

    /// Carries a datagram of at most [`MOST_DATAGRAM`](bentpipe_tunnel::MOST_DATAGRAM) bytes to a peer with which there
    /// is an association. It may be lost; false if it is already.
    pub fn send_datagram(&self, peer: PublicKey, datagram: Datagram) -> bool {
        let shared = &self.handle.shared;
        let sent = shared.endpoint().send_datagram(shared.now(), peer, datagram);
        shared.changed.notify_one();
        sent
    }

    /// The next datagram that a peer sent. What nobody reads is lost.
    pub async fn recv_datagram(&self) -> (PublicKey, Datagram) {
        poll_fn(|cx| self.handle.shared.endpoint().poll_datagram(cx)).await
    }

    /// Ends all connections. What tells the peers so waits to be sent.
    pub fn close(&self) {
        let shared = &self.handle.shared;
        shared.endpoint().shut_down(shared.now());
        shared.changed.notify_one();
    }

    /// Opens a connection to service `port` of `peer`, which is reached at `address`, and waits until
    /// the peer has answered.
    ///
    /// # Errors
    /// When the peer does not answer, or refuses.
    pub async fn connect(
        &self,
        address: SocketAddr,
        peer: PublicKey,
        port: u16,
        config: Arc<Config>,
    ) -> io::Result<Connection> {
        let connection = self.open(address, peer, port, config);
        connection.opened().await?;
        Ok(connection)
    }

    /// Opens a connection without waiting: what is written goes out at once if the hosts have
    /// associated before, and otherwise as soon as they have. Failures show when it is used.
    pub fn open(
        &self,
        address: SocketAddr,
        peer: PublicKey,
        port: u16,
        config: Arc<Config>,
    ) -> Connection {
        self.open_by(None, address, peer, port, config)
    }

    /// Opens one that keeps to a link, counted from 0, from its first segment on, if there is one.
    pub fn open_by(
        &self,
        link: Option<usize>,
        address: SocketAddr,
        peer: PublicKey,
        port: u16,
        config: Arc<Config>,
    ) -> Connection {
        let shared = &self.handle.shared;
        let mut endpoint = shared.endpoint();
        let now = shared.now();
        let id = endpoint.connect(now, address, peer, port, config);
        if let Some(link) = link {
            endpoint.bind(now, id, link);
        }
        drop(endpoint);
        shared.changed.notify_one();
        Connection::new(self.handle.clone(), id)
    }
}
