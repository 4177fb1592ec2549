//! A host on the network: a socket, its hub, and the task that runs both.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bentpipe_record::TransportCounters;
use bentpipe_transport::SenderState;
use bentpipe_transport::xstp::Config;
use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

use crate::association::Security;
use crate::clock::Clock;
use crate::hub::Hub;
use crate::key::{PublicKey, SecretKey};
use crate::socket::Socket;
use crate::stream::{ConnectionId, Streams};

/// Batches received before what they ask for is sent.
const BATCHES: usize = 4;

/// A host on the network. Clones are the same host.
///
/// The host goes on in the background, on the runtime that it was made on, until the last clone and
/// the last connection are gone.
#[derive(Clone, Debug)]
pub struct Host {
    handle: Arc<Handle<Hub>>,
    local: SocketAddr,
}

/// What handles and the task share.
#[derive(Debug)]
pub(crate) struct Shared<S> {
    hub: Mutex<S>,
    pub(crate) clock: Clock,
    /// A handle changed something, or all are gone.
    pub(crate) changed: Notify,
}

/// The side of the application. When it is gone, the task ends.
#[derive(Debug)]
pub(crate) struct Handle<S> {
    pub(crate) shared: Arc<Shared<S>>,
    pub(crate) task: tokio::task::AbortHandle,
}

impl<S> Drop for Handle<S> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<S> Shared<S> {
    pub(crate) fn new(hub: S, clock: Clock) -> Self {
        Self { hub: Mutex::new(hub), clock, changed: Notify::new() }
    }

    pub(crate) fn hub(&self) -> MutexGuard<'_, S> {
        // A panic elsewhere leaves the hub as it was between two calls.
        self.hub.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        let local = socket.local_addr()?;
        let clock = Clock::start();
        let entropy = || getrandom::u64().expect("the system's source of randomness");
        let hub = Hub::new(key, security, clock.calendar(), Box::new(entropy), clock.now());
        let shared = Arc::new(Shared::new(hub, clock));
        let task = tokio::spawn(run(socket, shared.clone())).abort_handle();
        Ok(Self { handle: Arc::new(Handle { shared, task }), local })
    }

    /// Its public key, by which peers name it.
    pub fn public_key(&self) -> PublicKey {
        self.handle.shared.hub().public_key()
    }

    /// The address that it is bound to.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
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

/// A reliable byte stream to a peer, encrypted unless it is one of a [`qlp::Node`](crate::qlp::Node).
/// Implements [`AsyncRead`] and [`AsyncWrite`].
///
/// Dropping it closes it: what was written is still delivered as long as a [`Host`] or another
/// connection of it exists, what arrives is thrown away. [`Connection::finish`] waits for the end.
#[derive(Debug)]
pub struct Connection<S: Streams = Hub> {
    handle: Arc<Handle<S>>,
    id: ConnectionId,
    /// Bytes that arrived and found no room in the reader's buffer.
    unread: Mutex<Bytes>,
}

impl Connection {
    /// Whom it leads to.
    pub fn peer(&self) -> PublicKey {
        self.handle.shared.hub().peer(self.id)
    }
}

impl<S: Streams> Connection<S> {
    pub(crate) fn new(handle: Arc<Handle<S>>, id: ConnectionId) -> Self {
        Self { handle, id, unread: Mutex::new(Bytes::new()) }
    }

    /// Waits until the peer has answered.
    ///
    /// # Errors
    /// When it does not, or refuses.
    pub async fn opened(&self) -> io::Result<()> {
        let hub = &self.handle.shared;
        Ok(poll_fn(|cx| hub.hub().poll_connected(self.id, cx)).await?)
    }

    /// The sender's state and what was sent and received so far.
    pub fn state(&self) -> (SenderState, TransportCounters) {
        self.handle.shared.hub().state(self.id)
    }

    /// Bytes that were written and not sent yet.
    pub fn unsent(&self) -> usize {
        self.handle.shared.hub().unsent(self.id)
    }

    /// Writes a piece of bytes without copying it.
    ///
    /// # Errors
    /// When the connection failed or is closed for writing.
    pub async fn write_bytes(&self, mut bytes: Bytes) -> io::Result<()> {
        while !bytes.is_empty() {
            poll_fn(|cx| self.poll_write_bytes(cx, &mut bytes)).await?;
        }
        Ok(())
    }

    /// The next piece of bytes, without copying it; `None` at the end.
    ///
    /// # Errors
    /// When the connection failed.
    pub async fn read_bytes(&self) -> io::Result<Option<Bytes>> {
        let unread = std::mem::take(&mut *self.unread());
        if !unread.is_empty() {
            return Ok(Some(unread));
        }
        poll_fn(|cx| self.poll_read_bytes(cx)).await
    }

    /// Closes for writing and waits until both ends are closed and everything was delivered.
    ///
    /// # Errors
    /// When the connection failed before.
    pub async fn finish(self) -> io::Result<()> {
        let shared = &self.handle.shared;
        shared.hub().close(shared.clock.now(), self.id);
        shared.changed.notify_one();
        poll_fn(|cx| shared.hub().poll_closed(self.id, cx)).await?;
        Ok(())
    }

    fn unread(&self) -> MutexGuard<'_, Bytes> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives up at once and tells the peer.
    pub fn abort(self) {
        let shared = &self.handle.shared;
        shared.hub().abort(shared.clock.now(), self.id);
        shared.changed.notify_one();
    }

    fn poll_write_bytes(&self, cx: &Context<'_>, bytes: &mut Bytes) -> Poll<io::Result<usize>> {
        let shared = &self.handle.shared;
        let written = ready!(shared.hub().poll_write(shared.clock.now(), self.id, bytes, cx));
        shared.changed.notify_one();
        Poll::Ready(written.map_err(io::Error::from))
    }

    fn poll_read_bytes(&self, cx: &Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        let shared = &self.handle.shared;
        let read = ready!(shared.hub().poll_read(shared.clock.now(), self.id, cx));
        Poll::Ready(read.map_err(io::Error::from))
    }
}

impl<S: Streams> Drop for Connection<S> {
    fn drop(&mut self) {
        let shared = &self.handle.shared;
        shared.hub().release(shared.clock.now(), self.id);
        shared.changed.notify_one();
    }
}

impl<S: Streams> AsyncRead for Connection<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut unread = self.unread();
        if unread.is_empty() {
            match ready!(self.poll_read_bytes(cx))? {
                Some(bytes) => *unread = bytes,
                None => return Poll::Ready(Ok(())),
            }
        }
        let len = unread.len().min(buffer.remaining());
        buffer.put_slice(&unread[..len]);
        unread.advance(len);
        Poll::Ready(Ok(()))
    }
}

impl<S: Streams> AsyncWrite for Connection<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_bytes(cx, &mut Bytes::copy_from_slice(buffer))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shared = &self.handle.shared;
        shared.hub().close(shared.clock.now(), self.id);
        shared.changed.notify_one();
        Poll::Ready(Ok(()))
    }
}

/// Runs a socket and its hub for ever.
async fn run(mut socket: Socket, shared: Arc<Shared<Hub>>) {
    loop {
        let (deadline, full) = turn(&mut socket, &shared);
        let sleep = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(shared.clock.at(at)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = socket.ready(full) => {}
            () = shared.changed.notified() => {}
            () = sleep => {}
        }
    }
}

/// Receives, lets the time pass, sends. Returns the next deadline and whether the socket is full.
fn turn(socket: &mut Socket, shared: &Shared<Hub>) -> (Option<bentpipe_units::Instant>, bool) {
    let mut hub = shared.hub();
    let now = shared.clock.now();
    for _ in 0..BATCHES {
        if !socket.receive(|from, ecn, datagram| hub.handle_datagram(now, from, ecn, datagram)) {
            break;
        }
    }
    hub.handle_timeout(now);
    hub.flush(now);
    let most = socket.most();
    while let Some(train) = hub.outbox().front(most) {
        let len = train.bytes.len();
        if !socket.send(&train) {
            return (hub.next_deadline(), true);
        }
        hub.outbox().pop(len);
    }
    (hub.next_deadline(), false)
}
