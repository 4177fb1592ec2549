//! The commands that move files, and what they share with others.

mod bundle;
mod queues;
mod radio;
mod transfer;
mod via;

use clap::Subcommand;

pub(crate) use bundle::{
    At, Bundle, BundleCommand, BundleDelete, BundleList, BundleNode, BundleRecv, BundleSend,
    ReportKind,
};
pub(crate) use queues::Queues;
pub(crate) use radio::Radio;
pub(crate) use transfer::{Identity, Keygen, PathArgs, Recv, Send, Transport};
pub(crate) use via::{Carrier, Via};

use bundle::BUNDLE_EXAMPLES;
use transfer::{KEYGEN_EXAMPLES, RECV_EXAMPLES, SEND_EXAMPLES};

/// Files between hosts.
#[derive(Debug, Subcommand)]
pub(crate) enum Files {
    /// Carry bundles (RFC 9171) over links that are there now and then
    #[command(after_help = BUNDLE_EXAMPLES)]
    Bundle(Box<Bundle>),
    /// Generate this host's key pair
    #[command(after_help = KEYGEN_EXAMPLES)]
    Keygen(Keygen),
    /// Receive files from peers
    #[command(after_help = RECV_EXAMPLES)]
    Recv(Recv),
    /// Send files and directories to a peer
    #[command(after_help = SEND_EXAMPLES)]
    Send(Send),
}
