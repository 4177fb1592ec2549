//! A comparison as a table, the best first.

use std::io::{self, Write};

use bentpipe_record::{Comparison, ComparisonRow, Estimate, LimitShares};
use clap::builder::styling::Style;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle, presets};

use crate::output::columns::{self, fitting};

/// Cells of the terminal around the content of a column, and of the frame.
const GAP: usize = 2;
const FRAME: usize = 2;

/// One column of a ranking.
struct Column {
    head: String,
    /// How much would be missed without it.
    importance: u8,
    cells: Vec<String>,
}

/// Prints the ranking within `room` cells of the terminal: what does not fit is left out, and said. The legend says of
/// variants what they are.
pub(crate) fn print(
    result: &Comparison,
    legend: &[(String, String)],
    room: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    let bold = Style::new().bold();
    writeln!(out, "{bold}{}{bold:#} ({})", subject(result), how(result))?;
    writeln!(out, "{}", explained(legend, room))?;
    let columns = columns(result);
    let (kept, left_out) = kept(&columns, room);
    let table = table(&columns, &kept, presets::UTF8_BORDERS_ONLY);
    writeln!(out, "{table}")?;
    if result.rows.iter().any(|row| row.complete < result.replications) {
        writeln!(
            out,
            "complete: runs in which every file arrived before they ended at `duration`; goodput has what arrived"
        )?;
    }
    writeln!(out, "{}", concat!("bentpipe ", env!("CARGO_PKG_VERSION")))?;
    if !left_out.is_empty() {
        writeln!(out, "No room for: {} (--format csv has all)", left_out.join("; "))?;
    }
    Ok(())
}

/// Prints the ranking as a table of Markdown, with all columns.
pub(crate) fn markdown(result: &Comparison, out: &mut impl Write) -> io::Result<()> {
    let columns = columns(result);
    let all: Vec<usize> = (0..columns.len()).collect();
    writeln!(out, "{} ({})\n", subject(result), how(result))?;
    writeln!(out, "{}", table(&columns, &all, presets::ASCII_MARKDOWN))
}

fn subject(result: &Comparison) -> String {
    format!("{}, flow {}", result.scenario, result.flows.join(", "))
}

fn how(result: &Comparison) -> String {
    match (result.replications, result.chance) {
        (1, false) => "one run each: there is no chance in it".to_owned(),
        (1, true) => "one run each, so no intervals".to_owned(),
        (n, _) => format!("means and 95 % intervals of {n} runs each, seeds 1 to {n}"),
    }
}

/// The legend, wrapped where it is too long.
fn explained(legend: &[(String, String)], room: Option<usize>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if let Some(room) = room {
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(room).unwrap_or(u16::MAX));
    }
    for (name, what) in legend {
        table.add_row([name, what]);
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Which columns are shown, and what the others are called.
fn kept(columns: &[Column], room: Option<usize>) -> (Vec<usize>, Vec<&str>) {
    let sizes: Vec<_> = columns.iter().map(Column::size).collect();
    let room = room.map_or(usize::MAX, |room| room.saturating_sub(FRAME));
    let kept = fitting(&sizes, GAP, room);
    let missing = (0..columns.len()).filter(|at| !kept.contains(at));
    let missing = missing.map(|at| columns[at].head.as_str()).collect();
    (kept, missing)
}

fn table(columns: &[Column], kept: &[usize], style: TableStyle) -> Table {
    let mut table = Table::new();
    table.load_style(style);
    table.set_header(kept.iter().map(|at| &columns[*at].head));
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        table.add_row(kept.iter().map(|at| &columns[*at].cells[row]));
    }
    for (column, at) in table.column_iter_mut().zip(kept) {
        let is_text = columns[*at].head == VARIANT;
        column.set_cell_alignment(if is_text { CellAlignment::Left } else { CellAlignment::Right });
    }
    table
}

/// The head of the column of names.
const VARIANT: &str = "variant";

/// All columns that this comparison has.
fn columns(result: &Comparison) -> Vec<Column> {
    let n = result.replications;
    let rows = &result.rows;
    let (unit, prefix) = unit(rows);
    let column = |head: &str, importance, cell: &dyn Fn(&ComparisonRow) -> String| {
        Some(Column { head: head.to_owned(), importance, cells: rows.iter().map(cell).collect() })
    };
    let several = rows.iter().any(|row| row.fairness.is_some());
    let files = rows.iter().any(|row| row.connection_time.is_some());
    let all_complete = rows.iter().all(|row| row.complete == n);
    let goodput = format!("goodput, {prefix}bit/s");
    [
        column("#", 1, &|row| row.rank.to_string()),
        column(VARIANT, 10, &|row| row.variant.clone()),
        column(&goodput, 9, &|row| cell(Some(&row.goodput), 1.0 / unit, 2)),
        column("vs. best, %", 3, &vs_best),
        column("of link, %", 7, &|row| cell(row.utilisation.as_ref(), 100.0, 1)),
        column("limited by", 6, &|row| limited_by(row.limited_by.as_ref())),
        column("overhead, %", 4, &|row| cell(row.overhead.as_ref(), 1.0, 2)),
        column("fairness", 7, &|row| cell(row.fairness.as_ref(), 1.0, 3)).filter(|_| several),
        column("queueing, ms", 5, &|row| cell(row.queueing_delay.as_ref(), 1000.0, 1)),
        column("time, s", 6, &|row| cell(row.connection_time.as_ref(), 1.0, 2)).filter(|_| files),
        column("complete", if all_complete { 2 } else { 8 }, &|row| {
            format!("{} of {n}", row.complete)
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Column {
    fn size(&self) -> columns::Column {
        let cells = self.cells.iter().chain([&self.head]);
        let width = cells.map(|cell| cell.chars().count()).max().unwrap_or_default();
        columns::Column { width, importance: self.importance }
    }
}

/// The unit in which the best goodput is a number that people read, and its prefix.
fn unit(rows: &[ComparisonRow]) -> (f64, &'static str) {
    match rows.iter().map(|row| row.goodput.mean).fold(0.0, f64::max) {
        best if best >= 1e9 => (1e9, "G"),
        best if best >= 1e6 => (1e6, "M"),
        best if best >= 1e3 => (1e3, "k"),
        _ => (1.0, ""),
    }
}

/// A mean and its interval; a dash where nothing was measured.
fn cell(estimate: Option<&Estimate>, factor: f64, digits: usize) -> String {
    estimate.map_or_else(
        || "-".to_owned(),
        |e| {
            let text = |value: f64| format!("{:.digits$}", value * factor);
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

/// The goodput against that of the best in the same replications.
fn vs_best(row: &ComparisonRow) -> String {
    if row.rank == 1 {
        return "-".to_owned();
    }
    let ci95 = row.to_best.ci95.map(|ci95| format!(" ± {ci95:.1}")).unwrap_or_default();
    format!("{:+.1}{ci95}", row.to_best.mean)
}
