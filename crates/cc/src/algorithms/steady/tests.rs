use bentpipe_units::ByteCount;

use crate::testing::{Link, Play};
use crate::{LossCause, Phase, Signal};

/// 10 Mbit/s and 600 ms with a queue of so many bandwidth-delay products, full after so many seconds.
fn geo(products: f64) -> Link {
    let mut link = Link::new("steady", 10e6, 0.6, products * 750e3);
    link.run(20.0);
    link
}

/// 20 Mbit/s and 50 ms with a queue of one product.
fn leo() -> Link {
    let mut link = Link::new("steady", 20e6, 0.05, 125e3);
    link.run(5.0);
    link
}

/// The part of the rate that is delivered in so many seconds, and the longest queue in seconds at the end of each twentieth
/// of one.
fn share(link: &mut Link, seconds: f64) -> (f64, f64) {
    let (before, mut longest) = (link.delivered(), 0f64);
    for _ in 0..(seconds * 20.0) as u64 {
        link.run(0.05);
        longest = longest.max(link.queue_seconds());
    }
    ((link.delivered() - before) / seconds / link.rate, longest)
}

#[test]
fn alone_it_fills_the_path_and_hardly_any_queue() {
    for (name, mut link, most) in [("GEO", geo(1.0), 0.1), ("LEO", leo(), 0.02)] {
        let (part, queue) = share(&mut link, 60.0);
        assert!(part > 0.99 && queue < most, "{name}: {part} of the rate, {queue} s");
    }
}

#[test]
fn noise_is_no_congestion() {
    for (name, mut link) in [("GEO", geo(1.0)), ("LEO", leo())] {
        link.loss = 0.01;
        let (part, queue) = share(&mut link, 60.0);
        assert!(part > 0.965, "{name}: {part} of the rate, of which a hundredth is lost");
        assert!(queue < 0.12, "{name}: {queue} s");
    }
}

#[test]
fn a_path_that_loses_a_quarter_is_used_once_a_smaller_window_has_shown_that_it_is_not_to_blame() {
    for (name, mut link) in [("GEO", geo(1.0)), ("LEO", leo())] {
        link.loss = 0.25;
        link.run(30.0 * link.base.max(0.2));
        let (part, queue) = share(&mut link, 60.0);
        assert!(part > 0.7, "{name}: {part} of the rate, of which a quarter is lost");
        assert!(queue < 0.15, "{name}: {queue} s");
    }
}

#[test]
fn a_queue_shorter_than_the_wanted_one_is_not_overrun_for_ever() {
    for base in [0.05, 0.6] {
        for millis in [1.0, 5.0, 20.0, 24.0, 40.0] {
            let mut link = Link::new("steady", 10e6, base, 1250.0 * millis);
            link.run(120.0);
            let before = link.overflowed();
            let (part, _) = share(&mut link, 300.0);
            let lost = (link.overflowed() - before) / 300.0 / link.rate;
            let name = format!("{base} s, queue of {millis} ms");
            assert!(
                part > 0.95 && lost < 0.06,
                "{name}: {part} of the rate arrives, {lost} is lost"
            );
        }
    }
}

#[test]
fn a_queue_shorter_than_the_wanted_one_is_filled_and_hardly_overflows() {
    let (part, _) = share(&mut geo(0.04), 60.0);
    assert!(part > 0.95, "{part}");
}

#[test]
fn a_fade_leaves_no_standing_queue_and_its_end_is_seen_within_seconds() {
    for (name, mut link, found) in [("GEO", geo(1.0), 9.0), ("LEO", leo(), 1.0)] {
        let rate = link.rate;
        link.rate = rate / 5.0;
        link.run(found);
        let (part, queue) = share(&mut link, 12.0);
        assert!(part > 0.93 && queue < 0.25, "{name}, in it: {part}, {queue} s");
        link.rate = rate;
        link.run(found);
        let (part, _) = share(&mut link, 10.0);
        assert!(part > 0.97, "{name}, after it: {part}");
    }
}

/// Moments between the ends of two intervals over 600 ms.
fn moments() -> impl Iterator<Item = f64> {
    (0..12).map(|n| 0.06 * f64::from(n))
}

#[test]
fn two_seconds_after_a_fade_of_a_long_path_all_that_it_carries_arrives() {
    for (later, products) in moments().flat_map(|later| [(later, 1.0), (later, 0.1)]) {
        let mut link = geo(products);
        let rate = link.rate;
        link.rate = rate / 5.0;
        link.run(20.0 + later);
        link.rate = rate;
        let (_, first) = share(&mut link, 2.0);
        let (part, queue) = share(&mut link, 3.0);
        let queue = first.max(queue);
        assert!(part > 0.95 && queue < 0.1, "{products}, {later} s later: {part}, {queue} s");
    }
}

#[test]
fn a_fade_that_ends_step_by_step_is_followed_without_a_long_queue() {
    for later in moments() {
        let mut link = geo(1.0);
        let rate = link.rate;
        link.rate = rate / 5.0;
        link.run(20.0 + later);
        for part in [0.3, 0.45, 0.6, 0.8, 1.0] {
            link.rate = part * rate;
            let (used, queue) = share(&mut link, 6.0);
            assert!(used > 0.6 && queue < 0.35, "{part}, {later} s later: {used}, {queue} s");
        }
    }
}

#[test]
fn a_faded_path_whose_queue_runs_empty_is_not_overrun_by_what_it_carried_before() {
    // The second queue has no room for more than a millisecond.
    for (later, products) in moments().flat_map(|later| [(later, 1.0), (later, 0.002)]) {
        let mut link = geo(products);
        link.rate /= 5.0;
        link.run(20.0 + later);
        let window = ByteCount::new(70_000);
        link.play.signal(Signal::Resume { window, ssthresh: Some(window) });
        let before = link.overflowed();
        let (part, queue) = share(&mut link, 20.0);
        let lost = (link.overflowed() - before) / 20.0 / link.rate;
        let name = format!("{products}, {later} s later");
        assert!(part > 0.7 && queue < 0.25 && lost < 0.1, "{name}: {part}, {queue} s, {lost}");
    }
}

#[test]
fn a_longer_path_costs_little_until_it_is_known() {
    for later in moments() {
        let mut link = geo(1.0);
        link.run(later);
        link.lengthen(0.2);
        link.run(2.0);
        let (part, queue) = share(&mut link, 8.0);
        assert!(part > 0.92 && queue < 0.1, "{later} s later: {part}, {queue} s");
    }
}

#[test]
fn a_queue_that_stands_at_once_is_asked_for_and_cut() {
    let mut play = Play::new("steady", &[("initial_ssthresh", 64.0)]);
    play.set_rtt(0.6);
    play.rounds(12);
    let before = play.segments();
    // It is as long as the window makes it, above a window of 0.6 s.
    let mut phases = Vec::new();
    for _ in 0..12 {
        play.set_rtt(0.6 + 0.2 * (play.segments() / before - 0.8).max(0.0) / 0.2);
        play.round();
        phases.push(play.phase());
    }
    let known = play.gauge("min_rtt_s");
    assert!(phases.contains(&Phase::Other("asking")), "{phases:?}");
    assert!(known < 0.61 && play.segments() < 0.9 * before, "{known} s, {}", play.segments());
}

#[test]
fn a_longer_path_is_not_taken_for_a_queue() {
    for (name, mut link, longer) in [("GEO", geo(1.0), 0.2), ("LEO", leo(), 0.04)] {
        link.lengthen(longer);
        link.run(60.0 * link.base.min(0.1));
        let (part, _) = share(&mut link, 20.0);
        assert!(part > 0.93, "{name}: {part}");
        let known = link.gauge("min_rtt_s");
        assert!((known - link.base).abs() < 0.05, "{name}: {known} s");
    }
}

#[test]
fn after_a_pause_a_longer_path_is_believed_by_its_first_round_trips() {
    for (pause, known) in [(0.15, 0.058), (0.0, 0.05)] {
        let mut play = Play::new("steady", &[("initial_ssthresh", 64.0)]);
        play.set_rtt(0.05);
        play.rounds(12);
        let before = play.segments();
        play.wait(pause);
        play.set_rtt(0.058);
        play.rounds(3);
        assert_eq!(play.gauge("min_rtt_s"), known, "after a pause of {pause} s");
        assert!(pause == 0.0 || play.segments() >= before, "no cut for a queue that is none");
    }
}

/// Round trips of a queue that somebody else has filled, whatever the window is, with a loss every four seconds.
fn beside_another(play: &mut Play, rounds: u64) {
    for n in 0..rounds {
        // Somebody else's window moves, too.
        play.set_rtt(0.11 + 0.004 * (n % 7) as f64);
        if n % 36 == 35 {
            play.lose(LossCause::Nack);
            play.recovered();
        }
        play.round();
    }
}

#[test]
fn beside_others_who_fill_the_queue_it_neither_starves_nor_stops_to_give_way() {
    let mut play = Play::new("steady", &[("initial_ssthresh", 64.0)]);
    play.set_rtt(0.05);
    play.rounds(12);
    assert_eq!(play.phase(), Phase::CongestionAvoidance);
    let alone = play.segments();
    beside_another(&mut play, 60);
    assert_eq!(play.phase(), Phase::Other("contending"));
    beside_another(&mut play, 600);
    assert!(play.segments() > 0.7 * alone, "{} of {alone}", play.segments());
    // They are gone: the next loss shows it.
    play.set_rtt(0.05);
    play.rounds(12);
    assert_eq!(play.phase(), Phase::CongestionAvoidance);
}

#[test]
fn the_time_between_two_contests_does_not_count() {
    let mut play = Play::new("steady", &[("initial_ssthresh", 64.0)]);
    play.set_rtt(0.05);
    play.rounds(12);
    for _ in 0..2 {
        let mut rounds = 0;
        while play.phase() != Phase::Other("contending") {
            play.set_rtt(0.11 + 0.004 * (rounds % 7) as f64);
            play.round();
            rounds += 1;
        }
        let begins = play.segments();
        for n in 0..3 {
            play.set_rtt(0.11 + 0.004 * (n % 2) as f64);
            play.round();
        }
        let grown = play.segments() / begins;
        assert!(grown < 1.1, "{grown} times as large after a third of a second");
        // The others leave without a loss.
        play.set_rtt(0.05);
        play.rounds(3);
        assert_eq!(play.phase(), Phase::CongestionAvoidance);
        play.path.cwnd_limited = false;
        for _ in 0..60 {
            play.wait(1.0);
            play.ack_at_once(1);
        }
        play.path.cwnd_limited = true;
    }
}

#[test]
fn losses_that_no_noise_explains_cut_the_window_whatever_round_trips_say() {
    let mut play = Play::new("steady", &[("initial_ssthresh", 100.0)]);
    play.set_rtt(0.05);
    play.rounds(10);
    let before = play.segments();
    for _ in 0..20 {
        // Two of three are lost, and the queue seems empty.
        let window = play.segments() as u64;
        (play.path.round, play.path.in_flight) = (play.path.round + 1, play.bytes(window));
        for n in 0..window {
            play.wait(0.05 / window as f64);
            if n % 3 == 0 { play.ack_at_once(1) } else { play.lose_more(LossCause::Nack) }
        }
    }
    assert!(play.segments() < before / 2.0, "{} of {before}", play.segments());
}

#[test]
fn an_outage_leaves_the_window_as_it_was() {
    let mut play = Play::new("steady", &[("initial_ssthresh", 100.0)]);
    play.rounds(8);
    let before = play.segments();
    play.path.in_flight = ByteCount::ZERO;
    play.lose(LossCause::Timeout);
    play.lose(LossCause::Timeout);
    assert_eq!(play.segments(), 1.0);
    play.wait(30.0);
    play.ack_at_once(1);
    assert_eq!(play.segments(), before);
    play.lose(LossCause::Persistent);
    assert!(play.segments() <= 2.0);
    play.wait(1.0);
    play.ack_at_once(1);
    assert_eq!(play.segments(), before / 2.0, "half of it, as careful resume has it");
}

#[test]
fn an_application_that_sends_little_keeps_its_window() {
    let mut play = Play::new("steady", &[("initial_ssthresh", 100.0)]);
    play.rounds(8);
    let before = play.segments();
    play.path.cwnd_limited = false;
    for _ in 0..100 {
        play.set_rtt(0.9);
        play.wait(0.3);
        play.ack_at_once(1);
    }
    assert_eq!(play.segments(), before, "the queue is somebody else's");
}

#[test]
fn a_window_that_is_known_is_followed_and_a_mark_cuts_it() {
    let mut play = Play::new("steady", &[]);
    let window = ByteCount::new(500_000);
    play.signal(Signal::Resume { window, ssthresh: Some(window) });
    assert_eq!((play.segments(), play.phase()), (500.0, Phase::CongestionAvoidance));
    play.signal(Signal::EcnCe);
    assert_eq!((play.segments(), play.phase()), (425.0, Phase::Other("settling")));
    play.signal(Signal::Resume { window, ssthresh: None });
    assert_eq!(play.phase(), Phase::SlowStart);
}

#[test]
fn persistent_congestion_while_verifying_is_not_forgotten() {
    let mut link = leo();
    link.lengthen(0.04);
    let mut n = 0;
    while link.phase() != Phase::Other("verifying") {
        link.run(0.005);
        n += 1;
        assert!(n < 20_000, "never verifies");
    }
    let verifying = link.play.segments();
    link.play.lose(LossCause::Persistent);
    let now = link.play.segments();
    link.play.recovered();
    link.run(0.01);
    let resumed = link.play.segments();
    // Two round trips later an empty queue has shown that the path is as before.
    link.run(0.1);
    let after = link.play.segments();
    assert!(
        after < 0.75 * verifying,
        "verifying {verifying}, persistent {now}, resumed {resumed}, 0.1 s later {after}"
    );
}

#[test]
fn idle_time_within_a_contest_does_not_count() {
    let grown = |idle| {
        let mut play = Play::new("steady", &[("initial_ssthresh", 64.0)]);
        play.set_rtt(0.05);
        play.rounds(12);
        let round = |play: &mut Play, n: u32| {
            play.set_rtt(0.11 + 0.004 * f64::from(n % 7));
            play.round();
        };
        let contends = |play: &Play| play.phase() == Phase::Other("contending");
        let mut n = 0;
        while !contends(&play) {
            round(&mut play, n);
            n += 1;
        }
        play.lose(LossCause::Nack);
        play.recovered();
        (0..3).for_each(|n| round(&mut play, n));
        let before = play.segments();
        play.wait(idle);
        (0..4).for_each(|n| round(&mut play, n));
        play.segments() / before
    };
    let without = grown(0.0);
    for idle in [20.0, 60.0, 290.0] {
        assert!(grown(idle) <= without * 1.02, "{idle} s: {} times as large", grown(idle));
    }
}
