//! A link that costs is used when the others are full, or do not go on.

mod world;

use bentpipe_bond::Use;
use bentpipe_units::Span;
use bytes::Bytes;

use self::world::World;

/// A link of 20 Mbit/s, and beside it one of 10 Mbit/s that costs.
fn world() -> World {
    World::new(&[(20, 25), (10, 30)], &[Use::Always, Use::Spill])
}

/// Bytes that left by the link that costs, both directions.
fn cost(world: &World) -> usize {
    world.connections.iter().map(|links| links[1].sent).sum()
}

/// The word that a connection joins, and where the stream ends, both directions.
const WORDS: usize = 200;

#[test]
fn what_is_full_for_long_gives_the_sum_of_the_rates() {
    let mut world = world();
    let (took, _) = world.carry(60_000_000, Span::ZERO, |_| ());
    let share = 60_000_000.0 * 8.0 / took.as_secs_f64() / 30e6;
    assert!(share > 0.9, "{share:.3}");
    assert!(cost(&world) > 15_000_000, "{}", cost(&world));
}

#[test]
fn an_object_that_is_through_in_a_second_costs_nothing() {
    let mut world = world();
    world.carry(2_000_000, Span::ZERO, |_| ());
    assert!(cost(&world) <= WORDS, "{}", cost(&world));
}

#[test]
fn a_stream_below_the_rate_of_the_other_link_costs_nothing() {
    let mut world = world();
    // Segments of a film: 1 MB in two seconds.
    for _ in 0..20 {
        for _ in 0..10 {
            world.bonds[0].write(Bytes::from(vec![7; 100_000]));
        }
        for _ in 0..4_000 {
            world.step();
            while world.bonds[1].read().is_some() {}
        }
    }
    assert!(world.bonds[0].is_delivered());
    assert!(cost(&world) <= WORDS, "{}", cost(&world));
}

#[test]
fn it_takes_over_at_once_where_the_other_one_is_cut() {
    let mut world = world();
    let (_, pause) = world.carry(5_000_000, Span::from_millis(500), |world| {
        for end in 0..2 {
            world.connections[end][0].is_cut = true;
        }
    });
    assert!(pause < Span::from_millis(500), "{pause:?}");
}
