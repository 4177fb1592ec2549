//! Goodput of TCP over a geostationary link beside that of ns-2.35: `make validate`.
//!
//! Arguments restrict the comparison to variants of these names.

use std::error::Error;

use bentpipe_scenario::{Override, Scenario};
use bentpipe_sim::{Silent, run};
use rayon::prelude::*;

/// What ns-2 found.
const NS2: &str = include_str!("../data/ns2/geo-6mbit.csv");
/// Replications of points with noise, as many as ns-2's.
const REPLICATIONS: u64 = 10;

/// ns-2's agent, the recovery that it has, and our controller with its parameters.
const VARIANTS: [(&str, &str, &str, &str); 12] = [
    ("tahoe", "tahoe", "reno", ""),
    ("reno", "reno", "reno", ""),
    ("newreno", "newreno", "reno", ""),
    ("sack1", "sack", "reno", ""),
    ("linux-reno", "sack", "reno", ""),
    ("linux-cubic", "sack", "cubic", ""),
    ("linux-highspeed", "sack", "highspeed", ""),
    ("linux-hybla", "sack", "hybla", "estimate = 0.0, paced = 0.0,"),
    ("linux-scalable", "sack", "scalable", "a = 0.02, low_window = 50.0,"),
    ("linux-vegas", "sack", "vegas", "alpha = 2.0, beta = 4.0, linux = 1.0,"),
    ("linux-veno", "sack", "veno", ""),
    ("linux-westwood", "sack", "westwood-plus", ""),
];

fn scenario(variant: &(&str, &str, &str, &str), ber: &str) -> Result<Scenario, Box<dyn Error>> {
    let (name, recovery, controller, parameters) = variant;
    let ssthresh = "initial_ssthresh = 2000.0";
    let mut changes = vec![
        format!("links.satellite.forth.ber={:?}", ber.parse::<f64>()?),
        format!("flows.file.tcp.recovery={recovery}"),
        format!("flows.file.tcp.controller={controller}"),
        format!("flows.file.tcp.controller_parameters={{ {parameters} {ssthresh} }}"),
    ];
    if name.starts_with("linux-") {
        // Timestamps beside 1000 bytes of payload, and a finer clock.
        changes.extend(
            ["timestamps=true", "mss=1012", "tick=1 ms"].map(|set| format!("flows.file.tcp.{set}")),
        );
    }
    let changes: Result<Vec<Override>, _> = changes.iter().map(|change| change.parse()).collect();
    Ok(Scenario::open("validate/geo-6mbit")?.with(&changes?)?)
}

/// Means of goodput, segments sent again, timeouts, reductions.
fn ours(scenario: &Scenario, runs: u64) -> Result<[f64; 4], String> {
    let runs: Result<Vec<_>, String> = (1..=runs)
        .into_par_iter()
        .map(|seed| {
            let spec = scenario.run_spec(Some(seed), false).map_err(|error| error.to_string())?;
            run(&spec, &mut Silent).map_err(|error| error.to_string())
        })
        .collect();
    let runs = runs?;
    let mean = |value: fn(&bentpipe_record::FlowSummary) -> f64| {
        runs.iter().map(|run| value(&run.flows[0])).sum::<f64>() / runs.len() as f64
    };
    Ok([
        mean(|flow| flow.metrics.effective_throughput),
        mean(|flow| flow.source.retransmitted_segments as f64),
        mean(|flow| flow.source.timeouts as f64),
        mean(|flow| flow.source.reductions as f64),
    ])
}

fn main() -> Result<(), Box<dyn Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "variant           BER    ns-2 kbit/s  ours  difference  sent again  timeouts  reductions"
    );
    let (mut near, mut all) = (0, 0);
    for line in NS2.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [_, name, _, ber, _, goodput, _, again, timeouts, _, cuts, ..] = fields[..] else {
            return Err(format!("not a row of ns-2's results: {line}").into());
        };
        let variant = VARIANTS.iter().find(|variant| variant.0 == name);
        let Some(variant) =
            variant.filter(|_| wanted.is_empty() || wanted.iter().any(|w| w == name))
        else {
            continue;
        };
        let scenario = scenario(variant, ber)?;
        let found = ours(&scenario, if ber == "0" { 1 } else { REPLICATIONS })?;
        let goodput: f64 = goodput.parse()?;
        let percent = 100.0 * (found[0] / goodput - 1.0);
        all += 1;
        near += u32::from(percent.abs() <= 10.0);
        println!(
            "{name:16} {ber:>5} {:>11.0} {:>7.0} {percent:>+9.1} % {again:>7} {:>7.0} {timeouts:>5} \
             {:>4.0} {cuts:>6} {:>5.0}",
            goodput / 1e3,
            found[0] / 1e3,
            found[1],
            found[2],
            found[3],
        );
    }
    println!("\n{near} of {all} within 10 %");
    Ok(())
}
