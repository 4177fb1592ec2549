//! Delays of one direction between clocks that nobody has set alike.

use std::ops::{Add, Sub};

use crate::Span;

/// A one-way delay as two clocks show it that are not synchronized (RFC 7679, section 3.7): only differences between such
/// delays mean something, and the sum of those of both directions, which is a round trip.
///
/// ```
/// use bentpipe_units::{OneWayDelay, Span};
///
/// let ms = Span::from_millis;
/// let back = OneWayDelay::from_nanos(-5_000_000);
/// let there = ms(600) - back;
/// assert_eq!(there + back, ms(600));
/// assert_eq!((there + ms(40)).beyond(there), ms(40));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OneWayDelay(i64);

impl OneWayDelay {
    /// So many nanoseconds by the two clocks, less than none where the one that arrives is behind.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds by the two clocks.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// By how much it is longer than another one of the same clocks; zero when it is not.
    pub const fn beyond(self, other: Self) -> Span {
        let nanos = self.0.saturating_sub(other.0);
        Span::from_nanos(if nanos > 0 { nanos as u64 } else { 0 })
    }
}

/// A span as a number with a sign.
const fn signed(span: Span) -> i64 {
    let nanos = span.as_nanos();
    if nanos > i64::MAX as u64 { i64::MAX } else { nanos as i64 }
}

/// What is left of a round trip for the other direction.
impl Sub<OneWayDelay> for Span {
    type Output = OneWayDelay;
    fn sub(self, back: OneWayDelay) -> OneWayDelay {
        OneWayDelay(signed(self).saturating_sub(back.0))
    }
}

/// The round trip of both directions; no clocks make it less than nothing.
impl Add for OneWayDelay {
    type Output = Span;
    fn add(self, back: Self) -> Span {
        let nanos = self.0.saturating_add(back.0);
        Span::from_nanos(nanos.max(0) as u64)
    }
}

impl Add<Span> for OneWayDelay {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(signed(span)))
    }
}

impl Sub<Span> for OneWayDelay {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(signed(span)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_clocks_make_a_round_trip_of_less_than_nothing_or_overflow() {
        let (least, most) = (OneWayDelay(i64::MIN), OneWayDelay(i64::MAX));
        assert_eq!((least + least, most + most), (Span::ZERO, Span::from_nanos(i64::MAX as u64)));
        assert_eq!(least.beyond(most), Span::ZERO);
        assert_eq!(most.beyond(least), Span::from_nanos(i64::MAX as u64));
        assert_eq!((Span::MAX - least, least - Span::MAX), (most, least));
    }
}
