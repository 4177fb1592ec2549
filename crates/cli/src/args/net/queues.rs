//! Message queues between processes of this machine.

use bentpipe_net::qlp::{NodeId, Route};
use clap::{Args as ClapArgs, ValueEnum};

/// What carries packets in place of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Via {
    /// Message queues between processes of this machine, without encryption
    Mqueue,
}

/// Message queues between processes of this machine.
#[derive(Debug, ClapArgs)]
pub(crate) struct Queues {
    /// Be a process of a network on this machine, without encryption, in place of UDP
    #[arg(long, value_name = "WHAT", requires = "node")]
    pub(crate) via: Option<Via>,
    /// Number of this node; its queue is /xstp_N
    #[arg(long, value_name = "N", requires = "via")]
    pub(crate) node: Option<NodeId>,
    /// Put what is for one node into the queue of another; may be given several times. Nodes that are
    /// not named get theirs directly
    #[arg(long = "route", value_name = "DST=NEXT", requires = "via")]
    pub(crate) routes: Vec<Route>,
}
