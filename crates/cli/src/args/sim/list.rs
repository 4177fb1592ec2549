//! `bentpipe list`.

use clap::{Args as ClapArgs, ValueEnum};

pub(super) const LIST_EXAMPLES: &str = "Examples:
  bentpipe list
  bentpipe list experiments
  bentpipe list links --json";

/// `bentpipe list`.
#[derive(Debug, ClapArgs)]
pub(crate) struct List {
    /// What to list [default: everything]
    pub(crate) what: Option<Listing>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

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
    /// Cities that stations can be in
    Places,
    /// What figures of experiments can show
    Metrics,
    /// What `compare` can put into a flow
    Variants,
}
