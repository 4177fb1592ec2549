//! Propagation delay.

use bentpipe_units::{Instant, Span};

use crate::{Fate, Model, Passing};

/// Every packet leaves the same time after it entered, however many are on their way.
#[derive(Clone, Debug)]
pub struct Delay {
    delay: Span,
}

impl Delay {
    /// A delay of `delay`; about 250 ms for a hop over a geostationary satellite.
    pub const fn new(delay: Span) -> Self {
        Self { delay }
    }

    /// When a packet leaves that entered at `at`.
    #[inline]
    pub(crate) fn leaves(&self, at: Instant) -> Instant {
        at + self.delay
    }
}

impl Model for Delay {
    #[inline]
    fn pass(&mut self, at: Instant, _packet: &Passing) -> Fate {
        Fate::Leaves(self.leaves(at))
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;
    use bentpipe_wire::Kind;

    use super::*;

    #[test]
    fn every_packet_is_late_by_the_same_time() {
        let mut delay = Delay::new(Span::from_millis(250));
        for (entered, bytes) in [(0, 40), (0, 1500), (7, 1), (1_000_000, 64_000)] {
            let packet = Passing { bytes: ByteCount::new(bytes), kind: Kind::DATA };
            let left = delay.pass(Instant::from_nanos(entered), &packet);
            assert_eq!(left, Fate::Leaves(Instant::from_nanos(entered + 250_000_000)));
        }
    }
}
