//! A peer with a valid key that lies about packet trains.

mod attack;

use attack::{World, config};
use bentpipe_units::Span;

const GB: u64 = 1_000_000_000;
/// A datagram around what it carries.
const SEALED: u64 = 23;

fn world() -> World {
    let mut world = World::new(config(), GB, 100);
    world.flush(false);
    (world.sent, world.sent_bytes) = (0, 0);
    world
}

/// A datagram of a train, as short as it may be.
fn probe(serial: u32, index: u8, count: u8) -> Vec<u8> {
    [&[0, 16][..], &serial.to_be_bytes(), &[index, count]].concat()
}

#[test]
fn a_train_of_one_datagram_is_answered_by_one_that_is_hardly_longer() {
    let mut world = world();
    let mut heard = 0;
    for serial in 0..1_000 {
        let probe = probe(serial, 0, 1);
        heard += probe.len() as u64 + SEALED;
        world.say(&probe);
        world.flush(false);
    }
    assert!(world.sent <= 1_000 && world.sent_bytes < heard * 3 / 2, "{}", world.sent_bytes);
}

#[test]
fn trains_that_are_never_whole_get_one_answer_in_a_tenth_of_a_second_and_take_no_memory() {
    let mut world = world();
    for serial in 0..1_000 {
        // The same place again and again, others that there are not, and many trains at once.
        for index in [0, 0, 7, 63] {
            world.say(&probe(serial % 7, index, 64));
            world.say(&probe(serial, index, 3));
        }
        world.now += Span::from_millis(1);
        let now = world.now;
        world.endpoint.handle_timeout(now);
        world.flush(false);
    }
    assert!(world.sent <= 12, "{} answers in a second", world.sent);
}

#[test]
fn reports_that_nobody_asked_for_and_messages_that_are_cut_change_nothing() {
    let mut world = world();
    let report: Vec<u8> =
        [0, 17, 0, 0, 0, 1, 0, 0, 0, 0].into_iter().chain([0, 0, 0, 0, 9]).collect();
    for len in 2..=report.len() {
        world.say(&report[..len]);
    }
    for len in 2..8 {
        world.say(&probe(1, 0, 4)[..len]);
    }
    world.say(&probe(1, 4, 4));
    world.say(&probe(1, 0, 65));
    world.say(&[&[0, 17][..], &[255; 1_300]].concat());
    world.run(Span::from_secs(3), false);
    // Signs of life, as for anything that is said.
    assert!(world.sent_bytes <= 4 * SEALED, "{} datagrams, {} bytes", world.sent, world.sent_bytes);
}
