//! The secret that whoever asks must know.

use std::fmt;
use std::str::FromStr;

/// Fewest and most characters of a token.
const LENGTH: std::ops::RangeInclusive<usize> = 20..=128;

/// The secret that whoever asks must know: 20 to 128 letters, digits, `-` and `_`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// What is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a token has 20 to 128 letters, digits, `-` and `_`, such as `openssl rand -hex 20` prints"
)]
pub struct BadToken;

impl FromStr for Token {
    type Err = BadToken;

    fn from_str(text: &str) -> Result<Self, BadToken> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let right = LENGTH.contains(&text.len()) && text.chars().all(is_plain);
        right.then(|| Self(text.to_owned())).ok_or(BadToken)
    }
}

impl Token {
    /// Whether somebody knows it. The time that this takes says nothing of it.
    pub(crate) fn is(&self, said: &[u8]) -> bool {
        // Hashes compare in constant time.
        blake3::hash(self.0.as_bytes()) == blake3::hash(said)
    }

    /// The token itself, for the one who may know it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ones_and_those_that_no_header_carries_are_none() {
        let token: Token = "abcdefghij_KLMNOP-0123".parse().expect("a token");
        assert!(token.is(b"abcdefghij_KLMNOP-0123") && !token.is(b"abcdefghij_KLMNOP-0124"));
        assert!(!token.is(b"") && format!("{token:?}") == "Token");
        for wrong in ["", "short", "abcdefghij KLMNOP 0123", "abcdefghijKLMNOP0123\n"] {
            assert_eq!(wrong.parse::<Token>(), Err(BadToken), "{wrong:?}");
        }
    }
}
