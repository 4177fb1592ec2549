//! `bentpipe bundle`.

use std::path::PathBuf;

use bentpipe_units::Span;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};

pub(super) const BUNDLE_EXAMPLES: &str = "Examples:
  bentpipe bundle node relay.toml         run a node
  bentpipe bundle send --node earth --to dtn://mars/mail report.pdf
  bentpipe bundle recv --node mars --endpoint mail --dir inbox
  bentpipe bundle list --node relay
  bentpipe bundle delete --node relay 800000000000-17@dtn://earth/mail

Bundles are those of RFC 9171. A node keeps each until the next one has it on its disk.";

const NODE_EXAMPLES: &str = "Example:
  bentpipe bundle node relay.toml

with, in relay.toml,
  node = \"dtn://relay/\"
  store = \"relay\"
  key = \"relay.key\"
  [[listen]]
  layer = \"xstp\"
  address = \"0.0.0.0:25301\"
  [neighbours.mars]
  node = \"dtn://mars/\"
  layer = \"xstp\"
  key = \"what `bentpipe keygen` prints on mars\"

RUST_LOG=info tells of each connection.";

const SEND_EXAMPLES: &str = "Examples:
  bentpipe bundle send --node earth --to dtn://mars/mail report.pdf
  bentpipe bundle send --node earth --to dtn://mars/mail --lifetime \"48 h\" --report delivered report.pdf
  date | bentpipe bundle send --node earth --to ipn:23.1 -

The name of the bundle is printed once it is on the disk of the node: then the exit code is 0, and the node has custody. With
any other exit code the bundle is where it was.";

const RECV_EXAMPLES: &str = "Examples:
  bentpipe bundle recv --node mars --endpoint mail --dir inbox
  bentpipe bundle recv --node mars --endpoint mail --dir inbox --once

Each payload becomes a file whose name is made from the name of its bundle. The node deletes its own when the file is on the
disk. A status report is printed and becomes no file.";

/// `bentpipe bundle`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Bundle {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: BundleCommand,
}

/// What to do with bundles.
#[derive(Debug, Subcommand)]
pub(crate) enum BundleCommand {
    /// Run a bundle node until it is stopped
    #[command(after_help = NODE_EXAMPLES)]
    Node(BundleNode),
    /// Hand a file to a node as a bundle
    #[command(after_help = SEND_EXAMPLES)]
    Send(BundleSend),
    /// Take what a node delivers at an endpoint
    #[command(after_help = RECV_EXAMPLES)]
    Recv(BundleRecv),
    /// Print what a node holds
    List(BundleList),
    /// Delete a bundle that a node holds
    Delete(BundleDelete),
}

/// `bentpipe bundle node`.
#[derive(Debug, ClapArgs)]
pub(crate) struct BundleNode {
    /// The file of the node
    #[arg(value_name = "NODE.toml")]
    pub(crate) file: PathBuf,
}

/// A node of this machine.
#[derive(Debug, ClapArgs)]
pub(crate) struct At {
    /// The node: its store, or its socket where that is elsewhere
    #[arg(long, value_name = "PATH")]
    pub(crate) node: PathBuf,
}

/// A status report that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportKind {
    /// A node has received the bundle
    Received,
    /// A node has passed it on
    Forwarded,
    /// It was delivered
    Delivered,
    /// It was deleted, and why
    Deleted,
}

/// `bentpipe bundle send`.
#[derive(Debug, ClapArgs)]
pub(crate) struct BundleSend {
    #[command(flatten)]
    pub(crate) at: At,
    /// The endpoint ID it goes to, such as dtn://mars/mail or ipn:23.1
    #[arg(long, value_name = "ENDPOINT")]
    pub(crate) to: String,
    /// The service of the node it is from: a word with dtn, a number with ipn
    #[arg(long, value_name = "SERVICE", default_value = "1")]
    pub(crate) from: String,
    /// How long it is of use; a bundle that is older is deleted wherever it is
    #[arg(long, value_name = "TIME", default_value = "24 h")]
    pub(crate) lifetime: Span,
    /// Ask nodes on its way for status reports; may be given several times
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) report: Vec<ReportKind>,
    /// The endpoint ID status reports go to [default: where the bundle is from]
    #[arg(long, value_name = "ENDPOINT", requires = "report")]
    pub(crate) report_to: Option<String>,
    /// The file, or `-` for the standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// `bentpipe bundle recv`.
#[derive(Debug, ClapArgs)]
pub(crate) struct BundleRecv {
    #[command(flatten)]
    pub(crate) at: At,
    /// The service of the node whose bundles are taken
    #[arg(long, value_name = "SERVICE", default_value = "1")]
    pub(crate) endpoint: String,
    /// Directory for payloads
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Exit after the first bundle
    #[arg(long)]
    pub(crate) once: bool,
}

/// `bentpipe bundle list`.
#[derive(Debug, ClapArgs)]
pub(crate) struct BundleList {
    #[command(flatten)]
    pub(crate) at: At,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `bentpipe bundle delete`.
#[derive(Debug, ClapArgs)]
pub(crate) struct BundleDelete {
    #[command(flatten)]
    pub(crate) at: At,
    /// The name of the bundle, as `bentpipe bundle list` prints it, or its hash where two have the same name
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}
