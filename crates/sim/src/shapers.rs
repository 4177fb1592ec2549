//! Links that the connections of proxies share: in scheduling rounds, or by windows.

use bentpipe_pep::satpep::{Member, Windows};
use bentpipe_pep::scheduler::Scheduler;
use bentpipe_units::{ByteCount, Instant, Span};

use crate::connection::Connection;
use crate::endpoints::{End, Ends, Proxied};
use crate::events::Slot;
use crate::network::Network;
use crate::proxies::Proxies;
use crate::{Encapsulation, SchedulerSpec, Sharing};

/// What lets several connections send over one link.
#[derive(Debug)]
pub(crate) struct Shaper {
    sharing: Shared,
    /// The end of each member.
    members: Vec<usize>,
}

/// How the link is shared.
#[derive(Debug)]
enum Shared {
    Rounds(Scheduler),
    Windows(Windows),
}

impl Shaper {
    pub(crate) fn new(spec: &SchedulerSpec) -> Self {
        Self { sharing: Shared::new(spec), members: Vec::new() }
    }

    /// An end more that shares the link. Returns its number here.
    pub(crate) fn join(&mut self, end: usize, weight: u32) -> u32 {
        self.members.push(end);
        self.sharing.join(weight)
    }

    /// Its members send in rounds.
    pub(crate) const fn has_rounds(&self) -> bool {
        matches!(self.sharing, Shared::Rounds(_))
    }
}

impl Shared {
    fn new(spec: &SchedulerSpec) -> Self {
        match spec.sharing {
            Sharing::Turns(rounds) => Self::Rounds(Scheduler::new(spec.rate, rounds)),
            Sharing::Windows(mss) => Self::Windows(Windows::new(spec.rate, mss)),
        }
    }

    fn join(&mut self, weight: u32) -> u32 {
        match self {
            Self::Rounds(rounds) => rounds.join(weight),
            Self::Windows(windows) => windows.join(),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Rounds(rounds) => rounds.poll_timeout(),
            Self::Windows(windows) => windows.poll_timeout(),
        }
    }
}

impl Proxies {
    /// A member of a shaper changed: it may have something to send, or a round trip that is known.
    pub(crate) fn wake_member(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        ends: &mut Ends,
        relay: u32,
        (shaper, member): (usize, u32),
    ) {
        match &mut self.shapers[shaper].sharing {
            Shared::Rounds(rounds) => {
                rounds.wake(member);
                self.serve_rounds(now, network, ends, shaper);
            }
            Shared::Windows(_) => self.admit(now, network, ends, relay, (shaper, member)),
        }
    }

    /// A connection whose round trip is known gets its first window.
    fn admit(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        ends: &mut Ends,
        relay: u32,
        (shaper, member): (usize, u32),
    ) {
        let Shaper { sharing: Shared::Windows(windows), members } = &mut self.shapers[shaper]
        else {
            return;
        };
        if windows.window(member) != ByteCount::ZERO {
            return;
        }
        let index = members[member as usize];
        let Some(connection) = &mut ends[index].endpoint else { return };
        let endpoint = connection.endpoint_mut();
        let Some(rtt) = endpoint.sender_state().srtt else { return };
        let window = windows.admit(now, member, rtt);
        endpoint.override_cwnd(now, window);
        self.set_shaper_timer(now, network, shaper);
        let side = self.all[relay as usize].sender.other();
        self.drain(now, network, ends, Proxied { relay, side });
    }

    /// A round trip of a link is over: its connections get new windows.
    fn adjust(&mut self, now: Instant, network: &mut Network<'_>, ends: &mut Ends, shaper: usize) {
        let (mut members, mut rtts) = (Vec::new(), Vec::new());
        let (mut sent, mut in_flight) = (0, 0);
        for proxy in &self.all {
            let Some((_, number)) = proxy.shaper.filter(|(known, _)| *known == shaper) else {
                continue;
            };
            let side = proxy.sender.other();
            let Some(connection) = &ends[proxy.near + side as usize].endpoint else { continue };
            let endpoint = connection.endpoint();
            let (state, counted) = (endpoint.sender_state(), endpoint.counters());
            let headers = Encapsulation::Ip.overhead().get();
            sent += counted.bytes_sent + headers * counted.segments_sent;
            let Some(rtt) = state.srtt.filter(|_| !endpoint.is_closed()) else { continue };
            in_flight += state.in_flight.get();
            let waits = proxy.relay.occupied(proxy.sender) > state.in_flight;
            members.push(Member { number, waits });
            rtts.push(rtt);
        }
        let Shared::Windows(windows) = &mut self.shapers[shaper].sharing else { return };
        let rtt = rtts.iter().fold(Span::ZERO, |sum, rtt| sum + *rtt) / rtts.len().max(1) as u64;
        let least = rtts.iter().copied().min().unwrap_or(Span::ZERO);
        let on_the_way = windows.holds(least);
        let queue = ByteCount::new(in_flight) - on_the_way.min(ByteCount::new(in_flight));
        windows.adjust(now, rtt, ByteCount::new(sent), queue, &members);
        let granted: Vec<_> =
            members.iter().map(|m| (m.number, windows.window(m.number))).collect();
        for (number, window) in granted {
            let index = self.shapers[shaper].members[number as usize];
            let End { endpoint: Some(connection), proxied: Some(proxied), .. } = &mut ends[index]
            else {
                continue;
            };
            let proxied = *proxied;
            connection.endpoint_mut().override_cwnd(now, window);
            self.drain(now, network, ends, proxied);
        }
        self.set_shaper_timer(now, network, shaper);
    }

    /// The timer of a shaper fired.
    pub(crate) fn fire(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        ends: &mut Ends,
        slot: Slot,
    ) {
        network.queue.clear(slot);
        let shaper = (slot - self.first_shaper) as usize;
        match &self.shapers[shaper].sharing {
            Shared::Rounds(_) => self.serve_rounds(now, network, ends, shaper),
            Shared::Windows(_) => self.adjust(now, network, ends, shaper),
        }
    }

    fn set_shaper_timer(&self, now: Instant, network: &mut Network<'_>, shaper: usize) {
        if let Some(at) = self.shapers[shaper].sharing.poll_timeout() {
            network.queue.set_timer(self.first_shaper + shaper as Slot, at.max(now));
        }
    }

    /// Lets the members of a shaper send while the link is free, one after another.
    fn serve_rounds(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        ends: &mut Ends,
        shaper: usize,
    ) {
        while let Shared::Rounds(rounds) = &self.shapers[shaper].sharing
            && let Some(member) = rounds.next(now)
        {
            let index = self.shapers[shaper].members[member as usize];
            let end = &mut ends[index];
            let endpoint = end.endpoint.as_mut().map(Connection::endpoint_mut);
            let sent = endpoint.and_then(|endpoint| {
                let sent = endpoint.poll_transmit(now, network.place())?;
                if let Some(header) = endpoint.take_congestion() {
                    network.set_congestion(header);
                }
                Some(sent)
            });
            let Shared::Rounds(rounds) = &mut self.shapers[shaper].sharing else { return };
            if sent.is_some() {
                let [node, peer] = end.paths[0];
                let bytes = network.send(now, node, peer);
                rounds.sent(now, member, bytes);
            } else {
                rounds.passed(member);
            }
            self.set_end_timer(now, network, ends, index);
        }
        self.set_shaper_timer(now, network, shaper);
    }
}
