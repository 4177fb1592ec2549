//! A channel that is by turns good and bad: the clockwork of [`XDelDrop`](crate::XDelDrop).

use std::collections::VecDeque;

use bentpipe_units::Instant;

use crate::{ChannelState, Stay, StayConfig, Stream};

/// Most stays kept when nobody says which are needed no more (2 MB).
const MOST_KEPT: usize = 1 << 16;

/// A two-state Markov chain in continuous time.
///
/// The chain starts good at time zero. A stay has an exponentially distributed length and, for the
/// whole of it, one of two delays with probability one half each. All this follows from the two
/// streams alone, one pair of draws for each stay: **two chains of the same configuration and
/// streams are the same function of time**, whenever and however often each one is asked.
///
/// The timeline is drawn as far as it is asked for and forgotten behind
/// [`Chain::forget_before`]. It also forgets when it holds 65,536 stays; a question about a time
/// already forgotten gets the oldest stay there is.
#[derive(Clone, Debug)]
pub struct Chain {
    good: StayConfig,
    bad: StayConfig,
    sojourn: Stream,
    delay: Stream,
    /// Neighbouring stays, the oldest first. Never empty.
    stays: VecDeque<Stay>,
    /// How many stays came before the oldest one kept.
    forgotten: u64,
    /// Stays that ended by then are needed no more.
    horizon: Instant,
}

impl Chain {
    /// A chain that draws lengths of stays from `sojourn` and their delays from `delay`.
    pub fn new(good: StayConfig, bad: StayConfig, sojourn: Stream, delay: Stream) -> Self {
        let stays = VecDeque::with_capacity(4);
        let mut chain =
            Self { good, bad, sojourn, delay, stays, forgotten: 0, horizon: Instant::ZERO };
        chain.enter(ChannelState::Good, Instant::ZERO);
        chain
    }

    /// The stay in which `at` lies.
    pub fn stay_at(&mut self, at: Instant) -> Stay {
        let index = self.index_at(at);
        self.stays[index]
    }

    /// How many stays in `state` have begun up to and including `at`.
    pub fn stays_entered(&mut self, state: ChannelState, at: Instant) -> u64 {
        let before = self.forgotten + self.index_at(at) as u64;
        // Stays alternate and the first one is good.
        match state {
            ChannelState::Good => before / 2 + 1,
            ChannelState::Bad => before.div_ceil(2),
        }
    }

    /// Drops the stays that end before `now`.
    pub fn forget_before(&mut self, now: Instant) {
        self.horizon = self.horizon.max(now);
        self.forget();
    }

    /// Position in `stays` of the one in which `at` lies, drawn now if need be.
    fn index_at(&mut self, at: Instant) -> usize {
        let mut last = self.stays[self.stays.len() - 1];
        // Nothing happens at the end of time, so there is no need to go there.
        while last.until <= at && at < Instant::MAX {
            last = self.enter(last.state.other(), last.until);
            // Within the loop, so that a leap over a long idle time takes no memory.
            self.forget();
        }
        if last.from <= at {
            return self.stays.len() - 1;
        }
        self.stays.partition_point(|stay| stay.from <= at).saturating_sub(1)
    }

    /// Draws the stay that begins at `from`.
    fn enter(&mut self, state: ChannelState, from: Instant) -> Stay {
        let config = match state {
            ChannelState::Good => &self.good,
            ChannelState::Bad => &self.bad,
        };
        let stay = config.draw(state, from, &mut self.sojourn, &mut self.delay);
        self.stays.push_back(stay);
        stay
    }

    fn forget(&mut self) {
        // The last one is the end from which the timeline grows.
        while self.stays.len() > 1
            && (self.stays[0].until <= self.horizon || self.stays.len() > MOST_KEPT)
        {
            self.stays.pop_front();
            self.forgotten += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;
    use proptest::prelude::*;

    use super::*;
    use crate::Streams;

    fn chain(seed: u64, good: Span, bad: Span) -> Chain {
        let (delay_min, delay_max) = (Span::from_millis(100), Span::from_millis(150));
        let config = |mean_sojourn| StayConfig { mean_sojourn, delay_min, delay_max };
        let streams = Streams::new(seed);
        Chain::new(config(good), config(bad), streams.stream("sojourn"), streams.stream("delay"))
    }

    fn stays(mut chain: Chain, n: usize) -> Vec<Stay> {
        let mut at = Instant::ZERO;
        let mut next = || {
            let stay = chain.stay_at(at);
            at = stay.until;
            chain.forget_before(at);
            stay
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn the_chain_starts_good_at_time_zero_and_alternates_without_gaps() {
        let stays = stays(chain(1, Span::from_secs(10), Span::from_secs(1)), 1000);
        assert_eq!(stays[0].from, Instant::ZERO);
        assert_eq!(stays[0].state, ChannelState::Good);
        for pair in stays.windows(2) {
            assert_eq!(pair[0].until, pair[1].from);
            assert_ne!(pair[0].state, pair[1].state);
            assert!(pair[0].from < pair[0].until);
        }
    }

    #[test]
    fn stays_have_the_mean_lengths_that_were_asked_for() {
        for (good, bad) in [(10.0, 10.0), (15.67, 1.0), (0.5, 45.0)] {
            let (g, b) = (Span::from_secs_f64(good), Span::from_secs_f64(bad));
            let stays = stays(chain(2, g, b), 200_000);
            for (state, mean) in [(ChannelState::Good, good), (ChannelState::Bad, bad)] {
                let total: f64 = stays
                    .iter()
                    .filter(|stay| stay.state == state)
                    .map(|stay| stay.until.since(stay.from).as_secs_f64())
                    .sum();
                let measured = total / 100_000.0;
                assert!((measured / mean - 1.0).abs() < 0.02, "{measured} instead of {mean}");
            }
        }
    }

    proptest! {
        #[test]
        fn chains_of_the_same_streams_agree_whenever_they_are_asked(
            seed: u64,
            mine in prop::collection::vec(0u64..200_000, 1..60),
            yours in prop::collection::vec(0u64..200_000, 1..60),
        ) {
            let new = || chain(seed, Span::from_secs(3), Span::from_secs(1));
            let all = {
                let mut reference = new();
                reference.stay_at(Instant::from_nanos(200_000_000_000));
                reference.stays
            };
            // One asks in order and forgets on the way, one asks back and forth.
            for (mut asked, forgets) in [(mine, true), (yours, false)] {
                if forgets {
                    asked.sort_unstable();
                }
                let mut chain = new();
                for millis in asked {
                    let at = Instant::ZERO + Span::from_millis(millis);
                    let stay = chain.stay_at(at);
                    prop_assert!(stay.from <= at && at < stay.until);
                    prop_assert!(all.contains(&stay));
                    let begun = |s| all.iter().filter(|x| x.from <= at && x.state == s).count();
                    for state in [ChannelState::Good, ChannelState::Bad] {
                        prop_assert_eq!(chain.stays_entered(state, at), begun(state) as u64);
                    }
                    if forgets {
                        chain.forget_before(at);
                    }
                }
            }
        }
    }

    #[test]
    fn forgetting_keeps_memory_bounded() {
        let mut chain = chain(4, Span::from_millis(10), Span::from_millis(10));
        for second in 0..1000 {
            let now = Instant::ZERO + Span::from_secs(second);
            chain.forget_before(now);
            chain.stay_at(now + Span::from_millis(150));
            assert!(chain.stays.len() < 60, "{}", chain.stays.len());
        }
        assert!(chain.forgotten > 90_000);
        assert!(chain.stays.capacity() < 256);
    }

    #[test]
    fn a_leap_over_millions_of_stays_takes_no_memory() {
        let mut leaping = chain(5, Span::ZERO, Span::ZERO);
        let at = Instant::ZERO + Span::from_secs(3);
        leaping.forget_before(at);
        let stay = leaping.stay_at(at);
        assert!(leaping.forgotten > 2_900_000);
        assert!(leaping.stays.capacity() < 16);
        // Without a word about what is needed the oldest stays go, and the answer is the same.
        let mut hoarding = chain(5, Span::ZERO, Span::ZERO);
        assert_eq!(hoarding.stay_at(at), stay);
        assert_eq!(hoarding.stays.len(), MOST_KEPT);
        assert_eq!(hoarding.stay_at(Instant::ZERO), hoarding.stays[0]);
    }

    #[test]
    fn the_end_of_time_is_never_reached() {
        let mut chain = chain(6, Span::from_secs(1), Span::MAX);
        chain.stay_at(Instant::MAX);
        assert_eq!(chain.stays.len(), 1);
        let at = Instant::ZERO + Span::from_secs(3600);
        assert_eq!(chain.stay_at(at).state, ChannelState::Bad);
    }
}
