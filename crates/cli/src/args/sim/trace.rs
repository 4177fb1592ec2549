//! `bentpipe trace`.

use std::path::PathBuf;
use std::str::FromStr;

use bentpipe_trace::import::{Source, Way};
use bentpipe_units::Span;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::orbit::{Ends, OnTheGround, duration, some_time};
#[cfg(feature = "net")]
use super::record::{TraceRecord, TraceRespond};

pub(super) const TRACE_EXAMPLES: &str = "Examples:
  bentpipe trace record server.example --out down.csv
  bentpipe trace respond --listen 0.0.0.0:25310
  bentpipe trace record server.example:25310 --load-down \"20 Mbit/s\" --limit \"400 MB\" --out loaded.csv
  bentpipe trace info starlink-down
  bentpipe trace import ping:ping.txt iperf3:down.json --out down.csv
  bentpipe trace import irtt:irtt.json --way up --out up.csv
  bentpipe trace from-orbit starlink --from London --to Boston --duration \"10 min\" --out delay.csv

A link of a scenario replays a trace: --set links.space.forward.trace=down.csv";

/// `bentpipe trace`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Trace {
    /// What to do with it.
    #[command(subcommand)]
    pub(crate) what: TraceCommand,
}

/// What is done with traces.
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Show what a trace is like
    Info(TraceInfo),
    /// Make a trace of what measuring programs wrote
    Import(TraceImport),
    /// Measure a link: light probes and, if asked, a load
    #[cfg(feature = "net")]
    Record(TraceRecord),
    /// Answer those who measure a link to this host
    #[cfg(feature = "net")]
    Respond(TraceRespond),
    /// Make a trace of the delay over satellites
    FromOrbit(TraceFromOrbit),
}

/// `bentpipe trace info`.
#[derive(Debug, ClapArgs)]
pub(crate) struct TraceInfo {
    /// A trace of mahimahi, a table as CSV or Parquet, or the name of one that comes with the program
    #[arg(value_name = "FILE|NAME")]
    pub(crate) file: String,
    /// A second file with a one-way delay in milliseconds on each line, 10 ms apart
    #[arg(long, value_name = "FILE")]
    pub(crate) delays: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bentpipe trace import`.
#[derive(Debug, ClapArgs)]
pub(crate) struct TraceImport {
    /// What wrote each file: ping, irtt, iperf3, lens, dish, or trace for one that is a trace already
    #[arg(value_name = "FORMAT:FILE", required = true)]
    pub(crate) sources: Vec<Measured>,
    /// Write the trace into this file: Parquet if its name ends in .parquet, else CSV [default: print it]
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) out: Option<PathBuf>,
    /// Which way along the link it is for
    #[arg(long, value_enum, default_value = "down")]
    pub(crate) way: TraceWay,
    /// More missing answers in a row than this are an outage, fewer are losses
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) gap: usize,
    /// Time from one probe to the next, where the output does not tell
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = some_time)]
    pub(crate) interval: Span,
}

/// A file with what wrote it.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// `None` for a trace.
    pub(crate) source: Option<Source>,
    pub(crate) file: String,
}

impl FromStr for Measured {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Source::NAMES.map(|(_, name)| name).join(", ");
        let known = |name: &str| Source::NAMES.iter().find(|(_, known)| *known == name);
        let (name, file) = text.split_once(':').ok_or_else(|| {
            format!(
                "write what wrote it before the file, such as ping:{text}; there are {}, trace",
                names()
            )
        })?;
        let source = match name {
            "trace" => None,
            name => {
                let (source, _) =
                    known(name).ok_or_else(|| format!("`{name}` is none of {}, trace", names()))?;
                Some(*source)
            }
        };
        Ok(Self { source, file: file.to_owned() })
    }
}

/// A way along a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceWay {
    /// Towards whoever measured
    Down,
    /// From there
    Up,
}

impl From<TraceWay> for Way {
    fn from(way: TraceWay) -> Self {
        match way {
            TraceWay::Down => Self::Down,
            TraceWay::Up => Self::Up,
        }
    }
}

/// `bentpipe trace from-orbit`.
#[derive(Debug, ClapArgs)]
pub(crate) struct TraceFromOrbit {
    /// A known constellation, a TOML file of shells, or a file of element sets (TLE or OMM)
    #[arg(value_name = "NAME|FILE")]
    pub(crate) constellation: String,
    #[command(flatten)]
    pub(crate) ends: Ends,
    /// Its length
    #[arg(long, value_name = "TIME", default_value = "10 min", value_parser = duration)]
    pub(crate) duration: Span,
    /// Time from one delay to the next
    #[arg(long, value_name = "TIME", default_value = "100 ms", value_parser = some_time)]
    pub(crate) step: Span,
    /// The place of --to is a host on the ground, which a cable joins to the nearest point of presence
    #[arg(long)]
    pub(crate) to_host: bool,
    #[command(flatten)]
    pub(crate) ground: OnTheGround,
    /// Write the trace into this file: Parquet if its name ends in .parquet, else CSV [default: print it]
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) out: Option<PathBuf>,
}
