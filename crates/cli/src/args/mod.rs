//! The command line.

mod emulate;
mod experiments;
mod gateway;
mod orbit;
mod place;
mod queues;
mod run;
mod storm;
mod trace;
mod transfer;
mod twin;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub(crate) use emulate::Emulate;
pub(crate) use experiments::{Compare, Reproduce};
pub(crate) use gateway::{Gateway, Top};
pub(crate) use orbit::{GroundPolicy, OnTheGround, Orbit};
pub(crate) use place::Spot;
pub(crate) use queues::Queues;
pub(crate) use run::Run;
pub(crate) use storm::{Storm, World};
pub(crate) use trace::{
    FarEnd, Measured, Trace, TraceCommand, TraceFromOrbit, TraceImport, TraceInfo, TraceRecord,
    TraceRespond, TraceWay,
};
pub(crate) use transfer::{Identity, Keygen, PathArgs, Recv, Send, Transport};
pub(crate) use twin::{Twin, TwinHost, TwinRole};

use emulate::EMULATE_EXAMPLES;
use experiments::{COMPARE_EXAMPLES, REPRODUCE_EXAMPLES};
use gateway::{GATEWAY_EXAMPLES, TOP_EXAMPLES};
use orbit::ORBIT_EXAMPLES;
use run::RUN_EXAMPLES;
use storm::STORM_EXAMPLES;
use trace::TRACE_EXAMPLES;
use transfer::{KEYGEN_EXAMPLES, RECV_EXAMPLES, SEND_EXAMPLES};
use twin::TWIN_EXAMPLES;

/// Transport for satellite links: simulator, emulator, file transfer, gateway.
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
  bentpipe compare geo                    which protocol is the fastest there
  bentpipe run my.toml --set links.space.delay=250ms --samples cwnd.csv
  bentpipe list scenarios
  bentpipe orbit iridium --from Berkeley --to Boston
  bentpipe keygen                         make this host's key
  bentpipe recv --listen 0.0.0.0:25300 --dir inbox --peer KEY
  bentpipe send photos/ ground.example:25300 --peer KEY --rate \"10 Mbit/s\"";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Reproduce experiments of a paper and judge its claims
    #[command(after_help = REPRODUCE_EXAMPLES)]
    Reproduce(Reproduce),
    /// Rank protocols and controllers on one scenario
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Run one scenario once
    #[command(after_help = RUN_EXAMPLES)]
    Run(Run),
    /// Test gateways and file transfer under random faults
    #[command(after_help = STORM_EXAMPLES)]
    Storm(Storm),
    /// Compare a scenario with gateways in the simulator and with real programs
    #[command(after_help = TWIN_EXAMPLES)]
    Twin(Twin),
    /// Be a host of a twin
    #[command(hide = true)]
    TwinHost(TwinHost),
    /// Emulate a satellite link between programs of this machine
    #[command(after_help = EMULATE_EXAMPLES)]
    Emulate(Emulate),
    /// Compute delay, route and handovers between two places over satellites
    #[command(after_help = ORBIT_EXAMPLES)]
    Orbit(Orbit),
    /// Show, import and compute traces of links
    #[command(after_help = TRACE_EXAMPLES)]
    Trace(Trace),
    /// Generate this host's key pair
    #[command(after_help = KEYGEN_EXAMPLES)]
    Keygen(Keygen),
    /// Receive files from peers
    #[command(after_help = RECV_EXAMPLES)]
    Recv(Recv),
    /// Send files and directories to a peer
    #[command(after_help = SEND_EXAMPLES)]
    Send(Send),
    /// Carry TCP connections to another gateway over a satellite link
    #[command(after_help = GATEWAY_EXAMPLES)]
    Gateway(Gateway),
    /// Monitor the peers and flows of a gateway
    #[command(after_help = TOP_EXAMPLES)]
    Top(Top),
    /// List built-in scenarios, controllers, models
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// What to list [default: everything]
        what: Option<Listing>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of scenario files
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema,
    /// Write the manual pages
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Output directory
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Print the completions of a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
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
    /// Constellations that are known by name
    Constellations,
    /// What `compare` can put into a flow
    Variants,
}

const SCHEMA_EXAMPLES: &str = "Example:
  bentpipe schema > scenario.schema.json

Editors with a TOML language server check and complete scenario files with it.";

const MAN_EXAMPLES: &str = "Example:
  bentpipe man /usr/local/share/man/man1";

const COMPLETIONS_EXAMPLES: &str = "Example:
  bentpipe completions bash > /etc/bash_completion.d/bentpipe";
