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
use crate::commands::{print_json, runtime};
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
    let (listen, target) = args.udp;
    let failed = |error: std::io::Error| Failure::System(format!("--udp {listen}: {error}"));
    let mut relay =
        Relay::bind(listen, target, Path::new(&hops, spec.seed), args.swap).map_err(failed)?;
    let names: Vec<&str> = hops.iter().map(|hop| hop.name.as_str()).collect();
    let address = relay.local_addr().map_err(failed)?;
    anstream::eprintln!("{address} leads to {target} over {}", names.join(", "));
    let (stopped, _runtime) = stop_on_signal()?;
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{msg}") {
        bar.set_style(style);
    }
    let shows = std::io::stderr().is_terminal();
    relay
        .run(|path| {
            if shows {
                let (forth, back) = (path.counters(Way::Forth), path.counters(Way::Back));
                bar.set_message(format!("forth: {}; back: {}", line(forth), line(back)));
            }
            !stopped.load(Ordering::Relaxed)
        })
        .map_err(failed)?;
    bar.finish_and_clear();
    let (forth, back) = (relay.path().counters(Way::Forth), relay.path().counters(Way::Back));
    if args.json {
        return print_json(&Report { forth: forth.into(), back: back.into() });
    }
    let mut out = std::io::stdout().lock();
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
fn stop_on_signal() -> Result<(Arc<AtomicBool>, Runtime), Failure> {
    let stopped = Arc::new(AtomicBool::new(false));
    let flag = stopped.clone();
    let runtime = runtime()?;
    let watch = async move {
        let mut ended = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            result = tokio::signal::ctrl_c() => result?,
            _ = ended.recv() => {}
        }
        flag.store(true, Ordering::Relaxed);
        Ok::<_, std::io::Error>(())
    };
    runtime.spawn(watch);
    Ok((stopped, runtime))
}
