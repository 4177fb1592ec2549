//! A file over a geostationary link that loses one packet in a hundred, by three protocols, with ten seeds each.

use std::error::Error;

use bentpipe::scenario::{Override, Scenario};
use bentpipe::sim::{Silent, run};

const LINK: [&str; 2] = ["links.satellite.loss=1 %", "flows.file.size=5 MB"];
const PROTOCOLS: [(&str, &[&str]); 3] = [
    ("TCP, CUBIC", &["flows.file.protocol=tcp", "flows.file.controller=cubic"]),
    ("TCP, BBR", &["flows.file.protocol=tcp", "flows.file.controller=bbr"]),
    ("XSTP at the link's rate", &["flows.file.protocol=xstp", "flows.file.controller=rate"]),
];
const SEEDS: u64 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    for (name, protocol) in PROTOCOLS {
        let changes: Result<Vec<Override>, _> =
            LINK.iter().chain(protocol).map(|change| change.parse()).collect();
        let scenario = Scenario::open("geo")?.with(&changes?)?;
        let mut seconds = 0.0;
        for seed in 1..=SEEDS {
            let summary = run(&scenario.run_spec(Some(seed), false)?, &mut Silent)?;
            let file = &summary.flows[0];
            seconds += file.metrics.connection_time.ok_or("the file did not get there")?;
        }
        println!("{name:24} {:6.1} s", seconds / SEEDS as f64);
    }
    Ok(())
}
