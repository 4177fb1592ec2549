//! What a responder says that came of a load.

use std::collections::BTreeMap;

use bentpipe_units::{Instant, Span};

use super::message::{Answer, BIN};

/// A clock that goes back by more than answers that overtake each other is that of a responder that was started again.
const BACK: Span = Span::from_secs(1);
/// So many responders in one recording at most.
const MOST_CLOCKS: usize = 16;

/// Counts of the bins of other clocks, one for each responder that answered.
#[derive(Debug, Default)]
pub(super) struct Reported {
    /// Those that are gone, and the one that answers now.
    gone: Vec<Counts>,
    counts: Counts,
}

/// Counts of the bins of one clock.
#[derive(Debug, Default)]
struct Counts {
    /// The first bin that can be, and the one behind the last.
    range: Option<(u64, u64)>,
    bytes: BTreeMap<u64, u32>,
    want: u64,
    /// The newest probe that was answered, and what the clock showed then.
    newest: Option<(u64, u64)>,
    /// The shortest round trip, when its probe left, and what the clock showed there when it came.
    nearest: Option<(Span, Instant, u64)>,
}

impl Reported {
    /// The first bin that is not known.
    pub(super) const fn want(&self) -> u64 {
        self.counts.want
    }

    /// An answer in a recording that takes `length`. `sent` is when its probe left, if it is one of the measurement.
    pub(super) fn told(
        &mut self,
        answer: &Answer,
        sent: Option<Instant>,
        now: Instant,
        length: Span,
    ) {
        if self.counts.is_of_another(answer) {
            if self.gone.len() + 1 >= MOST_CLOCKS {
                return;
            }
            self.gone.push(std::mem::take(&mut self.counts));
        }
        self.counts.told(answer, sent, now, length);
    }

    /// Whether every bin until a time of this clock is known.
    pub(super) fn is_complete(&self, until: Instant) -> bool {
        self.counts.is_complete(until)
    }

    /// Bytes of each bin between two times, with the time at which it began, counted from `zero`.
    pub(super) fn until(
        &self,
        zero: Instant,
        end: Instant,
    ) -> impl Iterator<Item = (Instant, u64)> + '_ {
        self.gone.iter().chain([&self.counts]).flat_map(move |counts| counts.until(zero, end))
    }
}

impl Counts {
    /// The answer to a newer probe is of an earlier time than one that came before.
    fn is_of_another(&self, answer: &Answer) -> bool {
        self.newest.is_some_and(|(seq, clock)| {
            answer.seq > seq && answer.clock.saturating_add(BACK.as_nanos()) < clock
        })
    }

    fn told(&mut self, answer: &Answer, sent: Option<Instant>, now: Instant, length: Span) {
        if self.newest.is_none_or(|(seq, _)| answer.seq > seq) {
            self.newest = Some((answer.seq, answer.clock));
        }
        if let Some(sent) = sent {
            let round_trip = now.since(sent);
            if self.nearest.is_none_or(|(shortest, ..)| round_trip < shortest) {
                self.nearest = Some((round_trip, sent, answer.clock));
            }
        }
        // Bins of any other time are made up: they would take memory.
        let bin = BIN.as_nanos();
        let (first, end) = *self.range.get_or_insert_with(|| {
            let now = answer.clock / bin;
            (now, now.saturating_add(length.as_nanos() / bin + 100))
        });
        for (bytes, n) in answer.bins.iter().zip(0u64..) {
            let place = answer.first.saturating_add(n);
            if (first..end).contains(&place) {
                self.bytes.entry(place).or_insert(*bytes);
                self.want = self.want.max(place + 1);
            }
        }
    }

    fn is_complete(&self, until: Instant) -> bool {
        let Some((_, sent, clock)) = self.nearest else { return false };
        let end = clock.saturating_add(until.since(sent).as_nanos()) / BIN.as_nanos();
        self.want >= end
    }

    fn until(&self, zero: Instant, end: Instant) -> impl Iterator<Item = (Instant, u64)> + '_ {
        let length = end.since(zero);
        let nearest = self.nearest.map(|(_, sent, clock)| (sent.since(zero), clock));
        self.bytes.iter().filter_map(move |(place, bytes)| {
            let (sent, clock) = nearest?;
            // As late behind the probe as its count is behind the probe's arrival.
            let begin = place.checked_mul(BIN.as_nanos())?.checked_add(sent.as_nanos())?;
            let begin = Span::from_nanos(begin.checked_sub(clock)?);
            (begin + BIN <= length).then(|| (Instant::ZERO + begin, u64::from(*bytes)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::cookie::Cookie;
    use super::super::message::{SEEN_WORDS, Status};
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn answer(clock: u64, first: u64, bins: &[u32]) -> Answer {
        numbered(0, clock, first, bins)
    }

    fn numbered(seq: u64, clock: u64, first: u64, bins: &[u32]) -> Answer {
        let (session, latest, seen) = (1, 0, [0; SEEN_WORDS]);
        let (status, cookie, bins) = (Status::Open, Cookie::NONE, bins.to_vec());
        let clock = clock * 1_000_000;
        Answer { session, seq, status, cookie, clock, latest, seen, first, bins }
    }

    #[test]
    fn counts_of_another_clock_are_at_the_time_at_which_a_probe_left() {
        let mut reported = Reported::default();
        let length = Span::from_secs(10);
        reported.told(&answer(50_050, 0, &[]), Some(at(1_000)), at(1_600), length);
        reported.told(&answer(50_310, 501, &[10, 20]), Some(at(1_300)), at(1_800), length);
        reported.told(&answer(50_310, 501, &[99, 99]), Some(at(1_300)), at(1_800), length);
        assert_eq!(reported.want(), 503);
        assert!(reported.is_complete(at(1_300)) && !reported.is_complete(at(1_400)));
        let bins: Vec<_> = reported.until(at(1_000), at(1_290)).collect();
        assert_eq!(bins, [(at(90), 10), (at(190), 20)], "the nearest answer is the second one");
    }

    #[test]
    fn a_responder_that_was_started_again_counts_on_with_a_clock_of_its_own() {
        let mut reported = Reported::default();
        let length = Span::from_secs(10);
        reported.told(&numbered(1, 50_000, 500, &[10, 20]), Some(at(0)), at(10), length);
        // One that was overtaken.
        reported.told(&numbered(3, 50_600, 502, &[30]), Some(at(600)), at(610), length);
        reported.told(&numbered(2, 50_500, 502, &[99]), Some(at(500)), at(620), length);
        reported.told(&numbered(30, 100, 0, &[]), Some(at(5_000)), at(5_010), length);
        assert_eq!(reported.want(), 0, "the new one is asked from its first bin on");
        reported.told(&numbered(31, 400, 1, &[40, 50]), Some(at(5_300)), at(5_310), length);
        let bins: Vec<_> = reported.until(at(0), at(10_000)).collect();
        let expected = [(0, 10), (100, 20), (200, 30), (5_000, 40), (5_100, 50)];
        assert_eq!(bins, expected.map(|(ms, bytes)| (at(ms), bytes)));
    }

    #[test]
    fn a_responder_that_is_started_again_and_again_takes_no_memory() {
        let mut reported = Reported::default();
        for seq in 0..1000 {
            let clock = if seq % 2 == 0 { 1_000_000 } else { 0 };
            let answer = numbered(seq, clock, clock / 100, &[1; 16]);
            reported.told(&answer, Some(at(0)), at(1), Span::from_secs(1));
        }
        assert!(reported.gone.len() < MOST_CLOCKS);
    }

    #[test]
    fn a_responder_that_makes_bins_up_takes_no_memory() {
        let mut reported = Reported::default();
        for place in (0..u64::MAX).step_by(1 << 50).chain([u64::MAX - 1]) {
            let answer = answer(u64::MAX / 1_000_000, place, &[1; 16]);
            reported.told(&answer, Some(at(0)), at(1), Span::from_secs(1));
        }
        assert!(reported.counts.bytes.len() < 200);
        assert!(reported.until(at(0), at(100)).count() <= 200);
    }
}
