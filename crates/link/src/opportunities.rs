//! A transmitter that may send at given times only, with a drop-tail queue before it.

use std::sync::Arc;

use bentpipe_units::{ByteCount, Instant, Span};

use crate::{Fate, LossCause, Model, Passing, QueueLimit, RateQueue};

/// Times at which so many bytes may leave, again and again: a trace of mahimahi (Netravali et al., USENIX ATC 2015).
/// Copies share the times.
#[derive(Clone, Debug, PartialEq)]
pub struct Opportunities {
    times: Arc<[Instant]>,
    period: Span,
    bytes: ByteCount,
    start: Span,
}

impl Opportunities {
    /// Times in their order, at which `bytes` may leave; equal times are several opportunities. Everything begins anew
    /// after `period`. `None` when there is no time, one is earlier than the one before or later than the period, or
    /// the period or the bytes are nothing.
    pub fn new(times: Vec<Instant>, period: Span, bytes: ByteCount) -> Option<Self> {
        let last = *times.last()?;
        let fits = last <= Instant::ZERO + period && times.is_sorted();
        let some = !period.is_zero() && bytes.get() > 0;
        (fits && some).then(|| Self { times: times.into(), period, bytes, start: Span::ZERO })
    }

    /// The same, of which so much is over at time zero.
    #[must_use]
    pub fn starting_at(self, start: Span) -> Self {
        Self { start, ..self }
    }

    /// The same, with `scale` times the bytes.
    #[must_use]
    pub fn scaled(self, scale: f64) -> Self {
        let bytes = ByteCount::new((self.bytes.get() as f64 * scale).round().max(1.0) as u64);
        Self { bytes, ..self }
    }

    /// The times of one round.
    pub fn times(&self) -> &[Instant] {
        &self.times
    }

    /// The length of a round.
    pub const fn period(&self) -> Span {
        self.period
    }

    /// Bytes of an opportunity.
    pub const fn bytes(&self) -> ByteCount {
        self.bytes
    }

    /// The mean rate in bits per second.
    pub fn mean_bps(&self) -> f64 {
        8.0 * self.bytes.get() as f64 * self.times.len() as f64 / self.period.as_secs_f64()
    }

    /// When the opportunity of this number comes, counted from the first one of the first round.
    fn time(&self, number: u64) -> Instant {
        let count = self.times.len() as u64;
        let within = self.times[(number % count) as usize].as_nanos();
        let nanos = self.period.as_nanos().saturating_mul(number / count).saturating_add(within);
        Instant::from_nanos(nanos.saturating_sub(self.start.as_nanos()))
    }

    /// The number of the first one that comes at this time or later.
    fn first_from(&self, at: Instant) -> u64 {
        let nanos = at.as_nanos().saturating_add(self.start.as_nanos());
        let (round, within) = (nanos / self.period.as_nanos(), nanos % self.period.as_nanos());
        let count = self.times.len() as u64;
        let before =
            |within: u64| self.times.partition_point(|time| time.as_nanos() < within) as u64;
        // What comes at the end of a round does so at the begin of the next one.
        match round.checked_sub(1) {
            Some(last) if within == 0 => last * count + before(self.period.as_nanos()),
            _ => round * count + before(within),
        }
    }
}

/// Sends what waits at the times of [`Opportunities`]. Packets take as many as they need, and small ones share one; an
/// opportunity with nothing to send is gone.
#[derive(Clone, Debug)]
pub struct OpportunityQueue {
    queue: RateQueue,
    opportunities: Opportunities,
    /// The opportunity that is in use, and what is left of it.
    number: u64,
    left: u64,
}

impl OpportunityQueue {
    /// Nothing waits.
    pub fn new(opportunities: Opportunities, limit: QueueLimit) -> Self {
        let queue = RateQueue::new(bentpipe_units::BitRate::from_bps(1), limit);
        let number = opportunities.first_from(Instant::ZERO);
        let left = opportunities.bytes.get();
        Self { queue, opportunities, number, left }
    }

    /// The next opportunity, from this time on.
    fn advance(&mut self, at: Instant) {
        let next = self.number + 1;
        let late = self.opportunities.time(next) < at;
        self.number = if late { self.opportunities.first_from(at) } else { next };
        self.left = self.opportunities.bytes.get();
    }
}

impl Model for OpportunityQueue {
    fn pass(&mut self, at: Instant, packet: &Passing) -> Fate {
        if self.queue.begin(at, packet.bytes).is_none() {
            return Fate::Lost(LossCause::QueueFull);
        }
        if self.opportunities.time(self.number) < at {
            self.advance(at);
        }
        let mut need = packet.bytes.get();
        while need > self.left {
            need -= self.left;
            self.advance(at);
        }
        self.left -= need;
        let ends = self.opportunities.time(self.number);
        self.queue.end(ends);
        Fate::Leaves(ends)
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_wire::Kind;
    use proptest::prelude::*;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn opportunities(times: &[u64]) -> Opportunities {
        let period = Span::from_millis(*times.last().expect("a time"));
        let times = times.iter().map(|ms| at(*ms)).collect();
        Opportunities::new(times, period, ByteCount::new(1500)).expect("opportunities")
    }

    fn offer(line: &mut OpportunityQueue, ms: u64, bytes: u64) -> Fate {
        line.pass(at(ms), &Passing { bytes: ByteCount::new(bytes), kind: Kind::DATA })
    }

    fn leaves(ms: u64) -> Fate {
        Fate::Leaves(at(ms))
    }

    #[test]
    fn packets_leave_at_the_times_of_the_trace_which_begins_anew_at_its_end() {
        let mut line = OpportunityQueue::new(opportunities(&[3, 3, 7, 10]), QueueLimit::Unlimited);
        let fates: Vec<_> = (0..6).map(|_| offer(&mut line, 0, 1500)).collect();
        assert_eq!(fates, [3, 3, 7, 10, 13, 13].map(leaves));
        assert_eq!(offer(&mut line, 18, 1500), leaves(20), "what nobody used is gone");
        assert_eq!(offer(&mut line, 20, 1500), leaves(23));
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_take_several() {
        let mut line = OpportunityQueue::new(opportunities(&[5, 10]), QueueLimit::Unlimited);
        let fates = [500, 500, 500, 500].map(|bytes| offer(&mut line, 0, bytes));
        assert_eq!(fates, [5, 5, 5, 10].map(leaves));
        assert_eq!(offer(&mut line, 0, 2500), leaves(15), "1,000 of this one and all of the next");
        assert_eq!(offer(&mut line, 16, 1), leaves(20), "what was left at 15 ms is gone");
    }

    #[test]
    fn what_does_not_fit_the_queue_is_lost() {
        let mut line = OpportunityQueue::new(opportunities(&[5]), QueueLimit::Packets(1));
        let fates: Vec<_> = (0..3).map(|_| offer(&mut line, 0, 1500)).collect();
        assert_eq!(fates, [leaves(5), leaves(10), Fate::Lost(LossCause::QueueFull)]);
    }

    proptest! {
        #[test]
        fn what_leaves_by_each_millisecond_is_what_the_trace_allows(
            gaps in prop::collection::vec(0u64..20, 1..60),
            last in 1u64..20,
            start in 0u64..400,
            sizes in prop::collection::vec(1u64..5_000, 1..200),
        ) {
            let mut ms = 0;
            let mut times: Vec<u64> = gaps.iter().map(|gap| { ms += gap; ms }).collect();
            times.push(ms + last);
            let trace = opportunities(&times).starting_at(Span::from_millis(start));
            let mut line = OpportunityQueue::new(trace, QueueLimit::Unlimited);
            let period = ms + last;
            // Every opportunity of many rounds, as mahimahi counts them.
            let rounds = 2 + start / period + sizes.iter().sum::<u64>() / 1500 / times.len() as u64 + 1;
            let all: Vec<u64> = (0..rounds)
                .flat_map(|round| times.iter().map(move |time| round * period + time))
                .filter(|time| *time >= start)
                .map(|time| time - start)
                .collect();
            let mut sent = 0;
            for bytes in sizes {
                sent += bytes;
                let opportunity = all[(sent.div_ceil(1500) - 1) as usize];
                prop_assert_eq!(offer(&mut line, 0, bytes), leaves(opportunity));
            }
        }
    }
}
