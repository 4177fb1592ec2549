//! What `bentpipe run --via mqueue` starts.

use bentpipe_net::qlp::{NodeId, Route};
use clap::{Args as ClapArgs, ValueEnum};

/// A process of a run over message queues. Its scenario comes by the standard input.
#[derive(Debug, ClapArgs)]
pub(crate) struct Process {
    /// Which one
    #[arg(value_enum)]
    pub(crate) role: Role,
    /// Seed of every random draw
    #[arg(long)]
    pub(crate) seed: u64,
    /// Number of this node
    #[arg(long)]
    pub(crate) node: NodeId,
    /// Number of the node that receives
    #[arg(long)]
    pub(crate) destination: NodeId,
    /// Where frames for other nodes go
    #[arg(long = "route")]
    pub(crate) routes: Vec<Route>,
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Sends the file
    Source,
    /// Emulates the links
    Router,
    /// Receives the file
    Destination,
}
