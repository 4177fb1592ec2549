//! Units of axes, with SI prefixes.

/// An axis in a unit that fits its values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Si {
    /// What it counts, with the unit.
    pub(super) label: String,
    /// So much of the old unit is one of the new one.
    pub(super) scale: f64,
}

const LARGE: [(f64, &str); 3] = [(1e9, "G"), (1e6, "M"), (1e3, "k")];

impl Si {
    /// A label such as `goodput, bit/s` for values up to `high`.
    pub(super) fn new(label: &str, high: f64) -> Self {
        let large = LARGE.into_iter().find(|(scale, _)| high >= *scale);
        let bits = || {
            let (before, after) = label.split_once("bit/s")?;
            let (scale, prefix) = large?;
            Some(Self { label: format!("{before}{prefix}bit/s{after}"), scale })
        };
        let bytes = || {
            let before = label.strip_suffix(", B")?;
            let (scale, prefix) = large?;
            Some(Self { label: format!("{before}, {prefix}B"), scale })
        };
        let seconds = || {
            let before = label.strip_suffix(", s").filter(|_| high > 0.0 && high < 0.5)?;
            Some(Self { label: format!("{before}, ms"), scale: 1e-3 })
        };
        let unchanged = || Self { label: label.to_owned(), scale: 1.0 };
        bits().or_else(bytes).or_else(seconds).unwrap_or_else(unchanged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit_the_values() {
        for (label, high, said, scale) in [
            ("goodput, bit/s", 8.2e6, "goodput, Mbit/s", 1e6),
            ("goodput, bit/s", 900.0, "goodput, bit/s", 1.0),
            ("arrived, bit/s of the whole run", 2e9, "arrived, Gbit/s of the whole run", 1e9),
            ("mean congestion window, B", 64_000.0, "mean congestion window, kB", 1e3),
            ("delay, s", 0.3, "delay, ms", 1e-3),
            ("delay, s", 3.0, "delay, s", 1.0),
            ("timeouts", 5e6, "timeouts", 1.0),
        ] {
            assert_eq!(Si::new(label, high), Si { label: said.to_owned(), scale });
        }
    }
}
