//! A router that tells senders what bandwidth there is for them.

use std::collections::BTreeSet;

use bentpipe_units::{BitRate, Instant, Span};
use bentpipe_wire::xcp::{RateChange, Request, Wish};

use super::fifo::Fifo;
use super::{Backlog, Discipline, FlowKey, Held, LineState, Packets};
use crate::QueueLimit;

/// Interval before any propagation delay is known.
const FIRST_INTERVAL: Span = Span::from_millis(50);
const SHORTEST_INTERVAL: Span = Span::from_millis(10);
/// Longer propagation delays count as this.
const LONGEST_DELAY: Span = Span::from_secs(1);
/// Part of the line that is for those who ask, whatever others take.
const LEAST_PART: f64 = 0.01;
/// Flows that are counted in an interval; more are not told apart.
const MOST_FLOWS: usize = 4096;

/// An output queue that stamps the bandwidth that it has for a flow into congestion headers that ask for it (BA-TCP,
/// Bandwidth Aware TCP). First in, first out.
///
/// No law of it was at hand; this is this project's: what packets that do not ask leave of the line, less what empties
/// the standing queue within an interval, in equal parts for all flows that asked in this interval or the last one.
/// An interval is the mean round-trip propagation delay that headers state. What a router before stamped stays
/// if it is less. Rates are in bytes per second.
#[derive(Clone, Debug)]
pub struct BandwidthRouter {
    fifo: Fifo,
    capacity: f64,
    interval: Interval,
    flows: Flows,
    /// What those who ask have together.
    free: f64,
}

/// The running interval and what came in it.
#[derive(Clone, Debug)]
struct Interval {
    ends: Instant,
    lasts: Span,
    /// Bytes of packets that did not ask.
    other_bytes: f64,
    /// Seconds of propagation delay that headers stated, and how many did.
    delays: f64,
    stated: f64,
    /// The least backlog in bytes: a queue that stands.
    least: f64,
}

/// Flows that asked in this interval and in the last one.
#[derive(Clone, Debug, Default)]
struct Flows {
    now: BTreeSet<FlowKey>,
    before: BTreeSet<FlowKey>,
    /// Flows of this interval that are not of the last one.
    newcomers: usize,
}

impl BandwidthRouter {
    /// An empty queue before a line of this rate.
    pub fn new(rate: BitRate, limit: QueueLimit) -> Self {
        let capacity = rate.as_bps() as f64 / 8.0;
        Self {
            fifo: Fifo::new(limit),
            capacity,
            interval: Interval {
                ends: Instant::ZERO + FIRST_INTERVAL,
                lasts: FIRST_INTERVAL,
                other_bytes: 0.0,
                delays: 0.0,
                stated: 0.0,
                least: 0.0,
            },
            flows: Flows::default(),
            free: capacity,
        }
    }

    fn waiting(&self) -> f64 {
        self.fifo.backlog().bytes.get() as f64
    }

    /// Ends the interval if it ended by `now`. Of a longer silence only the last interval matters.
    fn catch_up(&mut self, now: Instant) {
        for _ in 0..2 {
            if self.interval.ends <= now {
                self.end_interval();
            }
        }
        if self.interval.ends <= now {
            self.end_interval();
            self.interval.ends = now + self.interval.lasts;
        }
    }

    fn end_interval(&mut self) {
        let waiting = self.waiting();
        let interval = &mut self.interval;
        let seconds = interval.lasts.as_secs_f64();
        let taken = interval.other_bytes / seconds + interval.least / seconds;
        self.free = (self.capacity - taken).max(LEAST_PART * self.capacity);
        if interval.stated > 0.0 {
            let mean = Span::from_secs_f64(interval.delays / interval.stated);
            interval.lasts = mean.max(SHORTEST_INTERVAL).min(LONGEST_DELAY);
        }
        interval.ends += interval.lasts;
        (interval.other_bytes, interval.delays, interval.stated) = (0.0, 0.0, 0.0);
        interval.least = waiting;
        self.flows.end_interval();
    }

    /// The part of a flow.
    fn share(&self) -> f64 {
        self.free / self.flows.count().max(1) as f64
    }
}

impl Flows {
    fn note(&mut self, flow: FlowKey) {
        if self.now.len() < MOST_FLOWS && self.now.insert(flow) && !self.before.contains(&flow) {
            self.newcomers += 1;
        }
    }

    fn count(&self) -> usize {
        self.before.len() + self.newcomers
    }

    fn end_interval(&mut self) {
        (self.before, self.newcomers) = (std::mem::take(&mut self.now), 0);
    }
}

/// What a packet asks, if that is the bandwidth there is.
fn question(packet: &Held, packets: &dyn Packets) -> Option<Request> {
    packets.request(packet).filter(|request| request.wish == Wish::Bandwidth)
}

impl Discipline for BandwidthRouter {
    fn enqueue(&mut self, now: Instant, line: LineState, packet: Held, packets: &mut dyn Packets) {
        self.catch_up(now);
        if let Some(Request { rtt, .. }) = question(&packet, packets) {
            self.flows.note(packet.flow);
            if let Some(delay) = rtt {
                self.interval.delays += delay.min(LONGEST_DELAY).as_secs_f64();
                self.interval.stated += 1.0;
            }
        } else {
            self.interval.other_bytes += packet.bytes.get() as f64;
        }
        self.fifo.take_or_lose(line, packet, packets);
    }

    fn dequeue(&mut self, now: Instant, packets: &mut dyn Packets) -> Option<Held> {
        self.catch_up(now);
        let packet = self.fifo.pop()?;
        self.interval.least = self.interval.least.min(self.waiting());
        if let Some(request) = question(&packet, packets) {
            // A bandwidth of nothing would read as no answer.
            let share = (self.share() as i32).max(1);
            let least = request.delta_throughput.bytes_per_sec().min(share);
            packets.grant(&packet, RateChange::from_bytes_per_sec(least));
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

    /// 1 MB/s.
    const LINE: BitRate = BitRate::from_bps(8_000_000);

    fn asking(bandwidth: i32) -> Request {
        Request {
            rtt: Some(Span::from_millis(100)),
            delta_throughput: RateChange::from_bytes_per_sec(bandwidth),
            wish: Wish::Bandwidth,
            ..Request::default()
        }
    }

    struct Script {
        router: BandwidthRouter,
        seen: Watched,
        id: u32,
    }

    impl Script {
        fn new() -> Self {
            let router = BandwidthRouter::new(LINE, QueueLimit::Unlimited);
            Self { router, seen: Watched::default(), id: 0 }
        }

        /// A packet of a flow comes with this request.
        fn comes(&mut self, at: u64, flow: u64, request: Option<Request>) {
            self.id += 1;
            if let Some(request) = request {
                self.seen.requests.insert(self.id, request);
            }
            let packet = Held { flow: FlowKey(flow), ..data(self.id) };
            self.router.enqueue(ms(at), LineState::Busy, packet, &mut self.seen);
        }

        /// What is stamped into the packet that leaves.
        fn leaves(&mut self, at: u64) -> i32 {
            let packet = self.router.dequeue(ms(at), &mut self.seen).expect("a packet");
            self.seen.requests.get(&packet.id).map_or(0, |r| r.delta_throughput.bytes_per_sec())
        }

        /// A packet of a flow passes and asks.
        fn ask(&mut self, at: u64, flow: u64) -> i32 {
            self.comes(at, flow, Some(asking(i32::MAX)));
            self.leaves(at)
        }
    }

    #[test]
    fn a_flow_alone_has_the_line_and_a_newcomer_half_of_it_at_once() {
        let mut script = Script::new();
        assert_eq!(script.ask(10, 1), 1_000_000);
        assert_eq!(script.ask(120, 1), 1_000_000);
        assert_eq!(script.ask(121, 2), 500_000);
        assert_eq!(script.ask(122, 1), 500_000);
    }

    #[test]
    fn a_flow_that_left_is_forgotten_when_two_intervals_are_over() {
        let mut script = Script::new();
        assert_eq!([1, 2].map(|flow| script.ask(10, flow)), [1_000_000, 500_000]);
        for (at, share) in [(60, 500_000), (140, 500_000), (160, 1_000_000), (260, 1_000_000)] {
            assert_eq!(script.ask(at, 1), share, "at {at} ms");
        }
    }

    #[test]
    fn what_does_not_ask_takes_its_part_but_never_all() {
        let mut script = Script::new();
        script.ask(10, 1);
        script.ask(51, 1);
        for n in 0..40 {
            script.comes(52 + n, 9, None);
            script.leaves(52 + n);
        }
        // 40 kB in an interval of 100 ms.
        assert_eq!(script.ask(155, 1), 600_000);
        for _ in 0..500 {
            script.comes(156, 9, None);
            script.leaves(156);
        }
        assert_eq!(script.ask(255, 1), 10_000);
    }

    #[test]
    fn a_standing_queue_is_taken_off() {
        let mut script = Script::new();
        script.ask(10, 1);
        script.ask(51, 1);
        (0..10).for_each(|_| script.comes(60, 1, Some(asking(i32::MAX))));
        // Ten packets wait from here on: 10 kB in an interval of 100 ms.
        for at in [151, 200] {
            script.comes(at, 1, Some(asking(i32::MAX)));
            script.leaves(at);
        }
        assert_eq!(script.ask(251, 1), 900_000);
    }

    #[test]
    fn less_that_was_stamped_before_stays_and_wishes_for_a_change_are_left_alone() {
        let mut script = Script::new();
        script.comes(10, 1, Some(asking(300)));
        assert_eq!(script.leaves(10), 300);
        script.comes(10, 1, Some(Request { wish: Wish::Change, ..asking(5_000_000) }));
        assert_eq!(script.leaves(10), 5_000_000);
    }

    #[test]
    fn a_long_silence_costs_no_time_and_leaves_the_line_free() {
        let mut script = Script::new();
        script.ask(10, 1);
        script.router.catch_up(ms(366 * 86_400_000));
        assert_eq!(script.ask(366 * 86_400_000, 2), 1_000_000);
    }
}
