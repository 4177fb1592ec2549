//! The one screen: a table that fits 80 columns, and where to go from there.

use std::io::{self, Write};
use std::path::Path;

use clap::builder::styling::Style;
use comfy_table::{CellAlignment, Table, presets};

use super::{Link, PROTOCOLS};

/// Prints what came out, and where the page is.
pub(super) fn print(links: &[Link], page: &Path, out: &mut impl Write) -> io::Result<()> {
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    writeln!(out, "{bold}Downloads over three simulated links, by four protocols{bold:#}\n")?;
    writeln!(out, "{}\n", table(links))?;
    let n = links.iter().map(|link| link.compared.replications).max().unwrap_or_default();
    writeln!(
        out,
        "{dim}Mbit/s that arrived (means of {n} runs), and which share of the link that is.{dim:#}"
    )?;
    for (protocol, what) in PROTOCOLS {
        writeln!(out, "{dim}  {protocol:12}  {what}{dim:#}")?;
    }
    writeln!(out, "\nFigures: {}\n", page.display())?;
    writeln!(out, "Next:  bentpipe compare geo        more protocols there, with intervals")?;
    writeln!(out, "       bentpipe init my-link       a link of your own")?;
    writeln!(out, "       bentpipe list scenarios     what else there is")
}

/// A row for each protocol, a column for each link.
fn table(links: &[Link]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let heads = links.iter().map(|link| format!("{}\n{:.0} Mbit/s", link.name, link.rate / 1e6));
    table.set_header([String::new()].into_iter().chain(heads));
    for (protocol, _) in PROTOCOLS {
        let cells = links.iter().map(|link| {
            link.row(protocol).map_or_else(String::new, |row| {
                let share = 100.0 * link.share(row);
                format!("{:.2}  {share:3.0} %", row.goodput.mean / 1e6)
            })
        });
        table.add_row([protocol.to_owned()].into_iter().chain(cells));
    }
    if let Some(names) = table.column_mut(0) {
        names.set_padding((0, 1));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
