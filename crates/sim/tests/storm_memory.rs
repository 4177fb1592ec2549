//! What peers make a program allocate is within their limits, in bytes of the allocator, whatever a storm does.

use bentpipe_sim::storm::Storm;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Seeds without a word.
const SEEDS: u64 = 6;
/// One in which gateways had too much once.
const FOUND: u64 = 38;

fn allocated() -> usize {
    dhat::HeapStats::get().curr_bytes
}

#[test]
fn whatever_a_storm_does_programs_allocate_no_more_than_their_peers_are_allowed() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let seeds = std::env::var("BENTPIPE_STORM_SEEDS").ok().and_then(|text| text.parse().ok());
    for seed in (0..seeds.unwrap_or(SEEDS)).chain([FOUND]) {
        for &storm in Storm::ALL {
            if let Err(finding) = storm.run_weighing(seed, allocated) {
                panic!("{}\n{} {seed}: {finding}", finding.log.join("\n"), storm.name());
            }
        }
    }
}
