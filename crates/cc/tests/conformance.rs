//! What every controller of the registry must keep, whatever its law.

use std::collections::BTreeMap;

use bentpipe_cc::{Ack, Choice, Controller, Loss, LossCause, PathView, Signal, rows};
use bentpipe_units::{ByteCount, Instant, Span};

const MSS: ByteCount = ByteCount::new(1000);

fn path(now: Instant, round: u64) -> PathView {
    PathView {
        now,
        mss: MSS,
        in_flight: ByteCount::new(20_000),
        peer_window: ByteCount::new(1_000_000),
        srtt: Span::from_millis(600),
        latest_rtt: Span::from_millis(610),
        min_rtt: Span::from_millis(590),
        round,
        delivered: ByteCount::new(round * 20_000),
        cwnd_limited: true,
    }
}

/// Ten thousand events in a fixed, irregular order.
fn exercise(controller: &mut dyn Controller, mut check: impl FnMut(&dyn Controller)) {
    let mut state = 1u64;
    for step in 0..10_000u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let path = path(Instant::from_nanos(step * 30_000_000), step / 20);
        let segments = state >> 60;
        match state >> 33 & 0x1f {
            0 => controller.on_loss(
                &path,
                &Loss {
                    bytes: MSS,
                    cause: LossCause::Nack,
                    new_episode: segments & 1 == 0,
                    again: false,
                    looks_corrupt: segments & 2 == 0,
                },
            ),
            1 if segments == 0 => controller.on_signal(&path, &Signal::Idle),
            _ => controller.on_ack(
                &path,
                &Ack {
                    bytes: ByteCount::new(1000 * segments),
                    segments,
                    newest_sent_at: path.now.before(path.srtt),
                    rate_sample: None,
                    acks: 1,
                    in_recovery: false,
                },
            ),
        }
        check(controller);
    }
}

fn build(name: &str) -> Box<dyn Controller> {
    let choice = Choice::new(name, BTreeMap::new()).expect("a registered name");
    choice.build(MSS, MSS, MSS, ByteCount::new(64_000))
}

#[test]
fn every_controller_always_allows_at_least_one_segment_or_a_rate() {
    for row in rows() {
        exercise(&mut *build(row.name), |controller| {
            let limits = controller.limits();
            let window = limits.window.is_none_or(|w| w >= MSS);
            assert!(window, "{}: {limits:?}", row.name);
            assert!(limits.window.is_some() || limits.pacing.is_some(), "{}", row.name);
        });
    }
}

#[test]
fn every_controller_keeps_its_window_below_the_most_it_was_given() {
    for row in rows() {
        exercise(&mut *build(row.name), |controller| {
            let window = controller.limits().window.unwrap_or(MSS);
            assert!(window <= ByteCount::new(64_000), "{}: {window}", row.name);
        });
    }
}

#[test]
fn every_controller_does_the_same_twice() {
    for row in rows() {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        exercise(&mut *build(row.name), |c| first.push((c.limits(), c.snapshot())));
        exercise(&mut *build(row.name), |c| second.push((c.limits(), c.snapshot())));
        assert_eq!(first, second, "{}", row.name);
    }
}
