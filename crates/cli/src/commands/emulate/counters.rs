//! What became of the packets: on the terminal while they pass, and at the end.

use std::io::{IsTerminal, Write};

use bentpipe_net::emulate::{Counters, Path, Way};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::commands::print_json;
use crate::failure::Failure;

/// What is printed at the end.
#[derive(Debug, Serialize)]
struct Report {
    forth: Direction,
    back: Direction,
}

/// What became of the packets that went one way.
#[derive(Debug, Serialize)]
struct Direction {
    packets: u64,
    bytes: u64,
    delivered: u64,
    delivered_bytes: u64,
    lost_queue_full: u64,
    lost: u64,
}

impl From<&Counters> for Direction {
    fn from(c: &Counters) -> Self {
        Self {
            packets: c.packets,
            bytes: c.bytes,
            delivered: c.delivered,
            delivered_bytes: c.delivered_bytes,
            lost_queue_full: c.lost_queue_full,
            lost: c.lost,
        }
    }
}

/// A line of counters that is kept up to date.
pub(super) struct Live {
    bar: ProgressBar,
    shows: bool,
}

impl Live {
    /// Shown on a terminal only, and not where another program writes to it as well.
    pub(super) fn new(shared: bool) -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self { bar, shows: std::io::stderr().is_terminal() && !shared }
    }

    /// Shows the counters of this moment.
    pub(super) fn show<P>(&self, path: &Path<P>) {
        if self.shows {
            let (forth, back) = (path.counters(Way::Forth), path.counters(Way::Back));
            self.bar.set_message(format!("forth: {}; back: {}", line(forth), line(back)));
        }
    }

    /// Takes the line away.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Prints the counters: JSON to the standard output, text to `out`.
pub(super) fn report<P>(path: &Path<P>, json: bool, mut out: impl Write) -> Result<(), Failure> {
    let (forth, back) = (path.counters(Way::Forth), path.counters(Way::Back));
    if json {
        return print_json(&Report { forth: forth.into(), back: back.into() });
    }
    writeln!(out, "forth: {}", line(forth))?;
    Ok(writeln!(out, "back:  {}", line(back))?)
}

fn line(c: &Counters) -> String {
    let lost = c.lost + c.lost_queue_full;
    format!(
        "{} packets, {} delivered, {} lost ({} at a full queue)",
        c.packets, c.delivered, lost, c.lost_queue_full
    )
}
