//! The way back of acknowledgements: how much longer it is at this moment than at its shortest.

use bentpipe_units::{Instant, OneWayDelay, Span};

/// The shortest one of at least this long ago and at most twice as long counts: clocks differ by 50 millionths, 3 ms in that time.
const MEMORY: Span = Span::from_secs(30);

/// What acknowledgements wait for on their way is no queue of what they acknowledge. The idea is LEDBAT's (RFC 6817), whose
/// receivers say when something came.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReturnPath {
    now: Option<OneWayDelay>,
    before: Option<OneWayDelay>,
    since: Instant,
    excess: Span,
}

impl ReturnPath {
    /// Two clocks gain or lose one part in so many beside each other at most.
    pub const DRIFT: u64 = 4_000;

    /// What they gain or lose while a shortest delay counts.
    pub(crate) const DRIFTS: Span = Span::from_nanos(2 * MEMORY.as_nanos() / Self::DRIFT);

    /// An acknowledgement took so long for its way, if somebody knows.
    pub fn measure(&mut self, now: Instant, delay: Option<OneWayDelay>) {
        let Some(delay) = delay else { return };
        if now.since(self.since) >= MEMORY {
            (self.before, self.since) = (self.now.take(), now);
        }
        self.now = Some(self.now.map_or(delay, |shortest| shortest.min(delay)));
        self.excess = self.shortest().map_or(Span::ZERO, |shortest| delay.beyond(shortest));
    }

    /// The shortest one is no longer than this, as was found out otherwise.
    pub fn know(&mut self, delay: OneWayDelay) {
        self.now = Some(self.now.map_or(delay, |shortest| shortest.min(delay)));
    }

    /// How much longer the latest one took than the shortest one.
    pub const fn excess(&self) -> Span {
        self.excess
    }

    /// The shortest delay, if somebody knows.
    pub fn shortest(&self) -> Option<OneWayDelay> {
        self.now.into_iter().chain(self.before).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excess(delays: &[(u64, i64)]) -> Vec<u64> {
        let mut path = ReturnPath::default();
        let millis = |&(at, millis): &(u64, i64)| {
            let now = Instant::ZERO + Span::from_secs(at);
            path.measure(now, Some(OneWayDelay::from_nanos(millis * 1_000_000)));
            path.excess().as_nanos() / 1_000_000
        };
        delays.iter().map(millis).collect()
    }

    #[test]
    fn what_is_longer_than_the_shortest_of_the_last_minute_is_in_excess() {
        assert_eq!(excess(&[(1, -700), (2, -400), (3, -750), (4, -700)]), [0, 300, 0, 50]);
        let longer = [(1, 0), (29, 20), (31, 20), (59, 20), (62, 20), (93, 25)];
        assert_eq!(excess(&longer), [0, 20, 20, 20, 0, 5], "a path that became longer");
    }

    #[test]
    fn where_nobody_knows_there_is_none() {
        let mut path = ReturnPath::default();
        path.measure(Instant::ZERO, None);
        assert_eq!((path.excess(), path.shortest()), (Span::ZERO, None));
    }
}
