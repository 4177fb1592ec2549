//! How long answers take for their way back, from the clock of the peer.
//!
//! What the two clocks differ by is not known, and does not matter: the first answer is where the delay is counted from.

use bentpipe_cc::ReturnPath;
use bentpipe_units::{Instant, OneWayDelay, Span};
use bentpipe_wire::xstp::ReceiveTimestamp;

use super::timestamp;

/// Of shorter round trips clocks that tick each 100 µs, and tasks that wait for a processor, tell nothing.
const LEAST: Span = Span::from_millis(2);

/// What a peer says of what it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// When it had received it.
    pub at: ReceiveTimestamp,
    /// For how long it held the answer, which is no part of the round trip.
    pub held: Span,
}

/// The delay of the latest answer, and what it is measured by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReturnDelay {
    latest: Option<Answer>,
    delay: OneWayDelay,
    began: Instant,
    longest: Span,
    /// A round trip was shorter than [`LEAST`].
    is_short: bool,
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    /// The clock of this end as it came less that of the peer before it left.
    apart: ReceiveTimestamp,
    round_trip: Span,
}

impl ReturnDelay {
    /// What left a round trip ago was answered.
    pub(super) fn measure(&mut self, now: Instant, round_trip: Span, received: Received) {
        let apart = timestamp::at(now.before(received.held)).wrapping_sub(received.at.ticks());
        let apart = ReceiveTimestamp::from_ticks(apart);
        self.longest = self.longest.max(round_trip);
        self.is_short |= round_trip < LEAST;
        let Some(latest) = self.latest.replace(Answer { apart, round_trip }) else {
            self.began = now;
            return;
        };
        let nanos = i64::from(apart.ahead_of(latest.apart)) * timestamp::TICK_NANOS as i64;
        // Neither way takes less than no time, or more than the round trip: a clock was set or has rested.
        let tick = Span::from_nanos(timestamp::TICK_NANOS);
        let most = if nanos < 0 { latest.round_trip } else { round_trip } + tick;
        // Nor does it come to more in small steps, but for clocks that do not go alike.
        let in_all = self.longest + now.since(self.began) / ReturnPath::DRIFT + tick;
        let delay = self.delay.as_nanos() + nanos;
        if nanos.unsigned_abs() <= most.as_nanos() && delay.unsigned_abs() <= in_all.as_nanos() {
            self.delay = OneWayDelay::from_nanos(delay);
        }
    }

    /// The delay of the latest one, if the peer tells and the path is long enough.
    pub(super) fn get(&self) -> Option<OneWayDelay> {
        self.latest.filter(|_| !self.is_short).map(|_| self.delay)
    }

    /// The path may be a longer one from now on.
    pub(super) const fn follow_path(&mut self) {
        self.is_short = false;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    fn received(clock: u32) -> Received {
        Received { at: ReceiveTimestamp::from_ticks(clock), held: Span::ZERO }
    }

    fn delay(answers: &[(u64, u32, u64)]) -> Vec<i64> {
        let mut delay = ReturnDelay::default();
        let millis = |&(at, clock, trip): &(u64, u32, u64)| {
            let (now, trip) = (Instant::from_nanos(at * MS), Span::from_millis(trip));
            delay.measure(now, trip, received(clock));
            delay.get().expect("it is told").as_nanos() / MS as i64
        };
        answers.iter().map(millis).collect()
    }

    #[test]
    fn what_the_way_back_takes_longer_shows_whatever_the_peers_clock_shows() {
        // Of 600, 900 and 650 ms the way back has 300, 600 and 250.
        let ticks = |clock: u32, millis: u32| clock.wrapping_add(10 * millis);
        for clock in [0, 5_000, 0x00ff_ffff] {
            let answers = [
                (1_000, ticks(clock, 700), 600),
                (2_000, ticks(clock, 1_400), 900),
                (3_000, ticks(clock, 2_750), 650),
            ];
            assert_eq!(delay(&answers), [0, 300, -50], "{clock}");
        }
    }

    #[test]
    fn a_clock_that_is_set_changes_nothing() {
        let answers = [
            (1_000, 7_000, 600),
            (2_000, 900_000, 600),
            (3_000, 910_000, 600),
            (4_000, 919_800, 620),
        ];
        assert_eq!(delay(&answers), [0, 0, 0, 20]);
    }

    #[test]
    fn a_clock_that_stands_still_hides_no_more_than_a_round_trip() {
        let answers: Vec<_> = (1..1_000).map(|n| (100 * n, 5_000, 600)).collect();
        let longest = delay(&answers).into_iter().max();
        assert!(longest.is_some_and(|longest| (500..=630).contains(&longest)), "{longest:?}");
    }

    #[test]
    fn over_a_path_of_less_than_two_milliseconds_nothing_is_known() {
        let mut delay = ReturnDelay::default();
        let told = |delay: &mut ReturnDelay, at, trip| {
            delay.measure(Instant::from_nanos(at * MS), Span::from_millis(trip), received(0));
            delay.get().is_some()
        };
        assert_eq!(
            [(1, 2), (2, 1), (3, 30)].map(|(at, trip)| told(&mut delay, at, trip)),
            [true, false, false]
        );
        delay.follow_path();
        assert!(told(&mut delay, 4, 30), "another path");
    }

    proptest! {
        #[test]
        fn anything_may_be_told(answers in prop::collection::vec((any::<u32>(), any::<u64>()), 1..20)) {
            let mut delay = ReturnDelay::default();
            for (clock, trip) in answers {
                delay.measure(Instant::from_nanos(trip), Span::from_nanos(trip), received(clock));
            }
        }
    }
}
