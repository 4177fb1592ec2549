//! `bentpipe twin`.

use std::net::SocketAddr;
use std::path::PathBuf;

use bentpipe_scenario::Override;
use clap::{Args as ClapArgs, Subcommand};

pub(super) const TWIN_EXAMPLES: &str = "Examples:
  sudo bentpipe twin gateway-geo
  sudo bentpipe twin gateway-geo --set gateway.hub.rate=\"10 Mbit/s\" --set gateway.terminal.rate=\"10 Mbit/s\"
  sudo bentpipe twin gateway-leo --seeds 5 --json

The scenario has a [gateway], and a flow whose receiver asks for a file. It runs in the simulator, and once more with real
programs: two gateways at both ends of an emulated link, and hosts behind them with the kernel's TCP, in network
namespaces of their own. What is beside the gateways in the scenario is a plain cable there. It takes as long as the
downloads do. Nothing else can be reached, and nothing is left behind.";

/// `bentpipe twin`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Twin {
    /// A scenario file, or the name of a built-in scenario
    pub(crate) scenario: String,
    /// Runs of each, with the seeds 1 and on
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) seeds: u64,
    /// Change a value of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<Override>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A host behind a gateway: what `bentpipe twin` runs there.
#[derive(Debug, ClapArgs)]
pub(crate) struct TwinHost {
    /// Which one
    #[command(subcommand)]
    pub(crate) role: TwinRole,
}

/// What a host does.
#[derive(Debug, Subcommand)]
pub(crate) enum TwinRole {
    /// Sends what it is asked for
    Serve {
        /// Where to listen
        listen: SocketAddr,
        /// Congestion control of the kernel
        control: String,
    },
    /// Downloads
    Fetch {
        /// Where from
        from: SocketAddr,
        /// Bytes of the request, 16 at least
        request: usize,
        /// Bytes to ask for
        bytes: u64,
        /// Where to write how long it took
        out: PathBuf,
    },
    /// Asks a gateway for its status
    Status {
        /// Where it serves it, as HOST:PORT
        of: String,
        /// Where to write it
        out: PathBuf,
    },
}
