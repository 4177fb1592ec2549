//! One stay of a channel in one state, and how it is drawn.

use bentpipe_units::{Instant, Span};

use crate::Stream;

/// Shorter means count as this, so that a mistyped one does not halt a run.
const SHORTEST_MEAN: Span = Span::from_micros(1);

/// The state of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelState {
    /// The state at the start of a run.
    Good,
    /// The other one.
    Bad,
}

impl ChannelState {
    /// The state that follows.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Good => Self::Bad,
            Self::Bad => Self::Good,
        }
    }
}

/// What a stay in one state looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StayConfig {
    /// Mean length; at least a microsecond.
    pub mean_sojourn: Span,
    /// The delay of one half of the stays.
    pub delay_min: Span,
    /// The delay of the other half.
    pub delay_max: Span,
}

/// A stay in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// When the state was entered.
    pub from: Instant,
    /// When it is left; the first instant that is not part of the stay.
    pub until: Instant,
    /// The state.
    pub state: ChannelState,
    /// The delay of all packets that enter during the stay.
    pub delay: Span,
}

impl StayConfig {
    /// Draws a stay in `state` that begins at `from`: its length from `sojourn`, its delay from
    /// `delay`. Takes one draw from each stream, whatever the configuration.
    pub(crate) fn draw(
        &self,
        state: ChannelState,
        from: Instant,
        sojourn: &mut Stream,
        delay: &mut Stream,
    ) -> Stay {
        let mean = self.mean_sojourn.max(SHORTEST_MEAN);
        let lasts = Span::from_secs_f64(sojourn.exponential(mean.as_secs_f64()));
        let until = from + lasts.max(Span::from_nanos(1));
        let delay = if delay.chance(0.5) { self.delay_min } else { self.delay_max };
        Stay { from, until, state, delay }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Streams;

    const MIN: Span = Span::from_millis(100);
    const MAX: Span = Span::from_millis(150);

    fn draw(n: usize, mean_sojourn: Span) -> Vec<Stay> {
        let config = StayConfig { mean_sojourn, delay_min: MIN, delay_max: MAX };
        let streams = Streams::new(3);
        let (mut sojourn, mut delay) = (streams.stream("sojourn"), streams.stream("delay"));
        let mut one = || config.draw(ChannelState::Bad, Instant::ZERO, &mut sojourn, &mut delay);
        (0..n).map(|_| one()).collect()
    }

    fn near_half(part: f64, whole: f64) -> bool {
        (part / whole - 0.5).abs() < 0.01
    }

    #[test]
    fn delays_take_only_the_two_values_and_each_one_half_the_time() {
        let stays = draw(100_000, Span::from_secs(2));
        assert!(stays.iter().all(|stay| [MIN, MAX].contains(&stay.delay)));
        let min = stays.iter().filter(|stay| stay.delay == MIN).count();
        assert!(near_half(min as f64, 100_000.0));
        // Half of the time is more than half of the stays: length and delay are independent.
        let time = |delay| -> f64 {
            let of_delay = stays.iter().filter(|stay| stay.delay == delay);
            of_delay.map(|stay| stay.until.as_secs_f64()).sum()
        };
        assert!(near_half(time(MIN), time(MIN) + time(MAX)));
    }

    #[test]
    fn no_stay_knows_the_one_before_it() {
        let stays = draw(100_000, Span::from_secs(2));
        let median = 2.0 * 2f64.ln();
        let long = |stay: &Stay| stay.until.as_secs_f64() > median;
        let after_min = stays.windows(2).filter(|pair| pair[0].delay == MIN);
        let again = after_min.clone().filter(|pair| pair[1].delay == MIN).count();
        assert!(near_half(again as f64, after_min.count() as f64));
        let after_long = stays.windows(2).filter(|pair| long(&pair[0]));
        let again = after_long.clone().filter(|pair| long(&pair[1])).count();
        assert!(near_half(again as f64, after_long.count() as f64));
    }

    #[test]
    fn a_stay_has_a_length_even_if_its_mean_has_none() {
        assert!(draw(10_000, Span::ZERO).iter().all(|stay| stay.from < stay.until));
    }
}
