//! `bentpipe gateway`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

pub(super) const GATEWAY_EXAMPLES: &str = "Examples:
  bentpipe gateway --config /etc/bentpipe/gateway.toml
  bentpipe gateway --check gateway.toml

RUST_LOG=debug tells of every flow.";

/// `bentpipe gateway`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Gateway {
    /// The configuration file
    #[arg(long, value_name = "FILE", required_unless_present = "check")]
    pub(crate) config: Option<PathBuf>,
    /// Validate the configuration and exit
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    pub(crate) check: Option<PathBuf>,
    /// Install the rules of nftables and routing that transparent connections need, and remove them at the end
    #[arg(long)]
    pub(crate) setup_firewall: bool,
    /// Print these rules as a shell script and exit
    #[arg(long, conflicts_with_all = ["setup_firewall", "check"])]
    pub(crate) print_firewall: bool,
    /// Remove the rules that a killed run left, and exit
    #[arg(long, conflicts_with_all = ["setup_firewall", "print_firewall", "check"])]
    pub(crate) remove_firewall: bool,
    /// Log as JSON, one object a line
    #[arg(long)]
    pub(crate) log_json: bool,
}
