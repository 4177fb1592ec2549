//! Whole runs: packet-hops per CPU second, and the time that all figures of the XSTP paper take.
//!
//! CPU time and not wall time, so that other work on the machine counts less. `cargo bench`.

use std::hint::black_box;

use bentpipe_experiments::experiment::{SweepOptions, find, run_all};
use bentpipe_scenario::Scenario;
use bentpipe_sim::{Silent, run};
use cpu_time::ProcessTime;

/// Runs of which the fastest counts: others only add what the machine did besides.
const RUNS: u32 = 5;

fn main() {
    for name in [
        "bench/geo-clean",
        "bench/tcp-geo",
        "bench/tcp-geo-ten",
        "geo",
        "xstp/handoff",
        "xstp/bit-corruption",
    ] {
        whole_run(name);
    }
    figures();
}

fn whole_run(name: &str) {
    let scenario = Scenario::open(name).expect("a built-in scenario");
    let spec = scenario.run_spec(None, false).expect("a valid scenario");
    let mut best = f64::INFINITY;
    let mut hops = 0;
    for _ in 0..RUNS {
        let start = ProcessTime::now();
        let summary = black_box(run(&spec, &mut Silent).expect("a run"));
        best = best.min(start.elapsed().as_secs_f64());
        hops = summary.packet_hops;
    }
    let rate = hops as f64 / best / 1e6;
    println!("{name:24} {hops:>10} packet-hops {best:>8.3} CPU s {rate:>7.2} M packet-hops/CPU s");
}

fn figures() {
    let experiments = find(&["xstp".to_owned()]).expect("the experiments");
    let start = ProcessTime::now();
    let options = SweepOptions::default();
    let result = black_box(run_all(&experiments, &options, None, &()).expect("a result"));
    let seconds = start.elapsed().as_secs_f64();
    println!("all {} figures of the XSTP paper: {seconds:.1} CPU s", result.experiments.len());
}
