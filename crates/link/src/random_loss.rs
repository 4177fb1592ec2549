//! Independent packet losses.

use bentpipe_units::Instant;

use crate::{Fate, LossCause, Model, Passing, Stream};

/// Each packet is lost with the same probability, whatever its size and whatever came before.
#[derive(Clone, Debug)]
pub struct RandomLoss {
    probability: f64,
    stream: Stream,
}

impl RandomLoss {
    /// Losses with probability `p` in 0..=1, drawn from `stream`.
    pub const fn new(p: f64, stream: Stream) -> Self {
        Self { probability: p, stream }
    }
}

impl Model for RandomLoss {
    fn pass(&mut self, at: Instant, _packet: &Passing) -> Fate {
        if self.stream.chance(self.probability) {
            Fate::Lost(LossCause::Random)
        } else {
            Fate::Leaves(at)
        }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;
    use bentpipe_wire::Kind;

    use super::*;
    use crate::Streams;

    fn lost_of(packets: u32, p: f64) -> u32 {
        let mut model = RandomLoss::new(p, Streams::new(1).stream("loss"));
        let packet = Passing { bytes: ByteCount::new(1000), kind: Kind::DATA };
        let mut lost = 0;
        for n in 0..packets {
            let at = Instant::from_nanos(u64::from(n));
            match model.pass(at, &packet) {
                Fate::Lost(cause) => {
                    assert_eq!(cause, LossCause::Random);
                    lost += 1;
                }
                passed => assert_eq!(passed, Fate::Leaves(at)),
            }
        }
        lost
    }

    #[test]
    fn two_percent_loses_two_packets_in_a_hundred() {
        // The standard deviation is 44.
        assert!(lost_of(100_000, 0.02).abs_diff(2000) < 180);
    }

    #[test]
    fn probability_zero_loses_nothing_and_one_loses_all() {
        assert_eq!(lost_of(1000, 0.0), 0);
        assert_eq!(lost_of(1000, 1.0), 1000);
    }
}
