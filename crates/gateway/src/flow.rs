//! A flow that begins here, from its first packet to its last.

use std::fmt::Display;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use tokio::io::AsyncWriteExt as _;

use crate::carrier::Carrier;
use crate::counters::Counters;
use crate::flows::{Flow, Room};
use crate::open::{self, Destination, Open, Verdict};
use crate::peer::Remote;
use crate::places::{Kind, Place};
use crate::relay::{self, Before, Ended};
use crate::{Fallback, Gateway, Network, PORT, Tcp as _};
use bentpipe_association::endpoint::Links;
use bentpipe_association::host::{Bonded, Joining};
use bentpipe_bond::Use;

/// Where a flow may lead that goes without the remote gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Where its client could go by itself, or where the operator leads it.
    Everywhere,
    /// Where a proxy lets others go: not into this host and its networks, unless they are named.
    Outside,
}

/// A flow on its way.
#[derive(Debug)]
pub struct Begun<T> {
    flow: Flow,
    /// The remote gateway's name.
    peer: String,
    path: Path<T>,
}

#[derive(Debug)]
enum Path<T> {
    /// To the remote gateway, which has said this so far.
    Remote(Carrier, Before),
    /// Without it.
    Direct(T),
}

impl<T> Begun<T> {
    /// Its client has shown that it is where it says.
    pub fn prove(&mut self) {
        self.flow.prove();
    }

    /// Nobody wants it any more: the server sees a reset.
    pub fn give_up(self) {
        if let Path::Remote(carrier, _) = self.path {
            carrier.abort();
        }
    }
}

impl<N: Network> Gateway<N> {
    /// Begins a flow. Its client has a place among those of whom nothing was known, which ends now that it has one among
    /// the flows. With an early accept nobody waits for the remote gateway, and what it says comes to
    /// light later.
    ///
    /// # Errors
    /// Why there can be no such flow.
    pub async fn begin(
        &self,
        peer: &str,
        from: SocketAddr,
        to: Destination,
        reach: Reach,
        unknown: Option<Place>,
    ) -> Result<Begun<N::Tcp>, Verdict> {
        let begun = self.try_begin(peer, from, to.clone(), reach, unknown).await;
        if let Err(why) = begun {
            self.refused(peer, from, &to, why);
        }
        begun
    }

    async fn try_begin(
        &self,
        peer: &str,
        from: SocketAddr,
        to: Destination,
        reach: Reach,
        unknown: Option<Place>,
    ) -> Result<Begun<N::Tcp>, Verdict> {
        tracing::debug!(%from, %to, "a flow");
        // Whose request waits for the remote gateway has shown nothing yet.
        let kind = if unknown.is_some() { Kind::Connection } else { Kind::Datagrams };
        let place = self.places.take(from.ip(), kind, self.millis()).ok_or(Verdict::Busy)?;
        drop(unknown);
        let stay = place.stay();
        let remote = &self.peers[peer];
        let flow = Flow::begin(self, remote, from, to.clone(), Room::Here(place));
        tokio::select! {
            biased;
            begun = self.ask(remote, flow, from, to, reach) => begun,
            () = stay.over() => Err(Verdict::Busy),
        }
    }

    /// Asks the remote gateway for a flow, or the destination itself.
    async fn ask(
        &self,
        remote: &Remote,
        flow: Flow,
        from: SocketAddr,
        to: Destination,
        reach: Reach,
    ) -> Result<Begun<N::Tcp>, Verdict> {
        if self.config.fallback == Fallback::Direct && !remote.is_up.load(Ordering::Relaxed) {
            flow.goes_directly();
            let path = Path::Direct(self.connect_directly(&to, from, reach).await?);
            return Ok(Begun { flow, peer: remote.name.clone(), path });
        }
        // Whose place is looked up still is not waited for longer than for one that does not answer.
        let idle_timeout = self.config.limits.idle_timeout.0;
        let located = self.network.timeout(idle_timeout, remote.located.known()).await;
        located.ok_or(Verdict::Unreachable)?;
        let opened = self.open_carrier(remote, to, from).await;
        let carrier = opened.map_err(|_| Verdict::TimedOut)?;
        flow.goes_by(&carrier);
        let peer = remote.name.clone();
        if self.config.early_accept {
            return Ok(Begun { flow, peer, path: Path::Remote(carrier, Before::Verdict) });
        }
        let said = self.driven(carrier.bonded(), Some(remote), open::read(&carrier)).await;
        let (verdict, first) = said.unwrap_or((Verdict::TimedOut, Bytes::new()));
        if verdict != Verdict::Connected {
            carrier.abort();
            return Err(verdict);
        }
        Ok(Begun { flow, peer, path: Path::Remote(carrier, Before::Bytes(first)) })
    }

    /// Carries a connection whose client was never told of a gateway: until there is a flow, and from then on to its end.
    ///
    /// # Errors
    /// When it was cut off.
    pub async fn serve(
        &self,
        peer: &str,
        tcp: N::Tcp,
        from: SocketAddr,
        to: Destination,
        unknown: Option<Place>,
    ) -> io::Result<()> {
        // Nobody takes the end of this process, or that there is no flow, for the end of an answer.
        tcp.guard()?;
        match self.begin(peer, from, to, Reach::Everywhere, unknown).await {
            Ok(begun) => self.carry(begun, tcp, Bytes::new()).await,
            Err(_) => Ok(()),
        }
    }

    /// Carries a flow until it has ended, or its place goes to another client. `first` was read from the client
    /// already.
    ///
    /// # Errors
    /// When it was cut off.
    pub async fn carry(
        &self,
        begun: Begun<N::Tcp>,
        mut tcp: N::Tcp,
        first: Bytes,
    ) -> io::Result<()> {
        tcp.prepare()?;
        tcp.guard()?;
        let Begun { flow, peer, path } = begun;
        let Some(stay) = flow.stay() else { return Ok(()) };
        tokio::select! {
            biased;
            ended = self.carry_by(path, &self.peers[&peer], &flow, &mut tcp, first) => ended,
            () = stay.over() => self.note(Err(io::Error::other("its place went to another client")), &flow),
        }
    }

    async fn carry_by(
        &self,
        path: Path<N::Tcp>,
        remote: &Remote,
        flow: &Flow,
        tcp: &mut N::Tcp,
        first: Bytes,
    ) -> io::Result<()> {
        match path {
            Path::Direct(mut server) => {
                server.write_all(&first).await?;
                let copied = tokio::io::copy_bidirectional(tcp, &mut server).await?;
                flow.sent(first.len() + copied.0 as usize);
                flow.received(copied.1 as usize);
                tcp.complete()?;
                server.complete()
            }
            Path::Remote(carrier, before) => {
                let bonded = carrier.bonded();
                let carried = async {
                    relay::send_first(&carrier, first, flow).await?;
                    relay::relay(&self.network, tcp, carrier, before, flow).await
                };
                self.note(self.driven(bonded, Some(remote), carried).await, flow)
            }
        }
    }

    /// Opens what carries a flow to a remote gateway, and says there where it leads.
    async fn open_carrier(
        &self,
        remote: &Remote,
        to: Destination,
        from: SocketAddr,
    ) -> io::Result<Carrier> {
        let connection = self.host.open(remote.address(), remote.key, PORT, self.tuning.clone());
        if self.config.bonds() && remote.located.has_backup() {
            let link = self.host.peer_state(remote.key).link;
            let carries = self.config.use_of(link);
            let spills = carries == Use::Spill;
            let greeting = open::frame(&Open::Bonded { to, from, link: link as u8, spills });
            return self.bond(Joining { connection, link, carries, greeting }, Bytes::new());
        }
        connection.write_bytes(open::frame(&Open::Flow { to, from })).await?;
        Ok(Carrier::Single(connection))
    }

    /// A bond whose first connection this is, which has brought `came` already.
    pub(crate) fn bond(&self, first: Joining, came: Bytes) -> io::Result<Carrier> {
        let number = first.connection.reference().number();
        let bonded = Bonded::new(first, came, self.config.limits.buffer.0)?;
        Ok(Carrier::Bonded(bonded, number))
    }

    /// Carries what a bond has, if it is one, while a future is polled. Whoever has `begun` it adds links.
    pub(crate) async fn driven<T>(
        &self,
        bonded: Option<(Bonded, u32)>,
        begun: Option<&Remote>,
        future: impl Future<Output = T>,
    ) -> T {
        let driver = async {
            let Some((bonded, first)) = bonded else { return pending().await };
            let links = || begun.map_or_else(Links::default, |remote| self.host.links(remote.key));
            let join = |remote: &Remote, link: usize| {
                let (to, key) = (remote.address(), remote.key);
                let tuning = self.tuning.clone();
                let connection = self.host.open_by(Some(link), to, key, PORT, tuning);
                let carries = self.config.use_of(link);
                let spills = carries == Use::Spill;
                let greeting = open::frame(&Open::Join { first, link: link as u8, spills });
                Joining { connection, link, carries, greeting }
            };
            bonded.drive(&self.network, links, |link| begun.map(|remote| join(remote, link))).await;
        };
        tokio::select! {
            biased;
            output = future => output,
            () = driver => unreachable!("a bond is driven for ever"),
        }
    }

    /// Counts how a flow ended.
    pub(crate) fn note(&self, ended: io::Result<Ended>, flow: &Flow) -> io::Result<()> {
        match &ended {
            Ok(Ended::Carried) => {}
            Ok(Ended::NotConnected(verdict)) => {
                let entry = flow.entry();
                self.refused(&entry.peer, entry.client, &entry.destination, *verdict);
            }
            Err(_) => Counters::add(&self.counters.cut, 1),
        }
        ended.map(drop)
    }

    /// Counts a flow that could not be connected, and says so: the client has seen a reset, and no more.
    pub(crate) fn refused(&self, peer: &str, client: SocketAddr, to: &impl Display, why: Verdict) {
        self.counters.refuse(why);
        if let Some(skipped) = self.refusals.admit(self.seconds()) {
            // A peer writes what it likes there.
            let to = to.to_string();
            tracing::info!(peer, %client, ?to, reason = %why, skipped, "flow refused");
        }
    }
}
