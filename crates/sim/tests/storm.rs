//! Whatever a storm does, what was promised holds. BENTPIPE_STORM_SEEDS says how many seeds, `bentpipe storm` repeats one.

use bentpipe_sim::storm::{self, Finding, Report};

/// Seeds without a word.
const SEEDS: u64 = 100;

fn all_end_well(world: &str, storm: fn(u64) -> Result<Report, Box<Finding>>) {
    let seeds = std::env::var("BENTPIPE_STORM_SEEDS").ok().and_then(|text| text.parse().ok());
    let mut all = Report::default();
    for seed in 0..seeds.unwrap_or(SEEDS) {
        match storm(seed) {
            Ok(report) => all.add(&report),
            Err(finding) => {
                let log = finding.log.join("\n");
                panic!("{log}\nbentpipe storm --world {world} --seed {seed}: {finding}");
            }
        }
    }
    println!("{all:#?}");
}

#[test]
fn whatever_a_storm_does_files_are_whole_or_absent_and_all_arrive_in_the_end() {
    all_end_well("transfer", storm::transfer);
}

#[test]
fn whatever_a_storm_does_flows_are_cut_off_or_whole_and_new_ones_come_through_in_the_end() {
    all_end_well("gateway", storm::gateway);
}
