//! A transmitter whose rate changes over time, with a drop-tail queue before it.

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use crate::{Fate, LossCause, Model, Passing, Position, QueueLimit, RateQueue, Timeline};

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

/// A [`RateQueue`] whose rate changes, to nothing as well. A packet that is in transmission then goes on at the new rate;
/// one that nothing will ever send leaves at the end of time.
#[derive(Clone, Debug)]
pub struct SteppedRate {
    queue: RateQueue,
    rates: Timeline<Option<BitRate>>,
    /// What a round of the rates sends, in nanoseconds' worth of work at one bit per second.
    lap: Option<u128>,
    position: Position,
}

impl SteppedRate {
    /// An idle transmitter with these rates, `None` for nothing.
    pub fn new(rates: Timeline<Option<BitRate>>, limit: QueueLimit) -> Self {
        let queue = RateQueue::new(BitRate::from_bps(1), limit);
        let work = |(rate, span): (Option<BitRate>, Span)| {
            u128::from(rate.map_or(0, BitRate::as_bps)) * u128::from(span.as_nanos())
        };
        let lap = rates.lap().map(|lap| lap.map(work).sum());
        Self { queue, rates, lap, position: Position::default() }
    }

    /// An idle transmitter of this rate, with fades in the order of time that do not overlap.
    pub fn fading(rate: BitRate, limit: QueueLimit, fades: &[Fade]) -> Self {
        Self::new(Self::steps_of(rate, fades), limit)
    }

    /// The rates of a line with fades in the order of time that do not overlap.
    pub(crate) fn steps_of(rate: BitRate, fades: &[Fade]) -> Timeline<Option<BitRate>> {
        let mut steps = vec![(Instant::ZERO, Some(rate))];
        for fade in fades {
            // One that begins where another ends.
            if steps.last().is_some_and(|(at, _)| *at == fade.at) {
                steps.pop();
            }
            steps.push((fade.at, Some(fade.rate)));
            steps.push((fade.at + fade.lasts, Some(rate)));
        }
        Timeline::new(steps, None).unwrap_or_else(|_| Timeline::constant(Some(rate)))
    }

    /// When so many bytes are sent whose transmission begins then.
    fn ends(&mut self, begins: Instant, bytes: ByteCount) -> Instant {
        let mut rate = self.rates.value_at(&mut self.position, begins);
        let (mut position, mut now) = (self.position, begins);
        let mut left = u128::from(bytes.bits()) * SECOND;
        if self.lap == Some(0) {
            return Instant::MAX;
        }
        while let Some(next) = self.rates.next_change(position) {
            let bps = rate.map_or(0, BitRate::as_bps);
            let until = u128::from(next.since(now).as_nanos()) * u128::from(bps);
            if left <= until {
                break;
            }
            let Some(behind) = self.rates.follower(position) else { break };
            (now, left, position) = (next, left - until, behind);
            // Whole rounds at once: a round may be much shorter than a packet takes.
            if let Some((lap, period)) =
                self.lap.zip(self.rates.period()).filter(|(lap, _)| left > *lap)
            {
                let laps = u64::try_from((left - 1) / lap).unwrap_or(u64::MAX);
                (now, left) = (now + period * laps, left - lap * u128::from(laps));
                position = position.laps_later(laps);
            }
            rate = self.rates.value(position);
        }
        let Some(rate) = rate else { return Instant::MAX };
        let rest = left.div_ceil(u128::from(rate.as_bps()));
        now + Span::from_nanos(u64::try_from(rest).unwrap_or(u64::MAX))
    }
}

impl Model for SteppedRate {
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

    fn offer(line: &mut SteppedRate, at: Instant, bytes: u64) -> Fate {
        line.pass(at, &Passing { bytes: ByteCount::new(bytes), kind: Kind::DATA })
    }

    #[test]
    fn a_packet_takes_longer_in_a_fade_and_for_the_part_of_it_that_is_sent_then() {
        // 1,000 bytes take 1 ms in the clear and 4 ms in the fade.
        let fades = [fade(10_000, 10_000, 2)];
        let mut line = SteppedRate::fading(mbps(8), QueueLimit::Unlimited, &fades);
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
        let mut line = SteppedRate::fading(mbps(8), QueueLimit::Packets(2), &fades);
        let fates: Vec<_> = (0..4).map(|_| offer(&mut line, micros(0), 1_000)).collect();
        let leaves = [8_000, 11_500, 13_500].map(|at| Fate::Leaves(micros(at)));
        assert_eq!(fates[..3], leaves);
        assert_eq!(fates[3], Fate::Lost(LossCause::QueueFull));
    }

    #[test]
    fn what_nothing_sends_waits_and_what_nothing_ever_sends_never_leaves() {
        let rates = |period| {
            let steps =
                vec![(micros(0), None), (micros(1_000), Some(mbps(8))), (micros(3_000), None)];
            Timeline::new(steps, period).expect("rates")
        };
        let around = rates(Some(Span::from_micros(4_000)));
        let mut line = SteppedRate::new(around, QueueLimit::Unlimited);
        let leaves = [2_000, 3_000, 6_000].map(|at| Fate::Leaves(micros(at)));
        assert_eq!([(); 3].map(|()| offer(&mut line, micros(0), 1_000)), leaves);
        let mut once = SteppedRate::new(rates(None), QueueLimit::Packets(1));
        let fates = [(); 5].map(|()| offer(&mut once, micros(0), 1_000));
        let full = Fate::Lost(LossCause::QueueFull);
        assert_eq!(fates[..3], [Fate::Leaves(micros(2_000)), Fate::Leaves(micros(3_000)), full]);
        let late = [(); 3].map(|()| offer(&mut once, micros(3_500), 1));
        let never = Fate::Leaves(Instant::MAX);
        assert_eq!(late, [never, never, full]);
    }

    #[test]
    fn a_packet_that_takes_many_rounds_is_sent_as_one_that_takes_few() {
        let nanos = Instant::from_nanos;
        let steps = vec![(nanos(0), Some(BitRate::from_bps(1))), (nanos(1), None)];
        let rates = Timeline::new(steps, Some(Span::from_nanos(2))).expect("rates");
        let mut line = SteppedRate::new(rates, QueueLimit::Unlimited);
        // 8 bits at one for each second of two.
        let leaves = Fate::Leaves(nanos(16_000_000_000 - 1));
        assert_eq!(offer(&mut line, Instant::ZERO, 1), leaves);
        let silent = Timeline::new(vec![(nanos(0), None)], Some(Span::from_nanos(2)));
        let mut never = SteppedRate::new(silent.expect("rates"), QueueLimit::Unlimited);
        assert_eq!(offer(&mut never, Instant::ZERO, 1), Fate::Leaves(Instant::MAX));
    }

    proptest! {
        #[test]
        fn without_a_change_of_the_rate_it_is_a_plain_line(
            packets in prop::collection::vec((0u64..3_000, 1u64..2_000), 1..200),
            at in 0u64..100_000,
        ) {
            let limit = QueueLimit::Packets(5);
            let mut fading = SteppedRate::fading(mbps(8), limit, &[fade(at, 5_000, 8)]);
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
            let mut line = SteppedRate::fading(mbps(8), QueueLimit::Unlimited, &fades);
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
