//! Downloads over satellite links in memory, with their own clock: the share of a link that a transfer
//! uses, from the call to the last byte, on an association that is up.

mod calls;
mod dedicated;
mod download;
mod fades;
mod fading;
mod late;
mod world;

use bentpipe_link::ModelSpec;
use bentpipe_units::{Instant, Span};

use download::{Download, together};
use world::{Link, World};

/// Median share of the link over five seeds.
pub(crate) fn share(link: &Link, megabytes: usize, world: impl Fn(&Link, u64) -> World) -> f64 {
    let mut shares: Vec<f64> = (1..=5)
        .map(|seed| {
            let mut world = world(link, seed);
            let bytes = megabytes * 1_000_000;
            let took = world.download(bytes).as_secs_f64();
            bytes as f64 * 8.0 / took / world.rate.as_bps() as f64
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    shares[2]
}

#[test]
fn downloads_fill_the_link_whatever_it_loses() {
    let ber = ModelSpec::BitErrors;
    let random = ModelSpec::RandomLoss;
    let ms = Span::from_millis;
    // One falls into the download, which begins after five seconds.
    let dark = ModelSpec::PeriodicBlackout {
        first: Instant::ZERO + Span::from_secs(20),
        every: Span::from_secs(15),
        lasts: ms(500),
    };
    let thin = Link { up: 0.064, ..Link::geo(10.0) };
    let table = [
        ("GEO 10, clean", Link::geo(10.0), 30, 0.92),
        ("GEO 10, BER 1e-6", Link::geo(10.0).with(ber(1e-6)), 30, 0.90),
        ("GEO 10, BER 1e-5", Link::geo(10.0).with(ber(1e-5)), 30, 0.80),
        ("GEO 10, 1 % loss", Link::geo(10.0).with(random(0.01)), 30, 0.90),
        ("GEO 50, clean", Link::geo(50.0), 100, 0.91),
        ("GEO 50, BER 1e-6", Link::geo(50.0).with(ber(1e-6)), 100, 0.88),
        ("GEO 50, BER 1e-5", Link::geo(50.0).with(ber(1e-5)), 100, 0.77),
        ("GEO 50, 1 % loss", Link::geo(50.0).with(random(0.01)), 100, 0.88),
        ("LEO 20, 1 % loss", Link::leo(20.0).with(random(0.01)), 60, 0.945),
        ("LEO 20, dark 0.5 s every 15 s", Link::leo(20.0).with(dark), 60, 0.93),
        ("GEO 10 down, 64 kbit/s up", thin, 30, 0.92),
    ];
    let mut short = Vec::new();
    for (name, link, megabytes, least) in table {
        let share = share(&link, megabytes, World::informed);
        println!("{name:32} {share:.3} of at least {least}");
        if share < least {
            short.push(name);
        }
    }
    assert!(short.is_empty(), "{short:?}");
}

#[test]
fn a_small_object_takes_one_round_trip() {
    let mut world = World::informed(&Link::geo(10.0), 1);
    let took = world.download(100_000);
    assert!(took <= Span::from_millis(720), "{took:?}");
}

#[test]
fn without_a_word_on_the_rate_noise_is_not_taken_for_congestion() {
    let table = [
        ("GEO 10, clean", Link::geo(10.0), 30, 0.70),
        ("GEO 10, BER 1e-5", Link::geo(10.0).with(ModelSpec::BitErrors(1e-5)), 30, 0.55),
        ("GEO 10, 1 % loss", Link::geo(10.0).with(ModelSpec::RandomLoss(0.01)), 30, 0.65),
        ("LEO 20, 1 % loss", Link::leo(20.0).with(ModelSpec::RandomLoss(0.01)), 60, 0.80),
    ];
    let mut short = Vec::new();
    for (name, link, megabytes, least) in table {
        let share = share(&link, megabytes, World::ignorant);
        println!("{name:32} {share:.3} of at least {least}");
        if share < least {
            short.push(name);
        }
    }
    assert!(short.is_empty(), "{short:?}");
}

#[test]
fn a_link_that_is_remembered_is_filled_sooner() {
    for link in [Link::geo(10.0), Link::geo(50.0)] {
        let times = [World::ignorant, World::acquainted]
            .map(|world| world(&link, 1).download(10_000_000).as_secs_f64());
        println!("{times:.2?} s");
        assert!(times[1] < 0.9 * times[0], "{times:?}");
    }
}

/// How long two downloads of 60 MB take that begin together: the shorter time as a share of the longer.
fn evenness(link: &Link, seed: u64) -> f64 {
    let mut world = World::ignorant(link, seed);
    let mut downloads = [(); 2].map(|()| Download::begin(&mut world, 60_000_000));
    let took = together(&mut world, &mut downloads);
    let (one, other) = (took[0].as_secs_f64(), took[1].as_secs_f64());
    println!("{one:.1} s and {other:.1} s");
    one.min(other) / one.max(other)
}

#[test]
fn without_a_word_on_the_rate_two_downloads_end_within_a_tenth_of_each_other() {
    // Without noise nothing depends on the seed.
    for link in [Link::geo(10.0), Link::leo(20.0)] {
        assert!(evenness(&link, 1) >= 0.9);
    }
    // Noise that strikes while the queue is full is not told from congestion, and hits either by chance.
    let noisy = Link::leo(20.0).with(ModelSpec::BitErrors(1e-6));
    let mut evenness: Vec<f64> = (1..=5).map(|seed| evenness(&noisy, seed)).collect();
    evenness.sort_by(f64::total_cmp);
    assert!(evenness[2] >= 0.85, "{evenness:?}");
}

#[test]
fn a_small_object_takes_one_round_trip_whatever_is_lost() {
    for damage in [ModelSpec::RandomLoss(0.01), ModelSpec::BitErrors(1e-6)] {
        let link = Link::geo(10.0).with(damage);
        let mut times = Vec::new();
        for seed in 1..=10 {
            let mut world = World::informed(&link, seed);
            world.download(5_000_000);
            times.extend((0..10).map(|_| world.download(100_000)));
        }
        times.sort();
        println!("{:?} {:?} {:?}", times[50], times[90], times[99]);
        assert!(times[90] <= Span::from_millis(720), "{times:?}");
    }
}
