//! How quantities are written in files.

use std::str::FromStr;

use crate::{BitRate, ByteCount, Decibels, Degrees, Gigahertz, Km, Percent, RainRate, Span, Speed};

/// What a value is called that is written as text, and how it looks: for messages and for JSON Schemas.
///
/// ```
/// use bentpipe_units::{Span, Written};
///
/// assert_eq!(Span::EXPECTED, "a time with its unit in quotes, such as \"250 ms\"");
/// ```
pub trait Written: FromStr {
    /// Name in the schema.
    const NAME: &'static str;
    /// What to write, with an example.
    const EXPECTED: &'static str;
    /// Regular expression of what is accepted.
    const PATTERN: &'static str;
}

impl Written for Span {
    const NAME: &'static str = "Time";
    const EXPECTED: &'static str = "a time with its unit in quotes, such as \"250 ms\"";
    const PATTERN: &'static str = r"^\d[\d_]*(\.\d+)? ?(ns|us|µs|ms|s|sec|min|h)$";
}

impl Written for BitRate {
    const NAME: &'static str = "Rate";
    const EXPECTED: &'static str = "a rate with its unit in quotes, such as \"10 Mbit/s\"";
    const PATTERN: &'static str = r"^\d[\d_]*(\.\d+)? ?[kKmMgG]?(bit/s|bps)$";
}

impl Written for ByteCount {
    const NAME: &'static str = "Size";
    const EXPECTED: &'static str = "a size with its unit in quotes, such as \"64 kB\"";
    const PATTERN: &'static str = r"^\d[\d_]*(\.\d+)? ?(B|[kKMG]B|[KMG]iB)$";
}

impl Written for Km {
    const NAME: &'static str = "Length";
    const EXPECTED: &'static str = "a length with its unit in quotes, such as \"550 km\"";
    const PATTERN: &'static str = r"^-?\d+(\.\d+)? ?km$";
}

impl Written for Degrees {
    const NAME: &'static str = "Angle";
    const EXPECTED: &'static str = "an angle with its unit in quotes, such as \"53 deg\"";
    const PATTERN: &'static str = r"^-?\d+(\.\d+)? ?deg$";
}

impl Written for Speed {
    const NAME: &'static str = "Speed";
    const EXPECTED: &'static str = "a speed with its unit in quotes, such as \"900 km/h\"";
    const PATTERN: &'static str = r"^\d+(\.\d+)? ?(km/h|m/s|kn)$";
}

impl Written for Decibels {
    const NAME: &'static str = "Ratio";
    const EXPECTED: &'static str = "decibels with their unit in quotes, such as \"12.5 dB\"";
    const PATTERN: &'static str = r"^-?\d+(\.\d+)? ?dB$";
}

impl Written for Gigahertz {
    const NAME: &'static str = "Frequency";
    const EXPECTED: &'static str = "a frequency with its unit in quotes, such as \"20 GHz\"";
    const PATTERN: &'static str = r"^\d+(\.\d+)? ?GHz$";
}

impl Written for RainRate {
    const NAME: &'static str = "RainRate";
    const EXPECTED: &'static str = "a rain rate with its unit in quotes, such as \"42 mm/h\"";
    const PATTERN: &'static str = r"^\d+(\.\d+)? ?mm/h$";
}

impl Written for Percent {
    const NAME: &'static str = "Percentage";
    const EXPECTED: &'static str = "a percentage with its unit in quotes, such as \"0.1 %\"";
    const PATTERN: &'static str = r"^\d+(\.\d+)? ?%$";
}
