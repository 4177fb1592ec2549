//! What connections cost that say nothing.

mod world;

use std::task::{Context, Waker};

use bentpipe_association::Tuning;
use bentpipe_association::endpoint::Endpoint;
use bentpipe_units::{ByteCount, Span};

use world::{SERVER, associated, secs};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const CONNECTIONS: u64 = 10_000;
/// Most memory for all of them, both ends together.
const MOST: ByteCount = ByteCount::new(100_000_000);
/// What the association itself may ask for in a minute: signs of life and keys.
const UPKEEP: u64 = 100;

fn live() -> u64 {
    dhat::HeapStats::get().curr_bytes as u64
}

#[test]
fn ten_thousand_idle_connections_take_below_100_mb_and_a_keep_alive_each() {
    let config = Tuning::default().config().expect("settings");
    let mut world = associated().with_config(config.clone());
    // The memory of the test is not theirs.
    let _profiler = dhat::Profiler::builder().testing().build();
    let nothing = live();
    let cx = &mut Context::from_waker(Waker::noop());
    // Spread over ten seconds, so that each has deadlines of its own.
    for _ in 0..CONNECTIONS {
        world.connect();
        world.run(Span::from_millis(1));
        world.sent.clear();
    }
    world.run(secs(5));
    let mut accepted = 0;
    while world.endpoints[SERVER].poll_accept(cx).is_ready() {
        accepted += 1;
    }
    assert_eq!(accepted, CONNECTIONS);
    world.sent = Vec::new();
    let taken = live() - nothing;
    println!("{} bytes for each connection, both ends together", taken / CONNECTIONS);
    assert!(taken < MOST.get(), "{taken} bytes");

    let before = world.rings;
    world.run(secs(60));
    let keepalives = secs(60).as_nanos() / config.keepalive.as_nanos();
    let most = CONNECTIONS * keepalives + UPKEEP;
    let rings = [0, 1].map(|end| world.rings[end] - before[end]);
    println!("timers rang {rings:?} times in a minute, {} datagrams were sent", world.sent.len());
    assert!(rings.iter().all(|rings| *rings <= most), "{rings:?} of at most {most}");
    let open = world.endpoints.each_ref().map(Endpoint::connections);
    assert_eq!(open, [CONNECTIONS as usize; 2], "they live");
    world.sent = Vec::new();
    let taken = live() - nothing;
    assert!(taken < MOST.get(), "{taken} bytes after a minute");
}
