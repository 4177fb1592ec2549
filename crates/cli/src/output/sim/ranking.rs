//! A comparison as a table, the best first.

use std::io::{self, Write};

use bentpipe_record::{Comparison, ComparisonRow, Estimate, LimitShares};
use clap::builder::styling::Style;
use comfy_table::{CellAlignment, Table, presets};

use super::table::thousands;

/// Prints the ranking. The legend says of variants what they are.
pub(crate) fn print(
    result: &Comparison,
    legend: &[(String, String)],
    out: &mut impl Write,
) -> io::Result<()> {
    let bold = Style::new().bold();
    let flows = result.flows.join(", ");
    let n = result.replications;
    let how = match (n, result.chance) {
        (1, false) => "one run each: there is no chance in it".to_owned(),
        (1, true) => "one run each, so no intervals".to_owned(),
        _ => format!("means and 95 % intervals, n = {n}"),
    };
    writeln!(out, "{bold}{}, flow {flows}{bold:#} ({how})", result.scenario)?;
    let width = legend.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, what) in legend {
        writeln!(out, "  {name:width$}  {what}")?;
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY);
    let several = result.rows.iter().any(|row| row.fairness.is_some());
    let files = result.rows.iter().any(|row| row.connection_time.is_some());
    let mut header = vec![
        "",
        "variant",
        "goodput, bit/s",
        "to the best",
        "line, %",
        "limited by",
        "overhead, %",
    ];
    header.extend(several.then_some("Jain's index"));
    header.push("queueing, ms");
    header.extend(files.then_some("time, s"));
    header.push("complete");
    table.set_header(header);
    for row in &result.rows {
        let mut cells = vec![row.rank.to_string(), row.variant.clone()];
        cells.push(cell(Some(&row.goodput), 1.0, 0));
        cells.push(to_the_best(row));
        cells.push(cell(row.utilisation.as_ref(), 100.0, 1));
        cells.push(limited_by(row.limited_by.as_ref()));
        cells.push(cell(row.overhead.as_ref(), 1.0, 2));
        cells.extend(several.then(|| cell(row.fairness.as_ref(), 1.0, 3)));
        cells.push(cell(row.queueing_delay.as_ref(), 1000.0, 1));
        cells.extend(files.then(|| cell(row.connection_time.as_ref(), 1.0, 2)));
        cells.push(format!("{} of {n}", row.complete));
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{table}")?;
    writeln!(
        out,
        "to the best: of the goodputs of the same replication; line: share of the slowest line that packets took; \
         limited by: what held back the sender for most of the time; queueing: smoothed round-trip time above its minimum"
    )
}

/// A mean and its interval; a dash where nothing was measured.
fn cell(estimate: Option<&Estimate>, factor: f64, digits: usize) -> String {
    estimate.map_or_else(
        || "-".to_owned(),
        |e| {
            let text = |value: f64| thousands(value * factor, digits);
            let ci95 = e.ci95.map(|ci95| format!(" ± {}", text(ci95))).unwrap_or_default();
            format!("{}{ci95}", text(e.mean))
        },
    )
}

/// What held back the sender for most of the time, and for how much of it.
fn limited_by(shares: Option<&LimitShares>) -> String {
    shares.map_or_else(
        || "-".to_owned(),
        |shares| {
            let (limit, share) = shares.largest_first()[0];
            format!("{} {:.0} %", limit.name(), 100.0 * share)
        },
    )
}

fn to_the_best(row: &ComparisonRow) -> String {
    if row.rank == 1 {
        return "-".to_owned();
    }
    let ci95 = row.to_best.ci95.map(|ci95| format!(" ± {ci95:.1}")).unwrap_or_default();
    format!("{:+.1}{ci95} %", row.to_best.mean)
}
