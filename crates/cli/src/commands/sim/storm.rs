//! `bentpipe storm`: everything goes wrong that can, and what was promised holds.

use std::io::Write as _;
use std::time::Duration;

use bentpipe_experiments::storms::{Explored, Found, explore};
use bentpipe_sim::storm;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use crate::args::sim::{Storm, World};
use crate::commands::sim::json::print_json;
use crate::failure::Failure;
use crate::output::sim::progress::Bar;
use crate::output::sim::table::thousands;

/// Seeds without a word.
const LAST: u64 = 99;

/// Lets storms happen and tells what they were like.
pub(crate) fn storm(args: &Storm) -> Result<(), Failure> {
    let storms: &[storm::Storm] = match args.world {
        World::Gateway => &[storm::Storm::Gateway],
        World::Transfer => &[storm::Storm::Transfer],
        #[cfg(feature = "net")]
        World::Bundles => &[storm::Storm::Bundles],
        World::All => storm::Storm::ALL,
    };
    let most = args.minutes.map(|minutes| Duration::from_secs(60 * minutes));
    let seeds = match (args.seed, &args.seeds) {
        (Some(seed), _) => seed..=seed,
        (None, Some(seeds)) => seeds.clone(),
        (None, None) => 0..=if most.is_some() { u64::MAX } else { LAST },
    };
    let bar = Bar::new();
    let goes_on = || most.is_none_or(|most| bar.elapsed() < most);
    let ended = explore(storms, seeds, args.jobs.map(usize::from), &goes_on, &bar);
    bar.finish();
    match ended {
        Ok(explored) if args.json => print_json(&explored.iter().map(told).collect::<Vec<_>>()),
        Ok(explored) => print(&explored, args.seed.is_some()),
        Err(found) => Err(report(&found, args)),
    }
}

/// What many storms were like, as names and numbers.
fn facts(all: &Explored) -> Vec<(&'static str, Value)> {
    let report = &all.report;
    vec![
        ("first_seed", (*all.seeds.start()).into()),
        ("last_seed", (*all.seeds.end()).into()),
        ("simulated_seconds", report.simulated.as_secs_f64().round().into()),
        ("events", report.events.into()),
        ("programs_killed", report.kills.into()),
        ("programs_stopped", report.closes.into()),
        ("power_losses", report.power_losses.into()),
        ("calendars_set", report.calendars.into()),
        ("disk_faults", report.disk_faults.into()),
        ("files_edited", report.edits.into()),
        ("changes_of_links", report.changes.into()),
        ("datagrams", report.datagrams.sent.into()),
        ("lost", report.datagrams.lost.into()),
        ("corrupted", report.datagrams.corrupted.into()),
        ("duplicated", report.datagrams.duplicated.into()),
        ("held_for_minutes", report.datagrams.held.into()),
        ("from_unknown_peers", report.datagrams.from_strangers.into()),
        ("from_hostile_peer", report.hostile.into()),
        ("transfers_or_flows", report.attempts.into()),
        ("came_through", report.successes.into()),
        ("digest", format!("{:016x}", report.digest).into()),
    ]
}

/// The same as a document.
fn told(all: &Explored) -> Value {
    let names = [("world", all.storm.name().into()), ("ended_well", true.into())];
    let all = names.into_iter().chain(facts(all));
    Value::Object(all.map(|(name, value)| (name.to_owned(), value)).collect())
}

fn print(explored: &[Explored], one: bool) -> Result<(), Failure> {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY);
    let names = explored.iter().map(|all| all.storm.name().to_owned());
    table.set_header([String::new()].into_iter().chain(names));
    let columns: Vec<_> = explored.iter().map(facts).collect();
    let shown = |(name, value): &(&str, Value)| match value {
        Value::Number(number) if !name.ends_with("seed") => {
            thousands(number.as_f64().unwrap_or_default(), 0)
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    for (row, (name, _)) in columns.iter().flatten().take(columns[0].len()).enumerate() {
        let values = columns.iter().map(|column| shown(&column[row]));
        table.add_row([name.replace('_', " ")].into_iter().chain(values));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut out = anstream::stdout().lock();
    writeln!(out, "{table}")?;
    let all = if one { "It" } else { "Every seed" };
    Ok(writeln!(out, "{all} ended well.")?)
}

/// Says what went wrong and how to see it again.
fn report(found: &Found, args: &Storm) -> Failure {
    let (name, seed, finding) = (found.storm.name(), found.seed, &found.finding);
    if args.json {
        let told = json!({
            "world": name,
            "seed": seed,
            "ended_well": false,
            "at_seconds": finding.at.as_secs_f64(),
            "finding": finding.what,
            "log": finding.log,
        });
        if let Err(failure) = print_json(&told) {
            return failure;
        }
    } else {
        let mut out = std::io::stdout().lock();
        if let Err(error) = finding.log.iter().try_for_each(|line| writeln!(out, "{line}")) {
            return error.into();
        }
    }
    Failure::System(format!(
        "storm of {name}, seed {seed}, {finding}\nbentpipe storm --world {name} --seed {seed}"
    ))
}
