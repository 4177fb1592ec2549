//! What finding out the capacity of paths to a peer may cost, and has.

use std::collections::VecDeque;

use bentpipe_units::{ByteCount, Instant, Span};

/// The bound is for this time, whichever hour it is.
const HOUR: Span = Span::from_secs(3_600);

/// An account of bytes. It outlives the association: one that ends and begins again has no hour of its own.
#[derive(Clone, Debug, Default)]
pub(in crate::endpoint) struct Ledger {
    budget: u64,
    spent: VecDeque<(Instant, u64)>,
}

impl Ledger {
    /// So many bytes in each hour from now on, of which those that were spent before are a part.
    pub(in crate::endpoint) fn with_budget(self, budget: ByteCount) -> Self {
        Self { budget: budget.get(), ..self }
    }

    /// Bytes in an hour.
    pub(super) const fn budget(&self) -> u64 {
        self.budget
    }

    /// Spends so many bytes.
    ///
    /// # Errors
    /// When they may not be spent now: the time at which to ask again.
    pub(super) fn spend(&mut self, now: Instant, bytes: u64) -> Result<(), Instant> {
        while self.spent.front().is_some_and(|(at, _)| *at + HOUR <= now) {
            self.spent.pop_front();
        }
        let spent: u64 = self.spent.iter().map(|(_, bytes)| bytes).sum();
        if spent + bytes > self.budget {
            return Err(self.spent.front().map_or(Instant::MAX, |(at, _)| *at + HOUR));
        }
        self.spent.push_back((now, bytes));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn every_hour_has_its_budget_and_what_is_larger_is_never_spent() {
        let mut ledger = Ledger::default().with_budget(ByteCount::new(10_000));
        assert_eq!((ledger.spend(at(0), 6_000), ledger.spend(at(60), 4_000)), (Ok(()), Ok(())));
        assert_eq!(ledger.spend(at(61), 1), Err(at(3_600)));
        assert_eq!(
            (ledger.spend(at(3_600), 6_000), ledger.spend(at(3_601), 1)),
            (Ok(()), Err(at(3_660)))
        );
        let mut ledger = Ledger::default().with_budget(ByteCount::new(10_000));
        assert_eq!(ledger.spend(at(0), 10_001), Err(Instant::MAX));
    }
}
