//! Parts of a sweep, for machines that share it.

use std::fmt;
use std::str::FromStr;

/// A part of a sweep: `3/100` is the third of a hundred. Each has every hundredth run, so that all take about as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u64,
    of: u64,
}

impl Shard {
    /// All of a sweep.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// The runs of a sweep of so many that belong to it, in order.
    pub fn runs(self, total: u64) -> impl Iterator<Item = u64> + Clone + Send {
        let step = usize::try_from(self.of).unwrap_or(usize::MAX);
        (self.number - 1..total).step_by(step)
    }

    /// How many of so many runs belong to it.
    pub const fn count(self, total: u64) -> u64 {
        (total + self.of - self.number) / self.of
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(number, of)| {
            Some((number.trim().parse::<u64>().ok()?, of.trim().parse::<u64>().ok()?))
        });
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) && of <= 1_000_000 => {
                Ok(Self { number, of })
            }
            _ => Err(format!("`{text}` is no shard: write 3/100 for the third of a hundred")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_belongs_to_one_shard() {
        for (total, of) in [(10, 3), (2, 5), (0, 2), (100, 1), (7, 7)] {
            let mut all = Vec::new();
            for number in 1..=of {
                let shard: Shard = format!("{number}/{of}").parse().expect("a shard");
                let runs: Vec<u64> = shard.runs(total).collect();
                assert_eq!(runs.len() as u64, shard.count(total), "{shard} of {total}");
                all.extend(runs);
            }
            all.sort_unstable();
            assert_eq!(all, (0..total).collect::<Vec<_>>());
        }
        for wrong in ["0/3", "4/3", "3", "a/b", "1/0", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
