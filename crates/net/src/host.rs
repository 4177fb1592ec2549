//! A host on the network: a socket, its hub, and the task that runs both.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bentpipe_record::TransportCounters;
use bentpipe_transport::SenderState;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{BitRate, ByteCount, Instant};
use bytes::Bytes;
use tokio::net::TcpListener;

use crate::carriers::Carriers;
use crate::clock::Clock;
use crate::connection::Connection;
use crate::shared::{Handle, Shared};
use crate::socket::Socket;
use crate::sockets;
use crate::times_file::{self, Keeper, TimesError};
use bentpipe_association::hub::{ConnectionRef, Fec, Hub, PeerState, Plan, Share, Times, parity};
use bentpipe_association::secure::Security;
use bentpipe_association::{PublicKey, SecretKey};

/// Batches received before what they ask for is sent.
const BATCHES: usize = 4;
/// Time to send what says that a host ends.
const FAREWELL: Duration = Duration::from_millis(200);
/// Time between two looks whether it was sent.
const LOOK: Duration = Duration::from_millis(5);

/// A host on the network. Clones are the same host.
///
/// The host goes on in the background, on the runtime that it was made on, until the last clone and
/// the last connection are gone.
#[derive(Clone, Debug)]
pub struct Host {
    handle: Arc<Handle<Hub>>,
    local: SocketAddr,
    /// Where the times of requests are kept.
    times: Arc<OnceLock<PathBuf>>,
}

impl Host {
    /// A host with this key at this address. Peers have to be [allowed](Host::allow) before they can
    /// reach it, and to have the same `security`.
    ///
    /// # Errors
    /// When the address is taken or not one of this machine.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn bind(address: SocketAddr, key: SecretKey, security: Security) -> io::Result<Self> {
        let socket = Socket::bind(address)?;
        Self::on(socket, None, key, security)
    }

    /// As [`Host::bind`], and peers that can not reach it by UDP do so by TCP, at the same address.
    ///
    /// # Errors
    /// When the address is taken or not one of this machine.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn bind_both(address: SocketAddr, key: SecretKey, security: Security) -> io::Result<Self> {
        let socket = Socket::bind(address)?;
        let listener = sockets::listen(socket.local_addr()?, false)?;
        Self::on(socket, Some(listener), key, security)
    }

    fn on(
        socket: Socket,
        listener: Option<TcpListener>,
        key: SecretKey,
        security: Security,
    ) -> io::Result<Self> {
        let local = socket.local_addr()?;
        let clock = Clock::start();
        let entropy = || getrandom::u64().expect("the system's source of randomness");
        let hub = Hub::new(key, security, clock.calendar(), Box::new(entropy), clock.now());
        tokio::task::spawn_blocking(parity::prepare);
        let shared = Arc::new(Shared::new(hub, clock));
        let carriers = Carriers::new(shared.clone(), listener);
        let task = run(socket, carriers, shared.clone());
        Ok(Self { handle: Arc::new(Handle::new(shared, task)), local, times: Arc::default() })
    }

    /// Its public key, by which peers name it.
    pub fn public_key(&self) -> PublicKey {
        self.handle.shared.hub().public_key()
    }

    /// The address that it is bound to.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Whether what this host sends is protected by parity, in associations that begin from now on.
    pub fn set_fec(&self, fec: Fec) {
        self.handle.shared.hub().set_fec(fec);
    }

    /// What the connections of one peer, at most so many, may hold together: bytes that wait to be sent,
    /// acknowledged or read. Half of it is split evenly between them, the other half is for whoever needs more.
    /// Without a word nothing but the buffer of each bounds it. It holds for associations that begin from now on.
    pub fn limit_memory(&self, bytes: ByteCount, connections: usize) {
        self.handle.shared.hub().limit_memory(bytes, connections);
    }

    /// All that this host sends over a link, 0 or 1, to peers with a [`Share`] of it leaves at this rate at
    /// most, headers of IP and UDP included. Without a word only the shares bound it.
    pub fn set_rate(&self, link: usize, rate: BitRate) {
        self.handle.shared.hub().set_rate(link, rate);
    }

    /// What is sent to a peer over a link, 0 or 1, takes this share of it, from now on and in associations to
    /// come: connections to it take turns, with repairs and short objects ahead of bulk.
    pub fn set_share(&self, link: usize, peer: PublicKey, share: Share) {
        let shared = &self.handle.shared;
        shared.hub().set_share(shared.clock.now(), link, peer, share);
        shared.changed.notify_one();
    }

    /// The ways by which a peer is reached, in associations to come, whatever address is given then. This host
    /// watches them; both send by the first one that works.
    pub fn plan(&self, peer: PublicKey, plan: Plan) {
        self.handle.shared.hub().plan(peer, plan);
    }

    /// What is known of a peer.
    pub(crate) fn peer_state(&self, peer: PublicKey) -> PeerState {
        self.handle.shared.hub().peer_state(peer)
    }

    /// What is known of connections, each while it exists.
    pub(crate) fn look(
        &self,
        connections: impl Iterator<Item = Option<ConnectionRef>>,
    ) -> Vec<Option<(SenderState, TransportCounters)>> {
        let hub = self.handle.shared.hub();
        connections.map(|connection| hub.look(connection?)).collect()
    }

    /// The rate at which all that this host sends leaves at most, if one was set.
    pub(crate) fn link_rate(&self) -> Option<BitRate> {
        self.handle.shared.hub().link_rate()
    }

    /// Whether the task that carries datagrams does something within this time when it is asked to.
    pub async fn answers(&self, limit: Duration) -> bool {
        self.handle.shared.answers(limit).await
    }

    /// Waits until the task that carries datagrams has ended, which it never does by itself: nothing works any more,
    /// and the process should end.
    pub async fn failed(&self) {
        self.handle.shared.life.ended().await;
    }

    /// Keeps the times of requests in this file, from which those of before are taken: to be called before anything
    /// is sent. It is written now, then once a minute if there is anything new, and by [`Host::leave`].
    ///
    /// # Errors
    /// When the file is there and cannot be read, or is not such a file.
    pub fn keep_times(&self, path: PathBuf) -> Result<(), TimesError> {
        let times = times_file::load(&path)?;
        let shared = &self.handle.shared;
        let mut keeper = Keeper::new(path.clone(), times.clone());
        let mut hub = shared.hub();
        hub.set_times(times);
        keeper.save(hub.times());
        drop(hub);
        tokio::spawn(keeper.run(Arc::downgrade(shared)));
        // Who calls this twice keeps the first file up to date at the end.
        let _ = self.times.set(path);
        Ok(())
    }

    /// Lets a peer in.
    pub fn allow(&self, peer: PublicKey) {
        self.handle.shared.hub().allow(peer);
    }

    /// Lets allowed peers open connections, with these settings. [`Host::accept`] gives them out.
    pub fn listen(&self, config: Arc<Config>) {
        self.handle.shared.hub().listen(config);
    }

    /// The next connection that a peer opened.
    pub async fn accept(&self) -> Connection {
        let id = poll_fn(|cx| self.handle.shared.hub().poll_accept(cx)).await;
        Connection::new(self.handle.clone(), id)
    }

    /// Sends a datagram of at most [`MOST_DATAGRAM`](bentpipe_association::hub::MOST_DATAGRAM) bytes to a peer with which there
    /// is an association. It may be lost; false if it is already.
    pub fn send_datagram(&self, peer: PublicKey, datagram: Bytes) -> bool {
        let shared = &self.handle.shared;
        let sent = shared.hub().send_datagram(shared.clock.now(), peer, datagram);
        shared.changed.notify_one();
        sent
    }

    /// The next datagram that a peer sent. What nobody reads is lost.
    pub async fn recv_datagram(&self) -> (PublicKey, Bytes) {
        poll_fn(|cx| self.handle.shared.hub().poll_datagram(cx)).await
    }

    /// Ends all connections, tells the peers so, and returns when that has been sent or can not be.
    pub async fn leave(&self) {
        let shared = &self.handle.shared;
        shared.hub().leave(shared.clock.now());
        shared.changed.notify_one();
        let sent = async {
            loop {
                tokio::time::sleep(LOOK).await;
                if shared.hub().outbox().is_empty() {
                    break;
                }
            }
        };
        // Nobody has to wait for a socket that is full.
        let _ = tokio::time::timeout(FAREWELL, sent).await;
        if let Some(path) = self.times.get() {
            let times = shared.hub().times().clone();
            Keeper::new(path.clone(), Times::default()).save(&times);
        }
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
        let shared = &self.handle.shared;
        let id = shared.hub().connect(shared.clock.now(), address, peer, port, config);
        shared.changed.notify_one();
        Connection::new(self.handle.clone(), id)
    }
}

/// Runs a socket and its hub for ever.
async fn run(mut socket: Socket, mut carriers: Carriers, shared: Arc<Shared<Hub>>) {
    loop {
        let (deadline, full) = turn(&mut socket, &mut carriers, &shared);
        shared.life.answer();
        tokio::select! {
            () = poll_fn(|cx| socket.poll_ready(cx, full)) => {}
            () = shared.changed.notified() => {}
            () = shared.clock.sleep_until(deadline) => {}
        }
    }
}

/// Receives, lets the time pass, sends. Returns the next deadline and whether the socket is full.
fn turn(
    socket: &mut Socket,
    carriers: &mut Carriers,
    shared: &Shared<Hub>,
) -> (Option<Instant>, bool) {
    let mut hub = shared.hub();
    let now = shared.clock.now();
    for _ in 0..BATCHES {
        let mut each = |from, ecn, datagram: &[u8]| {
            hub.handle_datagram(now, from, ecn, datagram);
        };
        if !socket.receive(&mut each) {
            break;
        }
    }
    hub.handle_timeout(now);
    hub.flush(now);
    let full = socket.send_all(hub.outbox(), |train| carriers.send(train));
    (hub.next_deadline(), full)
}
