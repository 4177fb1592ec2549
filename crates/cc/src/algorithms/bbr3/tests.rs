use super::*;
use crate::testing::{Link, Play};

#[test]
fn the_link_is_used_with_a_short_queue() {
    let mut link = Link::new("bbr3", 6e6, 0.6, 1e9);
    link.run(20.0);
    let (before, mut queue) = (link.delivered(), 0.0);
    for _ in 0..600 {
        link.run(0.1);
        queue += link.queue_seconds() / 600.0;
    }
    let used = (link.delivered() - before) * 8.0 / 60.0 / 6e6;
    assert!(used > 0.85, "{used}");
    assert!(queue < 0.3, "{queue}");
}

#[test]
fn the_states_of_a_cycle_follow_each_other() {
    let mut link = Link::new("bbr3", 6e6, 0.1, 1e9);
    let mut states = Vec::new();
    for _ in 0..6000 {
        link.run(0.01);
        let state = link.phase().name();
        if states.last() != Some(&state) {
            states.push(state);
        }
    }
    assert_eq!(states[..2], ["slow_start", "drain"]);
    let follows = |a: &str, b: &str| states.windows(2).any(|pair| pair == [a, b]);
    assert!(follows("probe_bw_refill", "probe_bw_up"), "{states:?}");
    assert!(follows("probe_bw_up", "probe_bw_down"), "{states:?}");
    assert!(follows("probe_bw_cruise", "probe_bw_refill"), "{states:?}");
}

#[test]
fn each_state_paces_by_the_gain_of_the_draft() {
    let mut link = Link::new("bbr3", 6e6, 0.6, 1e9);
    let mut gains = std::collections::BTreeMap::new();
    for _ in 0..6000 {
        link.run(0.01);
        let gain = link.gauge("pacing_gain_ratio");
        assert_eq!(*gains.entry(link.phase().name()).or_insert(gain), gain);
    }
    let table = [
        ("slow_start", 2.77),
        ("drain", 0.5),
        ("probe_bw_down", 0.9),
        ("probe_bw_cruise", 1.0),
        ("probe_bw_refill", 1.0),
        ("probe_bw_up", 1.25),
        ("probe_rtt", 1.0),
    ];
    for (state, gain) in table {
        assert_eq!(gains.get(state), Some(&gain), "{state}");
    }
}

#[test]
fn one_percent_of_noise_costs_little() {
    let mut link = Link::new("bbr3", 6e6, 0.6, 1e9);
    link.loss = 0.01;
    link.run(20.0);
    let before = link.delivered();
    link.run(60.0);
    let used = (link.delivered() - before) * 8.0 / 60.0 / 6e6;
    assert!(used > 0.75, "{used}");
}

#[test]
fn a_small_queue_that_overflows_bounds_what_is_in_flight() {
    let mut link = Link::new("bbr3", 6e6, 0.6, 45_000.0);
    link.run(40.0);
    let bound = link.gauge("inflight_long_bytes");
    assert!((200e3..900e3).contains(&bound), "{bound}");
    assert!(link.play.controller.limits().window.expect("a window").get() as f64 <= bound);
}

#[test]
fn a_timeout_leaves_what_is_in_flight_and_one_segment() {
    let mut play = Play::new("bbr3", &[]);
    play.rounds(6);
    play.path.in_flight = play.bytes(3);
    play.lose(LossCause::Timeout);
    assert_eq!(play.segments(), 4.0);
}

/// The share of the rate that is used over a path of 50 ms that marks everything.
fn over_a_path_that_marks(parameters: &[(&str, f64)]) -> f64 {
    let mut link = Link::of(Play::new("bbr3", parameters), 6e6, 0.05, 1e9);
    link.marks_above = -1.0;
    link.run(30.0);
    link.delivered() * 8.0 / 30.0 / 6e6
}

#[test]
fn marks_slow_it_down_where_they_are_heeded_which_is_on_short_paths() {
    let (ignored, heeded) =
        (over_a_path_that_marks(&[]), over_a_path_that_marks(&[("ecn_max_rtt", 0.05)]));
    assert!(ignored > 0.9 && heeded < 0.5, "{ignored} {heeded}");
}
