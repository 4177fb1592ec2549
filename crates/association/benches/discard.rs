//! What an endpoint throws away: datagrams a second, by what is wrong with them.

#[path = "../tests/world/mod.rs"]
mod world;

use bentpipe_wire::Ecn;
use divan::counter::ItemsCount;

use world::{SERVER, World, address, associated};

fn main() {
    divan::main();
}

/// Hosts that have associated, and what the client sent: its request and its data.
fn captured() -> (World, Vec<u8>, Vec<u8>) {
    let mut world = associated();
    world.sent.retain(|(end, _)| *end != SERVER);
    let first = |kind| {
        let found = world.sent.iter().find(|(_, bytes)| bytes[0] == kind);
        found.map(|(_, bytes)| bytes.clone()).expect("a datagram of this kind")
    };
    let (request, mut data) = (first(1), first(4));
    data.resize(1428, 0);
    (world, request, data)
}

fn discard(bencher: divan::Bencher<'_, '_>, garble: impl Fn(Vec<u8>, Vec<u8>) -> Vec<u8>) {
    let (mut world, request, data) = captured();
    let bytes = garble(request, data);
    let (now, from) = (world.now, address(50));
    bencher.counter(ItemsCount::new(1u32)).bench_local(|| {
        world.endpoints[SERVER].handle_datagram(
            now,
            from,
            Ecn::NotCapable,
            divan::black_box(&bytes),
        );
    });
    assert!(world.endpoints[SERVER].outbox().is_empty(), "an answer to garbage");
}

#[divan::bench]
fn of_no_known_kind(bencher: divan::Bencher<'_, '_>) {
    discard(bencher, |_, mut data| {
        data[0] = 77;
        data
    });
}

#[divan::bench]
fn under_unknown_keys(bencher: divan::Bencher<'_, '_>) {
    discard(bencher, |_, mut data| {
        data[3] ^= 1;
        data
    });
}

#[divan::bench]
fn seen_before(bencher: divan::Bencher<'_, '_>) {
    discard(bencher, |_, data| data);
}

#[divan::bench]
fn forged_data_of_1400_bytes(bencher: divan::Bencher<'_, '_>) {
    discard(bencher, |_, mut data| {
        data[5] = 9;
        data
    });
}

#[divan::bench]
fn requests_of_who_does_not_know_our_key(bencher: divan::Bencher<'_, '_>) {
    discard(bencher, |mut request, _| {
        request[10] ^= 1;
        request
    });
}
