//! Whatever a storm does, what was promised holds. BENTPIPE_STORM_SEEDS says how many seeds, `bentpipe storm` repeats one.

use bentpipe_sim::storm;

/// Seeds without a word.
const SEEDS: u64 = 100;

#[test]
fn whatever_a_storm_does_files_are_whole_or_absent_and_all_arrive_in_the_end() {
    let seeds = std::env::var("BENTPIPE_STORM_SEEDS").ok().and_then(|text| text.parse().ok());
    let mut all = storm::Report::default();
    for seed in 0..seeds.unwrap_or(SEEDS) {
        match storm::transfer(seed) {
            Ok(report) => all.add(&report),
            Err(finding) => {
                let log = finding.log.join("\n");
                panic!("{log}\nbentpipe storm --world transfer --seed {seed}: {finding}");
            }
        }
    }
    println!("{all:#?}");
}
