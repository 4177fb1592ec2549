//! One event, as a number.

use bentpipe_units::Instant;

/// Number of a component.
pub(crate) type Slot = u32;

/// When something happens, and what tells it from what happens at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at: Instant,
    pub(super) tie: u64,
}

impl Event {
    pub(super) const NEVER: Self = Self { at: Instant::MAX, tie: u64::MAX };

    /// What events are ordered by, as one number: which of two is first is as good as random, and a comparison of
    /// numbers needs no branch.
    #[inline]
    pub(super) const fn order(&self) -> u128 {
        (self.at.as_nanos() as u128) << 64 | self.tie as u128
    }
}
