use super::*;

const PACKET: ByteCount = ByteCount::new(1_200);

/// Sends a packet whenever the pace allows it for so many seconds, each answered before the next one leaves.
fn one_by_one(link: &mut Estimator, now: &mut Instant, round_trip: Span, seconds: u64) {
    let until = *now + Span::from_secs(seconds);
    while *now < until {
        link.sent(*now, PACKET, PACKET);
        link.arrived(PACKET);
        link.answered(*now + round_trip, *now);
        *now += round_trip.max(link.pace().time_for(PACKET));
    }
}

#[test]
fn a_pace_below_a_packet_in_a_round_trip_finds_out_that_the_path_is_longer() {
    let rate = BitRate::from_bps(160_000);
    let (mut link, mut now) = (Estimator::new(rate), Instant::ZERO);
    one_by_one(&mut link, &mut now, Span::from_millis(2), 5);
    link.given = 2_000.0;
    one_by_one(&mut link, &mut now, Span::from_millis(40), 40);
    assert_eq!(link.carried(), rate);
}

/// Seconds' worth of the rate that are lost in four minutes after a path of 100 ms became one of so many.
fn lost_over(rate: u64, long: u64) -> f64 {
    let rate = BitRate::from_bps(rate);
    let mut link = Estimator::new(rate);
    let mut answers = std::collections::BTreeMap::new();
    let (mut next, mut lost) = (Instant::ZERO, 0.0);
    let at = |seconds| Instant::ZERO + Span::from_secs(seconds);
    while next < at(300) {
        while let Some(first) = answers.first_entry().filter(|first| *first.key() <= next) {
            let (now, sent) = first.remove_entry();
            link.arrived(PACKET);
            link.answered(now, sent);
        }
        link.sent(next, PACKET, PACKET);
        let trip = Span::from_millis(if next < at(60) { 100 } else { long });
        answers.insert(next + trip, next);
        let takes = link.pace().time_for(PACKET);
        if next >= at(60) {
            lost += takes.saturating_sub(rate.time_for(PACKET)).as_secs_f64();
        }
        next += takes;
    }
    lost
}

#[test]
fn a_path_that_becomes_several_times_as_long_costs_seconds_of_the_rate() {
    for rate in [1_000_000, 10_000_000] {
        for long in [200, 380, 420, 600, 1_000] {
            let lost = lost_over(rate, long);
            assert!(lost < 10.0, "{rate}, 100 to {long} ms: {lost} s are lost");
        }
    }
}

/// Packets leave at 10 Mbit/s from `now` on for so many milliseconds; of each `of` packets one arrives, and the last one is answered.
fn goes_on(link: &mut Estimator, now: &mut Instant, millis: u64, of: u64) {
    let rate = BitRate::from_bps(10_000_000);
    let until = *now + Span::from_millis(millis);
    let mut number = 0;
    let mut last = *now;
    while *now < until {
        link.sent(*now, PACKET, PACKET);
        (number, last) = (number + 1, *now);
        if number % of == 0 {
            link.arrived(PACKET);
        }
        *now += rate.time_for(PACKET);
    }
    link.answered(last + Span::from_millis(600), last);
}

#[test]
fn a_rate_that_is_much_too_high_shows_although_questions_are_lost_with_the_rest() {
    let mut link = Estimator::new(BitRate::from_bps(10_000_000));
    let mut now = Instant::ZERO;
    // An answer in 700 ms, which is more than a round trip, and one packet in five.
    for _ in 0..4 {
        goes_on(&mut link, &mut now, 700, 5);
    }
    let carried = link.carried().as_bps();
    assert!((1_000_000..2_100_000).contains(&carried), "{carried}");
}

#[test]
fn one_outage_says_nothing_of_the_rate_and_neither_does_a_pause() {
    let rate = BitRate::from_bps(10_000_000);
    let (mut link, mut now) = (Estimator::new(rate), Instant::ZERO);
    for _ in 0..5 {
        for _ in 0..50 {
            goes_on(&mut link, &mut now, 40, 1);
        }
        // Nothing arrives for a while, or nothing leaves.
        goes_on(&mut link, &mut now, 2_000, 1_000);
        now += Span::from_secs(3);
        assert_eq!(link.carried(), rate);
    }
}
