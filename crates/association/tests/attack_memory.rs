//! What a peer with a valid key makes an endpoint hold beside its connections. One test in a process of its own,
//! because that is what is measured.

mod attack;

use attack::{World, config};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const LIMIT: u64 = 8_000_000;

fn taken() -> u64 {
    dhat::HeapStats::get().curr_bytes as u64
}

/// What is kept for parity: segments of no connection.
fn kept_for_parity(content: usize, between: usize) -> u64 {
    let mut world = World::new(config(), LIMIT, 100);
    let profiler = dhat::Profiler::builder().testing().build();
    let before = taken();
    let begun = world.traffic.is_some();
    assert!(begun);
    world.say(&[0, 8]);
    for _ in 0..7_400 {
        // A segment of a connection that does not exist, and a probe behind it, of which nothing is kept.
        let mut plain = vec![1; content];
        plain[1] = 0;
        world.say(&plain);
        if between > 0 {
            let mut probe = vec![0; between];
            probe[1] = 8;
            world.say(&probe);
        }
        world.flush(false);
    }
    let held = taken() - before;
    drop(profiler);
    held
}

/// Datagrams of applications, which nobody reads.
fn datagrams_unread() -> u64 {
    let mut world = World::new(config(), LIMIT, 100);
    let profiler = dhat::Profiler::builder().testing().build();
    let before = taken();
    for _ in 0..600 {
        let mut plain = vec![7; 65_000];
        (plain[0], plain[1]) = (0, 12);
        world.say(&plain);
        world.flush(false);
    }
    let held = taken() - before;
    drop(profiler);
    held
}

/// One parity datagram that asks for much arithmetic: the most that is held at a time.
fn arithmetic() -> u64 {
    let mut world = World::new(config(), LIMIT, 100);
    let profiler = dhat::Profiler::builder().testing().build();
    world.say(&[0, 8]);
    let of = 14_000u16;
    for n in 0..of {
        if n == 5 {
            world.skip(1);
        } else {
            world.say(&[0, 8]);
        }
        if n % 100 == 0 {
            world.flush(false);
        }
    }
    for index in 0..2u16 {
        let mut plain = vec![0, 9];
        for field in [of, 1024, index] {
            plain.extend(field.to_be_bytes());
        }
        plain.push(4);
        plain.extend(7u64.to_be_bytes());
        plain.resize(plain.len() + 3 * 856, 3);
        world.say(&plain);
    }
    let most = dhat::HeapStats::get().max_bytes as u64;
    drop(profiler);
    most
}

#[test]
fn what_a_peer_makes_an_endpoint_hold_beside_its_connections_is_bounded_by_its_limit() {
    let all = [
        ("parity, long", kept_for_parity(1_400, 0)),
        ("parity, tiny", kept_for_parity(2, 0)),
        ("parity, tiny between long", kept_for_parity(2, 1_400)),
        ("parity, tiny between very long", kept_for_parity(2, 15_000)),
        ("parity, tiny between what TCP carries", kept_for_parity(2, 60_000)),
        ("datagrams", datagrams_unread()),
        ("arithmetic", arithmetic()),
    ];
    for (what, held) in all {
        assert!(held <= LIMIT, "{what}: {held} bytes of {LIMIT}");
    }
}
