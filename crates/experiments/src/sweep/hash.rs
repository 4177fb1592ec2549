//! What tells one run from another.

use std::fmt;
use std::str::FromStr;

/// A hash of what a run depends on: the program's version, the scenario with all its values and files, the flows that are
/// measured, and the seed. Runs of one hash have the same results, and a sweep runs none twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunHash([u8; 16]);

impl RunHash {
    pub(super) fn of(scenario: &[u8; 32], flows: &[usize], seed: u64) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(env!("CARGO_PKG_VERSION").as_bytes()).update(b"\0").update(scenario);
        for flow in flows {
            hasher.update(&(*flow as u64).to_le_bytes());
        }
        hasher.update(&seed.to_le_bytes());
        let mut short = [0; 16];
        hasher.finalize_xof().fill(&mut short);
        Self(short)
    }
}

impl fmt::Display for RunHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for RunHash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32);
        let number = number.ok_or_else(|| format!("`{text}` is no hash of a run"))?;
        Ok(Self(number.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_written_and_read_again() {
        let hash = RunHash::of(&[7; 32], &[0, 2], 9);
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_ne!(hash, RunHash::of(&[7; 32], &[0, 2], 10));
        assert_ne!(hash, RunHash::of(&[7; 32], &[0], 9));
        assert!("12".parse::<RunHash>().is_err());
    }
}
