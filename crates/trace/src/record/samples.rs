//! The probes of a recording and what became of them.

use bentpipe_units::{Instant, Span};

use super::message::Answer;
use crate::import::Way;
use crate::import::probes::Probe;

/// A round trip that is longer is none.
const LONGEST: Span = Span::from_secs(100);

/// What became of a probe without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Nobody said anything of it.
    Unknown,
    /// The far end had later ones and not this one.
    LostUp,
    /// The far end had it.
    Arrived,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    round_trip: Option<Span>,
    fate: Fate,
}

/// Probes with numbers from a first one on.
#[derive(Debug, Default)]
pub(super) struct Samples {
    first: u64,
    sent: Vec<Sample>,
    answered: usize,
    shortest: Option<Span>,
    longest: Span,
}

impl Samples {
    /// None yet; the next one has this number.
    pub(super) fn from(first: u64) -> Self {
        Self { first, ..Self::default() }
    }

    /// The next probe left.
    pub(super) fn sent(&mut self, at: Instant) {
        self.sent.push(Sample { at, round_trip: None, fate: Fate::Unknown });
    }

    fn get(&mut self, seq: u64) -> Option<&mut Sample> {
        let place = usize::try_from(seq.checked_sub(self.first)?).ok()?;
        self.sent.get_mut(place)
    }

    /// A probe was answered: when it left, if this is its first answer and in time.
    pub(super) fn answered(&mut self, seq: u64, now: Instant) -> Option<Instant> {
        let sample = self.get(seq)?;
        let round_trip = now.since(sample.at);
        if sample.round_trip.is_some() || round_trip > LONGEST {
            return None;
        }
        sample.round_trip = Some(round_trip);
        sample.fate = Fate::Arrived;
        let at = sample.at;
        self.answered += 1;
        self.longest = self.longest.max(round_trip);
        self.shortest = Some(self.shortest.map_or(round_trip, |it| it.min(round_trip)));
        Some(at)
    }

    /// What an answer tells of the probes before it.
    pub(super) fn told(&mut self, answer: &Answer) {
        for (word, before) in answer.seen.iter().zip((0u64..).step_by(64)) {
            for bit in 0..64 {
                let Some(seq) = answer.latest.checked_sub(before + bit) else { return };
                let Some(sample) = self.get(seq) else { continue };
                if word >> bit & 1 == 1 {
                    sample.fate = Fate::Arrived;
                } else if sample.fate == Fate::Unknown {
                    sample.fate = Fate::LostUp;
                }
            }
        }
    }

    /// The longest round trip.
    pub(super) const fn longest(&self) -> Span {
        self.longest
    }

    /// The shortest round trip, if there is any.
    pub(super) fn shortest(&self) -> Span {
        self.shortest.unwrap_or(Span::ZERO)
    }

    /// How many were sent, and how many answered.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.sent.len(), self.answered)
    }

    /// The probes as one way saw them. One whose delay is not known although it came has that of the one before it. One
    /// that was lost before it began its way says nothing of it, unless more than `gap` in a row were: that is an outage,
    /// which no answer shows to be one of the other way only.
    pub(super) fn probes(&self, way: Way, gap: usize) -> Vec<Probe> {
        let first = self.sent.iter().find_map(|sample| sample.round_trip);
        let mut delay = first.map(|round_trip| round_trip / 2);
        let mut probes = Vec::with_capacity(self.sent.len());
        let runs = |a: &Sample, b: &Sample| a.round_trip.is_some() == b.round_trip.is_some();
        for run in self.sent.chunk_by(runs) {
            for sample in run {
                delay = sample.round_trip.map(|round_trip| round_trip / 2).or(delay);
                let came = match (way, sample.fate) {
                    _ if sample.round_trip.is_some() => true,
                    (Way::Up, fate) => fate == Fate::Arrived,
                    // The first one is where the trace begins.
                    (Way::Down, Fate::LostUp) if run.len() <= gap && !probes.is_empty() => continue,
                    (Way::Down, _) => false,
                };
                probes.push(Probe { at: sample.at, delay: delay.filter(|_| came) });
            }
        }
        probes
    }
}

#[cfg(test)]
mod tests {
    use super::super::cookie::Cookie;
    use super::super::message::Status;
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn answer(latest: u64, seen: u64) -> Answer {
        let (session, seq, clock, first) = (1, latest, 0, 0);
        let (status, cookie, bins, seen) = (Status::Open, Cookie::NONE, vec![], [seen, 0, 0, 0]);
        Answer { session, seq, status, cookie, clock, latest, seen, first, bins }
    }

    #[test]
    fn a_probe_is_lost_on_the_way_on_which_it_was_lost() {
        let mut samples = Samples::from(10);
        (0..5).for_each(|n| samples.sent(at(n * 10)));
        assert_eq!(samples.answered(10, at(40)), Some(at(0)));
        assert_eq!(samples.answered(10, at(50)), None, "twice");
        assert_eq!(samples.answered(9, at(50)), None, "before the first one");
        assert_eq!(samples.answered(15, at(50)), None, "never sent");
        samples.answered(13, at(70));
        // 10, 11 and 13 came there, 12 did not, of 14 nobody knows.
        samples.told(&answer(13, 0b1101));
        let came = |way| -> Vec<_> {
            samples.probes(way, 3).iter().map(|probe| (probe.at, probe.delay.is_some())).collect()
        };
        assert_eq!(
            came(Way::Up).iter().map(|it| it.1).collect::<Vec<_>>(),
            [true, true, false, true, false]
        );
        assert_eq!(
            came(Way::Down),
            [(at(0), true), (at(10), false), (at(30), true), (at(40), false)]
        );
        assert_eq!(samples.probes(Way::Down, 0).len(), 5, "a run of one is an outage then");
        assert_eq!((samples.counts(), samples.longest()), ((5, 2), Span::from_millis(40)));
    }

    #[test]
    fn what_an_answer_claims_of_probes_that_never_left_changes_nothing() {
        let mut samples = Samples::from(0);
        samples.sent(at(0));
        samples.told(&answer(u64::MAX, u64::MAX));
        samples.told(&answer(3, 0));
        assert!(samples.probes(Way::Up, 3).iter().all(|probe| probe.delay.is_none()));
    }
}
