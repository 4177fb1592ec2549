//! Amounts of data and the rates at which they move.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

use crate::Span;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(u64);

impl ByteCount {
    /// No bytes.
    pub const ZERO: Self = Self(0);

    /// `n` bytes.
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of bits.
    pub const fn bits(self) -> u64 {
        self.0.saturating_mul(8)
    }
}

impl Add for ByteCount {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for ByteCount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for ByteCount {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for ByteCount {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for ByteCount {
    type Output = Self;
    fn mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

/// A data rate in bits per second; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl BitRate {
    /// `bits` per second. A rate of zero does not exist and becomes one bit per second: a link that
    /// carries nothing is a blackout, not a rate.
    pub const fn from_bps(bits: u64) -> Self {
        Self(if bits == 0 { 1 } else { bits })
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The time that `bytes` take at this rate, rounded up to a nanosecond.
    pub const fn time_for(self, bytes: ByteCount) -> Span {
        let bits = bytes.bits();
        // 18 Gbit at once is the most that fits the short way; a packet always does.
        if bits < u64::MAX / 1_000_000_000 {
            return Span::from_nanos((bits * 1_000_000_000).div_ceil(self.0));
        }
        let nanos = (bits as u128 * 1_000_000_000).div_ceil(self.0 as u128);
        Span::from_nanos(if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 })
    }

    /// The bytes that fit into `span` at this rate, rounded down: a bandwidth-delay product when
    /// `span` is a round trip.
    pub const fn bytes_in(self, span: Span) -> ByteCount {
        let bits = self.0 as u128 * span.as_nanos() as u128 / 1_000_000_000;
        let bytes = bits / 8;
        ByteCount(if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 })
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n % 1_000_000_000 == 0 => write!(f, "{} Gbit/s", n / 1_000_000_000),
            n if n % 1_000_000 == 0 => write!(f, "{} Mbit/s", n / 1_000_000),
            n if n % 1_000 == 0 => write!(f, "{} kbit/s", n / 1_000),
            n => write!(f, "{n} bit/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kilobyte_takes_eight_tenths_of_a_millisecond_at_ten_megabit() {
        let rate = BitRate::from_bps(10_000_000);
        assert_eq!(rate.time_for(ByteCount::new(1000)), Span::from_micros(800));
    }

    #[test]
    fn the_bandwidth_delay_product_of_a_geo_link_is_known() {
        let bdp = BitRate::from_bps(1_544_000).bytes_in(Span::from_millis(580));
        assert_eq!(bdp, ByteCount::new(111_940));
    }

    #[test]
    fn long_transfers_do_not_overflow() {
        let rate = BitRate::from_bps(1);
        assert_eq!(rate.time_for(ByteCount::new(u64::MAX / 8)), Span::MAX);
    }
}
