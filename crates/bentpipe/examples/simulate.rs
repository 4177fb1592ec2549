//! A file over a geostationary link that loses one packet in a hundred, by three protocols, with ten seeds each.

use std::error::Error;

use bentpipe::experiments::compare::{Variant, as_variant};
use bentpipe::scenario::{Override, Scenario};
use bentpipe::sim::{Silent, run};

const LINK: [&str; 2] = ["links.satellite.loss=1 %", "flows.file.size=5 MB"];
const PROTOCOLS: [&str; 3] = ["tcp-cubic", "tcp-bbr", "bentpipe-rate"];
const SEEDS: u64 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let changes: Result<Vec<Override>, _> = LINK.iter().map(|change| change.parse()).collect();
    let link = Scenario::open("geo")?.with(&changes?)?;
    for protocol in PROTOCOLS {
        let variant: Variant = protocol.parse()?;
        let scenario = as_variant(&link, &variant)?;
        let mut seconds = 0.0;
        for seed in 1..=SEEDS {
            let summary = run(&scenario.run_spec(Some(seed), false)?, &mut Silent)?;
            let file = &summary.flows[0];
            seconds += file.metrics.connection_time.ok_or("the file did not get there")?;
        }
        println!("{protocol:14} {:6.1} s", seconds / SEEDS as f64);
    }
    Ok(())
}
