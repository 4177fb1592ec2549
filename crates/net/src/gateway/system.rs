//! The network of a gateway as Linux has it.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use bentpipe_association::host::Runtime;
use bentpipe_gateway::{Network, Surroundings, Tasks};
use bentpipe_units::{Instant, Span};
use ipnet::IpNet;
use tokio::task::JoinSet;

use super::neighbours::Neighbours;
use super::streams::{Datagrams, Stream};
use crate::esp_sockets::EspSocket;
use crate::runtime::Tokio;
use crate::{sockets, udp_sockets};

/// The sockets, names and tasks of this machine.
#[derive(Clone, Debug, Default)]
pub(super) struct System {
    neighbours: Arc<Neighbours>,
}

impl Runtime for System {
    fn now(&self) -> Instant {
        Tokio.now()
    }

    async fn sleep(&self, span: Span) {
        Tokio.sleep(span).await;
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        Tokio.blocking(work).await
    }
}

impl Surroundings for System {
    fn is_own(&self, to: SocketAddr) -> bool {
        sockets::is_own(to)
    }

    fn network_of(&self, ip: IpAddr) -> Option<IpNet> {
        self.neighbours.network_of(ip)
    }
}

impl Network for System {
    type Tcp = Stream;
    type Udp = Datagrams;
    type Tasks = Running;

    fn calendar(&self) -> u64 {
        bentpipe_system::calendar()
    }

    fn tasks(&self) -> Running {
        Running::default()
    }

    async fn connect(&self, to: SocketAddr, source: Option<SocketAddr>) -> io::Result<Stream> {
        sockets::connect(to, source).await.map(Stream)
    }

    fn look_up(
        &self,
        name: String,
        port: u16,
        done: impl FnOnce(io::Result<Vec<SocketAddr>>) + Send + 'static,
    ) -> io::Result<()> {
        // A name server that does not answer holds the thread for as long as the system's resolver asks it.
        let thread = std::thread::Builder::new().name("bentpipe-names".to_owned());
        let look_up = move || {
            done((name.as_str(), port).to_socket_addrs().map(Vec::from_iter));
        };
        thread.spawn(look_up).map(drop)
    }

    fn socket_to(&self, to: SocketAddr, source: Option<SocketAddr>) -> io::Result<Datagrams> {
        udp_sockets::to(to, source).map(Datagrams::Udp)
    }

    fn socket_between(
        &self,
        here: SocketAddr,
        client: SocketAddr,
        transparent: bool,
    ) -> io::Result<Datagrams> {
        udp_sockets::between(here, client, transparent).map(Datagrams::Udp)
    }

    fn esp_to(&self, to: IpAddr, client: IpAddr) -> io::Result<Datagrams> {
        EspSocket::to(to, client).map(Datagrams::Esp)
    }
}

/// Tasks of tokio. They end with it.
#[derive(Debug, Default)]
pub(super) struct Running(JoinSet<()>);

impl Tasks for Running {
    fn spawn(&mut self, future: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(future);
    }

    async fn ended(&mut self) {
        if self.0.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    fn reap(&mut self) {
        while self.0.try_join_next().is_some() {}
    }
}
