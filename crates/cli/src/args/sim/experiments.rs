//! `bentpipe reproduce` and `bentpipe compare`.

use std::path::PathBuf;

use bentpipe_experiments::compare::Variant;
use bentpipe_scenario::Override;
use clap::{Args as ClapArgs, ValueEnum};

pub(super) const REPRODUCE_EXAMPLES: &str = "Examples:
  bentpipe reproduce xstp                 the XSTP paper: E1 to E8, E38
  bentpipe reproduce s1                   the study of TCP over GEO and LEO: E9 to E18, E37
  bentpipe reproduce E3 --reps 40 --out figures/
  bentpipe reproduce E3 --via mqueue --points 5,15 --reps 3
  bentpipe reproduce E1 E3 --set flows.file.xstp.timer_clock=exact
  bentpipe reproduce my.toml              an experiment of your own
  bentpipe reproduce all --json > result.json

Each figure is a table of means over the replications with their 95 % confidence intervals, and a
line for each claim: whether it holds, and what was measured. With --out each figure
becomes a CSV, a JSON, an SVG and a Vega-Lite file.";

/// `bentpipe reproduce`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Reproduce {
    /// Experiments (E1, E3), papers (xstp, s1) or files (my.toml) [default: all of the papers]
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Replications of each point instead of the experiment's own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) reps: Option<u64>,
    /// Change a value of all scenarios
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<Override>,
    /// Places on the x axes; what is claimed of all of them is not judged then [default: all]
    #[arg(long, value_name = "X,...", value_delimiter = ',')]
    pub(crate) points: Vec<f64>,
    /// Not simulated but in real time, as its authors ran it: `mqueue`, three processes for each run, joined by message queues
    #[cfg(feature = "net")]
    #[arg(long, value_name = "WHAT", value_parser = ["mqueue"])]
    pub(crate) via: Option<String>,
    /// Threads, of which the result does not depend; with --via runs at the same time [default: one per core, or 4 runs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Write CSV, JSON, SVG and Vega-Lite for each figure into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write one page with all figures, claims and verdicts into this file
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Print one JSON document and no tables
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) const COMPARE_EXAMPLES: &str = "Examples:
  bentpipe compare geo --variants xstp-probing,tcp-cubic,tcp-hybla,sctp
  bentpipe compare my-link.toml --variants tcp-sack,tcp-sack+snoop,tcp-hybla+split --reps 20
  bentpipe compare geo --set links.satellite.ber=1e-5 --svg ranking.svg --format csv > ranking.csv

A variant is PROTOCOL, PROTOCOL-CONTROLLER, tcp-RECOVERY or tcp-RECOVERY-CONTROLLER; `bentpipe list
variants` names them. All meet the same channel in a replication. Segments keep the size that
the scenario gives them, and buffers do under the flow's own protocol.";

/// `bentpipe compare`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Compare {
    /// A scenario file, or the name of a built-in scenario
    pub(crate) scenario: String,
    /// What is compared, with commas between [default: what is deployed and what it replaces]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) variants: Vec<Variant>,
    /// Runs of each variant
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) reps: u64,
    /// A flow that is compared; may be given several times [default: all that send a file or
    /// without end]
    #[arg(long, value_name = "NAME")]
    pub(crate) flow: Vec<String>,
    /// Change a value of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<Override>,
    /// Threads; the result is the same for any number [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Draw the goodputs
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// Draw the empirical distributions of the goodputs
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) distribution: Option<PathBuf>,
    /// How the ranking is printed
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) gone: Gone,
}

/// Forms of a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The columns that fit the terminal
    Table,
    /// All columns as a table of Markdown
    Markdown,
    /// All numbers as CSV
    Csv,
    /// All numbers as JSON
    Json,
}

/// Options that `--format` has replaced.
#[derive(Debug, ClapArgs)]
pub(crate) struct Gone {
    /// Print JSON
    #[arg(long, hide = true)]
    json: bool,
    /// Write the ranking into this CSV file
    #[arg(long, hide = true, num_args = 0..=1)]
    csv: Option<Option<PathBuf>>,
}

impl Gone {
    /// What to write in place of one that was given.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        match self {
            Self { json: true, .. } => Some("there is no --json any more: write --format json"),
            Self { csv: Some(_), .. } => {
                Some("there is no --csv any more: write --format csv > FILE.csv")
            }
            Self { .. } => None,
        }
    }
}
