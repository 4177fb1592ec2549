//! Losses that were none: what a connection takes back, and what it finds again (RFC 3522, RFC 4015).

use super::support::*;
use bentpipe_transport::Inspect;

/// An acknowledgement that echoes what the first ten segments bore, 100 ms before any repair.
fn of_an_original(segment: Segment) -> Segment {
    Segment { timestamps: Some(Timestamps { value: 9, echo: 101 }), ..segment }
}

/// Ten segments with stamps are out, 1 to 10001, and a round trip has passed.
fn stamped_out(recovery: Mode) -> Script {
    let config = Config {
        recovery,
        timestamps: true,
        mss: 1012,
        initial_window: InitialWindow::Segments(10),
        ..plain()
    };
    let mut script = Script::start(config);
    script.sent();
    script.pass(100);
    let answer = syn_ack(SynOptions { sack_permitted: true, ..mss(1012) });
    script.hear(Segment { timestamps: Some(Timestamps { value: 9, echo: 1 }), ..answer });
    script.sent();
    script.write(50_000);
    let first = script.sent();
    assert_eq!((first.len(), first[0].timestamps.map(|stamps| stamps.value)), (10, Some(101)));
    script.pass(100);
    script
}

/// What is sent, as numbers.
fn numbers(script: &mut Script) -> Vec<u32> {
    script.sent().iter().map(|s| s.seq.distance_from(Seq32::new(ISS))).collect()
}

#[test]
fn what_was_given_up_by_mistake_is_believed_to_be_under_way_and_not_sent_again() {
    for recovery in [Mode::Sack, Mode::Fack] {
        let mut script = stamped_out(recovery);
        let before = script.end.sender_state().cwnd.expect("a window").get();
        // 1 to 6001 seem lost; the smaller window has no room for all of them.
        script.hear(of_an_original(sack(1, &[(6001, 10_001)])));
        assert_eq!(numbers(&mut script), [1, 1001, 2001, 3001, 4001], "{recovery:?}");
        script.pass(10);
        // They were only late: the first one came as it had left for the first time.
        script.hear(of_an_original(sack(1001, &[(6001, 10_001)])));
        let now = script.end.sender_state().cwnd.expect("a window").get();
        assert!(now >= before, "{recovery:?}: {now}");
        // Four retransmissions and 5001 are under way, and nothing that had left leaves again.
        let new: Vec<u32> = (10..5 + now as u32 / 1000).map(|n| 1000 * n + 1).collect();
        assert_eq!(numbers(&mut script), new, "{recovery:?}");
    }
}

#[test]
fn what_is_still_missing_after_a_mistake_is_found_by_later_reports() {
    for recovery in [Mode::Sack, Mode::Fack] {
        let mut script = stamped_out(recovery);
        script.hear(of_an_original(sack(1, &[(6001, 10_001)])));
        script.sent();
        script.pass(10);
        script.hear(of_an_original(sack(1001, &[(6001, 10_001)])));
        script.sent();
        script.pass(100);
        script.hear(of_an_original(sack(5001, &[(6001, 15_001)])));
        assert!(numbers(&mut script).contains(&5001), "{recovery:?}");
    }
}
