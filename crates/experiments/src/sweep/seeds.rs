//! The seeds of a sweep.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The seeds with which each cell of a sweep is run: `1-1000`, or `1,5,10-20`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(Vec<RangeInclusive<u64>>);

/// No more seeds than that fit into the count of runs.
const MOST: u64 = 1 << 32;

impl Seeds {
    /// From 1 to `last`, which is at least 1.
    pub fn up_to(last: u64) -> Self {
        Self(vec![1..=last.clamp(1, MOST)])
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.iter().map(count).sum()
    }

    /// One of them by its place, from 0 on.
    pub(super) fn nth(&self, mut place: u64) -> Option<u64> {
        for range in &self.0 {
            if place < count(range) {
                return Some(range.start() + place);
            }
            place -= count(range);
        }
        None
    }
}

fn count(range: &RangeInclusive<u64>) -> u64 {
    range.end() - range.start() + 1
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` are no seeds: write 1-1000 or 1,5,10-20");
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
        let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = number(first)?..=number(last)?;
            if range.is_empty() || range.end() - range.start() >= MOST {
                return Err(wrong());
            }
            let meets = |other: &&RangeInclusive<u64>| {
                range.start() <= other.end() && other.start() <= range.end()
            };
            if let Some(other) = ranges.iter().find(meets) {
                let twice = range.start().max(other.start());
                return Err(format!("`{text}`: the seed {twice} is there twice"));
            }
            ranges.push(range);
        }
        Ok(Self(ranges))
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, range) in self.0.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            match (range.start(), range.end()) {
                (first, last) if first == last => write!(f, "{comma}{first}")?,
                (first, last) => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_numbers_and_ranges() {
        let seeds: Seeds = "3, 10-12".parse().expect("seeds");
        let all: Vec<_> = (0..5).map(|place| seeds.nth(place)).collect();
        assert_eq!(all, [Some(3), Some(10), Some(11), Some(12), None]);
        assert_eq!((seeds.count(), seeds.to_string()), (4, "3,10-12".to_owned()));
        assert_eq!(Seeds::up_to(7).to_string(), "1-7");
        for (wrong, said) in [
            ("", "no seeds"),
            ("5-3", "no seeds"),
            ("x", "no seeds"),
            ("1-4,3", "3 is there twice"),
        ] {
            let error = wrong.parse::<Seeds>().expect_err(wrong);
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
