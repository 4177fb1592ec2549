//! What still leaves into a blackout before it is found, with probing and without.

use bentpipe_testkit::{Direction, Fate, Pair, pattern};
use bentpipe_transport::Inspect;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{Instant, Span};
use bentpipe_wire::Kind;

use crate::support::*;

/// Segments of a full window.
const WINDOW: usize = 64;
/// A burst of it: 64 segments in 30 ticks.
const BURST: usize = 3;

/// Loses what would arrive from `from` on, as when the link itself is gone.
fn dead_link(from: Instant) -> Script {
    Box::new(move |c| if c.at + DELAY >= from { Fate::Drop } else { Fate::Pass })
}

/// New data that left from `from` on, or all of it until probing started.
fn sent_into_the_dark(pair: &Pair, from: Instant) -> usize {
    let probing = pair.client.session.as_ref().and_then(Inspect::probing_summary);
    let started = probing.map(|p| start_of(p.first_cycles.first().expect("a cycle")));
    let new: Vec<_> = pair.sent(Direction::Forward, Kind::DATA).filter(|c| c.at >= from).collect();
    assert!(new.iter().all(|c| started.is_none_or(|start| c.at <= start)));
    new.len()
}

/// When the first STAT that is lost would have come.
fn first_missing_stat(pair: &Pair) -> Instant {
    let lost = |c: &&bentpipe_testkit::Crossing| c.fate == Fate::Drop;
    pair.sent(Direction::Return, Kind::STAT).find(lost).expect("a lost STAT").at + DELAY
}

/// A third and a twelfth of the window and a burst: an interval between POLLs, and the slack.
fn bound() -> usize {
    WINDOW / 3 + WINDOW / 12 + BURST
}

// A sender that waits for its window to open has little room when its STATs cease: about a quarter of
// the window, with probing or without.
#[test]
fn after_a_blackout_begins_probing_stops_a_full_window_within_a_poll_interval_and_the_slack() {
    for offset in 0..40 {
        let dark = ms(5_000 + 7 * offset);
        let mut pair = wide(prober()).sending(pattern(2_000_000)).with_script(dead_link(dark));
        pair.run_to(dark.before(Span::from_nanos(1)));
        assert_eq!(window(&pair), WINDOW as u64);
        pair.run_to(dark + Span::from_secs(20));
        assert_eq!(state(&pair).activity, "probing");
        assert!(sent_into_the_dark(&pair, dark) <= bound(), "{offset}");
    }
}

/// A window with room: the application was slow, a segment in 50 ms, until the link dies and it
/// writes a full window at once.
fn slow_then_fast(client: Config, dark: Instant) -> Pair {
    let mut pair = wide(client).with_script(dead_link(dark));
    (pair.client.closes, pair.server.closes) = (false, false);
    let mut at = ms(500);
    while at < dark {
        pair.run_to(at);
        pair.client.outbox = pattern(1_000);
        pair.change(Direction::Forward, |_, _| {});
        at += Span::from_millis(50);
    }
    pair.run_to(dark);
    assert_eq!(window(&pair), WINDOW as u64);
    pair.client.outbox = pattern(WINDOW * 1_000);
    pair.change(Direction::Forward, |_, _| {});
    pair.run_to(dark + Span::from_secs(20));
    pair
}

#[test]
fn after_a_blackout_begins_the_window_drains_without_probing_and_with_it_does_not() {
    for offset in 0..20 {
        let dark = ms(8_000 + 13 * offset);
        let pair = slow_then_fast(prober(), dark);
        assert_eq!(state(&pair).activity, "probing");
        let missing = first_missing_stat(&pair);
        let with = sent_into_the_dark(&pair, missing);
        assert!(with <= bound(), "{offset}: {with}");
        assert!(state(&pair).in_flight.get() < 1_000 * WINDOW as u64);

        let pair = slow_then_fast(Config::paper(), dark);
        // Everything that the window allows, of which some was outstanding.
        assert!(state(&pair).in_flight.get() >= 1_000 * (WINDOW as u64 - 1));
        assert!(sent_into_the_dark(&pair, dark) > WINDOW * 3 / 4);
        assert!(sent_into_the_dark(&pair, missing) > with);
    }
}
