//! Quantities as people write them: `250 ms`, `10 Mbit/s`, `64 kB`.

use std::fmt;
use std::str::FromStr;

use crate::{BitRate, ByteCount, Span};

/// A quantity that could not be read: what stood there and what would have been right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUnitError {
    text: String,
    quantity: &'static str,
    expected: &'static str,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a {}: write {}", self.text, self.quantity, self.expected)
    }
}

impl std::error::Error for ParseUnitError {}

/// The name of a unit and its size in the base unit.
type Unit = (&'static str, u64);

const TIMES: &[Unit] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("sec", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
/// A capital B would be a byte: `MBps` is none of them.
const RATES: &[Unit] = &[
    ("bit/s", 1),
    ("bps", 1),
    ("kbit/s", 1_000),
    ("kbps", 1_000),
    ("Kbit/s", 1_000),
    ("Kbps", 1_000),
    ("Mbit/s", 1_000_000),
    ("Mbps", 1_000_000),
    ("mbit/s", 1_000_000),
    ("mbps", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Gbps", 1_000_000_000),
    ("gbit/s", 1_000_000_000),
    ("gbps", 1_000_000_000),
];
const SIZES: &[Unit] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Splits `12.5 ms` into number and unit and scales it to the base unit.
///
/// Done in integers, so that `0.1 s` is exactly 100,000,000 ns. Digits below the base unit are an
/// error only when they are not zero and the number is finer than the base unit can hold.
fn scaled(text: &str, units: &[Unit]) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))?;
    let (number, unit) = text.split_at(split);
    let scale = units.iter().find(|(name, _)| *name == unit.trim())?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: String = whole.chars().filter(|c| *c != '_').collect();
    if whole.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) || fraction.len() > 18 {
        return None;
    }
    let base = whole.parse::<u128>().ok()?.checked_mul(u128::from(scale))?;
    let denominator = 10u128.pow(fraction.len() as u32);
    let numerator = if fraction.is_empty() { 0 } else { fraction.parse::<u128>().ok()? };
    let part = (numerator * u128::from(scale) + denominator / 2) / denominator;
    u64::try_from(base.checked_add(part)?).ok()
}

macro_rules! from_str {
    ($type:ty, $units:ident, $quantity:literal, $expected:literal, $build:expr) => {
        impl FromStr for $type {
            type Err = ParseUnitError;
            fn from_str(text: &str) -> Result<Self, ParseUnitError> {
                scaled(text, $units).and_then($build).ok_or_else(|| ParseUnitError {
                    text: text.to_owned(),
                    quantity: $quantity,
                    expected: $expected,
                })
            }
        }
    };
}

from_str!(
    Span,
    TIMES,
    "time",
    "a number and one of ns, us, ms, s, min, h, such as \"250 ms\"",
    |n| Some(Span::from_nanos(n))
);
from_str!(
    BitRate,
    RATES,
    "rate",
    "a number above zero and one of bit/s, kbit/s, Mbit/s, Gbit/s, such as \"10 Mbit/s\"",
    |n| (n > 0).then(|| BitRate::from_bps(n))
);
from_str!(
    ByteCount,
    SIZES,
    "size",
    "a number and one of B, kB, MB, GB, KiB, MiB, GiB, such as \"64 kB\"",
    |n| Some(ByteCount::new(n))
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_people_write_them() {
        assert_eq!("250 ms".parse(), Ok(Span::from_millis(250)));
        assert_eq!("0.1s".parse(), Ok(Span::from_millis(100)));
        assert_eq!("16.166666667 s".parse(), Ok(Span::from_nanos(16_166_666_667)));
        assert_eq!("1.544 Mbit/s".parse(), Ok(BitRate::from_bps(1_544_000)));
        assert_eq!("10_000_000 B".parse(), Ok(ByteCount::new(10_000_000)));
        assert_eq!("64 KiB".parse(), Ok(ByteCount::new(65_536)));
        for text in ["10 Mbps", "10Mbps", "10 mbit/s", "10_000 kbps", "10000 Kbit/s", "0.01 gbps"] {
            assert_eq!(text.parse(), Ok(BitRate::from_bps(10_000_000)), "{text}");
        }
        assert_eq!("5 µs".parse(), Ok(Span::from_micros(5)));
        assert_eq!("60 sec".parse(), Ok(Span::from_secs(60)));
        assert_eq!("64 KB".parse(), Ok(ByteCount::new(64_000)));
    }

    #[test]
    fn what_is_printed_can_be_read_back() {
        for span in [1, 1_000, 250_000_000, 3_000_000_000, 1_234_567_891] {
            let span = Span::from_nanos(span);
            assert_eq!(span.to_string().parse(), Ok(span));
        }
        let rate = BitRate::from_bps(64_000);
        assert_eq!(rate.to_string().parse(), Ok(rate));
    }

    #[test]
    fn a_wrong_unit_says_what_would_be_right() {
        for wrong in
            ["10", "ten ms", "10 MBps", "10 MB/s", "-1 s", "", "1e3 ms", "0 Mbit/s", "1..2 Mbit/s"]
        {
            let error = wrong.parse::<BitRate>().expect_err(wrong).to_string();
            assert!(error.contains("Mbit/s"), "{error}");
        }
        assert!("99999999999999999999999 h".parse::<Span>().is_err());
    }
}
