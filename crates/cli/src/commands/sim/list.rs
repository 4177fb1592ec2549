//! `bentpipe list`: what there is.

use std::io::Write;

use bentpipe_experiments::compare;
use bentpipe_experiments::experiment::{METRICS, find};
use bentpipe_scenario::{Scenario, library};
use serde_json::{Value, json};

use crate::args::sim::{List, Listing};
use crate::commands::sim::json::print_json;
use crate::failure::Failure;

/// One thing that can be named: its name, what it is, and what can be set.
struct Named {
    name: String,
    summary: String,
    parameters: Vec<(String, String)>,
}

/// Prints a listing.
pub(crate) fn list(args: &List) -> Result<(), Failure> {
    let what = args.what;
    let all = [
        Listing::Experiments,
        Listing::Protocols,
        Listing::Controllers,
        Listing::Links,
        Listing::Scenarios,
        Listing::Constellations,
        Listing::Places,
        Listing::Metrics,
        Listing::Variants,
    ];
    let wanted = || all.iter().copied().filter(|listing| what.is_none_or(|what| what == *listing));
    if args.json {
        let mut document = serde_json::Map::new();
        for listing in wanted() {
            let entries = entries(listing)?.iter().map(to_value).collect();
            document.insert(title(listing).to_owned(), Value::Array(entries));
        }
        return print_json(&document);
    }
    let mut out = anstream::stdout().lock();
    for (number, listing) in wanted().enumerate() {
        if what.is_none() {
            let gap = if number > 0 { "\n" } else { "" };
            writeln!(out, "{gap}{}:", title(listing))?;
        }
        let entries = entries(listing)?;
        let width = entries.iter().map(|e| e.name.len()).max().unwrap_or(0);
        for entry in entries {
            writeln!(out, "  {:width$}  {}", entry.name, entry.summary)?;
            for (name, summary) in entry.parameters {
                writeln!(out, "  {:width$}    {name}: {summary}", "")?;
            }
        }
    }
    Ok(())
}

const fn title(listing: Listing) -> &'static str {
    match listing {
        Listing::Experiments => "experiments",
        Listing::Protocols => "protocols",
        Listing::Controllers => "controllers",
        Listing::Links => "links",
        Listing::Scenarios => "scenarios",
        Listing::Constellations => "constellations",
        Listing::Places => "places",
        Listing::Metrics => "metrics",
        Listing::Variants => "variants",
    }
}

fn to_value(entry: &Named) -> Value {
    let parameters: Vec<_> = entry
        .parameters
        .iter()
        .map(|(name, summary)| json!({"name": name, "summary": summary}))
        .collect();
    json!({"name": entry.name, "summary": entry.summary, "parameters": parameters})
}

fn entries(listing: Listing) -> Result<Vec<Named>, Failure> {
    let plain = |name: &str, summary: String| Named {
        name: name.to_owned(),
        summary,
        parameters: Vec::new(),
    };
    Ok(match listing {
        Listing::Experiments => {
            let entry = |e: &bentpipe_experiments::Experiment| {
                let figures: Vec<_> = e.figures.iter().map(|f| f.figure.as_str()).collect();
                plain(&e.id, format!("{} ({}; figures {})", e.title, e.group, figures.join(", ")))
            };
            find(&[])?.iter().map(entry).collect()
        }
        Listing::Protocols => vec![
            plain(
                "xstp",
                "the extended Satellite Transport Protocol; STP with `probing = false`".to_owned(),
            ),
            plain("tcp", "TCP with nine modes of recovery and every controller".to_owned()),
            plain("sctp", "SCTP with streams and several paths, and every controller".to_owned()),
            plain("udp", "datagrams, which nobody acknowledges: background traffic".to_owned()),
        ],
        Listing::Controllers => {
            let parameter = |p: &bentpipe_cc::Parameter| {
                let (low, high) = p.range;
                let text = format!("{}, {} ({low} to {high}), {}", p.summary, p.default, p.unit);
                (p.name.to_owned(), text)
            };
            let entry = |row: &bentpipe_cc::Row| Named {
                name: row.name.to_owned(),
                summary: format!("{} [{}]", row.summary, row.citation),
                parameters: row.parameters.iter().map(parameter).collect(),
            };
            bentpipe_cc::rows().iter().map(entry).collect()
        }
        Listing::Links => {
            let parameter = |p: &bentpipe_link::Parameter| {
                (p.name.to_owned(), format!("{} ({})", p.summary, p.unit))
            };
            let entry = |row: &bentpipe_link::ModelRow| Named {
                name: row.name.to_owned(),
                summary: format!("{} [{}]", row.summary, row.source),
                parameters: row.parameters.iter().map(parameter).collect(),
            };
            let queues = bentpipe_link::queue::QUEUES;
            let uplinks = bentpipe_link::mac::UPLINKS;
            let radio = bentpipe_link::mac::RADIO;
            let more = queues.iter().chain(uplinks).chain(radio);
            bentpipe_link::MODELS.iter().chain(more).map(entry).collect()
        }
        Listing::Scenarios => {
            let mut named = Vec::new();
            for (name, text) in library::scenarios() {
                let scenario = Scenario::parse(name, text)?;
                named.push(plain(name, scenario.file().description.clone()));
            }
            named
        }
        Listing::Constellations => {
            let entry = |known: &bentpipe_orbit::Known| {
                plain(known.name, format!("{} [{}]", known.summary, known.source))
            };
            bentpipe_orbit::KNOWN.iter().map(entry).collect()
        }
        Listing::Places => {
            bentpipe_orbit::cities().map(|(name, place)| plain(name, place.to_string())).collect()
        }
        Listing::Metrics => {
            METRICS.iter().map(|metric| plain(metric.name, metric.label.to_owned())).collect()
        }
        Listing::Variants => {
            let entry = |variant: compare::NamedVariant| plain(&variant.name, variant.summary);
            compare::named().into_iter().map(entry).collect()
        }
    })
}
