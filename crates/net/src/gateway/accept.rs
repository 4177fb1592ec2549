//! Flows that come from far gateways.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::flow::Reach;
use super::flows::{Flow, Room};
use super::open::{self, Destination, Open, Verdict};
use super::{Far, Inner, relay};
use crate::sockets;
use bentpipe_association::host::Connection;

/// Time for a far gateway to say what it wants.
const GREETING: Duration = Duration::from_secs(60);

/// A flow waits no longer than this because so many begin at once: browsers open dozens of connections in a moment, and a
/// client takes a reset for an answer.
const BURST: Duration = Duration::from_secs(2);
/// Time for a name to be looked up.
const LOOKUP: Duration = Duration::from_secs(10);
const SECOND: u64 = 1_000_000_000;

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
            if !far.is_up.swap(true, Ordering::Relaxed) {
                far.say_whether_up(true);
            }
            far.holds.fetch_add(1, Ordering::Relaxed);
            let address = inner.host.peer_state(far.key).address;
            if let Some((one, other)) = address.and_then(|from| far.rivals.note(from)) {
                let name = &far.name;
                tracing::warn!(
                    "peer {name}: up from {one} and from {other} by turns; have two terminals the same key?"
                );
            }
            while let Ok(Some(_)) = connection.read_bytes().await {}
            // A terminal that was restarted holds another one by now.
            if far.holds.fetch_sub(1, Ordering::Relaxed) == 1 {
                far.is_up.store(false, Ordering::Relaxed);
                far.say_whether_up(false);
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
        inner.refused(&far.name, from, &to, verdict);
        connection.write_bytes(open::frame(&verdict)).await
    };
    let Some(wait) = far.pace.reserve(inner, BURST) else { return refuse(Verdict::Busy).await };
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
    let permit = far.places.clone().try_acquire_owned();
    let Ok(permit) = permit else { return refuse(Verdict::Busy).await };
    let flow = Flow::begin(inner, far, from, to.clone(), Room::There { _permit: permit });
    flow.goes_by(&connection);
    let source = inner.source(from);
    let mut tcp = match inner.connect_allowed(&far.name, &to, source).await {
        Ok(tcp) => tcp,
        Err(verdict) => return refuse(verdict).await,
    };
    connection.write_bytes(open::frame(&Verdict::Connected)).await?;
    let ended = relay::relay(&mut tcp, connection, relay::Before::Bytes(first), &flow).await;
    inner.note(ended, &flow)
}

impl Inner {
    /// Connects to a destination, if flows of far gateways may lead there, from the address of `source`
    /// if there is one.
    async fn connect_allowed(
        &self,
        peer: &str,
        to: &Destination,
        source: Option<SocketAddr>,
    ) -> Result<TcpStream, Verdict> {
        self.connect_those(peer, to, source, |address| self.policy.allows(address)).await
    }

    /// Connects to a destination without the far gateway.
    pub(super) async fn connect_directly(
        &self,
        to: &Destination,
        client: SocketAddr,
        reach: Reach,
    ) -> Result<TcpStream, Verdict> {
        let may = |address| reach == Reach::Everywhere || self.policy.allows_outside(address);
        self.connect_those(&client.ip().to_string(), to, None, may).await
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

    /// The addresses of a destination, looked up for `owner`.
    pub(super) async fn look_up(
        &self,
        owner: &str,
        to: &Destination,
    ) -> Result<Vec<SocketAddr>, Verdict> {
        match to {
            Destination::Address(address) => Ok(vec![*address]),
            Destination::Name(name, port) => {
                let patience =
                    Duration::from_nanos(self.config.limits.connect_timeout.0.as_nanos());
                self.lookups.look_up(owner, name, *port, patience.min(LOOKUP)).await
            }
        }
    }

    async fn connect_those(
        &self,
        owner: &str,
        to: &Destination,
        source: Option<SocketAddr>,
        those: impl Fn(SocketAddr) -> bool,
    ) -> Result<TcpStream, Verdict> {
        let addresses = self.look_up(owner, to).await?;
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

/// Lets only so many flows begin in a second.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When all that began so far would have begun one after the other, in nanoseconds.
    due: AtomicU64,
}

impl Pace {
    /// How long one more flow has to wait before it begins; `None` if that is longer than `most`.
    pub(super) fn reserve(&self, inner: &Inner, most: Duration) -> Option<Duration> {
        let now = inner.began.elapsed().as_nanos() as u64;
        self.reserve_at(now, inner.config.limits.new_per_second, most)
    }

    /// The same at this time. As many as are allowed in a second may begin at once.
    fn reserve_at(&self, now: u64, per_second: u32, most: Duration) -> Option<Duration> {
        let each = SECOND / u64::from(per_second.max(1));
        let wait =
            |due: u64| Duration::from_nanos((due.max(now) + each).saturating_sub(now + SECOND));
        let more = self.due.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |due| {
            (wait(due) <= most).then_some(due.max(now) + each)
        });
        more.ok().map(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_waits_its_turn_and_what_would_wait_too_long_is_refused() {
        let pace = Pace::default();
        let all: Vec<Option<u128>> =
            (0..16).map(|_| Some(pace.reserve_at(5, 4, BURST)?.as_millis())).collect();
        let waits = [0, 0, 0, 0, 250, 500, 750, 1000, 1250, 1500, 1750, 2000];
        assert_eq!(all[..12], waits.map(Some));
        assert_eq!(all[12..], [None; 4]);
        assert_eq!(
            pace.reserve_at(5 + SECOND, 4, Duration::ZERO),
            None,
            "it comes behind the others"
        );
        assert_eq!(pace.reserve_at(5 + 4 * SECOND, 4, Duration::ZERO), Some(Duration::ZERO));
    }
}
