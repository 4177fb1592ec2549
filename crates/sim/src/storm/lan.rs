//! The local network of a gateway in a storm: servers that answer, refuse, or say nothing.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use bentpipe_association::host::{Runtime, lock};
use bentpipe_gateway::{Network, Surroundings};
use bentpipe_units::{Instant, Span};
use ipnet::IpNet;

use super::talks::Sockets;
use crate::lan::{Pipe, Running, Socket};
use crate::program::Virtual;

/// The ports of servers: one that answers, one where nobody listens, and one where nobody says anything.
pub(super) const SERVES: u16 = 80;
pub(super) const REFUSES: u16 = 81;

/// Where the server is that flows of a storm lead to.
pub(super) const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9));
/// What all names lead to. A hostile peer opens flows there, about which nothing is promised.
const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 10));

/// The name of the server, one that nobody has, and that of the hub.
pub(super) const NAME: &str = "server.example";
pub(super) const ABSENT: &str = "absent.example";
pub(super) const HUB_NAME: &str = "hub.example";
/// Where the hub is.
pub(super) const HUB_AT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
/// Where datagrams of the hub come from.
const OWN: SocketAddr = SocketAddr::new(HUB_AT, 40_000);

/// Connections that the servers have got and not taken yet, and by which address.
pub(super) type Arrivals = Arc<Mutex<Vec<(IpAddr, Pipe)>>>;

/// The network around a gateway's program.
#[derive(Clone, Debug)]
pub(super) struct Lan {
    runtime: Virtual,
    arrivals: Arrivals,
    sockets: Sockets,
}

impl Lan {
    pub(super) const fn new(runtime: Virtual, arrivals: Arrivals, sockets: Sockets) -> Self {
        Self { runtime, arrivals, sockets }
    }
}

impl Runtime for Lan {
    fn now(&self) -> Instant {
        Runtime::now(&self.runtime)
    }

    async fn sleep(&self, span: Span) {
        self.runtime.sleep(span).await;
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        self.runtime.blocking(work).await
    }
}

impl Surroundings for Lan {
    fn is_own(&self, _: SocketAddr) -> bool {
        false
    }

    fn network_of(&self, _: IpAddr) -> Option<IpNet> {
        None
    }
}

impl Network for Lan {
    type Tcp = Pipe;
    type Udp = Socket;
    type Tasks = Running;

    fn calendar(&self) -> u64 {
        self.now().as_nanos()
    }

    fn tasks(&self) -> Running {
        Running::new(self.runtime.clone())
    }

    async fn connect(&self, to: SocketAddr, _: Option<SocketAddr>) -> io::Result<Pipe> {
        self.runtime.sleep(Span::from_millis(2)).await;
        match to.port() {
            SERVES => {
                let [near, far] = Pipe::pair();
                lock(&self.arrivals).push((to.ip(), far));
                Ok(near)
            }
            REFUSES => Err(io::ErrorKind::ConnectionRefused.into()),
            _ => std::future::pending().await,
        }
    }

    fn look_up(
        &self,
        name: String,
        port: u16,
        done: impl FnOnce(io::Result<Vec<SocketAddr>>) + Send + 'static,
    ) -> io::Result<()> {
        let found = match &name[..] {
            NAME => Ok(SERVER),
            HUB_NAME => Ok(HUB_AT),
            ABSENT => Err(io::ErrorKind::NotFound.into()),
            _ => Ok(ELSEWHERE),
        };
        done(found.map(|ip| vec![SocketAddr::new(ip, port)]));
        Ok(())
    }

    fn socket_to(&self, to: SocketAddr, _: Option<SocketAddr>) -> io::Result<Socket> {
        let [near, far] = Socket::pair([OWN, to]);
        if to.ip() == SERVER {
            lock(&self.sockets).push((to, far));
        }
        Ok(near)
    }

    fn socket_between(&self, here: SocketAddr, client: SocketAddr, _: bool) -> io::Result<Socket> {
        let [near, far] = Socket::pair([here, client]);
        lock(&self.sockets).push((client, far));
        Ok(near)
    }

    fn esp_to(&self, to: IpAddr, _: IpAddr) -> io::Result<Socket> {
        self.socket_to(SocketAddr::new(to, 0), None)
    }
}
