//! `bentpipe list`: what there is.

use std::io::Write;

use bentpipe_experiments::catalogue::{Kind, entries};

use crate::args::sim::List;
use crate::commands::sim::json::print_json;
use crate::failure::Failure;

/// Prints a listing.
pub(crate) fn list(args: &List) -> Result<(), Failure> {
    let what = args.what;
    let wanted = || Kind::ALL.into_iter().filter(|kind| what.is_none_or(|what| what == *kind));
    if args.json {
        let mut document = serde_json::Map::new();
        for kind in wanted() {
            let entries = serde_json::to_value(entries(kind)?);
            let entries = entries.map_err(|error| Failure::System(error.to_string()))?;
            document.insert(kind.name().to_owned(), entries);
        }
        return print_json(&document);
    }
    let mut out = anstream::stdout().lock();
    for (number, kind) in wanted().enumerate() {
        if what.is_none() {
            let gap = if number > 0 { "\n" } else { "" };
            writeln!(out, "{gap}{}:", kind.name())?;
        }
        let entries = entries(kind)?;
        let width = entries.iter().map(|e| e.name.len()).max().unwrap_or(0);
        for entry in entries {
            writeln!(out, "  {:width$}  {}", entry.name, entry.summary)?;
            for parameter in entry.parameters {
                writeln!(out, "  {:width$}    {}: {}", "", parameter.name, parameter.summary)?;
            }
        }
    }
    Ok(())
}
