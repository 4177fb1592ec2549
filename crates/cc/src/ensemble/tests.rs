use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use crate::choice::Choice;
use crate::testing::Play;
use crate::{Ensemble, KnownPath, LossCause, Phase, RateSample, Signal};

fn ensemble(name: &str) -> Ensemble {
    let kb = |n: u64| ByteCount::new(1000 * n);
    let choice = Choice::new(name, Default::default()).expect("a registered name");
    Ensemble::new(&choice, kb(1), kb(2), kb(1), kb(100_000))
}

/// A connection that has something to send from now on.
fn begin(ensemble: &Ensemble, now_of: Option<&Play>) -> Play {
    let mut play = Play::of(ensemble.join());
    if let Some(other) = now_of {
        play.path.now = other.path.now;
    }
    play.signal(Signal::Begins);
    play
}

#[test]
fn alone_in_it_a_connection_has_the_window_that_it_would_have() {
    for name in ["reno", "cubic", "highspeed", "scalable", "westwood"] {
        let mut alone = Play::new(name, &[]);
        let mut shared = begin(&ensemble(name), None);
        for play in [&mut alone, &mut shared] {
            play.rounds(6);
            play.lose(LossCause::Nack);
            play.wait(0.7);
            play.recovered();
            play.rounds(20);
        }
        assert_eq!(alone.segments(), shared.segments(), "{name}");
        assert_eq!(alone.ssthresh(), shared.ssthresh(), "{name}");
    }
}

/// A path that carries 100 segments in 600 ms.
fn knows(name: &str) -> Ensemble {
    let table = ensemble(name);
    let rate = BitRate::from_bps(8 * 100_000 * 10 / 6);
    let path =
        KnownPath { rate, round_trip: Span::from_millis(600), at_least: false, return_delay: None };
    table.know(Instant::ZERO, path);
    table
}

#[test]
fn the_first_of_all_begins_with_what_the_path_is_known_to_carry() {
    for name in ["reno", "cubic", "highspeed", "scalable", "westwood"] {
        let table = knows(name);
        let first = begin(&table, None);
        assert!((105.0..107.0).contains(&first.segments()), "{name}: {}", first.segments());
        assert_eq!(first.ssthresh(), first.segments(), "{name}");
        let second = begin(&table, None);
        assert!((52.0..54.0).contains(&second.segments()), "{name}: its part");
    }
    let table = knows("reno");
    table.forget();
    assert_eq!(begin(&table, None).segments(), 2.0);
}

#[test]
fn a_bit_error_in_the_first_round_trip_changes_nothing_and_many_losses_leave_half_of_what_arrives()
{
    let lost = |segments: u64| {
        let mut first = begin(&knows("reno"), None);
        first.path.in_flight = first.bytes(100);
        first.wait(0.6);
        first.ack_at_once(1);
        (0..segments).for_each(|_| first.lose(LossCause::Nack));
        first.recovered();
        assert!(first.segments() > 100.0, "nothing is decided");
        first.wait(0.7);
        first.ack_at_once(59);
        (first.segments(), first.ssthresh())
    };
    assert!(lost(1).0 > 100.0);
    // Half of 60, and two for the acknowledgement that showed it.
    assert_eq!(lost(40), (32.0, 42.0));
}

#[test]
fn a_new_connection_begins_with_its_part_and_gives_it_back() {
    let table = ensemble("reno");
    let mut first = begin(&table, None);
    first.rounds(5);
    first.lose(LossCause::Nack);
    assert_eq!(first.segments(), 32.0);
    let mut second = begin(&table, Some(&first));
    assert_eq!((first.segments(), second.segments()), (16.0, 16.0));
    assert_eq!(second.phase(), Phase::Recovery);
    second.signal(Signal::Weight(3));
    assert_eq!((first.segments(), second.segments()), (8.0, 24.0));
    drop(second);
    assert_eq!(first.segments(), 32.0);
}

#[test]
fn who_has_little_to_send_leaves_the_rest_to_the_others() {
    let table = ensemble("reno");
    let mut first = begin(&table, None);
    first.rounds(5);
    let mut second = begin(&table, Some(&first));
    (second.path.in_flight, second.path.cwnd_limited) = (ByteCount::new(4_000), false);
    let before = first.segments();
    second.ack_at_once(1);
    let all = first.segments() + 4.0;
    assert!(all > 2.0 * before && second.segments() > 4.0, "{all} of {before} in two");
    second.path.in_flight = ByteCount::ZERO;
    second.ack_at_once(1);
    assert!(first.segments() >= all);
}

#[test]
fn who_has_sent_everything_leaves_the_rest_to_the_others_before_anything_arrives() {
    let table = knows("reno");
    let first = begin(&table, None);
    let mut second = begin(&table, None);
    assert_eq!(first.segments(), second.segments());
    second.path.in_flight = ByteCount::new(4_000);
    second.signal(Signal::AppLimited(true));
    assert_eq!(first.segments().round(), 102.0, "of 106");
    second.signal(Signal::AppLimited(false));
    assert_eq!([&first, &second].map(|play| play.segments().round()), [53.0; 2]);
    second.path.in_flight = ByteCount::ZERO;
    second.signal(Signal::AppLimited(true));
    assert_eq!(first.segments().round(), 106.0, "nothing of it is under way");
}

#[test]
fn the_window_grows_by_what_all_deliver_and_only_if_it_is_the_limit() {
    let table = ensemble("reno");
    let mut plays = [begin(&table, None), begin(&table, None)];
    for _ in 0..4 {
        for play in &mut plays {
            play.path.in_flight = play.bytes(8);
            play.wait(0.6);
            play.ack_at_once(2);
        }
    }
    // Slow start from two segments: 16 were delivered.
    let all = |plays: &[Play; 2]| plays.iter().map(Play::segments).sum::<f64>();
    assert_eq!(all(&plays), 18.0);
    for play in &mut plays {
        play.path.in_flight = play.bytes(1);
        play.wait(0.6);
        play.ack_at_once(2);
    }
    assert!(all(&plays) <= 20.0);
    let before = all(&plays);
    plays.iter_mut().for_each(|play| play.ack_at_once(2));
    assert_eq!(all(&plays), before, "a part that is not used moves nothing");
}

#[test]
fn an_acknowledgement_of_everything_shows_that_the_window_was_used() {
    let mut play = begin(&ensemble("reno"), None);
    for segments in [2, 4, 6] {
        play.path.in_flight = ByteCount::ZERO;
        play.wait(0.6);
        play.ack_bytes(play.bytes(segments), segments);
        assert_eq!(play.segments(), segments as f64 + 2.0);
    }
}

#[test]
fn losses_of_two_connections_within_a_round_trip_are_one() {
    let table = ensemble("reno");
    let mut first = begin(&table, None);
    first.rounds(6);
    let mut second = begin(&table, Some(&first));
    let all = |first: &Play, second: &Play| first.segments() + second.segments();
    assert_eq!(all(&first, &second), 128.0);
    first.lose(LossCause::Nack);
    second.lose(LossCause::Nack);
    second.signal(Signal::EcnCe);
    assert_eq!(all(&first, &second), 64.0);
    first.wait(0.68);
    first.lose(LossCause::Nack);
    assert_eq!(all(&first, &second), 32.0);
    first.corrupt(LossCause::Nack);
    assert_eq!(all(&first, &second), 32.0);
    // Repairs that are lost begin no episode of the connection, but tell of the path.
    second.path.now = first.path.now;
    second.wait(0.68);
    second.lose_more(LossCause::Nack);
    assert_eq!(all(&first, &second), 16.0);
    first.path.now = second.path.now;
    first.ack_at_once(4);
    assert_eq!(all(&first, &second), 16.0, "nothing grows for a round trip");
    first.wait(0.68);
    first.path.in_flight = first.bytes(8);
    first.ack_at_once(4);
    assert!(all(&first, &second) > 16.0);
}

#[test]
fn idle_is_only_who_is_the_last_to_be() {
    let table = ensemble("stp");
    let mut first = begin(&table, None);
    first.rounds(6);
    let second = begin(&table, Some(&first));
    let before = first.segments();
    first.signal(Signal::Idle { halvings: None });
    assert_eq!(first.segments(), before);
    drop(second);
    first.signal(Signal::Idle { halvings: None });
    assert_eq!(first.segments(), 2.0);
}

#[test]
fn a_path_that_was_not_used_for_five_minutes_is_not_known() {
    for (minutes, segments) in [(4.9, 64.0), (5.1, 2.0)] {
        let table = ensemble("reno");
        let mut first = begin(&table, None);
        first.rounds(5);
        (first.path.in_flight, first.path.cwnd_limited) = (ByteCount::ZERO, false);
        first.controller.on_signal(&first.path, &Signal::RecoveryDone);
        let before = first.segments();
        assert_eq!(before, 64.0);
        first.ack_at_once(0);
        first.wait(60.0 * minutes);
        let second = begin(&table, Some(&first));
        assert_eq!(second.segments(), segments, "{minutes}");
    }
}

#[test]
fn a_rate_is_measured_of_all_connections_and_split_between_them() {
    let table = ensemble("bbr");
    let mut plays = [begin(&table, None), begin(&table, None)];
    for round in 0..40u64 {
        for play in &mut plays {
            // A hundred segments a second each.
            play.path.in_flight = play.bytes(60);
            play.path.round = round;
            play.wait(0.6);
            play.path.delivered += play.bytes(60);
            let bytes = play.bytes(60);
            let ack = crate::Ack {
                bytes,
                advanced: bytes,
                segments: 60,
                newest_sent_at: play.path.now.before(Span::from_millis(600)),
                rate_sample: Some(RateSample {
                    delivered: bytes,
                    interval: Span::from_millis(600),
                    app_limited: false,
                }),
                acks: 1,
                in_recovery: false,
                repairing: false,
                lost: ByteCount::ZERO,
                marked: ByteCount::ZERO,
            };
            let path = play.path;
            play.controller.on_ack(&path, &ack);
        }
    }
    let rates = plays
        .each_ref()
        .map(|play| play.controller.limits().pacing.expect("a rate").as_bps() as f64 / 8_000.0);
    assert!(rates.iter().all(|rate| (70.0..=130.0).contains(rate)), "{rates:?}");
}

/// A path that carried 100 segments in 600 ms in a session before.
fn remembers(name: &str) -> Ensemble {
    let table = ensemble(name);
    let rate = BitRate::from_bps(8 * 100_000 * 10 / 6);
    let round_trip = Span::from_millis(600);
    table.remember(KnownPath { rate, round_trip, at_least: true, return_delay: None });
    table
}

#[test]
fn what_a_session_before_carried_counts_half_and_only_once_something_arrived() {
    for name in ["reno", "cubic", "highspeed", "scalable", "westwood", "steady"] {
        let mut first = begin(&remembers(name), None);
        assert!(first.segments() < 3.0, "{name}: {}", first.segments());
        first.wait(0.6);
        first.ack_at_once(1);
        assert!((53.0..56.0).contains(&first.segments()), "{name}: {}", first.segments());
        assert_eq!(first.ssthresh(), f64::INFINITY, "{name}: slow start goes on");
    }
}

#[test]
fn what_is_remembered_of_another_path_or_after_a_loss_does_not_count() {
    for (trip, jumps) in [(0.29, false), (0.31, true), (5.9, true), (6.1, false)] {
        let mut first = begin(&remembers("reno"), None);
        first.set_rtt(trip);
        first.wait(trip);
        first.ack_at_once(1);
        assert_eq!(first.segments() > 50.0, jumps, "{trip} s: {}", first.segments());
    }
    let mut first = begin(&remembers("reno"), None);
    first.lose(LossCause::Nack);
    first.wait(0.6);
    first.ack_at_once(1);
    assert!(first.segments() < 4.0, "{}", first.segments());
}

#[test]
fn what_trains_found_counts_more_than_what_is_remembered() {
    let table = remembers("reno");
    let (rate, round_trip) = (BitRate::from_bps(8 * 20_000 * 10 / 6), Span::from_millis(600));
    table.know(Instant::ZERO, KnownPath { rate, round_trip, at_least: false, return_delay: None });
    let mut first = begin(&table, None);
    first.wait(0.6);
    first.ack_at_once(1);
    assert!((20.0..23.0).contains(&first.segments()), "{}", first.segments());
}

#[test]
fn that_a_path_carries_so_much_at_least_says_nothing_against_what_is_remembered() {
    let table = remembers("reno");
    let (rate, round_trip) = (BitRate::from_bps(8 * 5_000 * 10 / 6), Span::from_millis(600));
    table.know(Instant::ZERO, KnownPath { rate, round_trip, at_least: true, return_delay: None });
    let mut first = begin(&table, None);
    assert!((5.0..6.0).contains(&first.segments()), "{}", first.segments());
    first.wait(0.6);
    first.ack_at_once(1);
    assert!((53.0..56.0).contains(&first.segments()), "{}", first.segments());
}

#[test]
fn what_trains_find_while_somebody_is_in_slow_start_is_used_at_the_next_acknowledgement() {
    let path = |rate: u64, at_least| {
        let (rate, round_trip) = (BitRate::from_bps(rate), Span::from_millis(600));
        KnownPath { rate, round_trip, at_least, return_delay: None }
    };
    let all = 8 * 100_000 * 10 / 6;
    for (at_least, segments) in [(true, 52.0..57.0), (false, 105.0..109.0)] {
        let table = ensemble("reno");
        let mut first = begin(&table, None);
        first.wait(0.6);
        first.ack_at_once(1);
        assert!(first.segments() < 5.0);
        table.know(first.path.now, path(all, at_least));
        first.ack_at_once(1);
        assert!(segments.contains(&first.segments()), "{at_least}: {}", first.segments());
    }
    // Who has seen congestion knows better, and goes on knowing it.
    let table = ensemble("reno");
    let mut first = begin(&table, None);
    first.rounds(3);
    first.lose(LossCause::Nack);
    first.wait(0.6);
    first.recovered();
    let window = first.segments();
    table.know(first.path.now, path(all, false));
    first.rounds(2);
    assert!(first.segments() < window + 4.0, "{} after {window}", first.segments());
}

#[test]
fn after_a_long_pause_a_window_is_half_of_what_was_seen_before_it() {
    let table = ensemble("reno");
    let mut first = begin(&table, None);
    assert_eq!(table.observed(), None);
    first.rounds(9);
    let (at, seen) = table.observed().expect("a path");
    assert_eq!(at, first.path.now);
    assert_eq!((seen.round_trip, seen.at_least), (Span::from_millis(600), true));
    drop(first);
    let mut second = Play::of(table.join());
    second.path.now = at + Span::from_secs(400);
    second.signal(Signal::Begins);
    assert!(second.segments() < 3.0, "{}", second.segments());
    second.wait(0.6);
    second.ack_at_once(1);
    let half = seen.rate.bytes_in(seen.round_trip).get() as f64 / 2_000.0;
    assert!((half..half * 1.1).contains(&second.segments()), "{} of {half}", second.segments());
    table.forget();
    assert_eq!(table.observed(), None);
}

/// Seconds until nine tenths of `to` Mbit/s are used, of a path that carried `from` in `rtt` seconds as it was known to and is `longer`
/// and faster from now on.
fn seconds_until_used(rtt: f64, longer: f64, from: f64, to: f64) -> u64 {
    let bytes = |kb: u64| ByteCount::new(1_000 * kb);
    let on = ["floor_to_delivered", "delay_probe_start"].map(|name| (name.to_owned(), 1.0));
    let choice = Choice::new("cubic", on.into()).expect("a registered name");
    let ensemble = Ensemble::new(&choice, bytes(1), bytes(10), bytes(1), bytes(1 << 30));
    let (rate, round_trip) = (BitRate::from_bps((from * 1e6) as u64), Span::from_secs_f64(rtt));
    ensemble
        .know(Instant::ZERO, KnownPath { rate, round_trip, at_least: false, return_delay: None });
    let mut play = Play::of(ensemble.join());
    play.set_rtt(rtt);
    play.path.min_rtt = round_trip;
    play.signal(Signal::Begins);
    let mut link = crate::testing::Link::of(play, from * 1e6, rtt, from * 1e6 / 8.0 * rtt);
    link.run(60.0);
    link.rate = to * 1e6 / 8.0;
    link.lengthen(longer);
    (0..600)
        .find(|_| {
            let before = link.delivered();
            link.run(1.0);
            (link.delivered() - before) * 8.0 / 1e6 >= 0.9 * to
        })
        .unwrap_or(600)
}

#[test]
fn a_path_that_becomes_longer_and_faster_is_used() {
    for (rtt, longer, from, to) in [
        (0.6, 0.0, 10.0, 100.0),
        (0.6, 0.045, 10.0, 100.0),
        (0.6, 0.2, 10.0, 100.0),
        (0.04, 0.01, 20.0, 200.0),
    ] {
        let seconds = seconds_until_used(rtt, longer, from, to);
        assert!(seconds < 90, "{rtt} and {longer} s: {seconds} s");
    }
}

#[test]
fn whoever_has_hardly_a_part_of_a_paced_window_still_sends_a_segment_in_a_round_trip_or_two() {
    let table = ensemble("steady");
    let mut first = begin(&table, None);
    // The round trip is known from now on.
    first.wait(0.6);
    first.ack_at_once(1);
    let others: Vec<_> = (0..50).map(|_| begin(&table, Some(&first))).collect();
    let pace = others[0].controller.limits().pacing.expect("a pace").as_bps();
    assert!(pace > 8 * 1_000 / 2, "{pace} bit/s");
}
