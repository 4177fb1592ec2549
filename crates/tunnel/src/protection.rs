//! How much parity a block gets.

use bentpipe_units::Span;

/// The part of blocks that may lack parity. What is lost of them is retransmitted, and until it is there nothing of its flow
/// is handed over: a congestion controller that hears nothing for a round trip sends a burst afterwards. Parity takes
/// nobody's place where nothing waits.
const SHORT: f64 = 0.001;
const SHORT_IDLE: f64 = 0.0002;
/// Shares of losses above this are congestion or an outage: no parity helps.
const SHARE_MAX: f64 = 0.3;
/// Up to this share of losses blocks are long.
const FEW: f64 = 0.05;
/// Most parity packets of a block.
pub(crate) const MOST_PARITY: u8 = 120;

/// What is done against losses before they happen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Protection {
    /// Nothing: what is lost is retransmitted.
    #[default]
    Off,
    /// Parity against losses, so that one block in a thousand lacks some, and datagrams of sparse flows twice.
    Against {
        /// The share that is lost, as far as is known.
        share: f64,
        /// What it may be at worst: so much parity takes nobody's place where nothing waits.
        worst: f64,
    },
    /// So much parity for each packet, from 0 to 1, whatever is lost.
    Ratio(f64),
}

impl Protection {
    /// Whether datagrams of sparse flows go twice.
    pub(crate) fn repeats(self) -> bool {
        matches!(self, Self::Against { share, .. } if share <= SHARE_MAX)
    }

    /// How long a block lasts: so many parts of a round trip, and no longer than this. The longer it is the less parity losses
    /// ask for: where `more` waits than the path carries that counts most. Where blocks seldom lack something few datagrams wait for
    /// their end.
    pub(crate) fn block(self, more: bool) -> (u64, Span) {
        match self {
            Self::Against { .. } if more => (3, Span::from_millis(200)),
            Self::Against { share, .. } if share <= FEW => (4, Span::from_millis(150)),
            _ => (6, Span::from_millis(100)),
        }
    }

    /// Parity packets for a block of so many, which take the place of others where `more` waits.
    pub(crate) fn count(self, of: usize, more: bool) -> u8 {
        match self {
            Self::Off => 0,
            Self::Against { share, .. } if share > SHARE_MAX || share.is_nan() => 0,
            Self::Against { share, .. } if more => against(share.max(0.0), of, SHORT),
            Self::Against { share, worst } => {
                against(worst.max(share.max(0.0)).min(SHARE_MAX), of, SHORT_IDLE)
            }
            Self::Ratio(ratio) => (ratio * of as f64).ceil().min(f64::from(MOST_PARITY)) as u8,
        }
    }
}

/// The least parity with which no more is lost in all but this part of the blocks.
fn against(share: f64, of: usize, short: f64) -> u8 {
    let enough = |count: &u8| more_than(*count, of + usize::from(*count), share) <= short;
    (1..=MOST_PARITY).find(enough).unwrap_or(MOST_PARITY)
}

/// The probability that of `n` packets more than `k` are lost.
fn more_than(k: u8, n: usize, share: f64) -> f64 {
    let mut term = libm::pow(1.0 - share, n as f64);
    let mut sum = term;
    for lost in 1..=usize::from(k) {
        term *= share / (1.0 - share) * (n + 1 - lost) as f64 / lost as f64;
        sum += term;
    }
    1.0 - sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(share: f64) -> Protection {
        Protection::Against { share, worst: share }
    }

    #[test]
    fn parity_is_enough_for_all_but_one_block_in_a_thousand_and_more_where_nothing_waits() {
        // The tail of the binomial distribution, as tables have it.
        assert!((more_than(1, 10, 0.1) - 0.2639).abs() < 1e-4);
        assert_eq!(known(0.01).count(1, true), 1);
        assert_eq!(known(0.01).count(1, false), 1);
        assert_eq!(known(0.01).count(100, true), 5);
        assert_eq!(known(0.11).count(83, true), 22);
        for (more, short) in [(true, 0.001), (false, 0.0002)] {
            for (share, of) in [(0.01, 40), (0.11, 83), (0.3, 128)] {
                let count = known(share).count(of, more);
                assert!(more_than(count, of + usize::from(count), share) <= short);
                assert!(more_than(count - 1, of + usize::from(count) - 1, share) > short);
            }
        }
    }

    #[test]
    fn what_a_path_may_lose_at_worst_counts_where_nothing_waits() {
        let little_known = Protection::Against { share: 0.01, worst: 0.1 };
        assert_eq!(little_known.count(10, true), known(0.01).count(10, true));
        assert_eq!(little_known.count(10, false), known(0.1).count(10, false));
        for worst in [f64::NAN, f64::INFINITY, -1.0] {
            let count = Protection::Against { share: 0.01, worst }.count(10, false);
            assert!((2..=17).contains(&count), "{worst}: {count}");
        }
    }

    #[test]
    fn a_clean_path_a_dead_one_and_nonsense_get_none() {
        for more in [false, true] {
            assert_eq!(Protection::Off.count(100, more), 0);
            assert_eq!(known(0.31).count(100, more), 0);
            assert_eq!(known(f64::NAN).count(100, more), 0);
            assert_eq!(Protection::Ratio(0.2).count(50, more), 10);
            assert_eq!(Protection::Ratio(1.0).count(255, more), MOST_PARITY);
        }
    }
}
