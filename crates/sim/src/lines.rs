//! Lines that the connections of proxies share: in turn, or by windows.

use bentpipe_pep::satpep::{Member, Windows};
use bentpipe_pep::scheduler::Scheduler;
use bentpipe_units::{ByteCount, Instant, Span};

use crate::connection::Connection;
use crate::endpoints::{End, Endpoints};
use crate::events::{CLOCKS, Slot};
use crate::network::Network;
use crate::splices::Spliced;
use crate::{Encapsulation, SchedulerSpec, Sharing};

/// A line that several connections share.
#[derive(Debug)]
pub(crate) struct Line {
    law: Law,
    /// The end of each member.
    members: Vec<usize>,
}

/// How a line is shared.
#[derive(Debug)]
enum Law {
    Turns(Scheduler),
    Windows(Windows),
}

impl Line {
    pub(crate) fn new(spec: &SchedulerSpec) -> Self {
        Self { law: Law::new(spec), members: Vec::new() }
    }

    /// An end more that shares the line. Returns its number there.
    pub(crate) fn join(&mut self, end: usize, weight: u32) -> u32 {
        self.members.push(end);
        self.law.join(weight)
    }

    /// Its members send in turn.
    pub(crate) const fn has_turns(&self) -> bool {
        matches!(self.law, Law::Turns(_))
    }
}

impl Law {
    fn new(spec: &SchedulerSpec) -> Self {
        match spec.sharing {
            Sharing::Turns(turns) => Self::Turns(Scheduler::new(spec.rate, turns)),
            Sharing::Windows(mss) => Self::Windows(Windows::new(spec.rate, mss)),
        }
    }

    fn join(&mut self, weight: u32) -> u32 {
        match self {
            Self::Turns(turns) => turns.join(weight),
            Self::Windows(windows) => windows.join(),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Turns(turns) => turns.poll_timeout(),
            Self::Windows(windows) => windows.poll_timeout(),
        }
    }
}

impl Endpoints {
    /// A member of a line changed: it may have something to send, or a round trip that is known.
    pub(crate) fn share_line(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        splice: u32,
        line: usize,
        member: u32,
    ) {
        match &mut self.splices.lines[line].law {
            Law::Turns(turns) => {
                turns.wake(member);
                self.take_turns(now, network, line as u32);
            }
            Law::Windows(_) => self.admit(now, network, splice, line, member),
        }
    }

    /// A connection whose round trip is known gets its first window.
    fn admit(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        splice: u32,
        line: usize,
        member: u32,
    ) {
        let Line { law: Law::Windows(windows), members } = &mut self.splices.lines[line] else {
            return;
        };
        if windows.window(member) != ByteCount::ZERO {
            return;
        }
        let index = members[member as usize];
        let Some(connection) = &mut self.ends[index].endpoint else { return };
        let endpoint = connection.endpoint_mut();
        let Some(rtt) = endpoint.sender_state().srtt else { return };
        let window = windows.admit(now, member, rtt);
        endpoint.override_cwnd(now, window);
        self.set_line_timer(now, network, line);
        let side = self.splices.all[splice as usize].sender.other();
        self.settle_splice(now, network, Spliced { splice, side });
    }

    /// A round trip of a line is over: its connections get new windows.
    fn adjust(&mut self, now: Instant, network: &mut Network<'_>, line: usize) {
        let (mut members, mut rtts) = (Vec::new(), Vec::new());
        let (mut sent, mut in_flight) = (0, 0);
        for splice in &self.splices.all {
            let Some((_, number)) = splice.line.filter(|(known, _)| *known == line) else {
                continue;
            };
            let side = splice.sender.other();
            let Some(connection) = &self.ends[splice.near + side as usize].endpoint else {
                continue;
            };
            let endpoint = connection.endpoint();
            let (state, counted) = (endpoint.sender_state(), endpoint.counters());
            let headers = Encapsulation::Ip.overhead().get();
            sent += counted.bytes_sent + headers * counted.segments_sent;
            let Some(rtt) = state.srtt.filter(|_| !endpoint.is_closed()) else { continue };
            in_flight += state.in_flight.get();
            let waits = splice.relay.occupied(splice.sender) > state.in_flight;
            members.push(Member { number, waits });
            rtts.push(rtt);
        }
        let Law::Windows(windows) = &mut self.splices.lines[line].law else { return };
        let rtt = rtts.iter().fold(Span::ZERO, |sum, rtt| sum + *rtt) / rtts.len().max(1) as u64;
        let least = rtts.iter().copied().min().unwrap_or(Span::ZERO);
        let on_the_way = windows.holds(least);
        let queue = ByteCount::new(in_flight) - on_the_way.min(ByteCount::new(in_flight));
        windows.adjust(now, rtt, ByteCount::new(sent), queue, &members);
        let granted: Vec<_> =
            members.iter().map(|m| (m.number, windows.window(m.number))).collect();
        for (number, window) in granted {
            let index = self.splices.lines[line].members[number as usize];
            let End { endpoint: Some(connection), spliced: Some(spliced), .. } =
                &mut self.ends[index]
            else {
                continue;
            };
            let spliced = *spliced;
            connection.endpoint_mut().override_cwnd(now, window);
            self.settle_splice(now, network, spliced);
        }
        self.set_line_timer(now, network, line);
    }

    /// The timer of a line fired.
    pub(crate) fn serve_line(&mut self, now: Instant, network: &mut Network<'_>, line: u32) {
        match &self.splices.lines[line as usize].law {
            Law::Turns(_) => self.take_turns(now, network, line),
            Law::Windows(_) => self.adjust(now, network, line as usize),
        }
    }

    fn set_line_timer(&self, now: Instant, network: &mut Network<'_>, line: usize) {
        if let Some(at) = self.splices.lines[line].law.poll_timeout() {
            let slot = self.ends.len() + CLOCKS + self.generated.len() + line;
            network.queue.set_timer(self.first_slot + slot as Slot, at.max(now));
        }
    }

    /// Lets the members of a line send while it is free, one after another.
    fn take_turns(&mut self, now: Instant, network: &mut Network<'_>, line: u32) {
        let line = line as usize;
        while let Law::Turns(turns) = &self.splices.lines[line].law
            && let Some(member) = turns.next(now)
        {
            let index = self.splices.lines[line].members[member as usize];
            let end = &mut self.ends[index];
            let endpoint = end.endpoint.as_mut().map(Connection::endpoint_mut);
            let sent = endpoint.and_then(|endpoint| {
                let sent = endpoint.poll_transmit(now, network.place())?;
                if let Some(header) = endpoint.take_congestion() {
                    network.set_congestion(header);
                }
                Some(sent)
            });
            let Law::Turns(turns) = &mut self.splices.lines[line].law else { return };
            if sent.is_some() {
                let [node, peer] = end.paths[0];
                let bytes = network.send(now, node, peer);
                turns.sent(now, member, bytes);
            } else {
                turns.passed(member);
            }
            self.set_end_timer(now, network, index);
        }
        self.set_line_timer(now, network, line);
    }
}
