//! Goodput of SCTP with small receive buffers over one satellite link: `make sctp-table`. The table is
//! Markdown, for `docs/validation.md`.

use std::error::Error;

use bentpipe_scenario::{Override, Scenario};
use bentpipe_sim::{Silent, run};
use rayon::prelude::*;

/// Name, rate, delay one way in milliseconds.
const LINKS: [(&str, &str, u32); 2] = [("GEO", "2 Mbit/s", 250), ("LEO", "1.5 Mbit/s", 30)];
/// Receive buffers in segments of 512 bytes.
const WINDOWS: [u32; 4] = [4, 8, 16, 40];
const ERRORS: [&str; 4] = ["0.0", "1e-6", "1e-5", "1e-4"];
const STREAMS: [u16; 2] = [1, 4];
const REPLICATIONS: u64 = 10;

fn scenario(
    (_, rate, delay): (&str, &str, u32),
    streams: u16,
    window: u32,
    ber: &str,
) -> Result<Scenario, Box<dyn Error>> {
    let changes = [
        format!("links.satellite.rate={rate}"),
        format!("links.satellite.delay={delay} ms"),
        format!("links.satellite.forward.ber={ber}"),
        format!("flows.file.sctp.streams={streams}"),
        format!("flows.file.sctp.rcv_buf={} B", 512 * window),
    ];
    let changes: Result<Vec<Override>, _> = changes.iter().map(|change| change.parse()).collect();
    Ok(Scenario::open("validate/sctp-windows")?.with(&changes?)?)
}

/// Mean goodput in kbit/s.
fn goodput(scenario: &Scenario, runs: u64) -> Result<f64, String> {
    let runs: Result<Vec<f64>, String> = (1..=runs)
        .into_par_iter()
        .map(|seed| {
            let spec = scenario.run_spec(Some(seed), false).map_err(|error| error.to_string())?;
            let summary = run(&spec, &mut Silent).map_err(|error| error.to_string())?;
            Ok(summary.flows[0].metrics.effective_throughput)
        })
        .collect();
    let runs = runs?;
    Ok(runs.iter().sum::<f64>() / runs.len() as f64 / 1e3)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("| link | streams | buffer, segments | buffer / RTT | BER 0 | 1e-6 | 1e-5 | 1e-4 |");
    println!("|---|---|---|---|---|---|---|---|");
    for link in LINKS {
        for streams in STREAMS {
            for window in WINDOWS {
                let bits = 8.0 * 512.0 * f64::from(window);
                let limit = bits / f64::from(2 * link.2);
                let mut row = format!("| {} | {streams} | {window} | {limit:.0} |", link.0);
                for ber in ERRORS {
                    let reps = if ber == "0.0" { 1 } else { REPLICATIONS };
                    let found = goodput(&scenario(link, streams, window, ber)?, reps)?;
                    row += &format!(" {found:.1} |");
                }
                println!("{row}");
            }
        }
    }
    Ok(())
}
