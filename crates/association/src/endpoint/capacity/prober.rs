//! The host that sends trains, and what it learns.

use std::collections::VecDeque;

use bentpipe_cc::KnownPath;
use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::message::CapacityReport;

/// Datagrams of the first train, the second, and all others.
const SIZES: [u8; 3] = [4, 8, 24];
/// No train takes longer to arrive, as far as is known.
const LONGEST: Span = Span::from_millis(500);
/// Fewest arrivals that tell something, and the shortest time: a host cannot tell apart what comes within less.
const ARRIVALS: usize = 3;
const SHORTEST: f64 = 0.001;
/// So long after content was sent or came nobody uses the path.
const QUIET: Span = Span::from_secs(1);
/// Time between trains once a path is known, and after so many in a row that told nothing.
const AGAIN: Span = Span::from_secs(1_200);
const RETRY: Span = Span::from_secs(60);
const FAILURES: u32 = 3;
/// A report does not come later than this, or three round trips after a train if that is less, but not less than half a
/// second.
const LATE: Span = Span::from_secs(5);
const LATE_MIN: Span = Span::from_millis(500);
/// The bound on what trains cost is for this time.
const HOUR: Span = Span::from_secs(3_600);

/// A train that is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::endpoint) struct Train {
    pub(in crate::endpoint) serial: u32,
    pub(in crate::endpoint) count: u8,
}

/// What is known of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::endpoint) struct Learned {
    pub(in crate::endpoint) path: usize,
    pub(in crate::endpoint) at: Instant,
    /// With the headers of all layers.
    pub(in crate::endpoint) known: KnownPath,
}

/// A train that left.
#[derive(Clone, Copy, Debug)]
struct Sent {
    train: Train,
    path: usize,
    at: Instant,
    /// Bytes of each datagram on the link.
    each: u64,
}

/// Sends trains by the path in use.
#[derive(Debug)]
pub(in crate::endpoint) struct Prober {
    /// Bytes an hour.
    budget: u64,
    spent: VecDeque<(Instant, u64)>,
    serial: u32,
    /// Which of the sizes is next.
    step: usize,
    next: Instant,
    /// Trains in a row that told nothing.
    failures: u32,
    used: Option<Instant>,
    sent: Option<Sent>,
    learned: Option<Learned>,
}

impl Prober {
    /// One that sends at most so many bytes in an hour.
    pub(in crate::endpoint) fn new(budget: ByteCount) -> Self {
        Self {
            budget: budget.get(),
            spent: VecDeque::new(),
            serial: 0,
            step: 0,
            next: Instant::ZERO,
            failures: 0,
            used: None,
            sent: None,
            learned: None,
        }
    }

    /// Content is sent, or came.
    #[inline]
    pub(in crate::endpoint) const fn used(&mut self, now: Instant) {
        self.used = Some(now);
    }

    /// The path leads elsewhere: nothing is known of it.
    pub(in crate::endpoint) const fn forget(&mut self, now: Instant) {
        (self.learned, self.sent, self.step) = (None, None, 0);
        (self.failures, self.next) = (0, now);
    }

    /// What is known of the path in use, which is this one.
    pub(in crate::endpoint) fn learned(&self, path: usize) -> Option<Learned> {
        self.learned.filter(|learned| learned.path == path)
    }

    /// The train that is due by the path in use, whose datagrams have so many bytes on the link.
    pub(in crate::endpoint) fn train(
        &mut self,
        now: Instant,
        path: usize,
        each: usize,
    ) -> Option<Train> {
        if self.sent.is_some_and(|sent| self.is_late_at(sent.at) <= now) {
            // It was lost, or the report was.
            self.sent = None;
            self.failed(now);
        }
        if self.due().is_none_or(|due| due > now) || self.sent.is_some() {
            return None;
        }
        if self.learned.is_some_and(|learned| learned.path != path) {
            (self.learned, self.step) = (None, 0);
        }
        let (count, each) = (SIZES[self.step], each as u64);
        let bytes = u64::from(count) * each;
        if !self.affords(now, bytes) {
            return None;
        }
        self.serial = self.serial.wrapping_add(1);
        let train = Train { serial: self.serial, count };
        self.spent.push_back((now, bytes));
        self.sent = Some(Sent { train, path, at: now, each });
        Some(train)
    }

    /// A train told nothing: it is repeated, but a path that carries none is left alone.
    fn failed(&mut self, now: Instant) {
        self.failures += 1;
        self.next = now;
        if self.failures >= FAILURES {
            (self.failures, self.next) = (0, now + RETRY);
        }
    }

    /// When the report of a train that left at a time does not come any more.
    fn is_late_at(&self, left: Instant) -> Instant {
        let trips = self.learned.map(|learned| learned.known.round_trip * 3 + LONGEST);
        left + trips.map_or(LATE, |trips| trips.max(LATE_MIN).min(LATE))
    }

    /// Whether so many bytes may be spent; if not, it is looked at again when they may.
    fn affords(&mut self, now: Instant, bytes: u64) -> bool {
        while self.spent.front().is_some_and(|(at, _)| *at + HOUR <= now) {
            self.spent.pop_front();
        }
        let spent: u64 = self.spent.iter().map(|(_, bytes)| bytes).sum();
        let affords = spent + bytes <= self.budget;
        if !affords {
            self.next = self.spent.front().map_or(Instant::MAX, |(at, _)| *at + HOUR);
        }
        affords
    }

    /// The peer tells what arrived. Returns what is known now, if that is news.
    pub(in crate::endpoint) fn reported(
        &mut self,
        now: Instant,
        report: &CapacityReport,
    ) -> Option<Learned> {
        let sent = self.sent.take_if(|sent| sent.train.serial == report.serial)?;
        let is_of_it = report.arrivals.len() <= usize::from(sent.train.count);
        let Some(rate) = rate(report, sent.each).filter(|_| is_of_it) else {
            self.failed(now);
            return None;
        };
        let waited = report.arrivals.last().map_or(0, |last| last.after);
        let since = Span::from_micros(u64::from(report.held) + u64::from(waited));
        let round_trip = now.since(sent.at).saturating_sub(since);
        if round_trip.is_zero() {
            // It answered sooner than it can have heard.
            self.failed(now);
            return None;
        }
        self.failures = 0;
        let larger = SIZES.get(self.step + 1).map(|count| u64::from(*count) * sent.each);
        let is_short = |bytes: u64| rate.time_for(ByteCount::new(bytes)) <= LONGEST;
        let goes_on = larger.is_some_and(is_short);
        if goes_on {
            self.step += 1;
            self.next = now;
        } else {
            self.next = now + AGAIN;
        }
        let lasted = Span::from_micros(waited.into()).as_secs_f64();
        let known = KnownPath { rate, round_trip, at_least: goes_on || lasted < SHORTEST };
        self.learned = Some(Learned { path: sent.path, at: now, known });
        self.learned
    }

    /// When [`Prober::train`] should be asked.
    pub(in crate::endpoint) fn due(&self) -> Option<Instant> {
        if self.budget == 0 || self.next == Instant::MAX {
            return None;
        }
        let quiet = self.used.map_or(Instant::ZERO, |used| used + QUIET);
        let free = self.sent.map_or(Instant::ZERO, |sent| self.is_late_at(sent.at));
        Some(self.next.max(quiet).max(free))
    }
}

/// The rate at which the datagrams arrived, by least squares: one that is late, as hosts are, changes little. What was
/// lost is not counted: where a queue is short only what it held tells of the link.
fn rate(report: &CapacityReport, each: u64) -> Option<BitRate> {
    let times: Vec<f64> =
        report.arrivals.iter().map(|arrival| f64::from(arrival.after) / 1e6).collect();
    if times.len() < ARRIVALS || times.windows(2).any(|pair| pair[1] < pair[0]) {
        return None;
    }
    let count = times.len() as f64;
    let (mean, middle) = (times.iter().sum::<f64>() / count, (count - 1.0) / 2.0);
    let spread: f64 = times.iter().map(|time| (time - mean) * (time - mean)).sum();
    let places = (0..times.len()).map(|place| place as f64 - middle);
    let together: f64 = places.zip(&times).map(|(place, time)| place * (time - mean)).sum();
    let lasted = times.last().copied().unwrap_or(0.0);
    let most = (count - 1.0) / SHORTEST;
    let each_second = if lasted < SHORTEST { most } else { together / spread };
    let bits = each_second * each as f64 * 8.0;
    (bits >= 1.0 && bits.is_finite()).then(|| BitRate::from_bps(bits as u64))
}

#[cfg(test)]
mod tests {
    use super::super::message::Arrival;
    use super::*;

    const RTT: Span = Span::from_millis(600);
    const BYTES: u64 = 1_500;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn prober() -> Prober {
        Prober::new(ByteCount::new(100_000))
    }

    /// What a peer reports of a train over a link that takes so many microseconds for a datagram.
    fn report(train: Train, each: u32) -> CapacityReport {
        let arrival = |index: u8| Arrival { index, after: u32::from(index) * each };
        let arrivals = (0..train.count).map(arrival).collect();
        CapacityReport { serial: train.serial, held: 0, arrivals }
    }

    /// Lets so many seconds pass over such a link. Returns the trains, when they left and how long they were.
    fn run(prober: &mut Prober, seconds: u64, each: u32) -> Vec<(u64, u8)> {
        let mut trains = Vec::new();
        let mut answer: Option<(u64, CapacityReport)> = None;
        for ms in 0..seconds * 1_000 {
            if answer.as_ref().is_some_and(|(due, _)| *due == ms)
                && let Some((_, report)) = answer.take()
            {
                assert!(prober.reported(at(ms), &report).is_some());
            }
            if prober.due().is_none_or(|due| due > at(ms)) {
                continue;
            }
            if let Some(train) = prober.train(at(ms), 0, BYTES as usize) {
                trains.push((ms, train.count));
                let lasts = u64::from(each) * u64::from(train.count - 1) / 1_000;
                answer = Some((ms + 600 + lasts, report(train, each)));
            }
        }
        trains
    }

    #[test]
    fn the_time_between_arrivals_tells_the_rate_and_the_first_one_the_round_trip() {
        let mut prober = prober();
        let train = prober.train(at(0), 0, BYTES as usize).expect("a train");
        // 1.2 ms for 1,500 bytes, and the report waited 50 ms.
        let report = CapacityReport { held: 50_000, ..report(train, 1_200) };
        let at = at(0) + RTT + Span::from_micros(3 * 1_200 + 50_000);
        let rate = BitRate::from_bps(10_000_000);
        let known = KnownPath { rate, round_trip: RTT, at_least: true };
        assert_eq!(prober.reported(at, &report), Some(Learned { path: 0, at, known }));
        assert_eq!(prober.learned(1), None, "of another path nothing is known");
        let whole = |each| {
            let mut prober = Prober::new(ByteCount::new(100_000));
            run(&mut prober, 10, each);
            prober.learned(0).map(|learned| !learned.known.at_least)
        };
        assert_eq!(
            (whole(1_200), whole(187_500), whole(10)),
            (Some(true), Some(true), Some(false))
        );
    }

    #[test]
    fn a_datagram_that_a_host_was_late_for_changes_little() {
        let train = Train { serial: 1, count: 24 };
        let mut report = report(train, 1_200);
        report.arrivals[23].after += 2_000;
        let rate = rate(&report, BYTES).expect("a rate").as_bps() as f64;
        assert!((rate / 10e6 - 1.0).abs() < 0.02, "{rate}");
    }

    #[test]
    fn what_comes_faster_than_a_host_can_tell_is_as_fast_as_it_can() {
        let train = Train { serial: 1, count: 24 };
        let most = 23.0 * 1_500.0 * 8.0 / 0.001;
        assert_eq!(rate(&report(train, 0), BYTES), Some(BitRate::from_bps(most as u64)));
    }

    #[test]
    fn trains_become_longer_until_they_would_take_half_a_second() {
        let counts =
            |each| run(&mut prober(), 60, each).iter().map(|(_, n)| *n).collect::<Vec<_>>();
        assert_eq!(counts(1_200), [4, 8, 24]);
        assert_eq!(counts(40_000), [4, 8]);
        assert_eq!(counts(187_500), [4]);
    }

    #[test]
    fn no_hour_costs_more_than_it_may() {
        let mut prober = prober();
        let trains = run(&mut prober, 5 * 3_600, 1_200);
        for (from, _) in &trains {
            let hour = trains.iter().filter(|(ms, _)| (*from..from + 3_600_000).contains(ms));
            let bytes: u64 = hour.map(|(_, count)| u64::from(*count) * BYTES).sum();
            assert!(bytes <= 100_000, "{bytes} from {from} on");
        }
        assert!(trains.len() >= 3 + 4 * 2, "{trains:?}");
        assert_eq!(Prober::new(ByteCount::ZERO).due(), None);
        let mut poor = Prober::new(ByteCount::new(5_999));
        assert_eq!((poor.train(at(0), 0, BYTES as usize), poor.due()), (None, None));
    }

    #[test]
    fn nothing_leaves_while_somebody_uses_the_path() {
        let mut prober = prober();
        prober.used(at(100));
        assert_eq!(prober.due(), Some(at(1_100)));
        assert_eq!(prober.train(at(1_099), 0, BYTES as usize), None);
        assert!(prober.train(at(1_100), 0, BYTES as usize).is_some());
    }

    #[test]
    fn a_train_of_which_nothing_is_heard_is_repeated_and_after_three_a_minute_later() {
        let mut prober = prober();
        let mut left = Vec::new();
        for ms in 0..80_000 {
            if prober.due().is_some_and(|due| due <= at(ms))
                && prober.train(at(ms), 0, BYTES as usize).is_some()
            {
                left.push(ms);
            }
        }
        assert_eq!(left, [0, 5_000, 10_000, 75_000]);
        let first = Train { serial: 1, count: 4 };
        assert_eq!(prober.reported(at(80_000), &report(first, 1_200)), None, "it comes too late");
        let last = Train { serial: 4, count: 4 };
        assert!(prober.reported(at(80_000), &report(last, 1_200)).is_some());
    }

    #[test]
    fn where_the_round_trip_is_known_nobody_waits_for_seconds() {
        let mut prober = prober();
        let train = prober.train(at(0), 0, BYTES as usize).expect("a train");
        prober.reported(at(604), &report(train, 1_200));
        assert!(prober.train(at(604), 0, BYTES as usize).is_some());
        assert_eq!(prober.train(at(2_903), 0, BYTES as usize), None);
        assert!(
            prober.train(at(2_906), 0, BYTES as usize).is_some(),
            "three round trips and half a second"
        );
    }

    #[test]
    fn a_report_that_cannot_be_true_teaches_nothing() {
        let wrong = |change: fn(&mut CapacityReport)| {
            let mut prober = prober();
            let train = prober.train(at(0), 0, BYTES as usize).expect("a train");
            let mut report = report(train, 1_200);
            change(&mut report);
            let learned = prober.reported(at(700), &report);
            (learned.is_none(), prober.due())
        };
        let again = (true, Some(at(700)));
        assert_eq!(wrong(|report| report.arrivals.truncate(2)), again);
        assert_eq!(wrong(|report| report.arrivals.swap(0, 3)), again, "time does not run back");
        let more = |report: &mut CapacityReport| report.arrivals.extend_from_within(3..);
        assert_eq!(wrong(more), again, "more than was sent");
        assert_eq!(wrong(|report| report.held = 700_000), again, "it was held before it was sent");
        assert_eq!(wrong(|report| report.serial += 1), (true, Some(at(5_000))));
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_learned_anew() {
        let mut prober = prober();
        run(&mut prober, 10, 1_200);
        prober.forget(at(10_000));
        assert_eq!((prober.learned(0), prober.due()), (None, Some(at(10_000))));
        assert_eq!(prober.train(at(10_000), 0, BYTES as usize).map(|train| train.count), Some(4));
    }

    #[test]
    fn another_path_is_learned_anew() {
        let mut prober = prober();
        run(&mut prober, 10, 1_200);
        assert!(prober.learned(0).is_some());
        let later = at(1_300_000);
        let train = prober.train(later, 1, BYTES as usize).expect("a train");
        assert_eq!((train.count, prober.learned(0)), (4, None));
    }
}
