use bentpipe_units::ByteCount;

use super::*;
use crate::testing::{Link, Play};

fn leo() -> Link {
    Link::new("bbr", 6e6, 0.1, 1e9)
}

#[test]
fn startup_finds_the_rate_and_drains_what_it_queued() {
    let mut link = leo();
    link.run(12.0);
    let rate = link.gauge("bottleneck_rate_bps");
    assert!((rate / 6e6 - 1.0).abs() < 0.06, "{rate}");
    let mut link = leo();
    while link.phase() == Phase::SlowStart {
        // 2 / ln 2 and a little more: what doubles the rate in each round trip.
        assert_eq!(link.gauge("pacing_gain_ratio"), 739.0 / 256.0);
        link.run(0.01);
    }
    assert_eq!(link.phase(), Phase::Other("drain"));
    assert_eq!(link.gauge("pacing_gain_ratio"), 88.0 / 256.0);
    link.run(5.0);
    assert_eq!(link.phase(), Phase::Other("probe_bw"));
    assert!(link.queue_seconds() < 0.3, "{}", link.queue_seconds());
}

#[test]
fn the_gains_cycle_with_a_round_trip_each() {
    let mut link = leo();
    link.run(20.0);
    let (mut gains, mut last) = (Vec::new(), 0.0);
    for _ in 0..1200 {
        link.run(0.01);
        let gain = link.gauge("pacing_gain_ratio");
        if gain != last {
            gains.push(gain);
            last = gain;
        }
    }
    let around = gains.windows(3).filter(|g| *g == [1.25, 0.75, 1.0]).count();
    assert!((10..=16).contains(&around), "{gains:?}");
    assert!(gains.iter().all(|g| [1.25, 0.75, 1.0].contains(g)), "{gains:?}");
}

#[test]
fn the_link_is_used_and_losses_of_one_percent_do_not_matter() {
    for loss in [0.0, 0.01] {
        let mut link = leo();
        link.loss = loss;
        link.run(15.0);
        let before = link.delivered();
        link.run(60.0);
        let used = (link.delivered() - before) * 8.0 / 60.0 / 6e6;
        assert!(used > 0.85, "{loss}: {used}");
    }
}

#[test]
fn the_round_trip_is_measured_anew_with_four_segments() {
    let mut link = leo();
    link.run(15.0);
    link.base = 0.15; // the path became longer: no smaller sample comes any more
    let mut seen = false;
    for _ in 0..3000 {
        link.run(0.01);
        if link.phase() == Phase::Other("probe_rtt") {
            seen = true;
            assert!(link.play.segments() <= 4.0);
        }
    }
    assert!(seen);
}

#[test]
fn after_a_timeout_one_segment_goes_and_repair_brings_the_window_back() {
    let mut play = Play::new("bbr", &[]);
    play.rounds(6);
    let before = play.segments();
    play.path.in_flight = ByteCount::ZERO;
    play.lose(LossCause::Timeout);
    assert_eq!(play.segments(), 1.0);
    play.recovered();
    assert!(play.segments() >= before);
}
