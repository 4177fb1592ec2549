//! Proxies that end connections: the relays between their ends. How they share a link is in
//! [`crate::shapers`].

use std::collections::BTreeMap;
use std::ops::Range;

use bentpipe_link::Streams;
use bentpipe_pep::split::{self, Legs, Relay, Side};
use bentpipe_record::{Occupancy, ProxySample, ProxySummary, TransportCounters};
use bentpipe_transport::{Event, FullEndpoint, Host, PathId, ProxyLeg, drain, poll_events};
use bentpipe_units::{ByteCount, Instant};
use bentpipe_wire::Segment;
use bentpipe_wire::xcp::Header;

use crate::components::Components;
use crate::connection::Connection;
use crate::endpoints::{End, Ends, Proxied, proxy_ends};
use crate::events::Slot;
use crate::network::Network;
use crate::shapers::Shaper;
use crate::{FlowSpec, RunSpec, SchedulerSpec};

/// All connections in proxies, and the shapers that let them send.
#[derive(Debug)]
pub(crate) struct Proxies {
    pub(crate) all: Vec<Proxy>,
    /// Those of each pair of outer ends, in the order of the path.
    of_pair: Vec<Range<usize>>,
    /// Memory that connections share, and which ones do, by the name of their proxy.
    pools: BTreeMap<String, (split::Pool, Vec<usize>)>,
    pub(crate) shapers: Vec<Shaper>,
    /// The timer of the first shaper.
    pub(crate) first_shaper: Slot,
}

/// One connection in a proxy: two ends and what joins them.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) relay: Relay,
    config: split::Config,
    /// Index of its near end; the far one follows.
    pub(crate) near: usize,
    flow: usize,
    /// Number of the proxy on the flow's path.
    number: usize,
    /// The leg that the data come by: that of the end which listens, unless the receiver opens.
    pub(crate) sender: Side,
    /// The memory that it shares with others.
    pool: Option<String>,
    /// The shaper of the leg towards the receiver, and its number there.
    pub(crate) shaper: Option<(usize, u32)>,
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

impl Proxies {
    /// The proxies of all flows, whose ends are put behind the others.
    pub(crate) fn new(
        flows: &[FlowSpec],
        pairs: &[(usize, usize)],
        schedulers: &[SchedulerSpec],
        streams: &Streams,
        ends: &mut Ends,
        components: &Components,
    ) -> Self {
        let mut shapers: Vec<_> = schedulers.iter().map(Shaper::new).collect();
        let (mut all, mut of_pair, mut pools) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (number, (flow, (first, count))) in flows.iter().zip(pairs).enumerate() {
            for connection in 0..*count {
                let begin = all.len();
                for (proxy, spec) in flow.proxies.iter().enumerate() {
                    let relay = all.len() as u32;
                    let pair =
                        proxy_ends(flow, first + connection, connection, relay, proxy, streams);
                    let near = ends.add(pair);
                    ends.listen(near);
                    ends.enter(near + 1);
                    let sender = if flow.request.is_none() { Side::Near } else { Side::Far };
                    let shaper = spec.scheduler.map(|(shaper, weight)| {
                        (shaper, shapers[shaper].join(near + sender.other() as usize, weight))
                    });
                    if let Some(pool) = spec.pool {
                        let (_, members) =
                            pools.entry(spec.name.clone()).or_insert((pool, Vec::new()));
                        members.push(all.len());
                    }
                    all.push(Proxy {
                        relay: Relay::new(spec.relay),
                        config: spec.relay,
                        near,
                        flow: number,
                        number: proxy,
                        sender,
                        pool: spec.pool.is_some().then(|| spec.name.clone()),
                        shaper,
                        held: [Held::default(); 2],
                        past: [TransportCounters::default(); 2],
                        resets: 0,
                    });
                }
                of_pair.push(begin..all.len());
            }
        }
        Self { all, of_pair, pools, shapers, first_shaper: components.first_scheduler }
    }

    /// Time has come to this point. True if a relay had something to do.
    pub(crate) fn handle_timeout(&mut self, now: Instant, proxied: Proxied) -> bool {
        let relay = &mut self.all[proxied.relay as usize].relay;
        let due = proxied.side == Side::Near && relay.poll_timeout().is_some_and(|at| at <= now);
        if due {
            relay.handle_timeout(now);
        }
        due
    }

    /// When a relay wants to be called, at the timer of its near end.
    pub(crate) fn next_timer(&self, proxied: Proxied) -> Option<Instant> {
        let relay = &self.all[proxied.relay as usize].relay;
        if proxied.side == Side::Near { relay.poll_timeout() } else { None }
    }

    /// An end of a proxy changed: everything that follows from it for the two happens.
    pub(crate) fn drain(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        ends: &mut Ends,
        proxied: Proxied,
    ) {
        let proxy = &mut self.all[proxied.relay as usize];
        let both = &mut ends[proxy.near..proxy.near + 2];
        let mut changed = proxied.side;
        if both[0].endpoint.is_some() && both[1].endpoint.is_none() && !proxy.relay.is_broken() {
            // The connection that leads on is opened as soon as somebody wants it.
            let (protocol, place) = both[1].place();
            both[1].endpoint = Connection::open(protocol, now, place);
            both[1].notify_if_down(now, network);
            changed = Side::Far;
        }
        let was_broken = proxy.relay.is_broken();
        let in_rounds = in_rounds(&self.shapers, proxy);
        let mut both = Both { network: &mut *network, ends: both, in_rounds };
        if changed != proxied.side {
            split::after_change(&mut proxy.relay, now, proxied.side, &mut both);
        }
        split::after_change(&mut proxy.relay, now, changed, &mut both);
        proxy.resets += u64::from(proxy.relay.is_broken() && !was_broken);
        let sides = [proxy.sender, proxy.sender.other()];
        for (held, side) in proxy.held.iter_mut().zip(sides) {
            held.note(now, proxy.relay.occupied(side));
        }
        let (near, shaper) = (proxy.near, proxy.shaper);
        if proxy.pool.is_some() {
            self.share_pool(now, network, ends, proxied.relay as usize);
        }
        self.set_end_timer(now, network, ends, near);
        self.set_end_timer(now, network, ends, near + 1);
        if let Some((shaper, member)) = shaper {
            self.wake_member(now, network, ends, proxied.relay, (shaper, member));
        }
    }

    /// One of those that share memory holds more or less: all of them learn what they may hold.
    fn share_pool(
        &mut self,
        now: Instant,
        network: &mut Network<'_>,
        ends: &mut Ends,
        relay: usize,
    ) {
        let pool = self.all[relay].pool.as_ref().and_then(|name| self.pools.get(name));
        let Some((pool, members)) = pool else { return };
        let held = |proxy: &Proxy| proxy.relay.occupied(proxy.sender);
        let all = members.iter().fold(ByteCount::ZERO, |sum, it| sum + held(&self.all[*it]));
        let allowance = pool.allowance(all);
        for member in members.clone() {
            let proxy = &mut self.all[member];
            proxy.relay.allow(proxy.sender, allowance);
            if !proxy.relay.wants(proxy.sender) || ends[proxy.near].endpoint.is_none() {
                continue;
            }
            let near = proxy.near;
            let in_rounds = in_rounds(&self.shapers, proxy);
            let mut both =
                Both { network: &mut *network, ends: &mut ends[near..near + 2], in_rounds };
            split::after_change(&mut proxy.relay, now, proxy.sender, &mut both);
            if member != relay {
                self.set_end_timer(now, network, ends, near);
                self.set_end_timer(now, network, ends, near + 1);
            }
        }
    }

    /// Sets the timer of an end of a proxy; an end that is over leaves.
    pub(crate) fn set_end_timer(
        &self,
        now: Instant,
        network: &mut Network<'_>,
        ends: &mut Ends,
        index: usize,
    ) {
        let own = ends[index].next_timer();
        if own.is_none() && ends[index].is_closed() {
            ends.leave(index);
        }
        let relay = ends[index].proxied.and_then(|proxied| self.next_timer(proxied));
        if let Some(next) = Instant::earliest(own, relay) {
            ends.set_timer(&mut network.queue, index, next.max(now));
        }
    }

    /// Makes the proxies of a pair ready for another connection, from another port.
    pub(crate) fn use_again(&mut self, ends: &mut Ends, pair: usize, port: u16) {
        for proxy in &mut self.all[self.of_pair[pair].clone()] {
            let (near, far) = (proxy.near, proxy.near + 1);
            for (past, end) in proxy.past.iter_mut().zip([near, far]) {
                *past += counters(&ends[end]);
                ends.leave(end);
                ends[end].endpoint = None;
            }
            proxy.relay = Relay::new(proxy.config);
            ends[near].ports.peer = port;
            ends[far].ports.local = port;
            ends.enter(far);
        }
    }

    /// What the proxies hold, for each flow and proxy.
    pub(crate) fn samples(&self, ends: &Ends, at: Instant) -> Vec<ProxySample> {
        let mut samples: Vec<ProxySample> = Vec::new();
        for proxy in &self.all {
            let occupied = proxy.relay.occupied(proxy.sender);
            let far = ends[proxy.near + proxy.sender.other() as usize].endpoint.as_ref();
            let under_way =
                far.map_or(ByteCount::ZERO, |far| far.endpoint().sender_state().in_flight);
            let backlog = ByteCount::new(occupied.get().saturating_sub(under_way.get()));
            let key = (proxy.flow, proxy.number);
            match samples.iter_mut().find(|sample| (sample.flow, sample.proxy) == key) {
                Some(sample) => {
                    sample.occupied += occupied;
                    sample.backlog += backlog;
                }
                None => {
                    let (flow, proxy) = key;
                    samples.push(ProxySample { at, flow, proxy, occupied, backlog });
                }
            }
        }
        samples
    }

    /// What the proxies did, for each flow and proxy.
    pub(crate) fn summaries(
        &self,
        ends: &Ends,
        spec: &RunSpec,
        ended: Instant,
    ) -> Vec<ProxySummary> {
        let mut summaries: Vec<((usize, usize), ProxySummary)> = Vec::new();
        for proxy in &self.all {
            let key = (proxy.flow, proxy.number);
            let place =
                summaries.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                    let flow = &spec.flows[proxy.flow];
                    let of = &flow.proxies[proxy.number];
                    let node = spec.nodes[of.node].clone();
                    let (name, flow) = (of.name.clone(), flow.name.clone());
                    summaries
                        .push((key, ProxySummary { name, flow, node, ..ProxySummary::default() }));
                    summaries.len() - 1
                });
            let summary = &mut summaries[place].1;
            let sides = [proxy.sender, proxy.sender.other()];
            let [near, far] = sides.map(|side| counters(&ends[proxy.near + side as usize]));
            for (sum, counted) in [(&mut summary.near, near), (&mut summary.far, far)] {
                *sum += counted;
            }
            summary.near += proxy.past[0];
            summary.far += proxy.past[1];
            summary.resets += proxy.resets;
            for (sum, held) in
                [&mut summary.forward_link, &mut summary.return_link].into_iter().zip(proxy.held)
            {
                add(sum, held, ended);
            }
        }
        summaries.into_iter().map(|(_, summary)| summary).collect()
    }
}

/// The leg of a proxy that sends when its turn has come.
fn in_rounds(shapers: &[Shaper], proxy: &Proxy) -> Option<Side> {
    let (shaper, _) = proxy.shaper?;
    shapers[shaper].has_rounds().then(|| proxy.sender.other())
}

/// The two ends of a proxied connection in the hands of its relay.
struct Both<'a, 'o> {
    network: &'a mut Network<'o>,
    ends: &'a mut [End],
    /// This end sends in its round.
    in_rounds: Option<Side>,
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
        let waits = self.in_rounds == Some(side);
        match connection {
            Connection::Xstp(session) => take_out(&mut **session, now, &mut context, waits),
            Connection::Tcp(connection) => {
                let own = context.network.notify_queue(now, &mut **connection, context.nodes);
                take_out(&mut **connection, now, &mut context, waits);
                if let Some(own) = own {
                    context.network.notify_overflow(now, &mut **connection, own);
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
        poll_events(endpoint, now, context);
    } else {
        drain(endpoint, now, context);
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
