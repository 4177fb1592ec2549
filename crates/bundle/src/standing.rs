//! What changes of a bundle on its way, and which of two copies is of more use.

/// How far a copy of a bundle has come, and how far it can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Hops that it has been, where it counts them.
    pub(crate) hops: u8,
    /// Hops that it may still take.
    pub(crate) left: u8,
}

impl Standing {
    /// Whether this copy can go further than another one.
    pub(crate) const fn reaches_beyond(self, other: Self) -> bool {
        self.left > other.left
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
    fn a_copy_that_can_go_further_and_one_that_has_been_further_are_told_apart() {
        let held = Standing { hops: 3, left: 29 };
        assert!(!held.reaches_beyond(held) && !held.is_further_than(held));
        assert!(Standing { left: 30, ..held }.reaches_beyond(held));
        let circled = Standing { hops: 4, left: 28 };
        assert!(circled.is_further_than(held) && !circled.reaches_beyond(held));
    }
}
