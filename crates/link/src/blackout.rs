//! Times in which the link is down.

use bentpipe_units::{Instant, Span};

use crate::{Fate, LossCause, Model, Passing};

/// Loses what enters while the link is down: handovers, obstructions, rain.
///
/// A packet that enters at the begin of a blackout is lost, one that enters at its end passes.
/// Packets that entered before are on their way and arrive.
#[derive(Clone, Debug)]
pub struct Blackout {
    times: Times,
}

#[derive(Clone, Debug)]
enum Times {
    /// Begin and end, in order and apart from each other.
    Scripted(Vec<(Instant, Instant)>),
    Periodic {
        first: Instant,
        every: Span,
        lasts: Span,
    },
}

impl Blackout {
    /// Blackouts with these begins and lengths, in any order; they may touch or overlap.
    pub fn scripted(mut blackouts: Vec<(Instant, Span)>) -> Self {
        blackouts.retain(|(_, lasts)| !lasts.is_zero());
        blackouts.sort_unstable();
        let mut apart: Vec<(Instant, Instant)> = Vec::with_capacity(blackouts.len());
        for (begin, lasts) in blackouts {
            let end = begin + lasts;
            match apart.last_mut() {
                Some((_, last_end)) if begin <= *last_end => *last_end = end.max(*last_end),
                _ => apart.push((begin, end)),
            }
        }
        Self { times: Times::Scripted(apart) }
    }

    /// A blackout of length `lasts` at `first` and then one `every` so often, counted from begin to
    /// begin. `every` of zero means just the first; `lasts` not below `every` means for ever.
    pub const fn periodic(first: Instant, every: Span, lasts: Span) -> Self {
        Self { times: Times::Periodic { first, every, lasts } }
    }

    /// True when a packet that enters at `at` is lost.
    pub fn is_down(&self, at: Instant) -> bool {
        match &self.times {
            Times::Scripted(apart) => {
                let begun = apart.partition_point(|(begin, _)| *begin <= at);
                begun > 0 && at < apart[begun - 1].1
            }
            Times::Periodic { first, .. } if at < *first => false,
            Times::Periodic { first, every, lasts } => {
                let since = at.since(*first);
                let phase = since.as_nanos().checked_rem(every.as_nanos());
                phase.map_or(since, Span::from_nanos) < *lasts
            }
        }
    }

    /// The next begin or end behind `at`.
    pub fn next_change(&self, at: Instant) -> Option<Instant> {
        match &self.times {
            Times::Scripted(apart) => {
                let ended = apart.partition_point(|(_, end)| *end <= at);
                let (begin, end) = *apart.get(ended)?;
                Some(if at < begin { begin } else { end })
            }
            Times::Periodic { lasts, .. } if lasts.is_zero() => None,
            Times::Periodic { first, .. } if at < *first => Some(*first),
            Times::Periodic { first, every, lasts } => {
                let phase = at.since(*first).as_nanos().checked_rem(every.as_nanos());
                match phase.map(Span::from_nanos) {
                    None => Some(*first + *lasts).filter(|end| at < *end),
                    Some(_) if every <= lasts => None,
                    Some(phase) if phase < *lasts => Some(at.before(phase) + *lasts),
                    Some(phase) => Some(at.before(phase) + *every),
                }
            }
        }
    }
}

impl Model for Blackout {
    fn pass(&mut self, at: Instant, _packet: &Passing) -> Fate {
        if self.is_down(at) { Fate::Lost(LossCause::Blackout) } else { Fate::Leaves(at) }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;
    use bentpipe_wire::Kind;
    use proptest::prelude::*;

    use super::*;

    fn nanos(n: u64) -> (Instant, Span) {
        (Instant::from_nanos(n), Span::from_nanos(n))
    }

    /// The times in 0..40 at which the link is down.
    fn down(blackout: &Blackout) -> Vec<u64> {
        (0..40).filter(|n| blackout.is_down(Instant::from_nanos(*n))).collect()
    }

    #[test]
    fn a_packet_at_the_begin_is_lost_and_one_at_the_end_passes() {
        let mut blackout = Blackout::scripted(vec![(nanos(10).0, nanos(5).1)]);
        let packet = Passing { bytes: ByteCount::new(1000), kind: Kind::DATA };
        for (at, lost) in [(9, false), (10, true), (14, true), (15, false), (3, false)] {
            let at = nanos(at).0;
            let fate = if lost { Fate::Lost(LossCause::Blackout) } else { Fate::Leaves(at) };
            assert_eq!(blackout.pass(at, &packet), fate);
        }
    }

    #[test]
    fn periodic_blackouts_come_back_after_their_period() {
        let blackout = Blackout::periodic(nanos(5).0, nanos(10).1, nanos(2).1);
        assert_eq!(down(&blackout), [5, 6, 15, 16, 25, 26, 35, 36]);
    }

    #[test]
    fn a_period_of_zero_means_once_and_a_short_one_for_ever() {
        assert_eq!(down(&Blackout::periodic(nanos(5).0, nanos(0).1, nanos(2).1)), [5, 6]);
        let ever: Vec<_> = (5..40).collect();
        assert_eq!(down(&Blackout::periodic(nanos(5).0, nanos(3).1, nanos(3).1)), ever);
        assert_eq!(down(&Blackout::periodic(nanos(5).0, nanos(3).1, nanos(0).1)), []);
    }

    /// The changes in 0..40 as they are found one after another, from before 0 on.
    fn changes(blackout: &Blackout) -> Vec<u64> {
        let next = |at: &Instant| blackout.next_change(*at);
        let all = std::iter::successors(next(&Instant::ZERO), next);
        all.map(Instant::as_nanos).take_while(|n| *n < 40).collect()
    }

    #[test]
    fn changes_are_the_begins_and_ends_and_there_are_none_in_what_lasts_for_ever() {
        let periodic =
            |every, lasts| Blackout::periodic(nanos(5).0, nanos(every).1, nanos(lasts).1);
        assert_eq!(changes(&periodic(10, 2)), [5, 7, 15, 17, 25, 27, 35, 37]);
        assert_eq!(changes(&periodic(0, 2)), [5, 7]);
        assert_eq!(changes(&periodic(3, 3)), [5]);
        assert_eq!(changes(&periodic(3, 0)), []);
    }

    proptest! {
        #[test]
        fn scripted_blackouts_may_overlap_and_come_in_any_order(
            script in prop::collection::vec((0u64..40, 0u64..10), 0..12)
        ) {
            let expected: Vec<u64> = (0..40)
                .filter(|n| script.iter().any(|(begin, l)| (*begin..begin + l).contains(n)))
                .collect();
            let script = script.into_iter().map(|(b, l)| (nanos(b).0, nanos(l).1)).collect();
            let blackout = Blackout::scripted(script);
            prop_assert_eq!(down(&blackout), expected);
            let state = |n: u64| blackout.is_down(Instant::from_nanos(n));
            let turns: Vec<u64> = (1..40).filter(|n| state(*n) != state(n - 1)).collect();
            prop_assert_eq!(changes(&blackout), turns);
        }
    }
}
