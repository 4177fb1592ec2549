use crate::testing::Play;
use crate::{LossCause, Phase};

/// A connection in avoidance on an empty path.
fn avoiding() -> Play {
    let mut play = Play::new("vegas", &[("initial_ssthresh", 20.0)]);
    while play.phase() == Phase::SlowStart {
        play.round();
    }
    play.rounds(2);
    play
}

#[test]
fn slow_start_doubles_every_other_round() {
    let mut play = Play::new("vegas", &[]);
    let mut windows = Vec::new();
    for _ in 0..6 {
        play.round();
        windows.push(play.segments());
    }
    assert_eq!(windows, [4.0, 4.0, 8.0, 8.0, 16.0, 16.0]);
}

#[test]
fn a_queue_of_more_than_gamma_ends_slow_start_with_an_eighth_less() {
    let mut play = Play::new("vegas", &[]);
    play.rounds(5);
    assert_eq!((play.segments(), play.phase()), (16.0, Phase::SlowStart));
    play.set_rtt(0.68); // 16 * 0.08 / 0.68 = 1.9 segments in queues
    play.round();
    play.path.round += 1;
    play.ack_at_once(1);
    assert_eq!((play.segments(), play.phase()), (14.0, Phase::CongestionAvoidance));
}

#[test]
fn avoidance_adds_one_below_alpha_takes_one_above_beta_and_rests_between() {
    for (rtt, change) in [(0.6, 1.0), (0.67, 0.0), (0.75, -1.0)] {
        let mut play = avoiding();
        play.set_rtt(rtt);
        play.round();
        let before = play.segments();
        play.round();
        let grown = play.segments() - before;
        assert!((grown - change).abs() < 0.1, "{rtt} s: {grown}");
    }
}

#[test]
fn on_a_link_the_queue_settles_between_alpha_and_beta() {
    let mut play = Play::new("vegas", &[]);
    play.link(100.0, 0.6, 200);
    let queue = play.segments() - 60.0;
    assert!((0.5..=4.0).contains(&queue), "{queue}");
    assert!((0.9..=3.1).contains(&play.gauge("queued_segments")));
}

#[test]
fn a_first_loss_takes_a_quarter_a_lost_repair_half_and_a_timeout_leaves_two() {
    let mut play = Play::new("vegas", &[]);
    play.rounds(7);
    assert_eq!(play.segments(), 32.0);
    play.lose(LossCause::Gap);
    assert_eq!(play.segments(), 24.0);
    play.lose_more(LossCause::Gap);
    assert_eq!(play.segments(), 24.0);
    play.lose_again(LossCause::Gap);
    assert_eq!(play.segments(), 12.0);
    play.lose(LossCause::Timeout);
    assert_eq!((play.segments(), play.phase()), (2.0, Phase::SlowStart));
    assert!(play.controller.repair().fine_timers);
}

#[test]
fn the_linux_form_doubles_each_round_and_halves() {
    let mut play = Play::new("vegas", &[("linux", 1.0), ("alpha", 2.0), ("beta", 4.0)]);
    play.rounds(4);
    assert!(play.segments() > 25.0, "{}", play.segments());
    play.link(100.0, 0.6, 200);
    let queue = play.segments() - 60.0;
    assert!((1.0..=5.0).contains(&queue), "{queue}");
    let before = play.segments();
    play.lose(LossCause::Gap);
    let half = (before / 2.0).floor();
    assert_eq!(play.segments(), (half / 2.0).floor(), "while the loss is repaired");
    play.path.in_flight = play.bytes(1000);
    play.recovered();
    assert_eq!(play.segments(), half);
    assert!(!play.controller.repair().fine_timers);
}
