//! Proxies that end connections: the relays between their ends. How they share a line is in
//! [`crate::lines`].

use std::ops::Range;

use bentpipe_link::Streams;
use bentpipe_pep::split::{self, Legs, Relay, Side};
use bentpipe_record::{Occupancy, ProxySample, ProxySummary, TransportCounters};
use bentpipe_transport::{Event, FullEndpoint, Host, PathId, ProxyLeg, drain, hear};
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::Segment;
use bentpipe_wire::xcp::Header;

use crate::connection::Connection;
use crate::endpoints::{Demuxes, End, Endpoints, proxy_ends};
use crate::events::Slot;
use crate::lines::Line;
use crate::network::Network;
use crate::{FlowSpec, RunSpec, SchedulerSpec};

/// Which end of which proxy's connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spliced {
    pub(crate) splice: u32,
    pub(crate) side: Side,
}

/// All splices, and the schedulers that let them send.
#[derive(Debug)]
pub(crate) struct Splices {
    pub(crate) all: Vec<Splice>,
    /// The splices of each pair of outer ends, in the order of the way.
    of_pair: Vec<Range<usize>>,
    pub(crate) lines: Vec<Line>,
}

/// One connection in a proxy: two ends and what joins them.
#[derive(Debug)]
pub(crate) struct Splice {
    pub(crate) relay: Relay,
    config: split::Config,
    /// Index of its near end; the far one follows.
    pub(crate) near: usize,
    flow: usize,
    /// Number of the proxy on the flow's way.
    proxy: usize,
    /// The leg that the data come by: that of the end which listens, unless the receiver opens.
    pub(crate) sender: Side,
    /// The line that the leg towards the receiver shares, and its number there.
    pub(crate) line: Option<(usize, u32)>,
    held: [Held; 2],
    /// What ends counted that were used again, and how many of them were reset.
    past: [TransportCounters; 2],
    resets: u64,
}

/// How much was held over time.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    bytes: u64,
    since: Instant,
    peak: u64,
    /// Bytes times seconds.
    integral: f64,
}

impl Held {
    fn note(&mut self, now: Instant, bytes: ByteCount) {
        self.integral += self.bytes as f64 * now.since(self.since).as_secs_f64();
        (self.bytes, self.since) = (bytes.get(), now);
        self.peak = self.peak.max(self.bytes);
    }
}

impl Splices {
    /// The proxies of all flows, whose ends are put behind the others.
    pub(crate) fn new(
        flows: &[FlowSpec],
        pairs: &[(usize, usize)],
        schedulers: &[SchedulerSpec],
        streams: &Streams,
        ends: &mut Vec<End>,
        demux: &mut Demuxes,
    ) -> Self {
        let mut lines: Vec<_> = schedulers.iter().map(Line::new).collect();
        let (mut all, mut of_pair) = (Vec::new(), Vec::new());
        for (number, (flow, (first, count))) in flows.iter().zip(pairs).enumerate() {
            for connection in 0..*count {
                let begin = all.len();
                for (proxy, spec) in flow.proxies.iter().enumerate() {
                    let near = ends.len();
                    let splice = all.len() as u32;
                    let pair =
                        proxy_ends(flow, first + connection, connection, splice, proxy, streams);
                    pair[0].listen(demux, near as u32);
                    pair[1].enter(demux, near as u32 + 1);
                    ends.extend(pair);
                    let sender = if flow.request.is_none() { Side::Near } else { Side::Far };
                    let line = spec.scheduler.map(|(line, weight)| {
                        (line, lines[line].join(near + sender.other() as usize, weight))
                    });
                    all.push(Splice {
                        relay: Relay::new(spec.relay),
                        config: spec.relay,
                        near,
                        flow: number,
                        proxy,
                        sender,
                        line,
                        held: [Held::default(); 2],
                        past: [TransportCounters::default(); 2],
                        resets: 0,
                    });
                }
                of_pair.push(begin..all.len());
            }
        }
        Self { all, of_pair, lines }
    }

    /// Time has come to this point. True if a relay had something to do.
    pub(crate) fn let_time_pass(&mut self, now: Instant, spliced: Spliced) -> bool {
        let relay = &mut self.all[spliced.splice as usize].relay;
        let due = spliced.side == Side::Near && relay.poll_timeout().is_some_and(|at| at <= now);
        if due {
            relay.handle_timeout(now);
        }
        due
    }

    /// When a relay wants to be called, at the timer of its near end.
    pub(crate) fn next_timer(&self, spliced: Spliced) -> Option<Instant> {
        let relay = &self.all[spliced.splice as usize].relay;
        if spliced.side == Side::Near { relay.poll_timeout() } else { None }
    }
}

/// The two ends of a splice in the hands of its relay.
struct Both<'a, 'o> {
    network: &'a mut Network<'o>,
    ends: &'a mut [End],
    /// This end sends when it has its turn.
    in_turn: Option<Side>,
}

/// What an end of a proxy sees of the rest while it is drained.
struct DrainContext<'a, 'o> {
    network: &'a mut Network<'o>,
    relay: &'a mut Relay,
    side: Side,
    nodes: [u16; 2],
}

impl<E: FullEndpoint> Host<E> for DrainContext<'_, '_> {
    fn place(&mut self) -> &mut Segment {
        self.network.place()
    }

    fn congestion(&mut self, header: Header) {
        self.network.set_congestion(header);
    }

    fn transmit(&mut self, now: Instant, _path: PathId) {
        let [node, peer] = self.nodes;
        let _ = self.network.send(now, node, peer);
    }

    fn event(&mut self, now: Instant, endpoint: &mut E, event: Event) {
        self.relay.on_event(now, self.side, endpoint, event);
    }
}

impl Legs for Both<'_, '_> {
    fn endpoint(&mut self, side: Side) -> Option<&mut dyn ProxyLeg> {
        Some(self.ends[side as usize].endpoint.as_mut()?.endpoint_mut())
    }

    fn drain(&mut self, now: Instant, side: Side, relay: &mut Relay) {
        let End { endpoint: Some(connection), paths, .. } = &mut self.ends[side as usize] else {
            return;
        };
        let network = &mut *self.network;
        let mut context = DrainContext { network, relay, side, nodes: paths[0] };
        let waits = self.in_turn == Some(side);
        match connection {
            Connection::Xstp(session) => take_out(&mut **session, now, &mut context, waits),
            Connection::Tcp(connection) => {
                let own = context.network.tell_queue(now, &mut **connection, context.nodes);
                take_out(&mut **connection, now, &mut context, waits);
                if let Some(own) = own {
                    context.network.tell_overflow(now, &mut **connection, own);
                }
            }
            Connection::Sctp(association) => take_out(&mut **association, now, &mut context, waits),
            // Proxies have none.
            Connection::Bentpipe(_) => {}
        }
    }
}

/// Drains an end, or leaves in it what it has to send.
fn take_out<E: FullEndpoint>(
    endpoint: &mut E,
    now: Instant,
    context: &mut DrainContext<'_, '_>,
    waits: bool,
) {
    if waits {
        hear(endpoint, now, context);
    } else {
        drain(endpoint, now, context);
    }
}

impl Endpoints {
    /// An end of a proxy changed: everything that follows from it for the two happens.
    pub(crate) fn settle_splice(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        spliced: Spliced,
    ) {
        let splice = &mut self.splices.all[spliced.splice as usize];
        let ends = &mut self.ends[splice.near..splice.near + 2];
        let mut changed = spliced.side;
        if ends[0].endpoint.is_some() && ends[1].endpoint.is_none() && !splice.relay.is_broken() {
            // The connection that leads on is opened as soon as somebody wants it.
            let (protocol, place) = ends[1].place();
            ends[1].endpoint = Connection::open(protocol, now, place);
            ends[1].tell_if_down(now, network);
            changed = Side::Far;
        }
        let was_broken = splice.relay.is_broken();
        let shares = splice.sender.other();
        let turns = |line: usize| self.splices.lines[line].has_turns();
        let in_turn = splice.line.filter(|(line, _)| turns(*line)).map(|_| shares);
        let mut both = Both { network: &mut *network, ends, in_turn };
        if changed != spliced.side {
            split::settle(&mut splice.relay, now, spliced.side, &mut both);
        }
        split::settle(&mut splice.relay, now, changed, &mut both);
        splice.resets += u64::from(splice.relay.is_broken() && !was_broken);
        let sides = [splice.sender, splice.sender.other()];
        for (held, side) in splice.held.iter_mut().zip(sides) {
            held.note(now, splice.relay.occupied(side));
        }
        let (near, line) = (splice.near, splice.line);
        self.set_end_timer(now, network, near);
        self.set_end_timer(now, network, near + 1);
        if let Some((line, member)) = line {
            self.share_line(now, network, spliced.splice, line, member);
        }
    }

    /// Sets the timer of an end of a proxy; an end that is over leaves.
    pub(crate) fn set_end_timer(&mut self, now: Instant, network: &mut Network<'_>, index: usize) {
        let end = &self.ends[index];
        let own = end.next_timer();
        if own.is_none() && end.is_closed() {
            end.leave(&mut self.demux);
        }
        let relay = end.spliced.and_then(|spliced| self.splices.next_timer(spliced));
        if let Some(next) = Instant::earliest(own, relay) {
            network.queue.set_timer(self.first_slot + index as Slot, next.max(now));
        }
    }

    /// Makes the proxies of a pair ready for another connection, from another port.
    pub(crate) fn use_splices_again(&mut self, pair: usize, port: u16) {
        for splice in &mut self.splices.all[self.splices.of_pair[pair].clone()] {
            let [near, far] = &mut self.ends[splice.near..splice.near + 2] else { continue };
            for (past, end) in splice.past.iter_mut().zip([&*near, &*far]) {
                *past += counters(end);
            }
            splice.relay = Relay::new(splice.config);
            for end in [&mut *near, &mut *far] {
                end.leave(&mut self.demux);
                end.endpoint = None;
            }
            near.ports.peer = port;
            far.ports.local = port;
            far.enter(&mut self.demux, splice.near as u32 + 1);
        }
    }

    /// What the proxies hold, for each flow and proxy.
    pub(crate) fn proxy_samples(&self, at: Instant) -> Vec<ProxySample> {
        let mut samples: Vec<ProxySample> = Vec::new();
        for splice in &self.splices.all {
            let occupied = splice.relay.occupied(splice.sender);
            let far = self.ends[splice.near + splice.sender.other() as usize].endpoint.as_ref();
            let under_way =
                far.map_or(ByteCount::ZERO, |far| far.endpoint().sender_state().in_flight);
            let backlog = ByteCount::new(occupied.get().saturating_sub(under_way.get()));
            let (flow, proxy) = (splice.flow, splice.proxy);
            match samples.iter_mut().find(|sample| (sample.flow, sample.proxy) == (flow, proxy)) {
                Some(sample) => {
                    sample.occupied += occupied;
                    sample.backlog += backlog;
                }
                None => samples.push(ProxySample { at, flow, proxy, occupied, backlog }),
            }
        }
        samples
    }

    /// What the proxies did, for each flow and proxy.
    pub(crate) fn proxy_summaries(&self, spec: &RunSpec, ended: Instant) -> Vec<ProxySummary> {
        let mut summaries: Vec<((usize, usize), ProxySummary)> = Vec::new();
        for splice in &self.splices.all {
            let key = (splice.flow, splice.proxy);
            let place =
                summaries.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                    let flow = &spec.flows[splice.flow];
                    let proxy = &flow.proxies[splice.proxy];
                    let node = spec.nodes[proxy.node].clone();
                    let (name, flow) = (proxy.name.clone(), flow.name.clone());
                    summaries
                        .push((key, ProxySummary { name, flow, node, ..ProxySummary::default() }));
                    summaries.len() - 1
                });
            let summary = &mut summaries[place].1;
            let ends = [splice.sender, splice.sender.other()];
            let [near, far] = ends.map(|side| counters(&self.ends[splice.near + side as usize]));
            for (sum, counted) in [(&mut summary.near, near), (&mut summary.far, far)] {
                *sum += counted;
            }
            summary.near += splice.past[0];
            summary.far += splice.past[1];
            summary.resets += splice.resets;
            for (sum, held) in
                [&mut summary.forward_link, &mut summary.return_link].into_iter().zip(splice.held)
            {
                add(sum, held, ended);
            }
        }
        summaries.into_iter().map(|(_, summary)| summary).collect()
    }
}

/// Adds what one connection held. The peaks of several need not have been at the same time.
fn add(sum: &mut Occupancy, mut held: Held, ended: Instant) {
    held.note(ended, ByteCount::ZERO);
    let seconds = ended.as_secs_f64();
    sum.peak += held.peak;
    sum.mean += if seconds > 0.0 { held.integral / seconds } else { 0.0 };
}

fn counters(end: &End) -> TransportCounters {
    end.endpoint.as_ref().map(|e| e.endpoint().counters()).unwrap_or_default()
}
