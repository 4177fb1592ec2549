//! A link of a known rate that all connections of two hosts share in turn.

use bentpipe_link::ModelSpec;
use bentpipe_units::{ByteCount, Span};

use crate::download::{Download, meanwhile, together};
use crate::share;
use crate::world::{Link, World};

pub(crate) fn begin(world: &mut World, count: usize, size: usize) -> Vec<Download> {
    (0..count).map(|_| Download::begin(world, size)).collect()
}

#[test]
fn one_download_fills_the_link_as_without_turns() {
    for (name, link, megabytes, least) in [
        ("GEO 10, clean", Link::geo(10.0), 30, 0.92),
        ("GEO 10, 1 % loss", Link::geo(10.0).with(ModelSpec::RandomLoss(0.01)), 30, 0.90),
        ("GEO 50, BER 1e-6", Link::geo(50.0).with(ModelSpec::BitErrors(1e-6)), 100, 0.88),
        ("LEO 20, 1 % loss", Link::leo(20.0).with(ModelSpec::RandomLoss(0.01)), 60, 0.94),
        ("GEO 10 down, 64 kbit/s up", Link { up: 0.064, ..Link::geo(10.0) }, 30, 0.92),
    ] {
        let share = share(&link, megabytes, World::dedicated);
        println!("{name:32} {share:.3} of at least {least}");
        assert!(share >= least, "{name}: {share}");
    }
}

#[test]
fn buffers_of_five_products_fill_a_link_that_loses_a_tenth() {
    // Noise makes segments short, and as many more of them have to fit.
    let link = Link::geo(50.0).with(ModelSpec::BitErrors(1e-5));
    let buffer = ByteCount::new(20_000_000);
    let share = share(&link, 100, |link, seed| World::dedicated_with(link, seed, Some(buffer)));
    println!("{share:.3}");
    assert!(share >= 0.80, "{share}");
}

#[test]
fn downloads_that_begin_together_end_together_and_fill_the_link() {
    for damage in [None, Some(ModelSpec::RandomLoss(0.01))] {
        let mut link = Link::geo(10.0);
        link.damage.extend(damage);
        let mut world = World::dedicated(&link, 1);
        let mut downloads = begin(&mut world, 5, 5_000_000);
        let took: Vec<f64> =
            together(&mut world, &mut downloads).iter().map(|t| t.as_secs_f64()).collect();
        println!("{took:.2?}");
        let longest = took.iter().copied().fold(0.0, f64::max);
        assert!(took.iter().all(|took| *took > 0.9 * longest), "{took:?}");
        assert!(25.0 * 8.0 / longest / 10.0 > 0.90, "{longest}");
    }
}

#[test]
fn a_page_does_not_wait_for_bulk() {
    for damage in [None, Some(ModelSpec::RandomLoss(0.01))] {
        let mut link = Link::geo(10.0);
        let noisy = damage.is_some();
        link.damage.extend(damage);
        let mut world = World::dedicated(&link, 1);
        let mut bulk = begin(&mut world, 8, 50_000_000);
        meanwhile(&mut world, &mut bulk, Span::from_secs(10));
        let mut times = Vec::new();
        for _ in 0..9 {
            bulk.push(Download::begin(&mut world, 100_000));
            times.extend(meanwhile(&mut world, &mut bulk, Span::from_secs(3)).pop().flatten());
            bulk.pop();
        }
        times.sort_unstable();
        println!("{times:?}");
        // With 1 % loss parity does not always suffice: about one in thirty takes another round trip.
        let in_time = if noisy { 7 } else { 9 };
        let quick = times.iter().filter(|took| **took <= Span::from_millis(800)).count();
        assert!(times.len() == 9 && quick >= in_time, "{times:?}");
        assert!(times[8] <= Span::from_millis(1_500), "{times:?}");
    }
}

#[test]
fn a_rate_that_changes_holds_for_connections_that_are_open() {
    let mut world = World::dedicated(&Link::geo(10.0), 1);
    let mut bulk = begin(&mut world, 2, 100_000_000);
    meanwhile(&mut world, &mut bulk, Span::from_secs(5));
    for mbits in [2.0, 8.0] {
        world.set_rates(10.0, mbits);
        meanwhile(&mut world, &mut bulk, Span::from_secs(3));
        let before: usize = bulk.iter().map(|bulk| bulk.read).sum();
        meanwhile(&mut world, &mut bulk, Span::from_secs(10));
        let read = bulk.iter().map(|bulk| bulk.read).sum::<usize>() - before;
        let share = read as f64 * 8.0 / 10e6 / mbits;
        println!("{share:.3}");
        assert!((0.90..1.0).contains(&share), "{share}");
    }
}

#[test]
fn what_was_sent_before_turns_began_does_not_have_to_be_waited_for() {
    let link = Link::geo(10.0);
    let mut world = World::informed(&link, 1);
    world.download(20_000_000);
    world.set_rates(link.up, link.down);
    let took = world.download(100_000);
    assert!(took <= Span::from_millis(720), "{took:?}");
}
