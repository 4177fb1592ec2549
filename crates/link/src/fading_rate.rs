//! A transmitter whose rate is another one for a while, with a drop-tail queue before it.

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use crate::{Fate, LossCause, Model, Passing, QueueLimit, RateQueue};

/// A nanosecond's worth of work at one bit per second.
const SECOND: u128 = 1_000_000_000;

/// A time in which a transmitter has another rate: rain, for which the modulation is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fade {
    /// When it begins.
    pub at: Instant,
    /// How long it lasts.
    pub lasts: Span,
    /// The rate meanwhile.
    pub rate: BitRate,
}

/// A [`RateQueue`] with fades. A packet that is in transmission when the rate changes goes on at the new one.
#[derive(Clone, Debug)]
pub struct FadingRate {
    queue: RateQueue,
    clear: BitRate,
    /// When the rate changes and to which one, in their order.
    changes: Vec<(Instant, BitRate)>,
    /// Changes that are over for all packets to come.
    past: usize,
}

impl FadingRate {
    /// An idle transmitter of this rate, with fades in the order of time that do not overlap.
    pub fn new(rate: BitRate, limit: QueueLimit, fades: &[Fade]) -> Self {
        let mut changes: Vec<(Instant, BitRate)> = Vec::new();
        for fade in fades {
            // One that begins where another ends.
            if changes.last().is_some_and(|(at, _)| *at == fade.at) {
                changes.pop();
            }
            changes.push((fade.at, fade.rate));
            changes.push((fade.at + fade.lasts, rate));
        }
        Self { queue: RateQueue::new(rate, limit), clear: rate, changes, past: 0 }
    }

    /// When so many bytes are sent whose transmission begins then.
    fn ends(&mut self, begins: Instant, bytes: ByteCount) -> Instant {
        while self.changes.get(self.past).is_some_and(|(at, _)| *at <= begins) {
            self.past += 1;
        }
        let mut rate = self.past.checked_sub(1).map_or(self.clear, |last| self.changes[last].1);
        let (mut now, mut left) = (begins, u128::from(bytes.bits()) * SECOND);
        for &(at, next) in &self.changes[self.past..] {
            let until = u128::from(at.since(now).as_nanos()) * u128::from(rate.as_bps());
            if left <= until {
                break;
            }
            (now, left, rate) = (at, left - until, next);
        }
        let rest = left.div_ceil(u128::from(rate.as_bps()));
        now + Span::from_nanos(u64::try_from(rest).unwrap_or(u64::MAX))
    }
}

impl Model for FadingRate {
    fn pass(&mut self, at: Instant, packet: &Passing) -> Fate {
        let Some(begins) = self.queue.begin(at, packet.bytes) else {
            return Fate::Lost(LossCause::QueueFull);
        };
        let ends = self.ends(begins, packet.bytes);
        self.queue.end(ends);
        Fate::Leaves(ends)
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_wire::Kind;
    use proptest::prelude::*;

    use super::*;

    fn mbps(n: u64) -> BitRate {
        BitRate::from_bps(n * 1_000_000)
    }

    fn micros(n: u64) -> Instant {
        Instant::ZERO + Span::from_micros(n)
    }

    fn fade(at: u64, lasts: u64, rate: u64) -> Fade {
        Fade { at: micros(at), lasts: Span::from_micros(lasts), rate: mbps(rate) }
    }

    fn offer(line: &mut FadingRate, at: Instant, bytes: u64) -> Fate {
        line.pass(at, &Passing { bytes: ByteCount::new(bytes), kind: Kind::DATA })
    }

    #[test]
    fn a_packet_takes_longer_in_a_fade_and_for_the_part_of_it_that_is_sent_then() {
        // 1,000 bytes take 1 ms in the clear and 4 ms in the fade.
        let fades = [fade(10_000, 10_000, 2)];
        let mut line = FadingRate::new(mbps(8), QueueLimit::Unlimited, &fades);
        for (at, leaves) in [
            (0, 1_000),
            // Half of it before the fade, half of it in the fade.
            (9_500, 12_000),
            (12_000, 16_000),
            // Three quarters in the fade, one after it.
            (17_000, 20_250),
            (30_000, 31_000),
        ] {
            assert_eq!(offer(&mut line, micros(at), 1_000), Fate::Leaves(micros(leaves)), "{at}");
        }
    }

    #[test]
    fn what_waits_in_a_fade_fills_the_queue() {
        let fades = [fade(0, 10_000, 1), fade(10_000, 10_000, 4)];
        let mut line = FadingRate::new(mbps(8), QueueLimit::Packets(2), &fades);
        let fates: Vec<_> = (0..4).map(|_| offer(&mut line, micros(0), 1_000)).collect();
        let leaves = [8_000, 11_500, 13_500].map(|at| Fate::Leaves(micros(at)));
        assert_eq!(fates[..3], leaves);
        assert_eq!(fates[3], Fate::Lost(LossCause::QueueFull));
    }

    proptest! {
        #[test]
        fn without_a_change_of_the_rate_it_is_a_plain_line(
            packets in prop::collection::vec((0u64..3_000, 1u64..2_000), 1..200),
            at in 0u64..100_000,
        ) {
            let limit = QueueLimit::Packets(5);
            let mut fading = FadingRate::new(mbps(8), limit, &[fade(at, 5_000, 8)]);
            let mut plain = RateQueue::new(mbps(8), limit);
            let mut now = Instant::ZERO;
            for (gap, bytes) in packets {
                now += Span::from_micros(gap);
                let packet = Passing { bytes: ByteCount::new(bytes), kind: Kind::DATA };
                prop_assert_eq!(fading.pass(now, &packet), plain.pass(now, &packet));
            }
        }

        #[test]
        fn what_leaves_in_any_time_is_no_more_than_the_rates_allow(
            starts in prop::collection::vec((1u64..20_000, 1u64..20_000, 1u64..20), 0..8),
            sizes in prop::collection::vec(1u64..2_000, 1..300),
        ) {
            let mut at = 0;
            let fades: Vec<Fade> = starts.iter().map(|(gap, lasts, rate)| {
                at += gap + lasts;
                fade(at - lasts, *lasts, *rate)
            }).collect();
            let mut line = FadingRate::new(mbps(8), QueueLimit::Unlimited, &fades);
            let mut sent = 0;
            for bytes in sizes {
                let Fate::Leaves(leaves) = offer(&mut line, Instant::ZERO, bytes) else { panic!("lost") };
                sent += bytes * 8;
                // Bits that the rates give by then, in nanosecond-bits: all of them were used.
                let end = leaves.as_nanos();
                let clear = end - fades.iter().map(|f| overlap(f, end)).sum::<u64>();
                let given: u128 = u128::from(clear) * 8_000_000
                    + fades.iter().map(|f| u128::from(overlap(f, end)) * u128::from(f.rate.as_bps())).sum::<u128>();
                let (given, slack) = (given / SECOND, 20 * 300 / 1_000 + 20);
                prop_assert!(given >= u128::from(sent) && given <= u128::from(sent + slack), "{given} {sent}");
            }
        }
    }

    /// Nanoseconds of a fade before then.
    fn overlap(fade: &Fade, end: u64) -> u64 {
        let begins = fade.at.as_nanos();
        end.saturating_sub(begins).min(fade.lasts.as_nanos())
    }
}
