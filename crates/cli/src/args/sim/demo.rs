//! `bentpipe demo`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

pub(super) const DEMO_EXAMPLES: &str = "Examples:
  bentpipe demo
  bentpipe demo --out out/demo.html --no-open

A file is downloaded over three built-in links (geo, leo-handovers, starlink-trace) by four protocols, in
the simulator. The page has the figures; it is opened where there is a display. `bentpipe compare` has more
protocols, and any other link.";

/// `bentpipe demo`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Demo {
    /// Where the page with the figures goes
    #[arg(long, value_name = "FILE.html", default_value = "bentpipe-demo.html")]
    pub(crate) out: PathBuf,
    /// Runs of each protocol over each link
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) reps: u64,
    /// Do not open the page
    #[arg(long)]
    pub(crate) no_open: bool,
}
