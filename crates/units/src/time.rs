//! Points in time and lengths of time, both in whole nanoseconds.

use std::cmp::Ordering;
use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// Nanoseconds in a second.
const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A point in time: nanoseconds since the start of the run.
///
/// It is told, never asked for: the simulator's virtual clock and the wall clock of real sockets
/// both count from zero. The range is 584 years.
///
/// Deadlines that may not be, `Option<Instant>`, are compared for every packet. What is kept is the
/// complement of the nanoseconds, never zero: "no deadline" then takes no room of its own and the
/// earlier of two is the larger number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Instant(NonZeroU64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(NonZeroU64::MAX);
    /// Later than anything that can happen in a run.
    pub const MAX: Self = Self(NonZeroU64::MIN);

    /// The instant `nanos` nanoseconds after the start of the run.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        match NonZeroU64::new(!nanos) {
            Some(kept) => Self(kept),
            None => Self::MAX,
        }
    }

    /// Nanoseconds since the start of the run.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        !self.0.get()
    }

    /// Seconds since the start of the run.
    pub fn as_secs_f64(self) -> f64 {
        self.as_nanos() as f64 / NANOS_PER_SEC as f64
    }

    /// Time passed since `earlier`; zero when `earlier` is not earlier.
    #[inline]
    pub const fn since(self, earlier: Self) -> Span {
        Span(earlier.0.get().saturating_sub(self.0.get()))
    }

    /// The earlier of two instants that may not be: the next of two deadlines.
    #[inline]
    pub fn earliest(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        let kept = |instant: Option<Self>| instant.map_or(0, |instant| instant.0.get());
        NonZeroU64::new(kept(a).max(kept(b))).map(Self)
    }

    /// The instant `span` before this one, or the start of the run.
    #[inline]
    pub const fn before(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Default for Instant {
    fn default() -> Self {
        Self::ZERO
    }
}

impl PartialOrd for Instant {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

// The later of two is the smaller number: without the detour over an `Ordering` that the defaults take.
impl Ord for Instant {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.cmp(&self.0)
    }
    #[inline]
    fn max(self, other: Self) -> Self {
        if other.0.get() <= self.0.get() { other } else { self }
    }
    #[inline]
    fn min(self, other: Self) -> Self {
        if other.0.get() < self.0.get() { self } else { other }
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        let kept = self.0.get().saturating_sub(span.0).max(Self::MAX.0.get());
        NonZeroU64::new(kept).map_or(Self::MAX, Self)
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Instant").field(&self.as_nanos()).finish()
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} s", self.as_secs_f64())
    }
}

/// A length of time in whole nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(NANOS_PER_SEC))
    }

    /// `secs` seconds, rounded to the nearest nanosecond. Negative or undefined values give zero,
    /// values past the range give [`Span::MAX`].
    pub fn from_secs_f64(secs: f64) -> Self {
        // A float-to-integer cast saturates and turns NaN into zero.
        Self((secs * NANOS_PER_SEC as f64 + 0.5) as u64)
    }

    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// True for no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self * num / den`, exact in between; `den` of zero counts as one.
    pub const fn mul_div(self, num: u64, den: u64) -> Self {
        let den = if den == 0 { 1 } else { den };
        if let Some(product) = self.0.checked_mul(num) {
            return Self(product / den);
        }
        let wide = self.0 as u128 * num as u128 / den as u128;
        Self(if wide > u64::MAX as u128 { u64::MAX } else { wide as u64 })
    }

    /// `self * num / den`, rounded up.
    pub const fn mul_div_ceil(self, num: u64, den: u64) -> Self {
        let den = if den == 0 { 1 } else { den };
        let wide = (self.0 as u128 * num as u128).div_ceil(den as u128);
        Self(if wide > u64::MAX as u128 { u64::MAX } else { wide as u64 })
    }

    /// `self * factor`, rounded to the nearest nanosecond.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self::from_secs_f64(self.as_secs_f64() * factor)
    }

    /// The difference of two spans, whichever is longer.
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Div<u64> for Span {
    type Output = Self;
    fn div(self, n: u64) -> Self {
        Self(self.0 / n.max(1))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(f, "0 s"),
            n if n % NANOS_PER_SEC == 0 => write!(f, "{} s", n / NANOS_PER_SEC),
            n if n % 1_000_000 == 0 => write!(f, "{} ms", n / 1_000_000),
            n if n % 1_000 == 0 => write!(f, "{} us", n / 1_000),
            n => write!(f, "{n} ns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_ordered_by_time_and_no_deadline_comes_after_all_of_them() {
        let [zero, one, max] = [Instant::ZERO, Instant::from_nanos(1), Instant::MAX];
        assert!(zero < one && one < max && max == Instant::from_nanos(u64::MAX));
        assert_eq!(max + Span::from_nanos(1), max);
        assert_eq!(one.before(Span::from_secs(1)), zero);
        assert_eq!(Instant::earliest(Some(one), Some(max)), Some(one));
        assert_eq!(Instant::earliest(Some(one), Some(zero)), Some(zero));
        assert_eq!(Instant::earliest(None, Some(max)), Some(max));
        assert_eq!(size_of::<Option<Instant>>(), size_of::<u64>());
    }

    #[test]
    fn time_never_wraps_at_either_end() {
        assert_eq!(Instant::MAX + Span::from_secs(1), Instant::MAX);
        assert_eq!(Instant::ZERO.before(Span::from_secs(1)), Instant::ZERO);
        assert_eq!(Instant::ZERO.since(Instant::from_nanos(5)), Span::ZERO);
        assert_eq!(Span::from_secs_f64(-1.0), Span::ZERO);
        assert_eq!(Span::from_secs_f64(f64::INFINITY), Span::MAX);
    }

    #[test]
    fn the_earliest_of_two_deadlines_ignores_what_is_not_set() {
        let (a, b) = (Some(Instant::from_nanos(1)), Some(Instant::from_nanos(2)));
        assert_eq!(Instant::earliest(a, b), a);
        assert_eq!(Instant::earliest(b, a), a);
        assert_eq!((Instant::earliest(a, None), Instant::earliest(None, b)), (a, b));
        assert_eq!(Instant::earliest(None, None), None);
    }

    #[test]
    fn mul_div_is_exact_past_64_bits_in_between() {
        let day = Span::from_secs(86_400);
        assert_eq!(day.mul_div(1_000_000_007, 1_000_000_007), day);
        assert_eq!(Span::from_secs(1).mul_div(1, 3), Span::from_nanos(333_333_333));
        assert_eq!(Span::from_secs(1).mul_div_ceil(1, 3), Span::from_nanos(333_333_334));
    }

    #[test]
    fn a_span_prints_in_the_largest_whole_unit() {
        assert_eq!(Span::from_millis(250).to_string(), "250 ms");
        assert_eq!(Span::from_secs(3).to_string(), "3 s");
        assert_eq!(Span::from_nanos(1).to_string(), "1 ns");
    }
}
