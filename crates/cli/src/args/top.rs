//! `bentpipe top`.

use clap::Args as ClapArgs;

pub(super) const TOP_EXAMPLES: &str = "Examples:
  bentpipe top
  bentpipe top 10.0.0.1:9100
  bentpipe top --once

The gateway serves its status where `listen` of [ops] in its configuration says. Rates are those of
the last half second, those of --once the means since the start of each flow and of the gateway.
Columns that do not fit are left out, the least important ones first. s sorts by something else, / shows the
flows of which something has the letters that follow, q quits.";

/// `bentpipe top`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Top {
    /// Where the gateway serves its status
    #[arg(value_name = "ADDRESS", default_value = "127.0.0.1:9100")]
    pub(crate) address: String,
    /// Print one table and exit
    #[arg(long)]
    pub(crate) once: bool,
}
