//! The local network of a gateway in a storm: servers that answer, refuse, or say nothing.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use bentpipe_association::host::{Runtime, lock};
use bentpipe_gateway::{Network, Surroundings};
use bentpipe_units::{Instant, Span};
use ipnet::IpNet;

use crate::lan::{NoUdp, Pipe, Running};
use crate::program::Virtual;

/// The ports of servers: one that answers, one where nobody listens, and one where nobody says anything.
pub(super) const SERVES: u16 = 80;
pub(super) const REFUSES: u16 = 81;

/// Where the server is that flows of a storm lead to.
pub(super) const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9));
/// What all names lead to. A hostile peer opens flows there, about which nothing is promised.
const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 10));

/// Connections that the servers have got and not taken yet, and by which address.
pub(super) type Arrivals = Arc<Mutex<Vec<(IpAddr, Pipe)>>>;

/// The network around a gateway's program.
#[derive(Clone, Debug)]
pub(super) struct Lan {
    runtime: Virtual,
    arrivals: Arrivals,
}

impl Lan {
    pub(super) const fn new(runtime: Virtual, arrivals: Arrivals) -> Self {
        Self { runtime, arrivals }
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
    type Udp = NoUdp;
    type Tasks = Running;

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
        _: String,
        port: u16,
        done: impl FnOnce(io::Result<Vec<SocketAddr>>) + Send + 'static,
    ) -> io::Result<()> {
        done(Ok(vec![SocketAddr::new(ELSEWHERE, port)]));
        Ok(())
    }

    fn socket_to(&self, _: SocketAddr, _: Option<SocketAddr>) -> io::Result<NoUdp> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn socket_between(&self, _: SocketAddr, _: SocketAddr, _: bool) -> io::Result<NoUdp> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
