//! What a gateway needs of the world: TCP and UDP towards hosts, names, and tasks.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};

use bentpipe_association::host::Runtime;
use bentpipe_wire::Ecn;
use bytes::Bytes;
use ipnet::IpNet;
use tokio::io::{AsyncRead, AsyncWrite};

/// What is around the host of a gateway.
pub trait Surroundings {
    /// Whether an address is one of this host.
    fn is_own(&self, to: SocketAddr) -> bool;

    /// The network beside this host that an address is of; of several the smallest.
    fn network_of(&self, ip: IpAddr) -> Option<IpNet>;
}

/// The network of a gateway on the side of the hosts.
pub trait Network: Runtime + Surroundings {
    /// A TCP connection.
    type Tcp: Tcp;
    /// A socket of one flow of UDP or ESP.
    type Udp: Udp;
    /// Futures that run beside each other.
    type Tasks: Tasks;

    /// Nanoseconds since 1970, as the clock of the host says now.
    fn calendar(&self) -> u64;

    /// A set of futures that run beside each other, and end with it.
    fn tasks(&self) -> Self::Tasks;

    /// Connects to `to`, from the address of `source` if there is one.
    ///
    /// # Errors
    /// When nobody answers, or the process may not use that address.
    fn connect(
        &self,
        to: SocketAddr,
        source: Option<SocketAddr>,
    ) -> impl Future<Output = io::Result<Self::Tcp>> + Send;

    /// Looks up the addresses of a name, where that holds up nobody, and hands them over.
    ///
    /// # Errors
    /// When it cannot be begun.
    fn look_up(
        &self,
        name: String,
        port: u16,
        done: impl FnOnce(io::Result<Vec<SocketAddr>>) + Send + 'static,
    ) -> io::Result<()>;

    /// A socket that leads to `to`, from the address and port of `source` if there is one.
    ///
    /// # Errors
    /// When there is no way there, or the process may not use that address.
    fn socket_to(&self, to: SocketAddr, source: Option<SocketAddr>) -> io::Result<Self::Udp>;

    /// A socket between an address, of this host or, if it is `transparent`, of another one, and a client.
    ///
    /// # Errors
    /// When the process may not use that address.
    fn socket_between(
        &self,
        here: SocketAddr,
        client: SocketAddr,
        transparent: bool,
    ) -> io::Result<Self::Udp>;

    /// A socket that leads to a host by ESP, from a client's address.
    ///
    /// # Errors
    /// When there is no way there, or the process may not do that.
    fn esp_to(&self, to: IpAddr, client: IpAddr) -> io::Result<Self::Udp>;
}

/// Futures that run beside each other. When this is dropped, they end.
pub trait Tasks: Send {
    /// One more.
    fn spawn(&mut self, future: impl Future<Output = ()> + Send + 'static);

    /// Waits until one of them has ended; for ever where there is none.
    fn ended(&mut self) -> impl Future<Output = ()> + Send;

    /// Forgets those that have ended.
    fn reap(&mut self);
}

/// A TCP connection of a host.
pub trait Tcp: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// What is read from it.
    type Reader<'a>: TcpReader;
    /// What is written to it.
    type Writer<'a>: AsyncWrite + Unpin + Send;

    /// Both directions, each by itself.
    fn split(&mut self) -> (Self::Reader<'_>, Self::Writer<'_>);

    /// The settings of every connection.
    ///
    /// # Errors
    /// When the system refuses.
    fn prepare(&self) -> io::Result<()>;

    /// From now on the connection ends by a reset, whoever ends it and however: nobody takes what came so far for all
    /// there is. Until [`Tcp::complete`] is called.
    ///
    /// # Errors
    /// When the system refuses.
    fn guard(&self) -> io::Result<()>;

    /// Everything was carried in both directions: the connection ends in peace.
    ///
    /// # Errors
    /// When the system refuses.
    fn complete(&self) -> io::Result<()>;

    /// Bytes of memory in use for what the host has not taken yet.
    fn queued(&self) -> usize;
}

/// What is read from a TCP connection.
pub trait TcpReader: AsyncRead + Unpin + Send {
    /// Waits until there is something to be read, or an end.
    fn readable(&self) -> impl Future<Output = io::Result<()>> + Send;
}

/// A datagram of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its bytes.
    pub bytes: Bytes,
    /// Who sent it.
    pub from: SocketAddr,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
}

/// A socket of one flow of UDP or ESP.
pub trait Udp: Send + Sync + 'static {
    /// Sends a datagram to whom the socket leads, with this ECN field in its IP header.
    fn send(&self, datagram: &[u8], ecn: Ecn) -> impl Future<Output = io::Result<usize>> + Send;

    /// The next datagram.
    fn recv(&self) -> impl Future<Output = io::Result<Received>> + Send;
}
