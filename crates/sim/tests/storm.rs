//! Whatever a storm does, what was promised holds. BENTPIPE_STORM_SEEDS says how many seeds, `bentpipe storm` repeats one.

use bentpipe_sim::storm::{Report, Storm};

/// Seeds without a word.
const SEEDS: u64 = 64;

fn all_end_well(storm: Storm) {
    let seeds = std::env::var("BENTPIPE_STORM_SEEDS").ok().and_then(|text| text.parse().ok());
    let mut all = Report::default();
    for seed in 0..seeds.unwrap_or(SEEDS) {
        match storm.run(seed) {
            Ok(report) => all.add(&report),
            Err(finding) => {
                let (log, name) = (finding.log.join("\n"), storm.name());
                panic!("{log}\nbentpipe storm --world {name} --seed {seed}: {finding}");
            }
        }
    }
    println!("{all:#?}");
}

/// Seeds that found something once, beside those that are run anyway.
const FOUND: [(Storm, u64); 14] = [
    (Storm::Gateway, 190),
    (Storm::Gateway, 40),
    (Storm::Gateway, 756),
    (Storm::Gateway, 261),
    (Storm::Gateway, 4575),
    (Storm::Gateway, 20_054),
    (Storm::Gateway, 20_465),
    (Storm::Gateway, 27_433),
    (Storm::Gateway, 1117),
    (Storm::Gateway, 69),
    (Storm::Gateway, 15),
    (Storm::Transfer, 738),
    (Storm::Transfer, 195),
    (Storm::Transfer, 28),
];

#[test]
fn seeds_that_found_something_once_find_it_no_more() {
    for (storm, seed) in FOUND {
        if let Err(finding) = storm.run(seed) {
            panic!("bentpipe storm --world {} --seed {seed}: {finding}", storm.name());
        }
    }
}

#[test]
fn whatever_a_storm_does_files_are_whole_or_absent_and_all_arrive_in_the_end() {
    all_end_well(Storm::Transfer);
}

#[cfg(feature = "bundles")]
#[test]
fn whatever_a_storm_does_bundles_in_custody_arrive_whole_and_once() {
    all_end_well(Storm::Bundles);
}

#[test]
fn whatever_a_storm_does_flows_are_cut_off_or_whole_and_new_ones_come_through_in_the_end() {
    all_end_well(Storm::Gateway);
}
