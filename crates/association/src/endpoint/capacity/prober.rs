//! The host that sends trains, and what it learns.

use bentpipe_cc::KnownPath;
use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::ledger::Ledger;
use super::message::CapacityReport;

/// Datagrams of the first trains and of all others. Those of the very first are short: at 2.4 kbit/s it takes 2 s.
const SIZES: [u8; 4] = [3, 4, 8, 24];
const SHORT: u64 = 200;
/// No train takes longer to arrive, as far as is known.
const LONGEST: Span = Span::from_millis(500);
/// Fewest arrivals that tell something, and the shortest time: a host cannot tell apart what comes within less.
const ARRIVALS: usize = 3;
const SHORTEST: f64 = 0.001;
/// So long after content was sent or came nobody uses the path.
const QUIET: Span = Span::from_secs(1);
/// Time between trains once a path is known, or after so many in a row that told nothing.
const AGAIN: Span = Span::from_secs(1_200);
const FAILURES: u32 = 3;
/// A report does not come later than this, or three round trips after a train if that is less, but not less than half a
/// second.
const LATE: Span = Span::from_secs(5);
const LATE_MIN: Span = Span::from_millis(500);

/// A train that is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::endpoint) struct Train {
    pub(in crate::endpoint) serial: u32,
    pub(in crate::endpoint) count: u8,
    /// Its datagrams have so many bytes on the link.
    pub(in crate::endpoint) each: u64,
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
    /// Bytes of a full datagram on the link.
    full: u64,
}

/// Sends trains by the path in use.
#[derive(Debug)]
pub(in crate::endpoint) struct Prober {
    ledger: Ledger,
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
    /// One that may spend what this ledger says.
    pub(in crate::endpoint) fn new(ledger: Ledger) -> Self {
        Self {
            ledger,
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

    /// What was spent, for the next association with the peer.
    pub(in crate::endpoint) fn into_ledger(self) -> Ledger {
        self.ledger
    }

    /// Another path is in use: what is known is not of it.
    pub(in crate::endpoint) fn uses(&mut self, now: Instant, path: usize) {
        if self.learned.is_some_and(|learned| learned.path != path) {
            self.forget(now);
        }
    }

    /// What is known of the path in use, which is this one.
    pub(in crate::endpoint) fn learned(&self, path: usize) -> Option<Learned> {
        self.learned.filter(|learned| learned.path == path)
    }

    /// The train that is due by the path in use, whose full datagrams have so many bytes on the link.
    pub(in crate::endpoint) fn train(
        &mut self,
        now: Instant,
        path: usize,
        full: usize,
    ) -> Option<Train> {
        if self.sent.is_some_and(|sent| self.is_late_at(sent.at) <= now) {
            // It was lost, or the report was.
            self.sent = None;
            self.failed(now);
        }
        if self.due().is_none_or(|due| due > now) || self.sent.is_some() {
            return None;
        }
        self.uses(now, path);
        let full = full as u64;
        while self.step > 0 && cost(self.step, full) > self.ledger.budget() {
            self.step -= 1;
        }
        if let Err(later) = self.ledger.spend(now, cost(self.step, full)) {
            self.next = later;
            return None;
        }
        self.serial = self.serial.wrapping_add(1);
        let (count, each) = (SIZES[self.step], length(self.step, full));
        let train = Train { serial: self.serial, count, each };
        self.sent = Some(Sent { train, path, at: now, full });
        Some(train)
    }

    /// A train told nothing: it is repeated, but a path that carries none is left alone.
    fn failed(&mut self, now: Instant) {
        self.failures += 1;
        self.next = now;
        if self.failures >= FAILURES {
            (self.failures, self.next) = (0, now + AGAIN);
        }
    }

    /// When the report of a train that left at a time does not come any more.
    fn is_late_at(&self, left: Instant) -> Instant {
        let trips = self.learned.map(|learned| learned.known.round_trip * 3 + LONGEST);
        left + trips.map_or(LATE, |trips| trips.max(LATE_MIN).min(LATE))
    }

    /// The peer tells what arrived. Returns what is known now, if that is news.
    pub(in crate::endpoint) fn reported(
        &mut self,
        now: Instant,
        report: &CapacityReport,
    ) -> Option<Learned> {
        let sent = self.sent.take_if(|sent| sent.train.serial == report.serial)?;
        let train = sent.train;
        let is_of_it = report.arrivals.len() <= usize::from(train.count);
        let in_time = now <= self.is_late_at(sent.at);
        let waited = report.arrivals.last().map_or(0, |last| last.after);
        let since = Span::from_micros(u64::from(report.held) + u64::from(waited));
        let round_trip = now.since(sent.at).saturating_sub(since);
        let pace = Pace::of(report).filter(|_| is_of_it && in_time && !round_trip.is_zero());
        // Without a round trip it was answered sooner than it can have been heard.
        let Some(pace) = pace else {
            self.failed(now);
            return None;
        };
        self.failures = 0;
        let rate = match pace {
            Pace::EachSecond(count) => bits(count * train.each as f64 * 8.0),
            // How fast is not known. It arrived as one: twice as much may leave in a round trip.
            Pace::AtOnce => {
                let twice = 2 * u64::from(train.count) * train.each * 8;
                bits(twice as f64 / round_trip.as_secs_f64())
            }
        };
        let larger = self.step + 1 < SIZES.len();
        let is_short = rate.time_for(ByteCount::new(cost(self.step + 1, sent.full))) <= LONGEST;
        let goes_on = larger && (is_short || pace == Pace::AtOnce);
        if goes_on {
            self.step += 1;
            self.next = now;
        } else {
            self.next = now + AGAIN;
        }
        let at_least = goes_on || pace == Pace::AtOnce;
        let known = KnownPath { rate, round_trip, at_least };
        self.learned = Some(Learned { path: sent.path, at: now, known });
        self.learned
    }

    /// When [`Prober::train`] should be asked.
    pub(in crate::endpoint) fn due(&self) -> Option<Instant> {
        if self.ledger.budget() == 0 || self.next == Instant::MAX {
            return None;
        }
        let quiet = self.used.map_or(Instant::ZERO, |used| used + QUIET);
        let free = self.sent.map_or(Instant::ZERO, |sent| self.is_late_at(sent.at));
        Some(self.next.max(quiet).max(free))
    }
}

/// Bytes on the link of a datagram of a train, and of all of them.
fn length(step: usize, full: u64) -> u64 {
    if step == 0 { SHORT.min(full) } else { full }
}

fn cost(step: usize, full: u64) -> u64 {
    SIZES.get(step).map_or(0, |count| u64::from(*count) * length(step, full))
}

fn bits(each_second: f64) -> BitRate {
    BitRate::from_bps(each_second as u64)
}

/// How fast the datagrams of a train arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pace {
    /// Faster than a host can tell: over a fast link, or a link that lets some pass at once.
    AtOnce,
    /// So many in a second, by least squares: one that is late, as hosts are, changes little. What was lost is not
    /// counted: where a queue is short only what it held tells of the link.
    EachSecond(f64),
}

impl Pace {
    fn of(report: &CapacityReport) -> Option<Self> {
        let times: Vec<f64> =
            report.arrivals.iter().map(|arrival| f64::from(arrival.after) / 1e6).collect();
        if times.len() < ARRIVALS || times.windows(2).any(|pair| pair[1] < pair[0]) {
            return None;
        }
        if times.last().copied().unwrap_or(0.0) < SHORTEST {
            return Some(Self::AtOnce);
        }
        let count = times.len() as f64;
        let (mean, middle) = (times.iter().sum::<f64>() / count, (count - 1.0) / 2.0);
        let spread: f64 = times.iter().map(|time| (time - mean) * (time - mean)).sum();
        let places = (0..times.len()).map(|place| place as f64 - middle);
        let together: f64 = places.zip(&times).map(|(place, time)| place * (time - mean)).sum();
        let each_second = together / spread;
        (each_second > 0.0 && each_second.is_finite()).then_some(Self::EachSecond(each_second))
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::Arrival;
    use super::*;

    const RTT: Span = Span::from_millis(600);
    const BYTES: u64 = 1_500;

    /// A train of full datagrams.
    fn full(serial: u32, count: u8) -> Train {
        Train { serial, count, each: BYTES }
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn with(budget: u64) -> Prober {
        Prober::new(Ledger::default().with_budget(ByteCount::new(budget)))
    }

    fn prober() -> Prober {
        with(100_000)
    }

    /// What a peer reports of a train over a link that takes so many microseconds for a datagram.
    fn report(train: Train, each: u32) -> CapacityReport {
        let each = each * train.each as u32 / BYTES as u32;
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
                let lasts =
                    u64::from(each) * train.each * u64::from(train.count - 1) / BYTES / 1_000;
                answer = Some((ms + 600 + lasts, report(train, each)));
            }
        }
        trains
    }

    #[test]
    fn the_time_between_arrivals_tells_the_rate_and_the_first_one_the_round_trip() {
        let mut prober = prober();
        let train = prober.train(at(0), 0, BYTES as usize).expect("a train");
        assert_eq!((train.count, train.each), (3, 200));
        // 1.2 ms for 200 bytes, and the report waited 50 ms.
        let arrivals = [0, 1_200, 2_400].into_iter().zip(0..);
        let arrivals = arrivals.map(|(after, index)| Arrival { index, after }).collect();
        let report = CapacityReport { serial: train.serial, held: 50_000, arrivals };
        let at = at(0) + RTT + Span::from_micros(2_400 + 50_000);
        let rate = BitRate::from_bps(1_333_333);
        let known = KnownPath { rate, round_trip: RTT, at_least: true };
        assert_eq!(prober.reported(at, &report), Some(Learned { path: 0, at, known }));
        assert_eq!(prober.learned(1), None, "of another path nothing is known");
    }

    #[test]
    fn a_path_faster_than_a_host_can_tell_carries_two_trains_in_a_round_trip_at_least() {
        let known = |each| {
            let mut prober = prober();
            run(&mut prober, 10, each);
            prober.learned(0).expect("a path").known
        };
        assert!(!known(1_200).at_least && !known(187_500).at_least);
        let fast = known(10);
        assert!(fast.at_least);
        // The train took a quarter of a millisecond, of which the round trip is short.
        let bytes = fast.rate.bytes_in(RTT).get();
        assert!(bytes.abs_diff(2 * 24 * BYTES) < 100, "{bytes}");
    }

    #[test]
    fn a_datagram_that_a_host_was_late_for_changes_little() {
        let train = full(1, 24);
        let mut report = report(train, 1_200);
        report.arrivals[23].after += 2_000;
        let Some(Pace::EachSecond(rate)) = Pace::of(&report) else { panic!("no rate") };
        assert!((rate * 1.2e-3 - 1.0).abs() < 0.02, "{rate}");
    }

    #[test]
    fn trains_become_longer_until_they_would_take_half_a_second() {
        let counts =
            |each| run(&mut prober(), 60, each).iter().map(|(_, n)| *n).collect::<Vec<_>>();
        assert_eq!(counts(1_200), [3, 4, 8, 24]);
        assert_eq!(counts(40_000), [3, 4, 8]);
        assert_eq!(counts(187_500), [3]);
        assert_eq!(counts(5_000_000), [3], "2.4 kbit/s");
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
        assert_eq!(with(0).due(), None);
        let trains = run(&mut with(20_000), 5 * 3_600, 1_200);
        assert!(trains.len() >= 3 + 4 && trains.iter().all(|(_, count)| *count <= 8), "{trains:?}");
        let mut poor = with(599);
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
    fn a_train_of_which_nothing_is_heard_is_repeated_and_after_three_much_later() {
        let mut prober = prober();
        let mut left = Vec::new();
        for ms in 0..1_220_000 {
            if prober.due().is_some_and(|due| due <= at(ms))
                && prober.train(at(ms), 0, BYTES as usize).is_some()
            {
                left.push(ms);
            }
        }
        assert_eq!(left, [0, 5_000, 10_000, 1_215_000]);
        let late = report(Train { serial: 4, count: 3, each: 200 }, 1_200);
        assert_eq!(prober.reported(at(1_220_100), &late), None, "it comes too late");
    }

    #[test]
    fn where_the_round_trip_is_known_nobody_waits_for_seconds() {
        let mut prober = prober();
        let train = prober.train(at(0), 0, BYTES as usize).expect("a train");
        prober.reported(at(600), &report(train, 1_200));
        assert!(prober.train(at(600), 0, BYTES as usize).is_some());
        assert_eq!(prober.train(at(2_899), 0, BYTES as usize), None);
        assert!(
            prober.train(at(2_901), 0, BYTES as usize).is_some(),
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
        assert_eq!(wrong(|report| report.arrivals.swap(0, 2)), again, "time does not run back");
        let more = |report: &mut CapacityReport| report.arrivals.extend_from_within(2..);
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
        assert_eq!(prober.train(at(10_000), 0, BYTES as usize).map(|train| train.count), Some(3));
    }

    #[test]
    fn another_path_is_learned_anew() {
        let mut prober = prober();
        run(&mut prober, 10, 1_200);
        assert!(prober.learned(0).is_some());
        prober.uses(at(20_000), 0);
        assert!(prober.learned(0).is_some());
        prober.uses(at(20_000), 1);
        let train = prober.train(at(20_000), 1, BYTES as usize).expect("a train");
        assert_eq!((train.count, prober.learned(0)), (3, None));
    }
}
