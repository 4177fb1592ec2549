//! Flows that come from remote gateways.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bentpipe_bond::Use;
use bentpipe_units::{Instant, Span};
use bytes::Bytes;

use crate::carrier::Carrier;
use crate::flow::Reach;
use crate::flows::{Flow, Room};
use crate::open::{self, Destination, Open, Verdict};
use crate::peer::{Remote, ended};
use crate::{Gateway, Network, Tasks as _, Tcp as _, relay};
use bentpipe_association::host::{Connection, Joining};

/// Time for a remote gateway to say what it wants.
const OPEN_TIMEOUT: Span = Span::from_secs(60);

/// A flow waits no longer than this because so many begin at once: browsers open dozens of connections in a moment, and a
/// client takes a reset for an answer.
const BURST: Span = Span::from_secs(2);
/// Time for a name to be looked up.
const LOOKUP: Span = Span::from_secs(10);
const SECOND: u64 = 1_000_000_000;

/// Serves remote gateways for ever.
pub(crate) async fn serve<N: Network>(inner: Arc<Gateway<N>>) -> io::Result<()> {
    // With this future end all of them.
    let mut flows = inner.network.tasks();
    loop {
        let connection = tokio::select! {
            biased;
            () = flows.ended() => continue,
            connection = inner.host.accept() => connection,
        };
        let inner = inner.clone();
        flows.spawn(async move {
            if let Err(error) = greet(&inner, connection).await {
                tracing::debug!(%error, "a flow from a remote gateway ended early");
            }
        });
    }
}

/// Finds out what a connection is for.
async fn greet<N: Network>(inner: &Gateway<N>, connection: Connection) -> io::Result<()> {
    let peer = connection.peer();
    let remote = inner.peers.values().find(|remote| remote.key == peer);
    let Some(remote) = remote else {
        connection.abort();
        return Ok(());
    };
    let carrier = Carrier::Single(connection);
    let opening = inner.network.timeout(OPEN_TIMEOUT, open::read(&carrier)).await;
    let (open, first) = opening.ok_or(io::ErrorKind::TimedOut)??;
    let Carrier::Single(connection) = carrier else { return Ok(()) };
    match open {
        Open::Hold => {
            if !remote.is_up.swap(true, Ordering::Relaxed) {
                remote.say_up(inner.seconds());
            }
            remote.holds.fetch_add(1, Ordering::Relaxed);
            let address = inner.host.peer_state(remote.key).address;
            if let Some((one, other)) =
                address.and_then(|from| remote.rivals.note(inner.seconds(), from))
            {
                let name = &remote.name;
                tracing::warn!(
                    "peer {name}: connected from {one} and {other} in alternation; do two terminals use the same key?"
                );
            }
            let why = ended(&connection).await;
            // A terminal that was restarted holds another one by now.
            if remote.holds.fetch_sub(1, Ordering::Relaxed) == 1 {
                remote.is_up.store(false, Ordering::Relaxed);
                remote.say_down(&why, inner.seconds());
            }
            Ok(())
        }
        Open::Flow { to, from } => {
            serve_flow(inner, remote, Carrier::Single(connection), first, to, from).await
        }
        Open::Bonded { to, from, link, spills } => {
            let carrier = inner.bond(joining(connection, link, spills), first)?;
            let _listed = remote.bonds.add(&carrier);
            let bonded = carrier.bonded();
            let served = serve_flow(inner, remote, carrier, Bytes::new(), to, from);
            inner.driven(bonded, None, served).await
        }
        Open::Join { first: number, link, spills } => {
            // Where the flow has ended by now the end of this connection says nothing of it.
            let Some(bonded) = remote.bonds.find(number) else { return Ok(()) };
            bonded.join(joining(connection, link, spills), first)
        }
    }
}

/// A connection that a remote gateway has opened for a bond.
fn joining(connection: Connection, link: u8, spills: bool) -> Joining {
    let carries = if spills { Use::Spill } else { Use::Always };
    Joining { connection, link: usize::from(link), carries, greeting: Bytes::new() }
}

/// Connects a flow to where it leads, and carries it.
async fn serve_flow<N: Network>(
    inner: &Gateway<N>,
    remote: &Remote,
    carrier: Carrier,
    first: Bytes,
    to: Destination,
    from: SocketAddr,
) -> io::Result<()> {
    let refuse = async |verdict: Verdict| {
        inner.refused(&remote.name, from, &to, verdict);
        carrier.write_bytes(open::frame(&verdict)).await
    };
    let Some(wait) =
        remote.pace.reserve(inner.host.now(), inner.config.limits.new_per_second, BURST)
    else {
        return refuse(Verdict::Busy).await;
    };
    if !wait.is_zero() {
        inner.network.sleep(wait).await;
    }
    let permit = remote.places.clone().try_acquire_owned();
    let Ok(permit) = permit else { return refuse(Verdict::Busy).await };
    let flow = Flow::begin(inner, remote, from, to.clone(), Room::There { _permit: permit });
    flow.goes_by(&carrier);
    let source = inner.source(from);
    let mut tcp = match inner.connect_allowed(&remote.name, &to, source).await {
        Ok(tcp) => tcp,
        Err(verdict) => return refuse(verdict).await,
    };
    carrier.write_bytes(open::frame(&Verdict::Connected)).await?;
    let ended =
        relay::relay(&inner.network, &mut tcp, carrier, relay::Before::Bytes(first), &flow).await;
    inner.note(ended, &flow)
}

impl<N: Network> Gateway<N> {
    /// Connects to a destination, if flows of remote gateways may lead there, from the address of `source`
    /// if there is one.
    async fn connect_allowed(
        &self,
        peer: &str,
        to: &Destination,
        source: Option<SocketAddr>,
    ) -> Result<N::Tcp, Verdict> {
        self.connect_those(peer, to, source, |address| self.policy.allows(&self.network, address))
            .await
    }

    /// Connects to a destination without the remote gateway.
    pub(crate) async fn connect_directly(
        &self,
        to: &Destination,
        client: SocketAddr,
        reach: Reach,
    ) -> Result<N::Tcp, Verdict> {
        let may = |address| {
            reach == Reach::Everywhere || self.policy.allows_outside(&self.network, address)
        };
        self.connect_those(&client.ip().to_string(), to, None, may).await
    }

    /// The address from which to connect for a client, if that is the client's. One that means only its own
    /// host, such as that of a proxy's user on the terminal, is nothing that others could answer.
    pub(crate) fn source(&self, client: SocketAddr) -> Option<SocketAddr> {
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
    pub(crate) async fn look_up(
        &self,
        owner: &str,
        to: &Destination,
    ) -> Result<Vec<SocketAddr>, Verdict> {
        match to {
            Destination::Address(address) => Ok(vec![*address]),
            Destination::Name(name, port) => {
                let timeout = self.config.limits.connect_timeout.0.min(LOOKUP);
                self.lookups.look_up(&self.network, owner, name, *port, timeout).await
            }
        }
    }

    async fn connect_those(
        &self,
        owner: &str,
        to: &Destination,
        source: Option<SocketAddr>,
        those: impl Fn(SocketAddr) -> bool,
    ) -> Result<N::Tcp, Verdict> {
        let addresses = self.look_up(owner, to).await?;
        let timeout = self.config.limits.connect_timeout.0;
        let mut verdict = Verdict::Forbidden;
        for address in addresses.into_iter().filter(|address| those(*address)) {
            let connecting = self.network.connect(address, source);
            match self.network.timeout(timeout, connecting).await {
                // From now on nobody takes it for an end if this host goes away.
                Some(Ok(tcp)) => match tcp.guard() {
                    Ok(()) => return Ok(tcp),
                    Err(error) => verdict = Verdict::from(&error),
                },
                Some(Err(error)) => verdict = Verdict::from(&error),
                None => verdict = Verdict::TimedOut,
            }
        }
        Err(verdict)
    }
}

/// Lets only so many flows begin in a second.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// When all that began so far would have begun one after the other, in nanoseconds.
    due: AtomicU64,
}

impl Pace {
    /// How long one more flow has to wait before it begins, where so many may begin in a second; `None` if that is longer than
    /// `most`. As many as are allowed in a second may begin at once.
    pub(crate) fn reserve(&self, now: Instant, per_second: u32, most: Span) -> Option<Span> {
        let (now, each) = (now.as_nanos(), SECOND / u64::from(per_second.max(1)));
        let wait = |due: u64| Span::from_nanos((due.max(now) + each).saturating_sub(now + SECOND));
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
        let (pace, at) = (Pace::default(), Instant::from_nanos);
        let all: Vec<Option<u64>> =
            (0..16).map(|_| Some(pace.reserve(at(5), 4, BURST)?.as_nanos() / 1_000_000)).collect();
        let waits = [0, 0, 0, 0, 250, 500, 750, 1000, 1250, 1500, 1750, 2000];
        assert_eq!(all[..12], waits.map(Some));
        assert_eq!(all[12..], [None; 4]);
        assert_eq!(pace.reserve(at(5 + SECOND), 4, Span::ZERO), None, "it comes behind the others");
        assert_eq!(pace.reserve(at(5 + 4 * SECOND), 4, Span::ZERO), Some(Span::ZERO));
    }
}
