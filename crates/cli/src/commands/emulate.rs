//! `bentpipe emulate`: the simulator's links between real programs.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bentpipe_net::emulate::{Counters, Hop, Path, Relay, Way};
use bentpipe_scenario::Scenario;
use bentpipe_sim::{LinkSpec, RunSpec};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tokio::runtime::Runtime;

use crate::args::Emulate;
use crate::commands::mqueue::{self, Frames};
use crate::commands::{Stop, print_json, runtime};
use crate::failure::Failure;

/// What is printed at the end.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    forth: Direction,
    back: Direction,
    #[serde(skip_serializing_if = "Option::is_none")]
    frames: Option<Frames>,
}

impl Report {
    /// What became of the packets on a path, and of the frames of a node.
    pub(super) fn of<T>(path: &Path<T>, frames: Option<Frames>) -> Self {
        let (forth, back) = (path.counters(Way::Forth), path.counters(Way::Back));
        Self { forth: forth.into(), back: back.into(), frames }
    }
}

/// What became of the packets that went one way.
#[derive(Debug, Serialize)]
struct Direction {
    packets: u64,
    bytes: u64,
    delivered: u64,
    lost_queue_full: u64,
    lost: u64,
}

impl From<&Counters> for Direction {
    fn from(c: &Counters) -> Self {
        Self {
            packets: c.packets,
            bytes: c.bytes,
            delivered: c.delivered,
            lost_queue_full: c.lost_queue_full,
            lost: c.lost,
        }
    }
}

/// Emulates a link until it is stopped.
pub(crate) fn emulate(args: &Emulate) -> Result<(), Failure> {
    let scenario = Scenario::open(&args.scenario)?.with(&args.overrides)?;
    let spec = scenario.run_spec(args.seed, false)?;
    let hops = hops(&spec).ok_or_else(|| {
        Failure::Input(format!(
            "{}: no links lead from a flow's sender to its receiver",
            args.scenario
        ))
    })?;
    let names: Vec<&str> = hops.iter().map(|hop| hop.name.as_str()).collect();
    let names = names.join(", ");
    if let Some(node) = args.queues.node {
        return mqueue::route(node, args, Path::new(&hops, spec.seed), &names);
    }
    let missing = || Failure::Input("say where to listen with --udp LISTEN=TARGET".to_owned());
    let (listen, target) = args.udp.ok_or_else(missing)?;
    let failed = |error: std::io::Error| Failure::System(format!("--udp {listen}: {error}"));
    let mut relay =
        Relay::bind(listen, target, Path::new(&hops, spec.seed), args.swap).map_err(failed)?;
    let address = relay.local_addr().map_err(failed)?;
    anstream::eprintln!("{address} leads to {target} over {names}");
    let (stopped, _runtime) = stop_on_signal()?;
    let gauge = Gauge::new();
    relay
        .run(|path| {
            gauge.show(path);
            !stopped.load(Ordering::Relaxed)
        })
        .map_err(failed)?;
    gauge.finish();
    let report = Report::of(relay.path(), None);
    if args.json { print_json(&report) } else { print_lines(relay.path()) }
}

/// Shows the counters on a terminal while links are emulated.
pub(super) struct Gauge {
    bar: ProgressBar,
    shows: bool,
}

impl Gauge {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self { bar, shows: std::io::stderr().is_terminal() }
    }

    pub(super) fn show<T>(&self, path: &Path<T>) {
        if self.shows {
            let (forth, back) = (path.counters(Way::Forth), path.counters(Way::Back));
            self.bar.set_message(format!("forth: {}; back: {}", line(forth), line(back)));
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Prints what became of the packets.
pub(super) fn print_lines<T>(path: &Path<T>) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "forth: {}", line(path.counters(Way::Forth)))?;
    Ok(writeln!(out, "back:  {}", line(path.counters(Way::Back)))?)
}

fn line(c: &Counters) -> String {
    let lost = c.lost + c.lost_queue_full;
    format!(
        "{} packets, {} delivered, {} lost ({} at a full queue)",
        c.packets, c.delivered, lost, c.lost_queue_full
    )
}

/// The links on the way of the first flow, in order.
fn hops(spec: &RunSpec) -> Option<Vec<Hop>> {
    let flow = spec.flows.first()?;
    let mut ways: Vec<(usize, Vec<Hop>)> = vec![(flow.from, Vec::new())];
    let mut next = 0;
    // Fewest links first, links in the order of the scenario: as the simulator routes.
    while let Some((at, way)) = ways.get(next).cloned() {
        if at == flow.to {
            return Some(way);
        }
        for link in &spec.links {
            let Some((to, hop)) = leave(link, at) else { continue };
            if ways.iter().all(|(node, _)| *node != to) {
                ways.push((to, [&way[..], &[hop]].concat()));
            }
        }
        next += 1;
    }
    None
}

/// The other end of a link and what happens on the way there.
fn leave(link: &LinkSpec, at: usize) -> Option<(usize, Hop)> {
    let [a, b] = link.ends;
    let (to, forth, back) = match at {
        _ if at == a => (b, &link.forth, &link.back),
        _ if at == b => (a, &link.back, &link.forth),
        _ => return None,
    };
    Some((to, Hop { name: link.name.clone(), forth: forth.clone(), back: back.clone() }))
}

/// A flag that Ctrl-C or a request to end sets, as long as the runtime lives.
pub(super) fn stop_on_signal() -> Result<(Arc<AtomicBool>, Runtime), Failure> {
    let stopped = Arc::new(AtomicBool::new(false));
    let flag = stopped.clone();
    let runtime = runtime()?;
    let mut stop = runtime.block_on(async { Stop::listen() })?;
    runtime.spawn(async move {
        stop.wait().await;
        flag.store(true, Ordering::Relaxed);
    });
    Ok((stopped, runtime))
}
