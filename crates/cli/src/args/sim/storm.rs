//! `bentpipe storm`.

use std::ops::RangeInclusive;

use clap::{Args as ClapArgs, ValueEnum};

pub(super) const STORM_EXAMPLES: &str = "Examples:
  bentpipe storm                          the first 100 seeds of all worlds
  bentpipe storm --seeds 0-9999 --world transfer
  bentpipe storm --minutes 60             as many seeds as an hour has
  bentpipe storm --seed 4711 --world gateway

A seed is a history: what is killed when, which datagrams are lost, held back, repeated or changed, what a
hostile peer says. It is the same on every machine. A seed that fails prints what happened before and the
command that repeats it, and the exit code is 1.";

/// `bentpipe storm`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Storm {
    /// Run this seed only
    #[arg(long, value_name = "N", conflicts_with_all = ["seeds", "minutes"])]
    pub(crate) seed: Option<u64>,
    /// The first and the last seed [default: 0-99]
    #[arg(long, value_name = "A-B", value_parser = seeds)]
    pub(crate) seeds: Option<RangeInclusive<u64>>,
    /// Run for so long, from the first seed on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) minutes: Option<u64>,
    /// Which programs are in the storm
    #[arg(long, value_enum, value_name = "WORLD", default_value = "all")]
    pub(crate) world: World,
    /// Threads; the result is the same for any number [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which programs are in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum World {
    /// Two gateways and the flows between their hosts
    Gateway,
    /// Senders of files and a receiver
    Transfer,
    /// A source of bundles, a relay and a destination
    #[cfg(feature = "net")]
    Bundles,
    /// One after the other
    All,
}

fn seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let parsed = text
        .split_once('-')
        .and_then(|(first, last)| Some((first.trim().parse().ok()?, last.trim().parse().ok()?)));
    match parsed {
        Some((first, last)) if first <= last => Ok(first..=last),
        _ => Err("write the first and the last seed, such as 0-999".to_owned()),
    }
}
