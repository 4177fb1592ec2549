//! `bentpipe twin`: the same scenario in the simulator and with real programs.

mod host;
mod real;
mod simulated;

use std::io::Write as _;

use bentpipe_experiments::experiment::Estimate;
use bentpipe_scenario::{Override, Scenario};
use bentpipe_sim::{FlowSpec, GatewaysSpec, Protocol, RunSpec};
use bentpipe_units::ByteCount;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::args::Twin;
use crate::commands::sim::changed;
use crate::commands::sim::json::print_json;
use crate::failure::Failure;
use crate::output::lines::Lines;

pub(crate) use host::host;

/// Size of the short object.
const SMALL: &str = "100 kB";

/// What is measured of both.
#[derive(Clone, Copy, Debug)]
struct Measured {
    first_byte: f64,
    last_byte: f64,
    /// Bytes that entered the link, forward as the data go and in return.
    link_bytes: [u64; 2],
    /// Segments that the gateway on the data's side retransmitted, and its datagrams of parity.
    retransmitted: u64,
    parity: u64,
    /// The round trip between the gateways as that one knows it, in seconds.
    srtt: f64,
}

/// A download between two gateways.
struct Case {
    spec: RunSpec,
    gateways: GatewaysSpec,
    /// The gateway on the data's side, and the other one.
    nodes: [usize; 2],
    request: ByteCount,
    size: ByteCount,
    control: &'static str,
}

impl Case {
    fn of(scenario: &Scenario, seed: u64) -> Result<Self, Failure> {
        let wrong = |message: &str| Failure::Input(format!("{}: {message}", scenario.source()));
        let spec = scenario.run_spec(Some(seed), false)?;
        let Some(gateways) = spec.gateways.clone() else {
            return Err(wrong("twins are made of scenarios with a [gateway]"));
        };
        if spec.constellation.is_some() || !spec.macs.is_empty() || !spec.agents.is_empty() {
            return Err(wrong(
                "the emulator has links that stay where they are, and no queues with a discipline, shared uplinks and agents",
            ));
        }
        let [FlowSpec { gateways: Some(nodes), request: Some(request), source, protocol, .. }] =
            &spec.flows[..]
        else {
            return Err(wrong(
                "it has one flow, whose receiver asks (`request`) and which gateways carry",
            ));
        };
        let Protocol::Tcp { sender, .. } = protocol else {
            return Err(wrong("its flow is of TCP"));
        };
        let Some(size) = source.size else {
            return Err(wrong("its flow has a `size`"));
        };
        let (nodes, request, control) = (*nodes, *request, sender.controller.name());
        Ok(Self { gateways, nodes, request, size, control, spec })
    }
}

/// One figure of both, over all seeds.
#[derive(Debug, Serialize)]
struct Row {
    what: &'static str,
    unit: &'static str,
    simulated: Estimate,
    real: Estimate,
}

/// Runs both and prints how they differ.
pub(crate) fn twin(args: &Twin) -> Result<(), Failure> {
    let scenario = changed(&Scenario::open(&args.scenario)?, &args.overrides)?;
    let small = |scenario: &Scenario| {
        let name = scenario.file().flows.keys().next().cloned().unwrap_or_default();
        scenario.with(&[Override { key: format!("flows.{name}.size"), value: SMALL.to_owned() }])
    };
    let short = small(&scenario)?;
    let lines = Lines::new();
    let mut figures: Vec<[Vec<f64>; 2]> = vec![Default::default(); ROWS.len()];
    for seed in 1..=args.seeds {
        let (case, short) = (Case::of(&scenario, seed)?, Case::of(&short, seed)?);
        lines.remark(format_args!("seed {seed} of {}", args.seeds));
        let both = [
            [simulated::run(&case)?, simulated::run(&short)?],
            [real::run(&case)?, real::run(&short)?],
        ];
        for (side, [all, short]) in both.iter().enumerate() {
            for (row, (.., figure)) in figures.iter_mut().zip(ROWS) {
                row[side].push(figure(&case, all, short));
            }
        }
    }
    let rows: Vec<Row> = figures
        .iter()
        .zip(ROWS)
        .map(|([simulated, real], (what, unit, _))| Row {
            what,
            unit,
            simulated: Estimate::of(simulated),
            real: Estimate::of(real),
        })
        .collect();
    if args.json {
        return print_json(&rows);
    }
    print(&rows, &scenario, args.seeds)
}

type Figure = fn(&Case, &Measured, &Measured) -> f64;

const ROWS: &[(&str, &str, Figure)] = &[
    ("goodput", "bit/s", |case, all, _| case.size.get() as f64 * 8.0 / all.last_byte),
    ("first byte", "s", |_, all, _| all.first_byte),
    ("last byte of 100 kB", "s", |_, _, short| short.last_byte),
    ("bytes on the link, to those of the file", "", |case, all, _| {
        all.link_bytes[0] as f64 / case.size.get() as f64
    }),
    ("the same in the other direction", "", |case, all, _| {
        all.link_bytes[1] as f64 / case.size.get() as f64
    }),
    ("segments retransmitted", "", |_, all, _| all.retransmitted as f64),
    ("datagrams of parity", "", |_, all, _| all.parity as f64),
    ("round trip at the end", "s", |_, all, _| all.srtt),
];

fn print(rows: &[Row], scenario: &Scenario, seeds: u64) -> Result<(), Failure> {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY);
    table.set_header([&scenario.file().name, "simulated", "real", "difference"]);
    for row in rows {
        let digits = if row.unit == "bit/s" { 0 } else { 4 };
        let shown = |estimate: &Estimate| {
            format!("{:.digits$} ± {:.digits$} {}", estimate.mean, estimate.ci95, row.unit)
        };
        let difference = match row.unit {
            "s" => format!("{:+.1} ms", 1e3 * (row.simulated.mean - row.real.mean)),
            _ if row.real.mean == 0.0 && row.simulated.mean == 0.0 => "none".to_owned(),
            _ if row.real.mean == 0.0 => format!("{:+.1}", row.simulated.mean),
            _ => format!("{:+.2} %", 100.0 * (row.simulated.mean / row.real.mean - 1.0)),
        };
        table.add_row([row.what.to_owned(), shown(&row.simulated), shown(&row.real), difference]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut out = anstream::stdout().lock();
    writeln!(out, "{table}")?;
    Ok(writeln!(
        out,
        "means and 95 % intervals over {seeds} seeds; the difference is the simulated one's to the real one"
    )?)
}
