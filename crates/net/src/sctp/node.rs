//! A host that speaks SCTP: its sockets, its associations, and the task that runs both.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use bentpipe_transport::sctp::Config;
use bentpipe_units::Instant;

use super::Connection;
use super::associations::{Associations, Counters};
use super::local::Local;
use crate::socket::Socket;
use crate::task;
use bentpipe_association::endpoint::Route;
use bentpipe_association::host::{Handle, Shared, lock};
use bentpipe_system::Clock;

/// Batches received from each socket before what they ask for is sent.
const BATCHES: usize = 4;

/// A host that speaks SCTP over UDP. Clones are the same host.
///
/// The host goes on in the background, on the runtime that it was made on, until the last clone and the
/// last connection are gone.
#[derive(Clone)]
pub struct Node {
    handle: Arc<Handle<Associations>>,
    changes: Arc<Changes>,
    port: u16,
}

/// Sockets that come and go, with their places, until the task takes note.
type Changes = Mutex<Vec<(usize, Option<Socket>)>>;

impl Node {
    /// A host at these addresses, at least one, each of which is a path to it. They have the same UDP port,
    /// [`UDP_PORT`](super::UDP_PORT) where peers do not know better; with 0 the system chooses one for all.
    ///
    /// # Errors
    /// When an address is taken or not one of this machine, or the ports differ.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn bind(addresses: &[SocketAddr]) -> io::Result<Self> {
        let wrong = |problem: &str| io::Error::new(io::ErrorKind::InvalidInput, problem);
        let first = addresses.first().ok_or_else(|| wrong("no address to bind to"))?;
        let mut sockets = vec![Socket::bind(*first)?];
        let port = sockets[0].local_addr()?.port();
        for address in &addresses[1..] {
            if address.port() != first.port() {
                return Err(wrong(
                    "peers learn addresses and no ports: all must have the same port",
                ));
            }
            sockets.push(Socket::bind(SocketAddr::new(address.ip(), port))?);
        }
        let bound: io::Result<Vec<_>> = sockets.iter().map(Socket::local_addr).collect();
        let bound = bound?;
        let local = Local::new(bound.clone(), source_towards);
        let entropy = || getrandom::u64().expect("the system's source of randomness");
        let clock = Clock::start();
        let associations = Associations::new(local, Box::new(entropy));
        let shared = Arc::new(Shared::new(associations, Arc::new(clock)));
        let changes = Arc::<Changes>::default();
        let task = run(sockets, changes.clone(), shared.clone(), clock);
        Ok(Self { handle: task::run(shared, Arc::default(), task), changes, port })
    }

    /// The addresses that it is bound to.
    pub fn local_addrs(&self) -> Vec<SocketAddr> {
        self.handle.shared.endpoint().addresses()
    }

    /// The host has another address: peers are told, and their answers go there, too (RFC 5061). With `set_primary` data go to
    /// and from it first. [`Messages::path_change`](super::Messages::path_change) says what a peer made of it; one that takes
    /// no changes goes on with the addresses it knows.
    ///
    /// # Errors
    /// When it is no address of this machine, or its port is taken.
    pub fn add_address(&self, address: IpAddr, set_primary: bool) -> io::Result<()> {
        let socket = Socket::bind(SocketAddr::new(address, self.port))?;
        let bound = socket.local_addr()?;
        let shared = &self.handle.shared;
        let mut endpoint = shared.endpoint();
        let place = endpoint.add_address(shared.now(), bound, set_primary);
        self.change(place, Some(socket));
        Ok(())
    }

    /// The host has an address no more, or soon will not: peers are told. What was under way there leaves from another one.
    ///
    /// # Errors
    /// When the host is not bound to it.
    pub fn remove_address(&self, address: IpAddr) -> io::Result<()> {
        let shared = &self.handle.shared;
        let mut endpoint = shared.endpoint();
        let place = endpoint.remove_address(shared.now(), address);
        let place = place.ok_or_else(|| {
            let said = format!("{address}: this host is not bound to it");
            io::Error::new(io::ErrorKind::AddrNotAvailable, said)
        })?;
        self.change(place, None);
        Ok(())
    }

    /// Places and sockets change under one lock, that of the associations: nobody comes between.
    fn change(&self, place: usize, socket: Option<Socket>) {
        lock(&self.changes).push((place, socket));
        self.handle.shared.changed.notify_one();
    }

    /// What became of packets that belong to no association.
    pub fn counters(&self) -> Counters {
        *self.handle.shared.endpoint().counters()
    }

    /// Lets anybody open associations to service `port`, with these settings. [`Node::accept`] gives them
    /// out.
    pub fn listen(&self, port: u16, config: Arc<Config>) {
        self.handle.shared.endpoint().listen(port, config);
    }

    /// The next association that a peer opened, and the address that it came from.
    pub async fn accept(&self) -> (SocketAddr, Connection) {
        let (peer, id) = poll_fn(|cx| self.handle.shared.endpoint().poll_accept(cx)).await;
        (peer, Connection::new(self.handle.clone(), id))
    }

    /// Opens an association to service `port` of the peer at `to`, and waits until it has answered.
    ///
    /// # Errors
    /// When no socket leads there, all ports are taken, the peer does not answer, or it refuses.
    pub async fn connect(
        &self,
        to: SocketAddr,
        port: u16,
        config: Arc<Config>,
    ) -> io::Result<Connection> {
        let shared = &self.handle.shared;
        let id = shared.endpoint().connect(shared.now(), to, port, config);
        let id = id.ok_or_else(|| {
            let said = format!(
                "{to}: no socket leads there, or all ports to its service {port} are taken"
            );
            io::Error::new(io::ErrorKind::AddrNotAvailable, said)
        })?;
        shared.changed.notify_one();
        let connection = Connection::new(self.handle.clone(), id);
        connection.opened().await?;
        Ok(connection)
    }
}

/// A socket, and whether it has no room for what there is to send.
struct Place {
    socket: Socket,
    full: bool,
}

impl Place {
    const fn new(socket: Socket) -> Self {
        Self { socket, full: false }
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("handle", &self.handle).finish_non_exhaustive()
    }
}

/// The address from which the system would reach another one. Nothing is sent.
#[expect(clippy::disallowed_methods, reason = "this is where sockets come in")]
fn source_towards(peer: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = match peer {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((peer, super::UDP_PORT)).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

/// Runs sockets and their associations for ever.
async fn run(
    sockets: Vec<Socket>,
    changes: Arc<Changes>,
    shared: Arc<Shared<Associations>>,
    clock: Clock,
) {
    let mut places: Vec<_> = sockets.into_iter().map(|socket| Some(Place::new(socket))).collect();
    loop {
        for (place, socket) in lock(&changes).drain(..) {
            places.resize_with(places.len().max(place + 1), || None);
            places[place] = socket.map(Place::new);
        }
        let deadline = turn(&mut places, &shared);
        let ready = poll_fn(|cx| {
            let ready = |place: &Place| place.socket.poll_ready(cx, place.full).is_ready();
            // All are asked, so that each can wake this task.
            let ready = places.iter().flatten().map(ready).fold(false, |any, one| any | one);
            if ready { Poll::Ready(()) } else { Poll::Pending }
        });
        tokio::select! {
            () = ready => {}
            () = shared.changed.notified() => {}
            () = clock.sleep_until(deadline) => {}
        }
    }
}

/// Receives, lets the time pass, sends. Returns the next deadline and notes which sockets are full.
fn turn(places: &mut [Option<Place>], shared: &Shared<Associations>) -> Option<Instant> {
    let mut endpoint = shared.endpoint();
    let now = shared.now();
    for (index, place) in places.iter_mut().enumerate() {
        let Some(Place { socket, .. }) = place else { continue };
        for _ in 0..BATCHES {
            let each = |from: Route, ecn, bytes: &[u8]| {
                endpoint.handle_datagram(now, index, from.address, ecn, bytes);
            };
            if !socket.receive(each) {
                break;
            }
        }
    }
    endpoint.handle_timeout(now);
    endpoint.flush(now);
    for (index, place) in places.iter_mut().enumerate() {
        let Some(Place { socket, full }) = place else { continue };
        *full = socket.send_all(endpoint.outbox(index), |_| {});
        if !*full && !endpoint.outbox_fragmented(index).is_empty() {
            *full = socket.send_all_fragmented(endpoint.outbox_fragmented(index));
        }
    }
    endpoint.next_deadline()
}
