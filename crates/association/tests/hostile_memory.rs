//! What a peer with a valid key makes an endpoint hold, as the allocator and the system count it. One test in a
//! process of its own, because that is what is measured.

#[path = "hostile/peer.rs"]
mod peer;
#[path = "hostile/stage.rs"]
mod stage;

use bentpipe_association::{PublicKey, SecretKey};
use bentpipe_units::Span;

use peer::{begin, data};
use stage::{CONNECTIONS, LIMIT, Stage};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// The key of the hostile peer.
fn hostile() -> PublicKey {
    SecretKey::from_bytes([9; 32]).public()
}

/// Pages of this process that are in memory, in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: u64 = statm.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("a number");
    pages * 4096
}

/// Many more connections than there may be, with the least MSS, and in each some bytes far ahead.
fn far_ahead() {
    let mut stage = Stage::new();
    stage.run(Span::from_secs(1));
    let before = resident();
    let profiler = dhat::Profiler::builder().testing().build();
    let begun = stage.hostile.sent;
    for n in 0..10_000 {
        let number = stage.hostile.number(n);
        stage.say(&begin(number, 1));
        for seq in [65_000, 30_000, 1] {
            stage.say(&data(number, seq, b"x"));
        }
        if n % 50 == 0 {
            stage.run(Span::from_millis(1));
        }
    }
    let taken = dhat::HeapStats::get().curr_bytes as u64;
    let (sent, grown) = (stage.hostile.sent - begun, resident().saturating_sub(before));
    println!("{sent} bytes sent, {taken} taken, {grown} more resident");
    drop(profiler);
    assert_eq!(stage.held.len(), CONNECTIONS + CONNECTIONS / 4 + 8);
    // The honest peer's own transfer is beside it.
    assert!(taken <= LIMIT.get() + 3_000_000, "{taken} bytes");
    assert!(grown <= LIMIT.get() + 16_000_000, "{grown} bytes");
    stage.check();
}

/// Connections that do nothing.
fn idle() {
    let mut stage = Stage::new();
    // The honest peer's transfer is over.
    stage.run(Span::from_secs(120));
    let profiler = dhat::Profiler::builder().testing().build();
    for n in 0..CONNECTIONS as u32 {
        let number = stage.hostile.number(n);
        stage.say(&begin(number, 1_000));
    }
    stage.run(Span::from_millis(100));
    let each = dhat::HeapStats::get().curr_bytes / CONNECTIONS;
    drop(profiler);
    assert_eq!(stage.held.len(), CONNECTIONS);
    println!("{each} bytes a connection");
    assert!(each <= 4_096, "{each} bytes");
}

/// Segments of one byte each behind a gap.
fn short_segments() {
    let mut stage = Stage::new();
    stage.run(Span::from_secs(120));
    let number = stage.hostile.number(0);
    stage.say(&begin(number, 1_000));
    stage.run(Span::from_millis(10));
    let profiler = dhat::Profiler::builder().testing().build();
    let before = dhat::HeapStats::get().curr_bytes;
    for seq in 1..1_900 {
        stage.say(&data(number, seq, b"y"));
    }
    stage.run(Span::from_millis(1));
    let taken = dhat::HeapStats::get().curr_bytes - before;
    drop(profiler);
    let held = stage.endpoint.held(hostile()).get() as usize;
    println!("{taken} taken, {held} counted");
    assert!(held > 100_000 && held + 50_000 >= taken, "{taken} bytes for {held}");
}

#[test]
fn what_a_peer_makes_an_endpoint_hold_is_counted_and_bounded_whatever_it_sends() {
    far_ahead();
    idle();
    short_segments();
}
