//! XDELDROP: delays and drops by a channel that is by turns good and bad.

use bentpipe_units::{Instant, Span};

use crate::{Chain, ChannelState, Fate, LossCause, Model, Passing, Stay, StayConfig, Stream};

/// What the channel does in one of its states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateConfig {
    /// Mean length of a stay; at least a microsecond.
    pub mean_sojourn: Span,
    /// Probability in 0..=1 that a packet is dropped.
    pub drop_probability: f64,
    /// Probability instead of `drop_probability` while the delay is `delay_min`. `Some(0.0)` gives
    /// a channel that drops under congestion only.
    pub drop_at_min_delay: Option<f64>,
    /// Delay without congestion, one way.
    pub delay_min: Span,
    /// Delay under congestion, one way.
    pub delay_max: Span,
}

/// A channel of two states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XDelDropConfig {
    /// The state at the start of a run.
    pub good: StateConfig,
    /// The other state.
    pub bad: StateConfig,
    /// True when a packet never leaves before the one that entered before it. When false, packets
    /// overtake each other if the delay falls.
    pub fifo: bool,
}

/// The extended delay and drop model of Elaasar et al. 2003, SSC03-XI-3, section 5.
///
/// Each packet meets the channel as it is when the packet enters: dropped with the probability of
/// the state, or delayed by the delay of the stay, which later changes of the channel do not alter.
/// There is no rate and no queue.
///
/// The channel is a [`Chain`], a function of time fixed by its two streams. For two directions that
/// see the same channel, as in the paper, give the models of both directions the same `sojourn` and
/// `delay` streams and each one its own `drop` stream. As drops have their own stream, protocols
/// that send different packets still meet the same states at the same times.
#[derive(Clone, Debug)]
pub struct XDelDrop {
    config: XDelDropConfig,
    chain: Chain,
    drop: Stream,
    /// When the last packet leaves.
    last_leaves: Instant,
}

impl XDelDrop {
    /// A channel that draws the lengths of stays from `sojourn`, their delays from `delay` and the
    /// packets to drop from `drop`.
    pub fn new(config: XDelDropConfig, sojourn: Stream, delay: Stream, drop: Stream) -> Self {
        let stays = |state: &StateConfig| StayConfig {
            mean_sojourn: state.mean_sojourn,
            delay_min: state.delay_min,
            delay_max: state.delay_max,
        };
        let chain = Chain::new(stays(&config.good), stays(&config.bad), sojourn, delay);
        Self { config, chain, drop, last_leaves: Instant::ZERO }
    }

    /// The stay in which `at` lies: the channel's state and delay.
    ///
    /// `at` must not lie before the last [`Model::forget_before`].
    pub fn stay_at(&mut self, at: Instant) -> Stay {
        self.chain.stay_at(at)
    }

    /// How many stays in `state` have begun up to and including `at`, the first good one counted.
    ///
    /// `at` must not lie before the last [`Model::forget_before`].
    pub fn stays_entered(&mut self, state: ChannelState, at: Instant) -> u64 {
        self.chain.stays_entered(state, at)
    }

    fn drop_probability(&self, stay: &Stay) -> f64 {
        let state = match stay.state {
            ChannelState::Good => &self.config.good,
            ChannelState::Bad => &self.config.bad,
        };
        match state.drop_at_min_delay {
            Some(probability) if stay.delay == state.delay_min => probability,
            _ => state.drop_probability,
        }
    }
}

impl Model for XDelDrop {
    fn pass(&mut self, at: Instant, _packet: &Passing) -> Fate {
        let stay = self.chain.stay_at(at);
        let probability = self.drop_probability(&stay);
        if self.drop.chance(probability) {
            return Fate::Lost(LossCause::Channel);
        }
        let mut leaves = at + stay.delay;
        if self.config.fifo {
            leaves = leaves.max(self.last_leaves);
            self.last_leaves = leaves;
        }
        Fate::Leaves(leaves)
    }

    fn forget_before(&mut self, now: Instant) {
        self.chain.forget_before(now);
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;
    use bentpipe_wire::Kind;

    use super::*;
    use crate::Streams;

    const MIN: Span = Span::from_millis(100);
    const MAX: Span = Span::from_millis(150);
    const PACKET: Passing = Passing { bytes: ByteCount::new(1028), kind: Kind::DATA };

    fn state(mean_secs: u64, drop_probability: f64) -> StateConfig {
        StateConfig {
            mean_sojourn: Span::from_secs(mean_secs),
            drop_probability,
            drop_at_min_delay: None,
            delay_min: MIN,
            delay_max: MAX,
        }
    }

    fn config(bad_drop: f64) -> XDelDropConfig {
        XDelDropConfig { good: state(1, 0.0), bad: state(1, bad_drop), fifo: false }
    }

    fn channel(config: XDelDropConfig, direction: &str) -> XDelDrop {
        let streams = Streams::new(11);
        let (sojourn, delay) = (streams.stream("sojourn"), streams.stream("delay"));
        XDelDrop::new(config, sojourn, delay, streams.stream(direction))
    }

    /// What happens to a packet every 10 ms, and the stay it met.
    fn run(config: XDelDropConfig, packets: u64) -> Vec<(Instant, Stay, Fate)> {
        let mut channel = channel(config, "forward");
        let mut one = |n| {
            let at = Instant::ZERO + Span::from_millis(10 * n);
            channel.forget_before(at);
            (at, channel.stay_at(at), channel.pass(at, &PACKET))
        };
        (0..packets).map(&mut one).collect()
    }

    fn leave_times(config: XDelDropConfig) -> Vec<Instant> {
        let leaves = |(_, _, fate)| match fate {
            Fate::Leaves(leaves) => Some(leaves),
            _ => None,
        };
        run(config, 20_000).into_iter().filter_map(leaves).collect()
    }

    #[test]
    fn each_packet_meets_the_channel_as_it_is_when_it_enters() {
        for (at, stay, fate) in run(config(1.0), 20_000) {
            assert!(stay.from <= at && at < stay.until);
            assert_eq!(
                fate,
                match stay.state {
                    ChannelState::Good => Fate::Leaves(at + stay.delay),
                    ChannelState::Bad => Fate::Lost(LossCause::Channel),
                }
            );
        }
    }

    #[test]
    fn the_bad_state_drops_the_share_that_was_asked_for() {
        let bad = run(config(0.2), 200_000)
            .into_iter()
            .filter(|(_, stay, _)| stay.state == ChannelState::Bad);
        let fates: Vec<_> = bad.map(|(_, _, fate)| fate).collect();
        let lost = fates.iter().filter(|f| matches!(f, Fate::Lost(LossCause::Channel))).count();
        assert!((lost as f64 / fates.len() as f64 - 0.2).abs() < 0.006);
    }

    #[test]
    fn drops_can_be_confined_to_congestion() {
        let mut config = config(1.0);
        config.good = StateConfig { drop_at_min_delay: Some(0.0), ..state(1, 1.0) };
        config.bad = config.good;
        for (at, stay, fate) in run(config, 20_000) {
            let passed = Fate::Leaves(at + MIN);
            assert_eq!(
                fate,
                if stay.delay == MIN { passed } else { Fate::Lost(LossCause::Channel) }
            );
        }
    }

    #[test]
    fn packets_overtake_when_the_delay_falls() {
        let times = leave_times(config(0.0));
        assert!(times.windows(2).any(|pair| pair[1] < pair[0]));
    }

    #[test]
    fn packets_never_overtake_in_a_fifo_channel() {
        let free = leave_times(config(0.0));
        let times = leave_times(XDelDropConfig { fifo: true, ..config(0.0) });
        assert!(times.is_sorted());
        // A packet waits for those before it and for nothing else.
        let mut last = Instant::ZERO;
        for (leaves, free) in times.into_iter().zip(free) {
            last = last.max(free);
            assert_eq!(leaves, last);
        }
    }

    #[test]
    fn two_directions_of_the_same_streams_share_the_channel_but_not_the_drops() {
        let mut there = channel(config(0.5), "forward");
        let mut back = channel(config(0.5), "return");
        let mut differ = 0;
        for n in 0..20_000 {
            let at = Instant::ZERO + Span::from_millis(10 * n);
            let fate = there.pass(at, &PACKET);
            // The return direction is used more rarely and knows the channel all the same.
            if n % 7 == 0 {
                back.forget_before(at);
                assert_eq!(there.stay_at(at), back.stay_at(at));
                differ += u32::from(back.pass(at, &PACKET) != fate);
            }
        }
        assert!(differ > 300);
        let end = Instant::ZERO + Span::from_secs(200);
        let bad = there.stays_entered(ChannelState::Bad, end);
        assert_eq!(bad, back.stays_entered(ChannelState::Bad, end));
        assert!((70..130).contains(&bad), "{bad} bad stays of 1 s in 200 s");
    }
}
