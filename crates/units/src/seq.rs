//! Serial numbers that wrap.

use std::fmt;

/// A 32-bit sequence number with serial arithmetic (RFC 1982, half range 2^31).
///
/// It has no total order, so it has no `<`: ask [`Seq32::is_before`]. Two numbers exactly half the
/// range apart are each before the other; windows here never exceed 2^16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq32(u32);

impl Seq32 {
    /// The sequence number `n`.
    pub const fn new(n: u32) -> Self {
        Self(n)
    }

    /// The bare number, for the wire.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number `n` places later.
    #[must_use]
    pub const fn plus(self, n: u32) -> Self {
        Self(self.0.wrapping_add(n))
    }

    /// How many places this number lies after `earlier`, modulo 2^32.
    pub const fn distance_from(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// True when this number comes before `other`.
    pub const fn is_before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// True when this number comes after `other`.
    pub const fn is_after(self, other: Self) -> bool {
        other.is_before(self)
    }

    /// True when `first <= self < end`, for a window shorter than half the range.
    pub const fn is_in(self, first: Self, end: Self) -> bool {
        self.distance_from(first) < end.distance_from(first)
    }

    /// The later of two numbers.
    #[must_use]
    pub const fn latest(self, other: Self) -> Self {
        if self.is_before(other) { other } else { self }
    }
}

impl fmt::Display for Seq32 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        let last = Seq32::new(u32::MAX);
        assert!(last.is_before(last.plus(1)));
        assert!(last.plus(1).is_after(last));
        assert_eq!(last.plus(3).distance_from(last), 3);
        assert_eq!(last.latest(last.plus(1)), Seq32::new(0));
    }

    #[test]
    fn a_window_contains_its_first_number_and_not_its_end() {
        let first = Seq32::new(u32::MAX - 1);
        let end = first.plus(4);
        assert!(first.is_in(first, end));
        assert!(Seq32::new(1).is_in(first, end));
        assert!(!end.is_in(first, end));
        assert!(!first.is_in(first, first));
    }
}
