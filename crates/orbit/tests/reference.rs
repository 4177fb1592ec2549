//! Berkeley to Boston over a day, as the satellite examples of ns-2.35 have it. The figures were taken
//! from runs of ns-2.35 itself: its packets leave half a second after a check, and a handover is
//! counted when a packet goes over another satellite than the one before.

use bentpipe_orbit::{Constellation, Network, Spread, Station, Survey, known};
use bentpipe_units::{Instant, Span};

/// One-way delays in ms: least, mean, median, most.
type Delays = [f64; 4];

fn network(name: &str, check: Span) -> Network {
    let spec = known(name).expect(name).expect(name);
    let station = |city: &str| Station::terminal(city, city.parse().expect(city));
    let stations = vec![station("Berkeley"), station("Boston")];
    let constellation = Constellation::new(&spec).expect(name);
    Network::new(constellation, stations, &[], check).expect(name)
}

/// The delays over a day, and how often the first and the last satellite changed.
fn day(name: &str, check: Span, step: Span) -> (Delays, [u64; 2]) {
    let first = Instant::ZERO + Span::from_millis(500);
    let end = Instant::ZERO + Span::from_secs(86_400);
    let survey = Survey { from: 0, to: 1, first, end, step };
    let report = survey.run(&mut network(name, check), |_| {}).expect(name);
    let Spread { min, mean, median, max } = report.delay.expect("routes");
    let ms = [min, mean, median, max].map(|span| span.as_secs_f64() * 1e3);
    (ms, report.seen)
}

fn agrees(name: &str, check: u64, step: u64, expected: Delays, up: u64, down: u64) {
    let (delays, seen) = day(name, Span::from_secs(check), Span::from_secs(step));
    for (measured, expected) in delays.into_iter().zip(expected) {
        let off = (measured / expected - 1.0).abs();
        assert!(off < 1e-3, "{name}: {measured} ms instead of {expected} ms, off by {off}");
    }
    assert_eq!(seen, [up, down], "{name}");
}

#[test]
fn iridium_agrees_with_ns_2_on_delays_and_handovers() {
    agrees("iridium", 1, 1, [20.486, 53.641, 37.688, 132.630], 167, 163);
}

#[test]
fn iridium_with_links_across_the_seam_agrees_with_ns_2() {
    agrees("iridium-cross-seam", 10, 10, [18.707, 36.847, 35.312, 73.883], 165, 163);
}

#[test]
fn teledesic_agrees_with_ns_2() {
    agrees("teledesic-staggered", 10, 60, [21.402, 33.328, 31.089, 63.865], 318, 315);
}

#[test]
fn over_a_geostationary_satellite_the_delay_is_that_of_two_slant_ranges() {
    // cos of the angle to the point below is cos(lat) cos(difference of longitude).
    let slant = |cosine: f64| {
        let (earth, orbit) = (6378.0f64, 42_164.0);
        (earth * earth + orbit * orbit - 2.0 * earth * orbit * cosine).sqrt()
    };
    let cosine = |lat: f64, east: f64| lat.to_radians().cos() * (east + 90.0).to_radians().cos();
    let distance = slant(cosine(37.9, -122.3)) + slant(cosine(42.3, -71.1));
    let expected = distance / 299_793.0 * 1e3;
    assert!((254.0..256.0).contains(&expected), "{expected}");
    agrees("geo", 10, 60, [expected; 4], 0, 0);
}
