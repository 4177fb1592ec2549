//! What controllers ask of the sender besides a window: copies, bulk retransmissions, fine timers.

use bentpipe_transport::Inspect;
use std::collections::BTreeMap;

use bentpipe_cc::Choice;

use super::support::*;

fn with(controller: &str) -> Config {
    let controller = Choice::new(controller, BTreeMap::new()).expect("known");
    Config { controller, initial_window: InitialWindow::Segments(1), ..plain() }
}

/// The connection is open after a round trip of 100 ms, the peer has room for ten segments, and more is to be sent.
fn with_room_for_ten(config: Config) -> Script {
    let mut script = Script::start(config);
    script.sent();
    script.pass(100);
    script.hear(Segment {
        window: 10_000,
        ..syn_ack(SynOptions { sack_permitted: true, ..mss(1000) })
    });
    script.write(30_000);
    script
}

/// A copy of the segment at this place, and nothing else, leaves now.
#[track_caller]
fn expect_copy(script: &mut Script, place: u32) {
    let sent = script.expect(&[("", place, 1, 1000)]);
    assert!(sent[0].low_priority, "at {}", script.now);
}

#[test]
fn peach_sends_copies_of_the_last_segment_spread_over_a_round_trip() {
    // Akyildiz and others 2001, sudden start: as many as the window of 10 takes less one, RTT / 10 apart.
    let mut script = with_room_for_ten(with("peach"));
    let first = script.sent();
    assert!(!first[0].low_priority && first[0].payload.len() == 1000, "{first:?}");
    for _ in 0..8 {
        script.pass(10);
        expect_copy(&mut script, 1);
    }
    script.pass(5);
    script.expect(&[]);
    // The segment arrives, and then a copy: each opens the window by one.
    let window = |ack, twice: &[(u32, u32)]| Segment { window: 10_000, ..sack(ack, twice) };
    script.pass(15);
    script.hear(Segment { window: 10_000, ..peer(".", 1, 1001, 0) });
    let data = script.sent();
    assert!(data.iter().all(|s| !s.low_priority), "{data:?}");
    assert_eq!(script.end.sender_state().cwnd, Some(ByteCount::new(2_000)));
    script.hear(window(1001, &[(1, 1001)]));
    assert_eq!(script.end.sender_state().cwnd, Some(ByteCount::new(3_000)));
    assert_eq!(script.sent().iter().filter(|s| !s.low_priority).count(), 1);
}

#[test]
fn swift_copies_what_is_outstanding_in_turn() {
    let config = Config { initial_window: InitialWindow::Segments(3), ..with("swift") };
    let mut script = with_room_for_ten(config);
    let first: Vec<u32> =
        script.sent().iter().map(|s| s.seq.distance_from(Seq32::new(ISS))).collect();
    assert_eq!(first, [1, 1001, 2001, 1], "data first, then a copy");
    for place in [1001, 2001, 1, 1001] {
        script.pass(10);
        expect_copy(&mut script, place);
    }
}

#[test]
fn rcs_sends_data_at_its_rate_and_dummies_besides_them_at_the_target() {
    // 800 kbit/s are ten segments in the round trip of 100 ms; the start has one of them, and a burst of two before it.
    let parameters = BTreeMap::from([("target".to_owned(), 800_000.0)]);
    let controller = Choice::new("rcs", parameters).expect("known");
    let mut script = with_room_for_ten(Config { controller, ..plain() });
    let first = script.sent();
    let low: Vec<bool> = first.iter().map(|s| s.low_priority).collect();
    assert_eq!(low, [false, false, true], "a burst of data, then dummies while the pace waits");
    script.pass(10);
    script.expect(&[("", 2_001, 1, 1000), ("", 2_001, 1, 1000)]);
    for _ in 0..7 {
        script.pass(10);
        expect_copy(&mut script, 2_001);
    }
    script.pass(5);
    script.expect(&[]);
}

#[test]
fn copies_are_not_sent_to_a_peer_that_can_not_report_them() {
    let mut script = Script::start(with("peach"));
    script.sent();
    script.pass(100);
    script.hear(syn_ack(mss(1000)));
    script.write(30_000);
    script.expect(&[("", 1, 1, 1000)]);
    script.pass(90);
    script.expect(&[]);
}

#[test]
fn bulk_repeat_sends_all_that_is_outstanding_again_after_noise_once_in_a_round_trip() {
    let config = Config { initial_window: InitialWindow::Segments(10), ..with("bulk-repeat") };
    let mut script = Script::ten_out(config);
    // 1 is missing on an empty path; 2001 to 5001 are reported.
    for end in [3_001, 4_001, 5_001] {
        script.hear(sack(1, &[(2_001, end)]));
    }
    let again: Vec<u32> =
        script.sent().iter().map(|s| s.seq.distance_from(Seq32::new(ISS))).collect();
    assert_eq!(again[..7], [1, 1_001, 5_001, 6_001, 7_001, 8_001, 9_001], "not what is reported");
    let cwnd = script.end.sender_state().cwnd;
    assert_eq!(cwnd, Some(ByteCount::new(10_000)), "noise takes no window");
    script.pass(50);
    script.hear(sack(1, &[(2_001, 6_001)]));
    let again = script.sent().iter().filter(|s| s.seq == Seq32::new(ISS).plus(1)).count();
    assert_eq!(again, 0, "within the round trip nothing is repeated");
}

#[test]
fn vegas_looks_at_its_fine_timer_with_the_first_duplicate() {
    // Brakmo and Peterson 1995, section 3.1: the first duplicate is enough once the segment is overdue.
    for (wait, sent) in [(50, false), (350, true)] {
        let mut script = Script::open(Config {
            initial_window: InitialWindow::Segments(4),
            limited_transmit: false,
            ..with("vegas")
        });
        script.write(50_000);
        assert_eq!(script.sent().len(), 4);
        script.pass(wait);
        script.hear(peer(".", 1, 1, 0));
        let again = script.sent().iter().any(|s| s.seq == Seq32::new(ISS).plus(1));
        assert_eq!(again, sent, "after {wait} ms");
    }
}

#[test]
fn vegas_looks_at_the_next_segment_with_the_first_two_acknowledgements_after_a_retransmission() {
    let mut script = Script::open(Config {
        initial_window: InitialWindow::Segments(4),
        limited_transmit: false,
        ..with("vegas")
    });
    script.write(50_000);
    assert_eq!(script.sent().len(), 4);
    script.pass(350);
    script.hear(peer(".", 1, 1, 0));
    assert!(script.sent().iter().any(|s| s.seq == Seq32::new(ISS).plus(1)), "overdue");
    // The repair arrives, the next one is missing as well: no duplicate is waited for.
    script.pass(100);
    script.hear(peer(".", 1, 1_001, 0));
    assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(1_001));
}
