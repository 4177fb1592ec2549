//! Parts of a whole, as people write them: `0.01`, `1 %`.

use std::fmt;
use std::str::FromStr;

/// A part of a whole, such as a probability: from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(f64);

impl Share {
    /// `value`, which is not below 0 and not above 1; none otherwise.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// From 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Share {
    type Err = String;

    /// Reads a number from 0 to 1, or a percentage.
    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let value = match trimmed.strip_suffix('%') {
            // Divided, not multiplied: 1 % is the number that 0.01 is.
            Some(percent) => percent.trim_end().parse::<f64>().map(|percent| percent / 100.0),
            None => trimmed.parse(),
        };
        value.ok().and_then(Self::new).ok_or_else(|| {
            format!(
                "`{text}` is not a share: write 0 to 1 or 0 % to 100 %, such as \"0.01\" or \"1 %\""
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_read_as_people_write_them() {
        for (text, value) in [
            ("0.01", 0.01),
            ("1%", 0.01),
            ("1 %", 0.01),
            (" 0.5 % ", 0.005),
            ("0", 0.0),
            ("1e-6", 1e-6),
            ("100%", 1.0),
        ] {
            assert_eq!(text.parse::<Share>().map(Share::get), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_share_is_answered_with_what_would_be_right() {
        for text in ["", "1.1", "-0.1", "101 %", "NaN", "inf", "%", "one", "1 percent"] {
            let error = text.parse::<Share>().expect_err(text);
            assert!(
                error.contains(&format!("`{text}`")) && error.contains("0 % to 100 %"),
                "{error}"
            );
        }
    }
}
