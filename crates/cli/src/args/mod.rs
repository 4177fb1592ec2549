//! The command line. Commands of a feature that is off are not there.

#[cfg(all(feature = "net", feature = "sim"))]
mod emulate;
#[cfg(feature = "gateway")]
mod gateway;
#[cfg(feature = "net")]
pub(crate) mod net;
#[cfg(all(feature = "net", feature = "sim"))]
mod process;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "sim")]
pub(crate) mod sim;
#[cfg(feature = "top")]
mod top;
#[cfg(all(feature = "gateway", feature = "sim", feature = "top"))]
mod twin;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

#[cfg(all(feature = "net", feature = "sim"))]
pub(crate) use emulate::Emulate;
#[cfg(feature = "gateway")]
pub(crate) use gateway::Gateway;
#[cfg(all(feature = "net", feature = "sim"))]
pub(crate) use process::{Process, Role};
#[cfg(feature = "serve")]
pub(crate) use serve::Serve;
#[cfg(feature = "top")]
pub(crate) use top::Top;
#[cfg(all(feature = "gateway", feature = "sim", feature = "top"))]
pub(crate) use twin::{Twin, TwinHost, TwinRole};

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
    #[cfg(feature = "sim")]
    #[command(flatten)]
    Simulator(Box<sim::Simulator>),
    /// Emulate a satellite link between programs of this machine
    #[cfg(all(feature = "net", feature = "sim"))]
    #[command(after_help = emulate::EMULATE_EXAMPLES)]
    Emulate(Box<Emulate>),
    /// Be one of the processes of a run over message queues
    #[cfg(all(feature = "net", feature = "sim"))]
    #[command(hide = true)]
    Process(Process),
    #[cfg(feature = "net")]
    #[command(flatten)]
    Files(Box<net::Files>),
    /// Carry TCP connections to another gateway over a satellite link
    #[cfg(feature = "gateway")]
    #[command(after_help = gateway::GATEWAY_EXAMPLES)]
    Gateway(Gateway),
    /// Show the sky, runs, comparisons and gateways in a browser
    #[cfg(feature = "serve")]
    #[command(after_help = serve::SERVE_EXAMPLES)]
    Serve(Serve),
    /// Monitor the peers and flows of a gateway
    #[cfg(feature = "top")]
    #[command(after_help = top::TOP_EXAMPLES)]
    Top(Top),
    /// Compare a scenario with gateways in the simulator and with real programs
    #[cfg(all(feature = "gateway", feature = "sim", feature = "top"))]
    #[command(after_help = twin::TWIN_EXAMPLES)]
    Twin(Twin),
    /// Be a host of a twin
    #[cfg(all(feature = "gateway", feature = "sim", feature = "top"))]
    #[command(hide = true)]
    TwinHost(TwinHost),
    /// Print the JSON Schema of scenario or gateway files
    #[cfg(any(feature = "sim", feature = "gateway"))]
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema {
        /// The kind of file
        #[arg(value_enum, default_value_t = Format::ALL[0])]
        format: Format,
        /// Print the keys as a page of Markdown instead
        #[arg(long)]
        markdown: bool,
    },
    /// Write the manual pages
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// The folder above `man1` and `man5`
        #[arg(value_name = "DIR", required_unless_present = "markdown")]
        dir: Option<PathBuf>,
        /// Print one page of Markdown instead
        #[arg(long, conflicts_with = "dir")]
        markdown: bool,
    },
    /// Print the completions of a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// A kind of file that people write.
#[cfg(any(feature = "sim", feature = "gateway"))]
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Format {
    /// What is simulated or emulated
    #[cfg(feature = "sim")]
    Scenario,
    /// The configuration of a gateway
    #[cfg(feature = "gateway")]
    Gateway,
}

#[cfg(any(feature = "sim", feature = "gateway"))]
impl Format {
    /// All of them.
    pub(crate) const ALL: &[Self] = &[
        #[cfg(feature = "sim")]
        Self::Scenario,
        #[cfg(feature = "gateway")]
        Self::Gateway,
    ];
}

#[cfg(any(feature = "sim", feature = "gateway"))]
const SCHEMA_EXAMPLES: &str = "Examples:
  bentpipe schema > scenario.schema.json
  bentpipe schema gateway > gateway.schema.json

Editors with a TOML language server check and complete files with it.";

const MAN_EXAMPLES: &str = "Examples:
  bentpipe man /usr/local/share/man
  bentpipe man --markdown > commands.md";

const COMPLETIONS_EXAMPLES: &str = "Example:
  bentpipe completions bash > /etc/bash_completion.d/bentpipe";
