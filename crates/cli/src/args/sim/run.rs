//! `bentpipe run`, and what a network is taken from.

use std::path::{Path, PathBuf};

use bentpipe_scenario::{Override, Scenario, ScenarioError, Spot};
use clap::Args as ClapArgs;

/// What `run` and `emulate` take their network from.
#[derive(Debug, ClapArgs)]
pub(crate) struct Source {
    /// A scenario file, or the name of a built-in scenario
    #[arg(required_unless_present = "profile")]
    pub(crate) scenario: Option<String>,
    /// A constellation instead of a scenario: a known one, a TOML file of shells, or a file of element
    /// sets (TLE or OMM)
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "scenario", requires_all = ["from", "to"])]
    pub(crate) profile: Option<String>,
    /// Where the sender or the server is: a city, LAT,LON in degrees, or the file of a track (GPX, CSV)
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true, conflicts_with = "scenario")]
    pub(crate) from: Option<Spot>,
    /// Where the receiver is, or the clients are
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true, conflicts_with = "scenario")]
    pub(crate) to: Option<Spot>,
}

impl Source {
    /// The files that are read, or what would be their names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let named = self.scenario.iter().chain(&self.profile).map(Path::new);
        named.chain(self.from.iter().chain(&self.to).filter_map(Spot::file))
    }

    /// The scenario that is meant.
    pub(crate) fn open(&self) -> Result<Scenario, ScenarioError> {
        match (&self.scenario, &self.profile, &self.from, &self.to) {
            (None, Some(profile), Some(from), Some(to)) => {
                Scenario::over(profile, &from.written, &to.written)
            }
            (scenario, ..) => Scenario::open(scenario.as_deref().unwrap_or_default()),
        }
    }
}

pub(super) const RUN_EXAMPLES: &str = "Examples:
  bentpipe run handoff
  bentpipe run handoff --set flows.file.xstp.probing=false --seed 7
  bentpipe run geo --pcap geo.pcapng --pcap-link satellite --samples geo.csv
  bentpipe run handoff --svg handoff.svg
  bentpipe run handoff --wire --json
  bentpipe run handoff --via mqueue
  bentpipe run --profile starlink --from London --to Boston --set flows.file.protocol=tcp

With --profile the network is a constellation and two places. The flow and the links are those of the built-in
scenario of that name, if there is one; otherwise links have no rate and the flow sends for an hour.

A value of --set is TOML; text needs no quotes: --set links.space.delay=\"250 ms\".";

/// `bentpipe run`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Seed of every random draw, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Change a value of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<Override>,
    /// Encode every packet, flip real bits, check real checksums; the result is the same
    #[arg(long)]
    pub(crate) wire: bool,
    /// Not simulated but in real time: `mqueue`, three processes of this machine that are joined by message queues. For a flow of
    /// XSTP that sends a file
    #[cfg(feature = "net")]
    #[arg(long, value_name = "WHAT", value_parser = ["mqueue"], conflicts_with_all = ["wire", "samples", "svg", "pcap"])]
    pub(crate) via: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the senders' states over time into this CSV file
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) samples: Option<PathBuf>,
    /// Draw goodput, window and round trip of each flow over time
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// Write every packet that enters a link into this capture
    #[arg(long, value_name = "FILE.pcapng")]
    pub(crate) pcap: Option<PathBuf>,
    /// Capture this link only; may be given several times
    #[arg(long, value_name = "LINK", requires = "pcap")]
    pub(crate) pcap_link: Vec<String>,
}
