//! Message queues between processes of this machine.

use bentpipe_net::qlp::{NodeId, Route};
use clap::Args as ClapArgs;

/// A node among processes of this machine.
#[derive(Debug, ClapArgs)]
pub(crate) struct Queues {
    /// Number of this node; its queue is /xstp_N
    #[arg(long, value_name = "N", requires = "via")]
    pub(crate) node: Option<NodeId>,
    /// Put what is for one node into the queue of another; may be given several times. Nodes that are
    /// not named get theirs directly
    #[arg(long = "route", value_name = "DST=NEXT", requires = "node")]
    pub(crate) routes: Vec<Route>,
}
