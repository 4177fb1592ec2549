//! A bundle node on sockets and a disk.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bentpipe_association::host::Connection;
use bentpipe_association::{SecretKey, Security, Tuning};
use bentpipe_bundle::layer::{Hello, Session, mtcp, tcpcl, xstp};
use bentpipe_bundle::{
    CarryError, DtnTime, News, Node, Peer, Progress, Queue, SharedNode, Terms, carry, keep,
};
use bentpipe_units::{ByteCount, Span};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::config::{Layer, Listener, Neighbour, NodeConfig};
use super::folder::DiskFolder;
use super::local::{self, Delivered};
use crate::host::Host;
use crate::key_file;
use crate::runtime::Tokio;
use crate::sockets;
use crate::times_file::TimesError;

/// Connections of TCP that may be open at a time on a listener.
const MOST_CONNECTIONS: usize = 16;
/// What the connections of one peer over XSTP may hold together, and how many share it.
const MEMORY: (ByteCount, usize) = (ByteCount::new(32_000_000), 8);
/// Time between two calls of a neighbour that does not answer, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Time for sessions to end.
const CLOSE: Duration = Duration::from_secs(2);
/// A call that is not answered by then has failed.
const CALL: Duration = Duration::from_secs(30);
/// An XSTP connection that hears nothing ends after this. A link may be away for so long.
const IDLE: Span = Span::from_secs(300);

/// The node that the futures of a process share.
pub type DiskNode = SharedNode<DiskFolder>;

/// A node that cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// Another process has its folder.
    #[error("{0}: another node has this store")]
    Taken(String),
    /// Something of the system does not do what is asked.
    #[error("{what}: {error}")]
    System {
        /// What it is.
        what: String,
        /// What the system says.
        error: io::Error,
    },
    /// Its key cannot be used.
    #[error(transparent)]
    Key(#[from] key_file::KeyFileError),
    /// What it keeps beside its key cannot be used.
    #[error(transparent)]
    Times(#[from] TimesError),
}

/// A node that has begun.
#[derive(Debug)]
pub struct Running {
    /// The node.
    pub node: DiskNode,
    /// Where it listens, in the order of the file.
    pub addresses: Vec<(Layer, SocketAddr)>,
    tasks: JoinSet<()>,
}

impl Running {
    /// Ends the sessions with neighbours, as far as they end within two seconds. Its bundles are on the disk anyway.
    pub async fn close(&self) {
        let mut changed = self.node.watch();
        self.node.at_once(|node, _| node.close());
        let ended = async {
            while self.node.look(Node::has_sessions) && changed.changed().await.is_ok() {}
        };
        let _ = tokio::time::timeout(CLOSE, ended).await;
    }

    /// Waits until a part of it has ended, which none does by itself.
    pub async fn ended(&mut self) {
        self.tasks.join_next().await;
    }
}

/// The name of a file for a bundle's payload: its time, its sequence number, and a hash that no other bundle has.
pub fn file_name(delivered: &Delivered) -> String {
    let id = delivered.id.chars();
    let numbers: String = id.take_while(|it| it.is_ascii_digit() || *it == '-').take(50).collect();
    format!("{numbers}-{}", delivered.hash)
}

/// Bundles that a node holds, and their bytes.
pub fn holds(node: &Node<DiskFolder>) -> (usize, u64) {
    node.holds()
}

/// Begins a node: opens its store, listens, calls its neighbours. It goes on until what is returned is dropped.
///
/// # Errors
/// When the store, an address or the socket is taken, or the key cannot be read.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn start(config: &NodeConfig) -> Result<Running, NodeError> {
    let system = |what: String| |error| NodeError::System { what, error };
    let store = config.store.display().to_string();
    let folder = DiskFolder::open(&config.store).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => NodeError::Taken(store.clone()),
        _ => NodeError::System { what: store.clone(), error },
    })?;
    let salt = getrandom::u64().expect("the system's source of randomness");
    let node = Node::open(config.core.clone(), folder, now(), salt).map_err(system(store))?;
    let node = SharedNode::new(node, now, |news| match news {
        News::Medium(_) | News::Damaged(_) => tracing::error!("{news}"),
        _ => tracing::warn!("{news}"),
    });
    let mut running = Running { node, addresses: Vec::new(), tasks: JoinSet::new() };
    let parts = Parts { node: running.node.clone(), config: Arc::new(config.clone()) };
    running.tasks.spawn(keep(parts.node.clone(), Tokio));
    let socket = config.socket.display().to_string();
    let listener = local::listen(&config.socket).map_err(system(socket))?;
    running.tasks.spawn(local::serve(parts.node.clone(), listener));
    let key = config.key.as_deref().map(key_file::load).transpose()?;
    let host = key.map(|key| parts.host(key)).transpose()?;
    for listen in &config.listen {
        let address = match (listen.layer, &host) {
            (Layer::Xstp, Some(host)) => host.local_addr(),
            _ => {
                let what = format!("cannot listen at {}", listen.address);
                let bound = sockets::listen(listen.address, false);
                let bound = bound.and_then(|it| Ok((it.local_addr()?, it)));
                let (address, listener) = bound.map_err(system(what))?;
                running.tasks.spawn(parts.clone().accept_tcp(listener, listen.layer));
                address
            }
        };
        running.addresses.push((listen.layer, address));
    }
    for (place, neighbour) in config.neighbours.iter().enumerate() {
        if neighbour.address.is_some() {
            running.tasks.spawn(parts.clone().call(place, neighbour.clone(), host.clone()));
        }
    }
    if let Some(host) = host {
        running.tasks.spawn(parts.accept_xstp(host));
    }
    Ok(running)
}

fn now() -> DtnTime {
    DtnTime::from_unix_nanos(bentpipe_system::calendar())
}

/// A stream that may be given up with what it has not sent.
trait Abandon: AsyncRead + AsyncWrite + Unpin + Send {
    /// Sends nothing more, if it would go on with what it has after it was dropped: the next one sends that too.
    fn abandon(self);
}

impl Abandon for TcpStream {
    fn abandon(self) {}
}

impl Abandon for Connection {
    fn abandon(self) {
        self.abort();
    }
}

/// What all tasks of a node need.
#[derive(Clone, Debug)]
struct Parts {
    node: DiskNode,
    config: Arc<NodeConfig>,
}

impl Parts {
    /// The socket for XSTP. Neighbours are let in, and nobody else.
    fn host(&self, key: SecretKey) -> Result<Host, NodeError> {
        let is_xstp = |listen: &&Listener| listen.layer == Layer::Xstp;
        let any = SocketAddr::from(([0, 0, 0, 0], 0));
        let address = self.config.listen.iter().find(is_xstp).map_or(any, |it| it.address);
        let system = |error| NodeError::System { what: format!("cannot bind {address}"), error };
        let host = Host::bind(address, key, Security::Full).map_err(system)?;
        host.limit_memory(MEMORY.0, MEMORY.1);
        for key in self.config.neighbours.iter().filter_map(|neighbour| neighbour.key) {
            host.allow(key);
        }
        let settings = tuning().config().map_err(|error| system(io::Error::other(error)))?;
        host.listen(settings);
        if let Some(key) = &self.config.key {
            let mut times = key.clone().into_os_string();
            times.push(".times");
            host.keep_times(times.into())?;
        }
        Ok(host)
    }

    fn hello(&self) -> Hello {
        let core = &self.config.core;
        Hello { node: core.node.to_string(), largest: core.limits.largest }
    }

    /// Runs a session until it ends, and says why it has. False if the peer is another one or does not keep to the protocol.
    async fn run(
        &self,
        mut stream: impl Abandon,
        session: impl Session,
        (peer, progress): (Peer, Option<Progress>),
        name: &str,
    ) -> bool {
        let terms = Terms { peer, idle_timeout: self.config.idle_timeout, progress };
        tracing::info!(peer = name, "connected");
        match carry(&Tokio, &self.node, &mut stream, session, &terms).await {
            Ok(()) => {
                tracing::info!(peer = name, "the connection has ended");
                true
            }
            Err(error) => {
                tracing::warn!(peer = name, "{error}");
                stream.abandon();
                !matches!(error, CarryError::Protocol(_) | CarryError::Other { .. })
            }
        }
    }

    async fn accept_tcp(self, listener: TcpListener, layer: Layer) {
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let mut sessions = JoinSet::new();
        loop {
            while sessions.try_join_next().is_some() {}
            let Ok(place) = places.clone().acquire_owned().await else { return };
            let (stream, from) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Too many files are open, or a connection was gone before it was taken.
                    tracing::warn!(%error, "cannot accept");
                    tokio::time::sleep(FIRST_PAUSE).await;
                    continue;
                }
            };
            let parts = self.clone();
            sessions.spawn(async move {
                let _place = place;
                if let Err(error) = sockets::prepare(&stream) {
                    tracing::warn!(%from, %error, "the connection failed");
                    return;
                }
                let (name, hello) = (from.to_string(), parts.hello());
                if layer == Layer::Mtcp {
                    let session = mtcp::Mtcp::receiver(hello.largest);
                    parts.run(stream, session, (Peer::Unknown(Vec::new()), None), &name).await;
                } else {
                    let session = tcpcl::Tcpcl::passive(hello);
                    let may_be = Peer::Unknown(parts.of_layer(layer));
                    parts.run(stream, session, (may_be, None), &name).await;
                }
            });
        }
    }

    /// The places of the neighbours of a layer.
    fn of_layer(&self, layer: Layer) -> Vec<usize> {
        let neighbours = self.config.neighbours.iter().enumerate();
        neighbours.filter(|(_, it)| it.layer == layer).map(|(place, _)| place).collect()
    }

    async fn accept_xstp(self, host: Host) {
        let mut sessions = JoinSet::new();
        loop {
            let connection = tokio::select! {
                connection = host.accept() => connection,
                () = host.failed() => return,
            };
            while sessions.try_join_next().is_some() {}
            let key = connection.peer();
            let is_it = |neighbour: &Neighbour| neighbour.key == Some(key);
            let Some(place) = self.config.neighbours.iter().position(is_it) else { continue };
            let parts = self.clone();
            sessions.spawn(async move {
                let name = parts.config.neighbours[place].name.clone();
                let session = xstp::Xstp::new(&parts.hello());
                let progress = Progress::new(connection.acknowledged());
                let with = (Peer::Neighbour(place), Some(progress));
                parts.run(connection, session, with, &name).await;
            });
        }
    }

    /// Calls a neighbour again and again, as long as there is no connection with it.
    async fn call(self, place: usize, neighbour: Neighbour, host: Option<Host>) {
        let mut pause = FIRST_PAUSE;
        let mut changed = self.node.watch();
        loop {
            changed.borrow_and_update();
            let waits = |node: &Node<DiskFolder>| {
                node.is_closing() || node.sessions(&Queue::Neighbour(place)) > 0
            };
            if self.node.look(waits) {
                if changed.changed().await.is_err() {
                    return;
                }
                continue;
            }
            match self.call_once(place, &neighbour, host.as_ref()).await {
                Ok(true) => pause = FIRST_PAUSE,
                Ok(false) => pause = (pause * 2).min(LONGEST_PAUSE),
                Err(error) => {
                    tracing::info!(neighbour = neighbour.name, %error, "no connection");
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn call_once(
        &self,
        place: usize,
        neighbour: &Neighbour,
        host: Option<&Host>,
    ) -> io::Result<bool> {
        let name = neighbour.address.as_deref().unwrap_or_default();
        let late = |_| io::Error::from(io::ErrorKind::TimedOut);
        let address = tokio::net::lookup_host(name).await?.next();
        let address = address.ok_or(io::ErrorKind::NotFound)?;
        let peer = Peer::Neighbour(place);
        if let (Layer::Xstp, Some(host), Some(key)) = (neighbour.layer, host, neighbour.key) {
            let settings = tuning().persistent_config().map_err(io::Error::other)?;
            let connecting = host.connect(address, key, xstp::PORT, settings);
            let longest = Duration::from_nanos(IDLE.as_nanos());
            let connection = tokio::time::timeout(longest, connecting).await.map_err(late)??;
            let session = xstp::Xstp::new(&self.hello());
            let progress = Progress::new(connection.acknowledged());
            let with = (peer, Some(progress));
            return Ok(self.run(connection, session, with, &neighbour.name).await);
        }
        let connecting = sockets::connect(address, None);
        let stream = tokio::time::timeout(CALL, connecting).await.map_err(late)??;
        let name = &neighbour.name;
        Ok(if neighbour.layer == Layer::Mtcp {
            self.run(stream, mtcp::Mtcp::sender(), (peer, None), name).await
        } else {
            self.run(stream, tcpcl::Tcpcl::active(self.hello()), (peer, None), name).await
        })
    }
}

fn tuning() -> Tuning {
    Tuning { idle_timeout: IDLE, ..Tuning::default() }
}
