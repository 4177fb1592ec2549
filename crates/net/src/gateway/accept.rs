//! Flows that come from far gateways.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;

use super::counters::Counters;
use super::flow::Reach;
use super::flows::{Flow, Room};
use super::open::{self, Destination, Open, Verdict};
use super::{Far, Inner, relay};
use crate::connection::Connection;
use crate::sockets;

/// Time for a far gateway to say what it wants.
const GREETING: Duration = Duration::from_secs(60);

/// Serves far gateways for ever.
pub(super) async fn serve(inner: Arc<Inner>) -> io::Result<()> {
    // With this future end all of them.
    let mut flows = JoinSet::new();
    loop {
        let connection = tokio::select! {
            connection = inner.host.accept() => connection,
            Some(_) = flows.join_next() => continue,
        };
        let inner = inner.clone();
        flows.spawn(async move {
            if let Err(error) = greet(&inner, connection).await {
                tracing::debug!(%error, "a flow from a far gateway ended early");
            }
        });
    }
}

/// Finds out what a connection is for.
async fn greet(inner: &Inner, connection: Connection) -> io::Result<()> {
    let peer = connection.peer();
    let far = inner.peers.values().find(|far| far.key == peer);
    let Some(far) = far else {
        connection.abort();
        return Ok(());
    };
    let greeting = tokio::time::timeout(GREETING, open::read(&connection));
    let (open, first) = greeting.await.map_err(io::Error::from)??;
    match open {
        Open::Hold => {
            far.is_up.store(true, Ordering::Relaxed);
            far.holds.fetch_add(1, Ordering::Relaxed);
            while let Ok(Some(_)) = connection.read_bytes().await {}
            // A terminal that was restarted holds another one by now.
            if far.holds.fetch_sub(1, Ordering::Relaxed) == 1 {
                far.is_up.store(false, Ordering::Relaxed);
            }
            Ok(())
        }
        Open::Flow { to, from } => serve_flow(inner, far, connection, first, to, from).await,
    }
}

/// Connects a flow to where it leads, and carries it.
async fn serve_flow(
    inner: &Inner,
    far: &Far,
    connection: Connection,
    first: Bytes,
    to: Destination,
    from: SocketAddr,
) -> io::Result<()> {
    let refuse = async |verdict: Verdict| {
        tracing::debug!(%from, %to, %verdict, "a flow was not connected");
        Counters::add(&inner.counters.refused, 1);
        connection.write_bytes(open::frame(&verdict)).await
    };
    let permit = far.places.clone().try_acquire_owned().ok().filter(|_| far.pace.admits(inner));
    let Some(permit) = permit else { return refuse(Verdict::Busy).await };
    let flow = Flow::begin(inner, far, from, to.clone(), Room::There { _permit: permit });
    flow.goes_by(&connection);
    let source = inner.source(from);
    let mut tcp = match inner.connect_allowed(&to, source).await {
        Ok(tcp) => tcp,
        Err(verdict) => return refuse(verdict).await,
    };
    connection.write_bytes(open::frame(&Verdict::Connected)).await?;
    let ended = relay::relay(&mut tcp, connection, relay::Before::Bytes(first), &flow).await;
    inner.note(ended)
}

impl Inner {
    /// Connects to a destination, if flows of far gateways may lead there, from the address of `source`
    /// if there is one.
    async fn connect_allowed(
        &self,
        to: &Destination,
        source: Option<SocketAddr>,
    ) -> Result<TcpStream, Verdict> {
        self.connect_those(to, source, |address| self.policy.allows(address)).await
    }

    /// Connects to a destination without the far gateway.
    pub(super) async fn connect_directly(
        &self,
        to: &Destination,
        reach: Reach,
    ) -> Result<TcpStream, Verdict> {
        let may = |address| reach == Reach::Everywhere || self.policy.allows_outside(address);
        self.connect_those(to, None, may).await
    }

    /// The address from which to connect for a client, if that is the client's. One that means only its own
    /// host, such as that of a proxy's user on the terminal, is nothing that others could answer.
    pub(super) fn source(&self, client: SocketAddr) -> Option<SocketAddr> {
        let is_own = match client.ip().to_canonical() {
            IpAddr::V4(ip) => {
                ip.is_loopback() || ip.is_unspecified() || ip.is_link_local() || ip.is_multicast()
            }
            IpAddr::V6(ip) => {
                ip.is_loopback()
                    || ip.is_unspecified()
                    || ip.is_unicast_link_local()
                    || ip.is_multicast()
            }
        };
        (self.config.transparent_source && !is_own).then_some(client)
    }

    /// The addresses of a destination.
    pub(super) async fn look_up(&self, to: &Destination) -> Result<Vec<SocketAddr>, Verdict> {
        match to {
            Destination::Address(address) => Ok(vec![*address]),
            Destination::Name(name, port) => {
                let found = lookup_host((name.as_str(), *port)).await;
                Ok(found.map_err(|_| Verdict::UnknownName)?.collect())
            }
        }
    }

    async fn connect_those(
        &self,
        to: &Destination,
        source: Option<SocketAddr>,
        those: impl Fn(SocketAddr) -> bool,
    ) -> Result<TcpStream, Verdict> {
        let addresses = self.look_up(to).await?;
        let patience = Duration::from_nanos(self.config.limits.connect_timeout.0.as_nanos());
        let mut verdict = Verdict::Forbidden;
        for address in addresses.into_iter().filter(|address| those(*address)) {
            match tokio::time::timeout(patience, sockets::connect(address, source)).await {
                Ok(Ok(tcp)) => return Ok(tcp),
                Ok(Err(error)) => verdict = Verdict::from(&error),
                Err(_) => verdict = Verdict::TimedOut,
            }
        }
        Err(verdict)
    }
}

/// How many flows began in this second.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The second in the upper half, the flows in the lower.
    packed: AtomicU64,
}

impl Pace {
    /// Whether one more may begin.
    pub(super) fn admits(&self, inner: &Inner) -> bool {
        let second = inner.began.elapsed().as_secs();
        let most = u64::from(inner.config.limits.new_per_second);
        let more = self.packed.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |packed| {
            let count = if packed >> 32 == second { packed & 0xffff_ffff } else { 0 };
            (count < most).then_some(second << 32 | (count + 1))
        });
        more.is_ok()
    }
}
