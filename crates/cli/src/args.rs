//! The command line.

use std::path::PathBuf;

use bentpipe_scenario::Override;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Transport for satellite links: simulate it, measure it, prove it.
#[derive(Debug, Parser)]
#[command(name = "bentpipe", version, propagate_version = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "Examples:
  bentpipe reproduce xstp                 all simulated figures of the XSTP paper, judged
  bentpipe run handoff                    one transfer over a built-in scenario
  bentpipe run my.toml --set links.space.delay=250ms --samples cwnd.csv
  bentpipe list scenarios";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run experiments of a paper again and judge what it claims
    #[command(after_help = REPRODUCE_EXAMPLES)]
    Reproduce(Reproduce),
    /// Run one scenario once
    #[command(after_help = RUN_EXAMPLES)]
    Run(Run),
    /// Name what there is
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// What to name; everything if it is left out
        what: Option<Listing>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of scenario files
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema,
    /// Print the completions of a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
}

const REPRODUCE_EXAMPLES: &str = "Examples:
  bentpipe reproduce xstp                 the XSTP paper: E1 to E7
  bentpipe reproduce E3 --reps 40 --out figures/
  bentpipe reproduce all --json > result.json

Each figure is a table of means over the replications with their 95 % confidence intervals, and a
line for each claim of the paper: whether it holds, and what was measured. With --out each figure
becomes a CSV, a JSON and an SVG file.";

/// `bentpipe reproduce`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Reproduce {
    /// Experiments (E1, E3) or papers (xstp); all if there are none
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Replications of each point instead of the experiment's own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) reps: Option<u64>,
    /// Threads; one on each core if left out. The result is the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Write CSV, JSON and SVG for each figure into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document and no tables
    #[arg(long)]
    pub(crate) json: bool,
}

const RUN_EXAMPLES: &str = "Examples:
  bentpipe run handoff
  bentpipe run handoff --set flows.file.xstp.probing=false --seed 7
  bentpipe run geo --pcap geo.pcapng --pcap-link satellite --samples geo.csv
  bentpipe run handoff --wire --json

A value of --set is TOML; text needs no quotes: --set links.space.delay=\"250 ms\".";

/// `bentpipe run`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    /// A scenario file, or the name of a built-in scenario
    pub(crate) scenario: String,
    /// Seed of every random draw, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Change a value of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<Override>,
    /// Encode every packet, flip real bits, check real checksums; the result is the same
    #[arg(long)]
    pub(crate) wire: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the senders' states over time into this CSV file
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) samples: Option<PathBuf>,
    /// Write every packet that enters a link into this capture
    #[arg(long, value_name = "FILE.pcapng")]
    pub(crate) pcap: Option<PathBuf>,
    /// Capture this link only; may be given several times
    #[arg(long, value_name = "LINK", requires = "pcap")]
    pub(crate) pcap_link: Vec<String>,
}

const LIST_EXAMPLES: &str = "Examples:
  bentpipe list
  bentpipe list experiments
  bentpipe list links --json";

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    /// Experiments that `reproduce` knows
    Experiments,
    /// Protocols that a flow can use
    Protocols,
    /// Congestion controllers and their parameters
    Controllers,
    /// Link models and their parameters
    Links,
    /// Scenarios that come with the program
    Scenarios,
}

const SCHEMA_EXAMPLES: &str = "Example:
  bentpipe schema > scenario.schema.json

Editors with a TOML language server check and complete scenario files with it.";

const COMPLETIONS_EXAMPLES: &str = "Example:
  bentpipe completions bash > /etc/bash_completion.d/bentpipe";
