//! The host that sends trains, and what it learns.

use bentpipe_cc::KnownPath;
use bentpipe_transport::xstp::Received;
use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::ledger::Ledger;
use super::message::CapacityReport;
use super::pace::Pace;
use crate::endpoint::paths::MAX_PATHS;

/// Datagrams of the first trains and of all others. Those of the first two are short: at 2.4 kbit/s these take 2 s and 7 s.
const SIZES: [u8; 4] = [3, 4, 8, 24];
const SHORT: [u64; 2] = [200, 500];
/// The first train of those who have content: at 10 Mbit/s a host can tell how fast it comes.
const FIRST_OF_CONTENT: usize = 1;
/// No train takes longer to arrive, as far as is known.
const LONGEST: Span = Span::from_millis(500);
/// So long after content was sent or came nobody uses the path.
const QUIET: Span = Span::from_secs(1);
/// So long after it was too much that waited for the socket it is looked at again.
const POSTPONED: Span = Span::from_millis(100);
/// Time between trains once a path is known, or after so many in a row that told nothing.
const AGAIN: Span = Span::from_secs(1_200);
const FAILURES: u32 = 3;
/// Time until the next train where content is sent and one told nothing, times those that told nothing.
const BESIDE_CONTENT: Span = Span::from_secs(10);
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
    /// When the peer had received the last of the train.
    pub(in crate::endpoint) received: Received,
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

/// Sends trains by the paths in use. What they cost is counted for all together.
#[derive(Debug)]
pub(in crate::endpoint) struct Prober {
    ledger: Ledger,
    serial: u32,
    used: Option<Instant>,
    /// This host has content for the peer, and need not wait for silence to learn what a path carries of which nothing is known.
    sends: bool,
    paths: [PathProber; MAX_PATHS],
}

/// What is done to know one path.
#[derive(Clone, Copy, Debug)]
struct PathProber {
    /// Which of the sizes is next.
    step: usize,
    next: Instant,
    /// Trains in a row that told nothing.
    failures: u32,
    sent: Option<Sent>,
    learned: Option<Learned>,
    /// Its first trains have told all that they can, or nothing.
    is_opened: bool,
}

impl Prober {
    /// One that may spend what this ledger says.
    pub(in crate::endpoint) const fn new(ledger: Ledger) -> Self {
        let paths = [PathProber::begin(Instant::ZERO); MAX_PATHS];
        Self { ledger, serial: 0, used: None, sends: false, paths }
    }

    /// Content is sent, or came.
    #[inline]
    pub(in crate::endpoint) const fn used(&mut self, now: Instant) {
        self.used = Some(now);
    }

    /// Content is sent.
    #[inline]
    pub(in crate::endpoint) const fn sends(&mut self, now: Instant) {
        self.sends = true;
        self.used(now);
    }

    /// Too much waits for the socket: a train would tell of that.
    pub(in crate::endpoint) fn postpone(&mut self, now: Instant, path: usize) {
        self.used(now);
        if let Some(known) = self.paths.get_mut(path) {
            known.next = known.next.max(now + POSTPONED);
        }
    }

    /// Paths lead elsewhere: nothing is known of them.
    pub(in crate::endpoint) const fn forget(&mut self, now: Instant) {
        self.paths = [PathProber::begin(now); MAX_PATHS];
    }

    /// What was spent, for the next association with the peer.
    pub(in crate::endpoint) fn into_ledger(self) -> Ledger {
        self.ledger
    }

    /// What is known of this path.
    pub(in crate::endpoint) fn learned(&self, path: usize) -> Option<Learned> {
        self.paths.get(path)?.learned
    }

    /// The train that is due by this path, whose full datagrams have so many bytes on the link.
    pub(in crate::endpoint) fn train(
        &mut self,
        now: Instant,
        path: usize,
        full: usize,
    ) -> Option<Train> {
        let known = self.paths.get_mut(path)?;
        if known.sent.is_some_and(|sent| known.is_late_at(sent.at) <= now) {
            // It was lost, or the report was.
            known.sent = None;
            known.failed(now, self.sends);
        }
        if self.due(path).is_none_or(|due| due > now) {
            return None;
        }
        let known = self.paths.get_mut(path).filter(|known| known.sent.is_none())?;
        let full = full as u64;
        if self.sends && known.is_first() {
            known.step = FIRST_OF_CONTENT;
        }
        while known.step > 0 && cost(known.step, full) > self.ledger.budget() {
            known.step -= 1;
        }
        if let Err(later) = self.ledger.spend(now, cost(known.step, full)) {
            known.next = later;
            return None;
        }
        self.serial = self.serial.wrapping_add(1);
        let (count, each) = (SIZES[known.step], length(known.step, full));
        let train = Train { serial: self.serial, count, each };
        known.sent = Some(Sent { train, path, at: now, full });
        Some(train)
    }

    /// The peer tells what arrived. Returns what is known now, if that is news.
    pub(in crate::endpoint) fn reported(
        &mut self,
        now: Instant,
        report: &CapacityReport,
    ) -> Option<Learned> {
        let sends = self.sends;
        self.paths.iter_mut().find_map(|path| path.reported(now, report, sends))
    }

    /// When [`Prober::train`] should be asked for this path.
    pub(in crate::endpoint) fn due(&self, path: usize) -> Option<Instant> {
        let known = self.paths.get(path)?;
        if self.ledger.budget() == 0 || known.next == Instant::MAX {
            return None;
        }
        let waits = !self.sends || known.is_opened;
        let quiet = self.used.filter(|_| waits).map_or(Instant::ZERO, |used| used + QUIET);
        let free = known.sent.map_or(Instant::ZERO, |sent| known.is_late_at(sent.at));
        Some(known.next.max(quiet).max(free))
    }
}

impl PathProber {
    const fn begin(now: Instant) -> Self {
        Self { step: 0, next: now, failures: 0, sent: None, learned: None, is_opened: false }
    }

    /// A train told nothing: it is repeated, but a path that carries none is left alone. Beside content it may have been too long
    /// for the path, and what is left of it must not stand in the way of the next one.
    fn failed(&mut self, now: Instant, sends: bool) {
        self.failures += 1;
        self.next = if sends { now + BESIDE_CONTENT * u64::from(self.failures) } else { now };
        self.is_opened = true;
        if self.failures >= FAILURES {
            (self.failures, self.next) = (0, now + AGAIN);
        }
    }

    /// Whether no train has left.
    const fn is_first(&self) -> bool {
        self.step == 0 && self.failures == 0 && self.learned.is_none()
    }

    /// When the report of a train that left at a time does not come any more.
    fn is_late_at(&self, left: Instant) -> Instant {
        let trips = self.learned.map(|learned| learned.known.round_trip * 3 + LONGEST);
        left + trips.map_or(LATE, |trips| trips.max(LATE_MIN).min(LATE))
    }

    /// The peer tells what arrived. Returns what is known now, if that is news.
    fn reported(&mut self, now: Instant, report: &CapacityReport, sends: bool) -> Option<Learned> {
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
            self.failed(now, sends);
            return None;
        };
        self.failures = 0;
        let rate = match pace {
            Pace::EachSecond { rate, .. } => bits(rate * train.each as f64 * 8.0),
            // How fast is not known. It arrived as one: twice as much may leave in a round trip.
            Pace::AtOnce => {
                let twice = 2 * u64::from(train.count) * train.each * 8;
                bits(twice as f64 / round_trip.as_secs_f64())
            }
        };
        let is_short = |step| rate.time_for(ByteCount::new(cost(step, sent.full))) <= LONGEST;
        let larger = self.step + 1..SIZES.len();
        let next = match pace {
            Pace::AtOnce => larger.clone().next(),
            // Who has content does not wait for a round trip more.
            Pace::EachSecond { .. } if sends => larger.clone().rfind(|step| is_short(*step)),
            Pace::EachSecond { .. } => larger.clone().next().filter(|step| is_short(*step)),
        };
        let goes_on = next.is_some();
        self.step = next.unwrap_or(self.step);
        self.next = if goes_on { now } else { now + AGAIN };
        self.is_opened |= !goes_on;
        let is_exact = matches!(pace, Pace::EachSecond { is_even: true, .. });
        let at_least = goes_on || !is_exact;
        let known = KnownPath { rate, round_trip, at_least, return_delay: None };
        let held = Span::from_micros(u64::from(report.held));
        let received = Received { at: report.received_at, held };
        self.learned = Some(Learned { path: sent.path, at: now, known, received });
        self.learned
    }
}

/// Bytes on the link of a datagram of a train, and of all of them.
fn length(step: usize, full: u64) -> u64 {
    SHORT.get(step).map_or(full, |short| full.min(*short))
}

fn cost(step: usize, full: u64) -> u64 {
    SIZES.get(step).map_or(0, |count| u64::from(*count) * length(step, full))
}

fn bits(each_second: f64) -> BitRate {
    BitRate::from_bps(each_second as u64)
}

#[cfg(test)]
mod tests {
    use bentpipe_wire::xstp::ReceiveTimestamp;

    use super::super::message::Arrival;
    use super::*;

    const RTT: Span = Span::from_millis(600);
    const BYTES: u64 = 1_500;

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
        let received_at = ReceiveTimestamp::from_ticks(0);
        CapacityReport { serial: train.serial, held: 0, received_at, arrivals }
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
            if prober.due(0).is_none_or(|due| due > at(ms)) {
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
        let received_at = ReceiveTimestamp::from_ticks(0);
        let report = CapacityReport { serial: train.serial, held: 50_000, received_at, arrivals };
        let at = at(0) + RTT + Span::from_micros(2_400 + 50_000);
        let rate = BitRate::from_bps(1_333_333);
        let known = KnownPath { rate, round_trip: RTT, at_least: true, return_delay: None };
        let received = Received { at: received_at, held: Span::from_millis(50) };
        assert_eq!(prober.reported(at, &report), Some(Learned { path: 0, at, known, received }));
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
    fn trains_become_longer_until_they_would_take_half_a_second() {
        let counts =
            |each| run(&mut prober(), 60, each).iter().map(|(_, n)| *n).collect::<Vec<_>>();
        assert_eq!(counts(1_200), [3, 4, 8, 24]);
        assert_eq!(counts(40_000), [3, 4, 8]);
        assert_eq!(counts(187_500), [3, 4]);
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
        assert_eq!(with(0).due(0), None);
        let trains = run(&mut with(20_000), 5 * 3_600, 1_200);
        assert!(trains.len() >= 3 + 4 && trains.iter().all(|(_, count)| *count <= 8), "{trains:?}");
        let mut poor = with(599);
        assert_eq!((poor.train(at(0), 0, BYTES as usize), poor.due(0)), (None, None));
    }

    #[test]
    fn nothing_leaves_while_somebody_uses_the_path() {
        let mut prober = prober();
        prober.used(at(100));
        assert_eq!(prober.due(0), Some(at(1_100)));
        assert_eq!(prober.train(at(1_099), 0, BYTES as usize), None);
        assert!(prober.train(at(1_100), 0, BYTES as usize).is_some());
    }

    #[test]
    fn who_has_content_waits_neither_for_silence_nor_for_one_size_after_the_other() {
        let counts = |each| {
            let mut prober = prober();
            prober.sends(at(0));
            run(&mut prober, 60, each)
        };
        assert_eq!(counts(1_200), [(0, 4), (601, 24)], "10 Mbit/s");
        assert_eq!(counts(40_000), [(0, 4), (640, 8)], "300 kbit/s");
        assert_eq!(counts(187_500), [(0, 4)], "64 kbit/s");
        let mut crowded = prober();
        crowded.sends(at(0));
        crowded.postpone(at(0), 0);
        assert_eq!(crowded.due(0), Some(at(100)), "nobody looks again and again");
        // A train that is lost makes way for content.
        let mut prober = prober();
        prober.sends(at(0));
        assert!(prober.train(at(0), 0, BYTES as usize).is_some());
        prober.sends(at(4_900));
        assert_eq!(prober.train(at(5_001), 0, BYTES as usize), None);
        assert_eq!(prober.train(at(15_000), 0, BYTES as usize), None);
        assert!(prober.train(at(15_001), 0, BYTES as usize).is_some());
    }

    #[test]
    fn a_train_of_which_nothing_is_heard_is_repeated_and_after_three_much_later() {
        let mut prober = prober();
        let mut left = Vec::new();
        for ms in 0..1_220_000 {
            if prober.due(0).is_some_and(|due| due <= at(ms))
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
            (learned.is_none(), prober.due(0))
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
        assert_eq!((prober.learned(0), prober.due(0)), (None, Some(at(10_000))));
        assert_eq!(prober.train(at(10_000), 0, BYTES as usize).map(|train| train.count), Some(3));
    }

    #[test]
    fn each_path_is_learned_by_itself_and_all_are_paid_for_together() {
        let mut prober = with(6 * SHORT[0] + 4 * SHORT[1]);
        run(&mut prober, 3, 1_200);
        let known = prober.learned(0).expect("a path");
        assert_eq!(prober.learned(1), None);
        let train = prober.train(at(20_000), 1, BYTES as usize).expect("a train");
        assert_eq!(train.count, 3);
        prober.reported(at(20_600), &report(train, 2_400));
        assert_eq!(prober.learned(0), Some(known));
        assert!(prober.learned(1).is_some_and(|other| other.known.rate < known.known.rate));
        assert_eq!(prober.train(at(21_000), 1, BYTES as usize), None, "nothing is left");
    }
}
