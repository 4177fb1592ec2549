//! Retransmissions by the link itself: delay and blocking in place of losses.

use std::collections::VecDeque;

use bentpipe_units::{Instant, Span};

use crate::{Fate, Model, Passing, Series};

/// Settings of [`Arq`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArqConfig {
    /// Transmissions of a packet before it is given up; at least 1.
    pub tries: u32,
    /// Time from one transmission to the next: that in which its acknowledgement would have come.
    pub timeout: Span,
    /// Packets that may be on their way without acknowledgement; none for any number. The next one waits.
    pub window: Option<u32>,
    /// Packets leave in the order in which they came: one that is retransmitted holds up those behind it.
    pub in_order: bool,
}

/// Selective repeat over a line that loses and damages packets: each transmission meets the losses anew.
///
/// Acknowledgements are not lost, and retransmissions take no time of the line.
#[derive(Debug)]
pub struct Arq {
    config: ArqConfig,
    losses: Series,
    /// When the last packets are acknowledged or given up: as many as fit into the window, in their order.
    acknowledged: VecDeque<Instant>,
    /// When the last packet left.
    last: Instant,
}

impl Arq {
    /// Retransmissions of what these models lose or damage.
    pub fn new(config: ArqConfig, losses: Series) -> Self {
        let acknowledged = VecDeque::new();
        Self { config, losses, acknowledged, last: Instant::ZERO }
    }

    /// When a packet that comes at `at` may be sent.
    fn begin(&mut self, at: Instant) -> Instant {
        let Some(window) = self.config.window else { return at };
        while self.acknowledged.len() >= window.max(1) as usize {
            let oldest = self.acknowledged.pop_front();
            if self.acknowledged.len() < window.max(1) as usize {
                return at.max(oldest.unwrap_or(at));
            }
        }
        at
    }

    /// Takes note of when a packet is acknowledged: the window slides in order.
    fn end(&mut self, at: Instant) {
        if self.config.window.is_some() {
            let before = self.acknowledged.back().copied().unwrap_or(at);
            self.acknowledged.push_back(at.max(before));
        }
    }
}

impl Model for Arq {
    fn pass(&mut self, at: Instant, packet: &Passing) -> Fate {
        let mut sent = self.begin(at);
        let mut fate = self.losses.pass(sent, packet);
        for _ in 1..self.config.tries {
            if matches!(fate, Fate::Leaves(_)) {
                break;
            }
            sent += self.config.timeout;
            fate = self.losses.pass(sent, packet);
        }
        self.end(sent + self.config.timeout);
        let (Fate::Leaves(leaves) | Fate::LeavesCorrupt(leaves)) = &mut fate else { return fate };
        if self.config.in_order {
            *leaves = self.last.max(*leaves);
            self.last = *leaves;
        }
        fate
    }

    fn forget_before(&mut self, now: Instant) {
        self.losses.forget_before(now);
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;
    use bentpipe_wire::Kind;
    use proptest::prelude::*;

    use super::*;
    use crate::{Action, Direction, LossCause, ModelSpec, Rule, Streams};

    const CONFIG: ArqConfig =
        ArqConfig { tries: 3, timeout: Span::from_millis(10), window: None, in_order: false };

    fn arq(config: ArqConfig, losses: &[ModelSpec]) -> Arq {
        let streams = Streams::new(1);
        Arq::new(
            config,
            ModelSpec::build_series(losses, &streams, "line", Direction::Forward.stream()),
        )
    }

    /// Loses these transmissions, counted from 1.
    fn loses(transmissions: &[u64]) -> Vec<ModelSpec> {
        let rule = |nth: &u64| Rule { kind: Kind::NONE, nth: *nth, count: 1, action: Action::Drop };
        vec![ModelSpec::Script(transmissions.iter().map(rule).collect())]
    }

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Span::from_millis(n)
    }

    /// The fates of packets that come a millisecond apart.
    fn fates(arq: &mut Arq, count: u64) -> Vec<Fate> {
        let packet = Passing { bytes: ByteCount::new(1000), kind: Kind::DATA };
        (0..count).map(|n| arq.pass(ms(n), &packet)).collect()
    }

    #[test]
    fn what_is_lost_is_sent_again_after_the_timeout() {
        // Transmissions 2 and 3 are those of the second packet.
        let fates = fates(&mut arq(CONFIG, &loses(&[2, 3])), 3);
        assert_eq!(fates, [0, 21, 2].map(|n| Fate::Leaves(ms(n))));
    }

    #[test]
    fn in_order_one_that_is_sent_again_holds_up_those_behind_it() {
        let config = ArqConfig { in_order: true, ..CONFIG };
        let fates = fates(&mut arq(config, &loses(&[2])), 13);
        assert_eq!(fates[..3], [0, 11, 11].map(|n| Fate::Leaves(ms(n))));
        assert_eq!(fates[11..], [11, 12].map(|n| Fate::Leaves(ms(n))));
    }

    #[test]
    fn after_the_last_try_a_packet_is_lost() {
        let fates = fates(&mut arq(CONFIG, &loses(&[1, 2, 3])), 2);
        assert_eq!(fates, [Fate::Lost(LossCause::Scripted), Fate::Leaves(ms(1))]);
        let once = ArqConfig { tries: 1, ..CONFIG };
        assert!(matches!(self::fates(&mut arq(once, &loses(&[1])), 1)[0], Fate::Lost(_)));
    }

    #[test]
    fn a_full_window_makes_packets_wait_for_the_acknowledgement_of_the_oldest() {
        let config = ArqConfig { window: Some(2), ..CONFIG };
        // Two in each 10 ms.
        let fates = fates(&mut arq(config, &[]), 6);
        assert_eq!(fates, [0, 1, 10, 11, 20, 21].map(|n| Fate::Leaves(ms(n))));
    }

    #[test]
    fn damaged_packets_are_sent_again_too() {
        let mut arq = arq(ArqConfig { tries: 1000, ..CONFIG }, &[ModelSpec::BitErrors(1e-4)]);
        let fates = fates(&mut arq, 2_000);
        assert!(fates.iter().all(|fate| matches!(fate, Fate::Leaves(_))));
        let late = (0..).zip(&fates).filter(|(n, fate)| **fate != Fate::Leaves(ms(*n))).count();
        // 1 - (1 - 1e-4)^8000 = 0.55.
        assert!((1_000..1_200).contains(&late), "{late}");
    }

    proptest! {
        #[test]
        fn nobody_leaves_before_it_came_and_in_order_nobody_overtakes(
            loss in 0.0..0.9f64, tries in 1u32..6, window in prop::option::of(1u32..5), in_order: bool,
        ) {
            let config = ArqConfig { tries, window, in_order, ..CONFIG };
            let fates = fates(&mut arq(config, &[ModelSpec::RandomLoss(loss)]), 200);
            let mut last = Instant::ZERO;
            for (n, fate) in (0..).zip(fates) {
                if let Fate::Leaves(leaves) = fate {
                    prop_assert!(leaves >= ms(n));
                    prop_assert!(!in_order || leaves >= last);
                    last = leaves;
                }
            }
        }
    }
}
