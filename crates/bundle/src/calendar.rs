//! The time of the calendar, as bundles have it.

use bentpipe_units::Span;

/// Milliseconds from 1970 to 2000.
const TO_2000: u64 = 946_684_800_000;

/// A DTN time: milliseconds since the beginning of 2000 in UTC (RFC 9171, section 4.2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DtnTime(u64);

impl DtnTime {
    /// A time that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// So many milliseconds after the beginning of 2000.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// So many nanoseconds after the beginning of 1970; 2000 for what is before that.
    pub const fn from_unix_nanos(nanos: u64) -> Self {
        Self((nanos / 1_000_000).saturating_sub(TO_2000))
    }

    /// Milliseconds since the beginning of 2000.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// So much later; no later than [`DtnTime::NEVER`].
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.as_nanos() / 1_000_000))
    }

    /// The time since another one; zero if that is later. Spans have 584 years, and so has what is returned at most.
    pub const fn since(self, earlier: Self) -> Span {
        Span::from_nanos(self.0.saturating_sub(earlier.0).saturating_mul(1_000_000))
    }

    /// So many milliseconds later; no later than [`DtnTime::NEVER`].
    pub(crate) const fn plus_millis(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}
