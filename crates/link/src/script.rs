//! Drops or delays of chosen packets.

use bentpipe_units::{Instant, Span};
use bentpipe_wire::Kind;

use crate::{Fate, LossCause, Model, Passing};

/// What a [`Rule`] does to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The packet is lost.
    Drop,
    /// The packet leaves this much later; others may overtake it.
    Delay(Span),
}

/// Names packets by what they carry and their place among their like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Counts the packets that carry all of this, retransmissions included. [`Kind::NONE`] counts
    /// every packet.
    pub kind: Kind,
    /// The first packet the rule applies to, counted from 1; 0 is the same as 1.
    pub nth: u64,
    /// How many packets in a row, `u64::MAX` for all that follow.
    pub count: u64,
    /// What happens to them.
    pub action: Action,
}

/// Does to chosen packets what its rules say; all others pass at once.
///
/// Every rule counts every packet that reaches the script, also those that another rule drops. When
/// several rules name a packet, it is lost if one of them drops it, and their delays add up.
#[derive(Clone, Debug)]
pub struct Script {
    /// Each rule and how many packets of its kind it has seen.
    rules: Vec<(Rule, u64)>,
}

impl Script {
    /// A script of these rules, in any order.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self { rules: rules.into_iter().map(|rule| (rule, 0)).collect() }
    }
}

impl Model for Script {
    fn pass(&mut self, at: Instant, packet: &Passing) -> Fate {
        let mut leaves = at;
        let mut dropped = false;
        for (rule, seen) in &mut self.rules {
            if !packet.kind.contains(rule.kind) {
                continue;
            }
            let first = rule.nth.saturating_sub(1);
            let chosen = *seen >= first && *seen - first < rule.count;
            *seen += 1;
            match rule.action {
                Action::Drop => dropped |= chosen,
                Action::Delay(delay) if chosen => leaves += delay,
                Action::Delay(_) => {}
            }
        }
        if dropped { Fate::Lost(LossCause::Scripted) } else { Fate::Leaves(leaves) }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;

    use super::*;

    const DATA_WITH_POLL: Kind = Kind::DATA.with(Kind::POLL);

    fn rule(kind: Kind, nth: u64, count: u64, action: Action) -> Rule {
        Rule { kind, nth, count, action }
    }

    /// The fate of each of `kinds`, one after another at time zero: the delay in ms, or none.
    fn fates(rules: Vec<Rule>, kinds: &[Kind]) -> Vec<Option<u64>> {
        let mut script = Script::new(rules);
        let mut fate = |kind: &Kind| {
            let packet = Passing { bytes: ByteCount::new(1000), kind: *kind };
            match script.pass(Instant::ZERO, &packet) {
                Fate::Leaves(at) => Some(at.as_nanos() / 1_000_000),
                lost => {
                    assert_eq!(lost, Fate::Lost(LossCause::Scripted));
                    None
                }
            }
        };
        kinds.iter().map(&mut fate).collect()
    }

    #[test]
    fn packets_are_counted_by_what_they_carry() {
        let rules = vec![rule(Kind::POLL, 2, 1, Action::Drop)];
        let kinds = [Kind::DATA, Kind::POLL, Kind::DATA, DATA_WITH_POLL, Kind::POLL];
        assert_eq!(fates(rules, &kinds), [Some(0), Some(0), Some(0), None, Some(0)]);
    }

    #[test]
    fn a_rule_covers_its_count_in_a_row() {
        let delay = Action::Delay(Span::from_millis(30));
        let rules = vec![rule(Kind::DATA, 2, 2, delay)];
        assert_eq!(fates(rules, &[Kind::DATA; 4]), [Some(0), Some(30), Some(30), Some(0)]);
        assert_eq!(fates(vec![rule(Kind::DATA, 1, 0, Action::Drop)], &[Kind::DATA]), [Some(0)]);
        let all = vec![rule(Kind::DATA, 3, u64::MAX, Action::Drop)];
        assert_eq!(fates(all, &[Kind::DATA; 5]), [Some(0), Some(0), None, None, None]);
    }

    #[test]
    fn a_drop_beats_a_delay_and_delays_add_up() {
        let delay = |ms| Action::Delay(Span::from_millis(ms));
        let rules = vec![
            rule(Kind::NONE, 1, 3, delay(1)),
            rule(Kind::DATA, 2, 1, delay(20)),
            rule(Kind::DATA, 3, 1, Action::Drop),
            rule(Kind::DATA, 3, 2, delay(300)),
        ];
        assert_eq!(fates(rules, &[Kind::DATA; 4]), [Some(1), Some(21), None, Some(300)]);
    }

    #[test]
    fn a_script_without_rules_passes_everything_at_once() {
        assert_eq!(fates(Vec::new(), &[Kind::DATA, Kind::NONE]), [Some(0), Some(0)]);
    }
}
