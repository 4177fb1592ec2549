//! What became of the packets: on the terminal while they pass, and at the end.

use std::io::{IsTerminal, Write};

use bentpipe_link::{Carried, Counters, Direction, Path};
use bentpipe_net::qlp;
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use crate::commands::sim::json::print_json;
use crate::failure::Failure;

/// What is printed at the end.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(rename = "forward")]
    forward_link: OneWay,
    #[serde(rename = "return")]
    return_link: OneWay,
    #[serde(skip_serializing_if = "Option::is_none")]
    frames: Option<Frames>,
}

/// What became of the packets of one direction.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::commands) struct OneWay {
    pub(in crate::commands) packets: u64,
    pub(in crate::commands) bytes: u64,
    pub(in crate::commands) delivered: u64,
    pub(in crate::commands) delivered_bytes: u64,
    pub(in crate::commands) lost_queue_full: u64,
    pub(in crate::commands) lost_early: u64,
    pub(in crate::commands) lost: u64,
    pub(in crate::commands) marked: u64,
    pub(in crate::commands) acks_filtered: u64,
    pub(in crate::commands) acks_added: u64,
    pub(in crate::commands) suppressed: u64,
    pub(in crate::commands) sent_by_agents: u64,
}

impl From<&Counters> for OneWay {
    fn from(c: &Counters) -> Self {
        Self {
            packets: c.packets,
            bytes: c.bytes,
            delivered: c.delivered,
            delivered_bytes: c.delivered_bytes,
            lost_queue_full: c.lost_queue_full,
            lost_early: c.lost_early,
            lost: c.lost,
            marked: c.marked,
            acks_filtered: c.acks_filtered,
            acks_added: c.acks_added,
            suppressed: c.suppressed,
            sent_by_agents: c.sent_by_agents,
        }
    }
}

/// What became of the frames of a node, for reports.
#[derive(Debug, Serialize)]
pub(in crate::commands) struct Frames {
    received: u64,
    malformed: u64,
    unwanted: u64,
    sent: u64,
    lost_queue_full: u64,
    lost_no_queue: u64,
}

impl From<&qlp::Counters> for Frames {
    fn from(c: &qlp::Counters) -> Self {
        Self {
            received: c.received,
            malformed: c.malformed,
            unwanted: c.unwanted,
            sent: c.sent,
            lost_queue_full: c.lost_queue_full,
            lost_no_queue: c.lost_no_queue,
        }
    }
}

/// A line of counters that is kept up to date.
pub(in crate::commands) struct Live {
    bar: ProgressBar,
    shows: bool,
}

impl Live {
    /// Shown on a terminal only, and not where another program writes to it as well.
    pub(in crate::commands) fn new(shared: bool) -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self { bar, shows: std::io::stderr().is_terminal() && !shared }
    }

    /// Shows the counters of this moment.
    pub(in crate::commands) fn show<P: Carried>(&self, path: &Path<P>) {
        if self.shows {
            let [forward, returned] = both(path);
            self.bar.set_message(format!("forward: {}; return: {}", line(forward), line(returned)));
        }
    }

    /// Takes the line away.
    pub(in crate::commands) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Prints the counters: as JSON to the standard output, or as text to `out`.
pub(super) fn report<P: Carried>(
    path: &Path<P>,
    json: bool,
    out: impl Write,
) -> Result<(), Failure> {
    if json { document(path, None) } else { lines(path, out) }
}

/// Prints the counters as JSON to the standard output.
pub(in crate::commands) fn document<P: Carried>(
    path: &Path<P>,
    frames: Option<Frames>,
) -> Result<(), Failure> {
    let [forward, returned] = both(path);
    print_json(&Report { forward_link: forward.into(), return_link: returned.into(), frames })
}

/// Prints the counters as text.
pub(in crate::commands) fn lines<P: Carried>(
    path: &Path<P>,
    mut out: impl Write,
) -> Result<(), Failure> {
    let [forward, returned] = both(path);
    writeln!(out, "forward: {}", line(forward))?;
    Ok(writeln!(out, "return:  {}", line(returned))?)
}

fn both<P: Carried>(path: &Path<P>) -> [&Counters; 2] {
    Direction::BOTH.map(|direction| path.counters(direction))
}

fn line(c: &Counters) -> String {
    let (lost, full) = (c.all_lost(), c.lost_queue_full);
    let mut said = format!("{} packets, {} delivered, {lost} lost", c.packets, c.delivered);
    if c.lost_early > 0 {
        said += &format!(" ({full} at a full queue, {} before it was full)", c.lost_early);
    } else {
        said += &format!(" ({full} at a full queue)");
    }
    for (count, what) in [
        (c.marked, "marked"),
        (c.acks_filtered, "acknowledgments filtered"),
        (c.acks_added, "acknowledgments added"),
        (c.suppressed, "held back by agents"),
        (c.sent_by_agents, "sent by agents"),
    ] {
        if count > 0 {
            said += &format!(", {count} {what}");
        }
    }
    said
}
