//! `bentpipe list`.

use bentpipe_experiments::catalogue::Kind;
use clap::Args as ClapArgs;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

pub(super) const LIST_EXAMPLES: &str = "Examples:
  bentpipe list
  bentpipe list experiments
  bentpipe list links --json";

/// `bentpipe list`.
#[derive(Debug, ClapArgs)]
pub(crate) struct List {
    /// What to list [default: everything]
    #[arg(value_parser = kinds())]
    pub(crate) what: Option<Kind>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads what is to be listed, of all that there is.
fn kinds() -> impl TypedValueParser<Value = Kind> {
    let values = Kind::ALL.map(|kind| PossibleValue::new(kind.name()).help(kind.summary()));
    PossibleValuesParser::new(values).try_map(|name| {
        let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or("there is no such list")
    })
}
