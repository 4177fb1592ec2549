//! `bentpipe sweep` and `bentpipe merge`.

use std::path::PathBuf;

use bentpipe_experiments::compare::Variant;
use bentpipe_experiments::sweep::{Axis, Seeds, Shard};
use bentpipe_scenario::Override;
use clap::Args as ClapArgs;

pub(super) const SWEEP_EXAMPLES: &str = "Examples:
  bentpipe sweep geo --vary \"links.satellite.queue=0.25,0.5,1,2 BDP\" --variants cubic,bbr --out runs.parquet
  bentpipe sweep my.toml --set duration=60 --vary links.space.loss=0,1e-4,1e-3,1e-2 --seeds 1-1000 --out runs.parquet
  bentpipe sweep my.toml --vary \"links.space.delay=5,25,250 ms\" --shard 3/100 --out runs-3.parquet

The file has a row for each run: the values that are varied, the variant, the seed, and what was measured. A sweep
that was broken off goes on when the same command is given again, and one that has grown runs only what is
new. `bentpipe merge` puts shards together; the rows do not depend on who ran what.";

/// `bentpipe sweep`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Sweep {
    /// A scenario file, or the name of a built-in scenario
    pub(crate) scenario: String,
    /// Vary a value of the scenario; may be given several times, for every combination. Numbers take the unit of
    /// the last one
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub(crate) vary: Vec<Axis>,
    /// What the flows are, with commas between, as in `compare` [default: what the scenario says]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) variants: Vec<Variant>,
    /// Seeds of each combination: 1-1000, or 1,5,10-20
    #[arg(long, value_name = "SEEDS", default_value = "1-10")]
    pub(crate) seeds: Seeds,
    /// A flow that is measured; may be given several times [default: all that send a file or without end]
    #[arg(long, value_name = "NAME")]
    pub(crate) flow: Vec<String>,
    /// Change a value of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<Override>,
    /// Threads; the rows are the same for any number [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// The part of the runs that is run here: 3/100 is the third of a hundred [default: all]
    #[arg(long, value_name = "N/OF")]
    pub(crate) shard: Option<Shard>,
    /// Where the rows go
    #[arg(long, value_name = "FILE.parquet")]
    pub(crate) out: PathBuf,
    /// Replace a result of another sweep, or of another version
    #[arg(long)]
    pub(crate) replace: bool,
}

pub(super) const MERGE_EXAMPLES: &str = "Examples:
  bentpipe merge runs-*.parquet --out runs.parquet
  bentpipe merge runs.parquet --out runs.csv

The result has the rows in the order of the runs: what the whole sweep would have written, byte for byte.";

/// `bentpipe merge`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Merge {
    /// Results of shards of one sweep
    #[arg(value_name = "FILE.parquet", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Where the rows go; a name that ends in .csv gets a table of text
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Write what is there, although some runs are in none of the files
    #[arg(long)]
    pub(crate) partial: bool,
}
