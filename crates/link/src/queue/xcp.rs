//! The router of XCP and of P-XCP.

use std::collections::BTreeMap;

use bentpipe_units::{BitRate, Instant, Span};
use bentpipe_wire::xcp::{RateChange, Request, Wish};

use super::fifo::Fifo;
use super::{Backlog, Discipline, FlowKey, Held, LineState, Packets};
use crate::QueueLimit;

/// Share of the spare capacity that is given away.
const ALPHA: f64 = 0.4;
/// Share of the standing queue that is taken back.
const BETA: f64 = 0.226;
/// Share of the traffic that changes hands, for fairness.
const GAMMA: f64 = 0.1;
/// Control interval before any round-trip time is known.
const FIRST_INTERVAL: Span = Span::from_millis(50);
const SHORTEST_INTERVAL: Span = Span::from_millis(1);
const SHORTEST_QUEUE_INTERVAL: Span = Span::from_millis(2);
/// Longer round-trip times count as this.
const LONGEST_RTT: Span = Span::from_secs(1);
/// Flows that P-XCP counts in an interval; more are not told apart.
const MOST_FLOWS: usize = 4096;
/// After so many idle intervals in a row another one changes nothing.
const INTERVALS_TO_REST: u32 = 2;

/// An output queue that reads what senders ask for in their congestion headers and writes what it
/// grants (Katabi, Handley and Rohrs 2002; draft-falk-xcp-spec-03, section 4). First in, first out.
///
/// P-XCP (Zhou, Yeung and Li, GLOBECOM 2004) for links with errors gives what flows leave that ask
/// for less than their share to the others: spare capacity is multiplied by n / (n - limited), both
/// counted over the last interval. Rates are in bytes per second.
#[derive(Clone, Debug)]
pub struct XcpRouter {
    fifo: Fifo,
    capacity: f64,
    p_xcp: bool,
    interval: Interval,
    queue: StandingQueue,
    flows: BTreeMap<FlowKey, bool>,
    /// Mean round-trip time in seconds.
    mean_rtt: f64,
    grant: Grant,
}

/// The running control interval and what came in it.
#[derive(Clone, Debug)]
struct Interval {
    ends: Instant,
    lasts: Span,
    bytes: f64,
    sum_x: f64,
    sum_rtt_x: f64,
}

/// The least queue of an interval is one that stands.
#[derive(Clone, Debug)]
struct StandingQueue {
    ends: Instant,
    least: f64,
    /// That of the last interval, in bytes.
    standing: f64,
}

/// What may still be granted and taken in this interval.
#[derive(Clone, Copy, Debug, Default)]
struct Grant {
    more: f64,
    less: f64,
    per_x: f64,
    per_byte: f64,
}

impl XcpRouter {
    /// An empty queue before a line of this rate.
    pub fn new(rate: BitRate, limit: QueueLimit, p_xcp: bool) -> Self {
        Self {
            fifo: Fifo::new(limit),
            capacity: rate.as_bps() as f64 / 8.0,
            p_xcp,
            interval: Interval {
                ends: Instant::ZERO + FIRST_INTERVAL,
                lasts: FIRST_INTERVAL,
                bytes: 0.0,
                sum_x: 0.0,
                sum_rtt_x: 0.0,
            },
            queue: StandingQueue {
                ends: Instant::ZERO + SHORTEST_QUEUE_INTERVAL,
                least: 0.0,
                standing: 0.0,
            },
            flows: BTreeMap::new(),
            mean_rtt: FIRST_INTERVAL.as_secs_f64(),
            grant: Grant::default(),
        }
    }

    fn waiting(&self) -> f64 {
        self.fifo.backlog().bytes.get() as f64
    }

    /// Ends the intervals that ended by `now`. The queue did not change since it was asked last.
    fn catch_up(&mut self, now: Instant) {
        let mut idle = 0;
        while self.interval.ends <= now || self.queue.ends <= now {
            if self.queue.ends <= self.interval.ends {
                self.end_queue_interval();
            } else {
                idle = if self.interval.bytes == 0.0 { idle + 1 } else { 0 };
                self.end_interval();
            }
            if idle > INTERVALS_TO_REST {
                self.interval.ends = after(self.interval.ends, self.interval.lasts, now);
                self.queue.ends = self.queue.ends.max(now);
                idle = 0;
            }
        }
    }

    fn end_queue_interval(&mut self) {
        let waiting = self.waiting();
        self.queue.standing = self.queue.least;
        self.queue.least = waiting;
        let lasts = Span::from_secs_f64((self.mean_rtt - waiting / self.capacity).max(0.0) / 2.0);
        self.queue.ends += lasts.max(SHORTEST_QUEUE_INTERVAL);
    }

    fn end_interval(&mut self) {
        let interval = &mut self.interval;
        if interval.sum_x > 0.0 {
            self.mean_rtt = interval.sum_rtt_x / interval.sum_x;
        }
        let traffic = interval.bytes / interval.lasts.as_secs_f64();
        let drain = BETA * self.queue.standing / self.mean_rtt;
        let mut spare = ALPHA * (self.capacity - traffic) - drain;
        if self.p_xcp && spare > 0.0 {
            let all = self.flows.len();
            let limited = self.flows.values().filter(|limited| **limited).count();
            if limited < all {
                spare *= all as f64 / (all - limited) as f64;
            }
        }
        let shuffled = (GAMMA * traffic - spare.abs()).max(0.0);
        let (more, less) = (spare.max(0.0) + shuffled, (-spare).max(0.0) + shuffled);
        let share = |of: f64, among: f64| if among > 0.0 { of / among } else { 0.0 };
        self.grant = Grant {
            more,
            less,
            per_x: share(more, interval.sum_x),
            per_byte: share(less, interval.bytes),
        };
        interval.lasts = Span::from_secs_f64(self.mean_rtt).max(SHORTEST_INTERVAL);
        interval.ends += interval.lasts;
        (interval.bytes, interval.sum_x, interval.sum_rtt_x) = (0.0, 0.0, 0.0);
        self.flows.clear();
    }

    fn note_limited(&mut self, flow: FlowKey, limited: bool) {
        if self.p_xcp && (self.flows.len() < MOST_FLOWS || self.flows.contains_key(&flow)) {
            // A flow is limited when all its packets of the interval are.
            self.flows.entry(flow).and_modify(|all| *all &= limited).or_insert(limited);
        }
    }
}

impl Grant {
    /// What is left of the request of a packet, in bytes per second; and whether it asked for less
    /// than its share.
    fn answer(&mut self, request: &Request, bytes: f64) -> (f64, bool) {
        let x = request.packet_interval.as_secs_f64();
        let mut more = self.more.min(self.per_x * x);
        let mut less = self.less.min(self.per_byte * bytes);
        let share = more - less;
        let asked = f64::from(request.delta_throughput.bytes_per_sec());
        let limited = asked < share;
        if limited {
            less = self.less.min(less + (share - asked));
            more = (asked + less).max(0.0);
        }
        self.more = (self.more - more).max(0.0);
        self.less = (self.less - less).max(0.0);
        if self.more == 0.0 {
            self.per_x = 0.0;
        }
        if self.less == 0.0 {
            self.per_byte = 0.0;
        }
        (asked.min(share), limited)
    }
}

/// The first end of intervals of this length, counted on from `end`, that lies after `now`.
fn after(end: Instant, lasts: Span, now: Instant) -> Instant {
    let behind = now.since(end).as_nanos() / lasts.as_nanos();
    end + lasts * (behind + 1)
}

/// What a packet asks for, if that is a change of its rate.
fn wanted(packet: &Held, packets: &dyn Packets) -> Option<Request> {
    packets.request(packet).filter(|request| request.wish == Wish::Change)
}

impl Discipline for XcpRouter {
    fn enqueue(&mut self, now: Instant, line: LineState, packet: Held, packets: &mut dyn Packets) {
        self.catch_up(now);
        self.interval.bytes += packet.bytes.get() as f64;
        if let Some(Request { rtt: Some(rtt), packet_interval, .. }) = wanted(&packet, packets) {
            let x = packet_interval.as_secs_f64();
            self.interval.sum_x += x;
            self.interval.sum_rtt_x += x * rtt.min(LONGEST_RTT).as_secs_f64();
        }
        self.fifo.take_or_lose(line, packet, packets);
    }

    fn dequeue(&mut self, now: Instant, packets: &mut dyn Packets) -> Option<Held> {
        self.catch_up(now);
        let packet = self.fifo.pop()?;
        self.queue.least = self.queue.least.min(self.waiting());
        if let Some(request) = wanted(&packet, packets) {
            let (granted, limited) = self.grant.answer(&request, packet.bytes.get() as f64);
            self.note_limited(packet.flow, limited);
            packets.grant(&packet, RateChange::from_bytes_per_sec(granted as i32));
        }
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Watched, data, ms};
    use super::*;

    /// A flow that obeys at once: what it sends in each round trip follows the feedback of the one
    /// before.
    struct Sender {
        rate: f64,
        /// What it will ever send.
        most: f64,
    }

    const RTT_MS: u64 = 100;
    /// 1 MB/s.
    const LINE: BitRate = BitRate::from_bps(8_000_000);

    /// Lets senders share the line for so many round trips and gives their rates in bytes/s.
    fn share(senders: &mut [Sender], p_xcp: bool, rounds: u64) -> (Vec<f64>, XcpRouter) {
        let mut router = XcpRouter::new(LINE, QueueLimit::Unlimited, p_xcp);
        let mut seen = Watched::default();
        let mut id = 0;
        let mut line_free = Instant::ZERO;
        for round in 0..rounds {
            // Packets of all senders in the order of their times.
            let mut sends = Vec::new();
            for (n, sender) in senders.iter().enumerate() {
                let packets = (sender.rate * 0.1 / 1000.0).round().max(1.0);
                for k in 0..packets as u64 {
                    let offset = (k * RTT_MS * 1_000_000) / packets as u64 + n as u64;
                    sends.push((offset, n, packets));
                }
            }
            sends.sort_by_key(|(offset, n, _)| (*offset, *n));
            let mut feedback = vec![0.0; senders.len()];
            for (offset, n, packets) in sends {
                let now = ms(round * RTT_MS) + Span::from_nanos(offset);
                let desired = (senders[n].most - senders[n].rate) / packets;
                let request = Request {
                    rtt: Some(Span::from_millis(RTT_MS)),
                    packet_interval: Span::from_secs_f64(0.1 / packets),
                    delta_throughput: RateChange::from_bytes_per_sec(desired as i32),
                    wish: Wish::Change,
                };
                id += 1;
                seen.requests.insert(id, request);
                let packet = Held { flow: FlowKey(n as u64), ..data(id) };
                // What the line sends until now, and then what it sends first.
                for arrived in [false, true] {
                    if arrived {
                        line_free = line_free.max(now);
                        router.enqueue(now, LineState::Busy, packet, &mut seen);
                    }
                    while line_free <= now
                        && let Some(packet) = router.dequeue(line_free, &mut seen)
                    {
                        line_free += LINE.time_for(packet.bytes);
                        let granted = seen.requests[&packet.id].delta_throughput.bytes_per_sec();
                        feedback[packet.flow.0 as usize] += f64::from(granted);
                    }
                }
            }
            for (sender, change) in senders.iter_mut().zip(feedback) {
                sender.rate = (sender.rate + change).clamp(10_000.0, sender.most);
            }
        }
        (senders.iter().map(|sender| sender.rate).collect(), router)
    }

    #[test]
    fn one_flow_fills_the_line_and_the_queue_stays_short() {
        let mut senders = [Sender { rate: 10_000.0, most: 1e8 }];
        let (rates, router) = share(&mut senders, false, 60);
        assert!((0.93e6..1.05e6).contains(&rates[0]), "{rates:?}");
        assert!(router.waiting() < 20_000.0, "{}", router.waiting());
    }

    #[test]
    fn flows_that_began_apart_come_to_equal_shares() {
        let mut senders =
            [Sender { rate: 900_000.0, most: 1e8 }, Sender { rate: 50_000.0, most: 1e8 }];
        let (rates, _) = share(&mut senders, false, 200);
        assert!((rates[0] / rates[1] - 1.0).abs() < 0.25, "{rates:?}");
        assert!((0.9e6..1.1e6).contains(&(rates[0] + rates[1])), "{rates:?}");
    }

    #[test]
    fn p_xcp_gives_what_limited_flows_leave_to_the_others_sooner() {
        let senders = || {
            let limited = (0..4).map(|_| Sender { rate: 50_000.0, most: 50_000.0 });
            limited.chain([Sender { rate: 50_000.0, most: 1e8 }]).collect::<Vec<_>>()
        };
        let (plain, _) = share(&mut senders(), false, 12);
        let (faster, _) = share(&mut senders(), true, 12);
        assert!(faster[4] > 1.15 * plain[4], "{plain:?} {faster:?}");
    }

    #[test]
    fn nobody_is_granted_more_than_was_asked_for_and_more_than_there_is() {
        let mut grant = Grant { more: 1000.0, less: 100.0, per_x: 1000.0, per_byte: 0.1 };
        let ask = |delta| Request {
            rtt: Some(Span::from_millis(100)),
            packet_interval: Span::from_millis(500),
            delta_throughput: RateChange::from_bytes_per_sec(delta),
            wish: Wish::Change,
        };
        // A share of 500 up and 50 down.
        assert_eq!(grant.answer(&ask(10_000), 500.0), (450.0, false));
        assert_eq!((grant.more, grant.less), (500.0, 50.0));
        assert_eq!(grant.answer(&ask(100), 100.0), (100.0, true));
        assert_eq!((grant.more, grant.less), (350.0, 0.0));
        let (granted, _) = grant.answer(&ask(10_000), 100.0);
        assert_eq!((granted, grant.more), (350.0, 0.0));
        assert_eq!(grant.answer(&ask(10_000), 100.0), (0.0, false));
    }

    #[test]
    fn a_long_silence_costs_no_time_and_changes_nothing_but_the_grant() {
        let mut router = XcpRouter::new(LINE, QueueLimit::Unlimited, false);
        router.catch_up(ms(1000));
        let grant = router.grant;
        router.catch_up(ms(366 * 86_400_000));
        assert_eq!(router.grant.more, grant.more);
        assert!((router.grant.more - ALPHA * 1e6).abs() < 1e-6);
        assert!(router.interval.ends > ms(366 * 86_400_000));
    }

    #[test]
    fn packets_without_a_header_pass_and_count_as_traffic() {
        let mut router = XcpRouter::new(LINE, QueueLimit::Packets(2), false);
        let mut seen = Watched::default();
        for id in 0..3 {
            router.enqueue(ms(1), LineState::Busy, data(id), &mut seen);
        }
        assert_eq!((router.interval.bytes, seen.lost.len()), (3000.0, 1));
        assert_eq!(router.dequeue(ms(1), &mut seen).map(|p| p.id), Some(0));
    }
}
