//! Losses in bursts, packet by packet.

use bentpipe_units::Instant;

use crate::{Fate, LossCause, Model, Passing, Stream};

/// Settings of a [`GilbertElliott`] channel; all are probabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliottConfig {
    /// The channel turns bad behind a packet that met it good (p).
    pub to_bad: f64,
    /// It turns good behind a packet that met it bad (r). Bad states last for 1 / r packets in the mean.
    pub to_good: f64,
    /// A packet that meets it good is lost.
    pub loss_good: f64,
    /// A packet that meets it bad is lost; 1 is Gilbert's channel.
    pub loss_bad: f64,
}

impl GilbertElliottConfig {
    /// The share of packets that are lost in the long run; that of the good state where neither state is
    /// ever left.
    pub fn loss(&self) -> f64 {
        let turns = self.to_bad + self.to_good;
        let bad = if turns > 0.0 { self.to_bad / turns } else { 0.0 };
        bad * self.loss_bad + (1.0 - bad) * self.loss_good
    }
}

/// A channel of two states that changes from packet to packet (Gilbert 1960, Elliott 1963). The first
/// packet meets it good. Time has no part in it: for states that last by the clock there is
/// [`XDelDrop`](crate::XDelDrop).
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    config: GilbertElliottConfig,
    bad: bool,
    turns: Stream,
    losses: Stream,
}

impl GilbertElliott {
    /// A channel that draws its states from `turns` and what is lost from `losses`.
    pub const fn new(config: GilbertElliottConfig, turns: Stream, losses: Stream) -> Self {
        Self { config, bad: false, turns, losses }
    }
}

impl Model for GilbertElliott {
    fn pass(&mut self, at: Instant, _packet: &Passing) -> Fate {
        let GilbertElliottConfig { to_bad, to_good, loss_good, loss_bad } = self.config;
        let (turn, loss) = if self.bad { (to_good, loss_bad) } else { (to_bad, loss_good) };
        self.bad ^= self.turns.chance(turn);
        if self.losses.chance(loss) { Fate::Lost(LossCause::Channel) } else { Fate::Leaves(at) }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;
    use bentpipe_wire::Kind;

    use super::*;
    use crate::Streams;

    const fn config(
        to_bad: f64,
        to_good: f64,
        loss_good: f64,
        loss_bad: f64,
    ) -> GilbertElliottConfig {
        GilbertElliottConfig { to_bad, to_good, loss_good, loss_bad }
    }

    /// Which of so many packets are lost.
    fn lost(config: GilbertElliottConfig, packets: u64) -> Vec<bool> {
        let streams = Streams::new(1);
        let mut channel =
            GilbertElliott::new(config, streams.stream("turns"), streams.stream("losses"));
        let packet = Passing { bytes: ByteCount::new(1000), kind: Kind::DATA };
        let fate = |n| match channel.pass(Instant::from_nanos(n), &packet) {
            Fate::Lost(cause) => {
                assert_eq!(cause, LossCause::Channel);
                true
            }
            passed => {
                assert_eq!(passed, Fate::Leaves(Instant::from_nanos(n)));
                false
            }
        };
        (0..packets).map(fate).collect()
    }

    fn share(lost: &[bool]) -> f64 {
        lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
    }

    #[test]
    fn as_many_are_lost_as_the_stationary_distribution_says() {
        for (config, expected) in [
            (config(0.01, 0.3, 0.0, 1.0), 0.01 / 0.31),
            (config(0.05, 0.2, 0.01, 0.5), 0.2 * 0.5 + 0.8 * 0.01),
        ] {
            assert!((config.loss() - expected).abs() < 1e-12);
            let seen = share(&lost(config, 1_000_000));
            assert!((seen / expected - 1.0).abs() < 0.02, "{seen} instead of {expected}");
        }
    }

    #[test]
    fn bursts_are_as_long_as_the_way_back_is_rare() {
        let lost = lost(config(0.01, 0.25, 0.0, 1.0), 1_000_000);
        let bursts: Vec<_> = lost.chunk_by(|a, b| a == b).filter(|burst| burst[0]).collect();
        let mean =
            bursts.iter().map(|burst| burst.len()).sum::<usize>() as f64 / bursts.len() as f64;
        assert!((3.9..4.1).contains(&mean), "{mean} packets");
        // Geometric lengths: a quarter of the bursts has one packet.
        let single = bursts.iter().filter(|burst| burst.len() == 1).count() as f64;
        assert!((single / bursts.len() as f64 - 0.25).abs() < 0.02);
    }

    #[test]
    fn the_first_packet_meets_it_good_and_states_change_behind_packets() {
        assert_eq!(lost(config(1.0, 1.0, 0.0, 1.0), 5), [false, true, false, true, false]);
        assert!(!lost(config(0.0, 1.0, 0.0, 1.0), 1000).contains(&true));
        assert_eq!(config(0.0, 0.0, 0.25, 1.0).loss(), 0.25);
    }

    #[test]
    fn what_is_lost_shifts_no_state() {
        let gilbert = lost(config(0.1, 0.3, 0.0, 1.0), 10_000);
        let elliott = lost(config(0.1, 0.3, 0.0, 0.5), 10_000);
        // Of the packets that met it bad half are lost, and no others.
        assert!(gilbert.iter().zip(&elliott).all(|(met_bad, lost)| *met_bad || !lost));
        assert!((share(&elliott) / share(&gilbert) - 0.5).abs() < 0.05);
    }
}
