//! What one run came to, for people.

use std::io::{self, Write};

use bentpipe_record::{FlowSummary, RunSummary};
use comfy_table::{CellAlignment, Table, presets};

use super::table::thousands;

/// Prints the summary of a run; `limits` says of each flow what held it back.
pub(crate) fn print(
    run: &RunSummary,
    limits: &[Option<String>],
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(
        out,
        "{}, seed {}: {:.3} simulated seconds, {} events, {} packet hops\n",
        run.scenario,
        run.seed,
        run.simulated_seconds,
        thousands(run.events as f64, 0),
        thousands(run.packet_hops as f64, 0),
    )?;
    for (flow, limits) in run.flows.iter().zip(limits) {
        print_flow(flow, limits.as_deref(), out)?;
    }
    print_links(run, out)
}

/// Prints the summary of a run that was not simulated.
#[cfg(feature = "net")]
pub(crate) fn print_real(run: &RunSummary, out: &mut impl Write) -> io::Result<()> {
    let seconds = run.simulated_seconds;
    writeln!(out, "{}, seed {}: {seconds:.3} seconds in real time\n", run.scenario, run.seed)?;
    for flow in &run.flows {
        print_flow(flow, None, out)?;
    }
    print_links(run, out)
}

fn print_links(run: &RunSummary, out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["link", "from", "to", "packets", "delivered", "corrupt", "lost"]);
    for link in &run.links {
        let lost = link.lost_queue_full
            + link.lost_random
            + link.lost_blackout
            + link.lost_channel
            + link.lost_scripted
            + link.lost_early
            + link.lost_collision
            + link.lost_packet_too_big;
        let counts = [link.packets, link.delivered, link.corrupted, lost];
        let counts = counts.map(|count| thousands(count as f64, 0));
        table.add_row(
            [link.name.clone(), link.from.clone(), link.to.clone()].into_iter().chain(counts),
        );
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{}", trimmed(&table))
}

fn print_flow(flow: &FlowSummary, limits: Option<&str>, out: &mut impl Write) -> io::Result<()> {
    let m = &flow.metrics;
    let state = match (&flow.failure, flow.complete) {
        (Some(failure), _) => format!("failed: {failure}"),
        (None, true) => "complete, every byte verified".to_owned(),
        (None, false) => "not complete".to_owned(),
    };
    writeln!(out, "flow {} ({}, {}): {state}", flow.name, flow.protocol, flow.controller)?;
    let mut row = |name: &str, value: String| writeln!(out, "  {name:32} {value:>16}");
    row("delivered, B", thousands(flow.delivered_bytes as f64, 0))?;
    if let Some(seconds) = m.connection_time {
        row("connection time, s", thousands(seconds, 3))?;
    }
    row("effective throughput, bit/s", thousands(m.effective_throughput, 0))?;
    row("total overhead, %", format!("{:.3}", m.total_overhead))?;
    row("  retransmission, %", format!("{:.3}", m.retransmission_overhead))?;
    row("  forward control, %", format!("{:.3}", m.forward_control_overhead))?;
    row("  reverse control, %", format!("{:.3}", m.reverse_control_overhead))?;
    row("  without first headers, %", format!("{:.3}", m.total_overhead_without_headers))?;
    row("throughput/overhead, bit/s per %", thousands(m.throughput_overhead_ratio, 0))?;
    row("data segments sent", thousands(flow.source.data_segments as f64, 0))?;
    row("data segments retransmitted", thousands(flow.source.retransmitted_segments as f64, 0))?;
    row("window reductions", thousands(flow.source.reductions as f64, 0))?;
    if let Some(limits) = limits {
        writeln!(out, "  limited by: {limits}")?;
    }
    let mut row = |name: &str, value: String| writeln!(out, "  {name:32} {value:>16}");
    if let Some(p) = &flow.probing {
        row("probing cycles", thousands(p.cycles as f64, 0))?;
        row("  by early timeout / gap report", format!("{} / {}", p.early, p.explicit))?;
        let verdicts =
            format!("{} / {} / {}", p.premature, p.link_decisions, p.congestion_decisions);
        row("  premature / link / congestion", verdicts)?;
        row("  mean length, s", format!("{:.3}", p.mean_cycle_seconds))?;
    }
    writeln!(out)
}

/// A table without spaces at the ends of lines.
fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}
