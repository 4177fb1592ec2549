//! What changes of a bundle on its way, and which of two copies is of more use.

/// How far a copy of a bundle has come, and how far it can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Hops that it has been, where it counts them.
    pub(crate) hops: u8,
    /// Hops that it may still take.
    pub(crate) left: u8,
    /// How old it was when it came, in milliseconds, where its source has no clock.
    pub(crate) age: u64,
}

impl Standing {
    /// Whether this copy can do what another one cannot: go further, or live longer.
    pub(crate) const fn reaches_beyond(self, other: Self) -> bool {
        self.left > other.left || self.age < other.age
    }

    /// Whether it has been on more hops: it may have come in a circle, and be the only one.
    pub(crate) const fn is_further_than(self, other: Self) -> bool {
        self.hops > other.hops
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_of_use_beside_another_one_if_it_can_go_further_or_live_longer() {
        let held = Standing { hops: 3, left: 29, age: 500 };
        assert!(!held.reaches_beyond(held) && !held.is_further_than(held));
        assert!(Standing { left: 30, ..held }.reaches_beyond(held));
        assert!(Standing { age: 499, ..held }.reaches_beyond(held));
        let circled = Standing { hops: 4, left: 28, age: 600 };
        assert!(circled.is_further_than(held) && !circled.reaches_beyond(held));
    }
}
