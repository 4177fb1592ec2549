//! Quantities in the few characters of a cell.

use bentpipe_units::{ByteCount, Span};

/// Bits per second.
pub(super) fn rate(bits: f64) -> String {
    scaled(bits, "bit/s")
}

pub(super) fn bytes(count: ByteCount) -> String {
    scaled(count.get() as f64, "B")
}

/// A quantity with three digits.
fn scaled(value: f64, unit: &str) -> String {
    let (factor, prefix) = match value {
        v if v >= 999.5e6 => (1e-9, "G"),
        v if v >= 999.5e3 => (1e-6, "M"),
        v if v >= 999.5 => (1e-3, "k"),
        v => return format!("{v:.0} {unit}"),
    };
    let value = value * factor;
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {prefix}{unit}")
}

pub(super) fn round_trip(span: Span) -> String {
    let millis = span.as_secs_f64() * 1e3;
    if millis < 10.0 { format!("{millis:.2} ms") } else { format!("{millis:.0} ms") }
}

pub(super) fn time(span: Span) -> String {
    let seconds = span.as_nanos() / 1_000_000_000;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, s) => format!("{s} s"),
        (0, 0, m, s) => format!("{m}:{s:02} min"),
        (0, h, m, _) => format!("{h}:{m:02} h"),
        (d, h, ..) => format!("{d} d {h} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits() {
        for (value, text) in [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (1000.0, "1.00 kB"),
            (9_996.0, "10.0 kB"),
            (99_960.0, "100 kB"),
            (999_600.0, "1.00 MB"),
            (123_456_789.0, "123 MB"),
            (5e12, "5000 GB"),
        ] {
            assert_eq!(scaled(value, "B"), text);
        }
        for (seconds, text) in
            [(59, "59 s"), (61, "1:01 min"), (3_700, "1:01 h"), (90_000, "1 d 1 h")]
        {
            assert_eq!(time(Span::from_secs(seconds)), text);
        }
    }
}
