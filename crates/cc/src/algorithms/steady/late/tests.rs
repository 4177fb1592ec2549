use bentpipe_units::{BitRate, Span};

use crate::testing::{Link, Play};
use crate::{KnownPath, LossCause, Phase, Signal};

const CONTENDS: Phase = Phase::Other("contending");

/// A slow start that ended early, behind a queue of 600 ms that somebody else has in a path of 600 ms.
fn behind_a_full_queue() -> Play {
    let mut play = Play::new("steady", &[("initial_ssthresh", 32.0)]);
    play.set_rtt(1.2);
    play.path.min_rtt = play.path.latest_rtt;
    play.signal(Signal::Capacity(None));
    play.rounds(8);
    assert_ne!(play.phase(), Phase::SlowStart);
    play
}

/// Jumps to 1,250 segments, which a path of 600 ms was found to carry in that time, and loses most of them. The first packets wait for so
/// long in somebody else's queue.
fn begins_behind(queue: f64) -> Play {
    let mut play = Play::new("steady", &[]);
    jump_behind(&mut play, queue);
    lose_jump(&mut play);
    play
}

fn jump_behind(play: &mut Play, queue: f64) {
    let window = play.bytes(1_250);
    play.wait(60.0);
    play.signal(Signal::Capacity(Some(known(BitRate::from_bps(16_666_667)))));
    play.signal(Signal::Resume { window, ssthresh: Some(window) });
    play.set_rtt(0.6 + queue);
    play.path.min_rtt = play.path.latest_rtt;
    arrive(play, 50, 0.1);
}

fn lose_jump(play: &mut Play) {
    play.signal(Signal::Capacity(None));
    let (window, ssthresh) = (play.bytes(30), Some(play.bytes(42)));
    play.signal(Signal::Resume { window, ssthresh });
    arrive(play, 50, 1.3);
}

/// So many segments arrive in a second, for a while.
fn arrive(play: &mut Play, rate: u64, seconds: f64) {
    for _ in 0..(seconds * 10.0).round() as u64 {
        play.wait(0.1);
        play.ack_at_once(rate / 10);
    }
}

/// A path of 600 ms that was found to carry this.
const fn known(rate: BitRate) -> KnownPath {
    let round_trip = Span::from_millis(600);
    KnownPath { rate, round_trip, at_least: false, return_delay: None }
}

#[test]
fn when_others_leave_room_slow_start_begins_again_and_their_return_does_not_end_it() {
    let mut play = behind_a_full_queue();
    let before = play.segments();
    for rtt in [1.0, 0.9, 0.95, 1.0, 1.05] {
        play.set_rtt(rtt);
        play.round();
    }
    assert_eq!(play.phase(), Phase::SlowStart);
    assert!(play.segments() > 8.0 * before, "{} of {before}", play.segments());
}

#[test]
fn the_loss_that_ends_it_begins_a_contest() {
    let mut play = behind_a_full_queue();
    for rtt in [1.0, 0.9, 1.05] {
        play.set_rtt(rtt);
        play.round();
    }
    let before = play.segments();
    play.lose(LossCause::Nack);
    assert_eq!(play.phase(), CONTENDS);
    assert!((play.segments() / before - 0.85).abs() < 0.01, "{} of {before}", play.segments());
}

#[test]
fn round_trips_that_fall_by_little_or_over_a_short_path_show_nobody() {
    for (full, empty) in [(0.66, 0.6), (0.1, 0.05)] {
        let mut play = Play::new("steady", &[("initial_ssthresh", 32.0)]);
        play.set_rtt(full);
        play.path.min_rtt = play.path.latest_rtt;
        play.signal(Signal::Capacity(None));
        play.rounds(8);
        play.set_rtt(empty);
        for _ in 0..4 {
            play.round();
            assert_ne!(play.phase(), Phase::SlowStart, "{full} s, then {empty} s");
        }
    }
}

#[test]
fn it_ends_as_soon_as_no_more_arrives_and_does_not_begin_again() {
    // Somebody who had filled a part of a long queue has gone.
    let mut link = Link::of(behind_a_full_queue(), 8e6, 0.6, 6e6);
    let mut longest = 0f64;
    for _ in 0..1200 {
        link.run(0.05);
        longest = longest.max(link.queue_seconds());
    }
    assert!(longest < 2.5, "{longest} s of 6 s");
    assert!(link.queue_seconds() < 0.1, "{} s", link.queue_seconds());
}

#[test]
fn who_has_a_third_of_a_long_path_leaves_as_much_after_a_loss_as_cubic() {
    // A segment has 8,000 bit, and a round trip takes some 1.1 s.
    for (segments, left) in [(2.5, 0.7), (4.0, 0.85)] {
        let mut play = behind_a_full_queue();
        for rtt in [1.0, 0.9, 1.05, 1.1, 1.15] {
            play.set_rtt(rtt);
            play.round();
        }
        play.lose(LossCause::Nack);
        assert_eq!(play.phase(), CONTENDS);
        play.recovered();
        play.rounds(3);
        let before = play.segments();
        let rate = BitRate::from_bps((8_000.0 * segments * before / 1.1) as u64);
        play.signal(Signal::Capacity(Some(known(rate))));
        play.lose(LossCause::Nack);
        let part = play.segments() / before;
        assert!((part - left).abs() < 0.01, "{part} of a window of a part of 1 / {segments}");
    }
}

#[test]
fn who_loses_a_jump_in_a_full_queue_doubles_up_to_a_part_of_the_path() {
    let mut play = begins_behind(0.6);
    let before = play.segments();
    play.rounds(3);
    assert_eq!(play.phase(), Phase::SlowStart);
    assert_eq!(play.segments(), 8.0 * before);
    play.rounds(3);
    assert_eq!(play.phase(), CONTENDS);
    // 0.6 of what leaves in a round trip of 1.2 s, and what came until the end of the interval.
    assert!((1_500.0..2_300.0).contains(&play.segments()), "{}", play.segments());
}

#[test]
fn a_jump_that_is_lost_without_a_queue_before_it_shows_nobody() {
    let mut play = begins_behind(0.05);
    play.rounds(3);
    assert_ne!(play.phase(), Phase::SlowStart);
    assert!(play.segments() < 100.0, "{}", play.segments());
}

#[test]
fn behind_others_losses_end_slow_start_where_a_third_of_the_path_arrives() {
    let mut play = begins_behind(0.6);
    play.rounds(2);
    play.lose(LossCause::Nack);
    assert_eq!(play.phase(), Phase::SlowStart);
    play.recovered();
    while play.segments() < 1_400.0 {
        play.wait(1.2 / play.segments());
        play.ack_at_once(1);
    }
    assert_eq!(play.phase(), Phase::SlowStart);
    let before = play.segments();
    play.lose(LossCause::Nack);
    assert_eq!(play.phase(), CONTENDS);
    assert!((play.segments() / before - 0.85).abs() < 0.01, "{} of {before}", play.segments());
}

#[test]
fn where_no_more_arrives_others_have_the_rest() {
    let mut play = begins_behind(0.6);
    arrive(&mut play, 50, 3.0);
    assert_eq!(play.phase(), CONTENDS);
    assert!(play.segments() < 300.0, "{}", play.segments());
}

#[test]
fn a_path_that_became_longer_and_slower_is_taken_for_a_queue_of_others_for_a_while_only() {
    let mut play = begins_behind(0.6);
    play.rounds(30);
    assert_eq!(play.phase(), Phase::CongestionAvoidance);
    assert!(play.gauge("min_rtt_s") > 1.19, "{}", play.gauge("min_rtt_s"));
}

#[test]
fn where_nobody_looks_for_what_the_path_carries_nobody_is_found() {
    let mut play = Play::new("steady", &[("initial_ssthresh", 32.0)]);
    play.set_rtt(1.2);
    play.path.min_rtt = play.path.latest_rtt;
    play.rounds(8);
    for rtt in [1.0, 0.9, 0.8, 0.7] {
        play.set_rtt(rtt);
        play.round();
        assert_ne!(play.phase(), Phase::SlowStart, "{rtt} s");
    }
}

#[test]
fn those_who_were_there_for_certain_are_not_asked_about_before_half_a_minute() {
    let mut play = begins_behind(0.6);
    arrive(&mut play, 50, 3.0);
    for rtt in [1.1, 1.2].into_iter().cycle().take(13) {
        play.set_rtt(rtt);
        arrive(&mut play, 50, 1.2);
    }
    assert_eq!(play.phase(), CONTENDS);
    play.lose(LossCause::Nack);
    assert_eq!(play.phase(), CONTENDS);
}

#[test]
fn a_path_that_was_in_use_before_keeps_its_window_until_it_is_known_what_its_jump_lost() {
    let mut play = Play::new("steady", &[("initial_ssthresh", 2.0)]);
    play.set_rtt(0.6);
    play.path.min_rtt = play.path.latest_rtt;
    arrive(&mut play, 50, 1.0);
    jump_behind(&mut play, 0.6);
    assert!(play.segments() > 300.0, "{}", play.segments());
    lose_jump(&mut play);
    assert_eq!(play.phase(), Phase::SlowStart);
}
