//! Every recovery: what is retransmitted, and when.

use super::support::*;
use bentpipe_transport::Inspect;

#[test]
fn limited_transmit_sends_new_data_for_the_first_two_duplicates_and_the_third_retransmissions() {
    for (recovery, reports) in [(Mode::NewReno, false), (Mode::Reno, false), (Mode::Sack, true)] {
        let mut script = Script::four_out(Config { recovery, ..plain() });
        script.pass(100);
        let duplicate =
            |end| if reports { sack(2001, &[(3001, end)]) } else { peer(".", 1, 2001, 0) };
        script.hear(duplicate(4001));
        script.expect(&[("", 6001, 1, 1000)]);
        script.hear(duplicate(5001));
        script.expect(&[("", 7001, 1, 1000)]);
        script.hear(duplicate(6001));
        script.expect(&[("", 2001, 1, 1000)]);
    }
}

#[test]
fn two_duplicates_let_one_new_segment_go_each_and_further_ones_below_the_threshold_none() {
    for (recovery, reports) in
        [(Mode::Tahoe, false), (Mode::Reno, false), (Mode::NewReno, false), (Mode::Sack, true)]
    {
        let mut script = Script::ten_out(Config { recovery, dup_threshold: 4, ..plain() });
        // Reports of bytes that are few enough to show no loss by themselves (RFC 6675, section 4).
        let duplicate = |end| if reports { sack(1, &[(1001, end)]) } else { peer(".", 1, 1, 0) };
        for (end, new) in [(2001, 10_001), (3001, 11_001)] {
            script.hear(duplicate(end));
            script.expect(&[("", new, 1, 1000)]);
        }
        script.hear(duplicate(4001));
        script.expect(&[]);
        assert_eq!(script.end.counters().reductions, 0, "{recovery:?}");
        script.hear(duplicate(5001));
        assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(1), "{recovery:?}");
    }
}

#[test]
fn without_limited_transmit_the_first_two_duplicates_send_nothing() {
    let config = Config { limited_transmit: false, recovery: Mode::NewReno, ..plain() };
    let mut script = Script::four_out(config);
    for _ in 0..2 {
        script.hear(peer(".", 1, 2001, 0));
        script.expect(&[]);
    }
    script.hear(peer(".", 1, 2001, 0));
    script.expect(&[("", 2001, 1, 1000), ("", 6001, 1, 1000)]);
}

#[test]
fn tahoe_starts_again_from_one_segment_and_goes_back() {
    let config = Config { recovery: Mode::Tahoe, limited_transmit: false, ..plain() };
    let mut script = Script::four_out(config);
    script.pass(100);
    for _ in 0..3 {
        script.expect(&[]);
        script.hear(peer(".", 1, 2001, 0));
    }
    script.expect(&[("", 2001, 1, 1000)]);
    script.pass(100);
    // The receiver has only the first of the rest.
    script.hear(peer(".", 1, 4001, 0));
    script.expect(&[("", 4001, 1, 1000), ("", 5001, 1, 1000)]);
}

#[test]
fn newreno_repairs_a_second_loss_by_a_partial_acknowledgement_and_reno_does_not() {
    for (recovery, retransmissions) in [(Mode::NewReno, true), (Mode::Reno, false)] {
        let config = Config { recovery, limited_transmit: false, ..plain() };
        let mut script = Script::four_out(config);
        script.pass(100);
        for _ in 0..3 {
            script.hear(peer(".", 1, 2001, 0));
        }
        // Half of the window, and the three that have left it (RFC 5681, section 3.2).
        script.expect(&[("", 2001, 1, 1000), ("", 6001, 1, 1000)]);
        script.pass(100);
        script.hear(peer(".", 1, 4001, 0));
        let sent = script.sent();
        let again = sent.iter().any(|s| s.seq == Seq32::new(ISS).plus(4001));
        assert_eq!(again, retransmissions, "{recovery:?}");
    }
}

#[test]
fn sack_repairs_every_hole_below_three_reports_and_nothing_else() {
    let mut script =
        Script::open(Config { initial_window: InitialWindow::Segments(10), ..plain() });
    script.write(10_000);
    assert_eq!(script.sent().len(), 10);
    script.pass(100);
    for end in [3001, 4001] {
        script.hear(sack(1001, &[(2001, end)]));
        script.expect(&[]);
    }
    script.hear(sack(1001, &[(5001, 6001), (2001, 4001)]));
    // 1001 is lost; above 4001 there is one segment only.
    script.expect(&[("", 1001, 1, 1000)]);
    script.hear(sack(1001, &[(5001, 8001), (2001, 4001)]));
    // Besides the hole the last segment goes again, once, so that it may be reported (rule 4).
    script.expect(&[("", 4001, 1, 1000), ("", 9001, 1, 1000)]);
}

#[test]
fn a_loss_that_a_link_owns_up_to_is_repaired_and_costs_no_window_and_the_next_one_does() {
    for recovery in [Mode::Tahoe, Mode::Reno, Mode::NewReno, Mode::Sack, Mode::Fack] {
        let mut script = Script::four_out(Config { recovery, ..plain() });
        let before = script.end.sender_state().cwnd;
        let mut repaired = false;
        for end in [4001, 5001, 6001, 7001] {
            let owned =
                Segment { scps: Scps::CORRUPTION_EXPERIENCED, ..sack(2001, &[(3001, end)]) };
            script.hear(owned);
            let repair = |s: &Segment| s.seq == Seq32::new(ISS).plus(2001);
            repaired |= script.sent().iter().any(repair);
        }
        assert!(repaired, "{recovery:?}");
        assert_eq!(script.end.sender_state().cwnd, before, "{recovery:?}");
        assert_eq!(script.end.counters().reductions, 0, "{recovery:?}");
    }
    let mut script = Script::four_out(plain());
    let owned = Segment { scps: Scps::CORRUPTION_EXPERIENCED, ..sack(2001, &[(3001, 6001)]) };
    script.hear(owned);
    script.sent();
    // The repair arrived; of what follows 6001 is missing, and nobody owns up to that.
    script.hear(sack(6001, &[(7001, 8001)]));
    script.sent();
    assert_eq!(script.end.counters().reductions, 0);
    script.hear(sack(6001, &[(7001, 10_001)]));
    assert_eq!(script.end.counters().reductions, 1);
}

#[test]
fn aero_repairs_by_the_first_duplicate_and_runs_ahead_at_a_partial_acknowledgement() {
    let mut script = Script::four_out(Config { recovery: Mode::Aero, ..plain() });
    script.pass(100);
    script.hear(peer(".", 1, 2001, 0));
    script.expect(&[("", 2001, 1, 1000)]);
    script.pass(100);
    script.hear(peer(".", 1, 3001, 0));
    let again: Vec<_> =
        script.sent().iter().map(|s| s.seq.distance_from(Seq32::new(ISS))).collect();
    assert!(again.contains(&3001), "{again:?}");
}

#[test]
fn the_order_of_departures_shows_the_loss_of_a_repair_at_once() {
    let config = Config { recovery: Mode::DepartureOrder, ..plain() };
    let mut script = Script::four_out(config);
    script.pass(100);
    script.hear(sack(2001, &[(3001, 4001)]));
    let sent = script.sent();
    assert_eq!(sent[0].seq, Seq32::new(ISS).plus(2001), "the first report is enough");
    script.hear(sack(2001, &[(3001, 6001)]));
    let after = script.sent();
    assert!(after.iter().all(|s| s.seq != Seq32::new(ISS).plus(2001)), "it is under way");
    script.pass(100);
    // What left after the retransmission arrived: the retransmission did not.
    script.hear(sack(2001, &[(3001, 8001)]));
    let again = script.sent();
    assert!(again.iter().any(|s| s.seq == Seq32::new(ISS).plus(2001)), "{again:?}");
}

#[test]
fn a_repair_that_was_needless_gives_the_window_back() {
    let mut script = Script::start(Config { timestamps: true, mss: 1012, ..plain() });
    script.sent();
    script.pass(100);
    let stamp =
        |echo, segment| Segment { timestamps: Some(Timestamps { value: 5, echo }), ..segment };
    script.hear(stamp(1, syn_ack(mss(1012))));
    script.sent();
    script.write(50_000);
    let first = script.sent();
    let echo = first[0].timestamps.expect("a stamp").value;
    let before = script.end.sender_state().cwnd;
    script.pass(1_000);
    assert_eq!(script.sent().len(), 1);
    assert!(script.end.sender_state().cwnd < before);
    script.hear(stamp(echo, peer(".", 1, 1001, 0)));
    assert!(script.end.sender_state().cwnd >= before);
}

#[test]
fn reno_and_newreno_count_a_segment_once_that_the_peer_reports_as_well() {
    for recovery in [Mode::Reno, Mode::NewReno] {
        let config = Config { recovery, limited_transmit: false, ..plain() };
        let mut script = Script::four_out(config);
        script.pass(100);
        for end in [4001, 5001] {
            script.hear(sack(2001, &[(3001, end)]));
            script.expect(&[]);
        }
        script.hear(sack(2001, &[(3001, 6001)]));
        // Three of the four have left: half the window and three, not half and six.
        script.expect(&[("", 2001, 1, 1000), ("", 6001, 1, 1000)]);
    }
}

#[test]
fn fack_needs_one_report_far_enough_above_a_hole() {
    let config = Config { recovery: Mode::Fack, ..plain() };
    let mut script = Script::four_out(config);
    script.pass(100);
    // Two segments lie between: three are needed.
    script.hear(sack(2001, &[(4001, 5001)]));
    script.expect(&[("", 6001, 1, 1000)]);
    script.hear(sack(2001, &[(5001, 6001), (4001, 5001)]));
    let sent = script.sent();
    assert_eq!(sent[0].seq, Seq32::new(ISS).plus(2001), "without a third duplicate");
}

#[test]
fn fack_sends_one_segment_for_two_that_arrive() {
    let config = Config {
        recovery: Mode::Fack,
        initial_window: InitialWindow::Segments(10),
        dup_threshold: 3,
        ..plain()
    };
    let mut script = Script::open(config);
    script.write(50_000);
    assert_eq!(script.sent().len(), 10);
    script.pass(100);
    for (end, leaves) in [(2001, 1), (3001, 1)] {
        script.hear(sack(1, &[(1001, end)]));
        assert_eq!(script.sent().len(), leaves, "what arrived makes room before a loss is found");
    }
    script.hear(sack(1, &[(1001, 4001)]));
    script.expect(&[("", 1, 1, 1000)]);
    let leaves: Vec<usize> = (5..11)
        .map(|n| {
            script.hear(sack(1, &[(1001, 1000 * n + 1)]));
            script.sent().len()
        })
        .collect();
    assert_eq!(leaves, [0, 1, 0, 1, 0, 1]);
}

#[test]
fn fack_knows_a_lost_repair_by_new_data_that_left_after_it() {
    let mut script = Script::four_out(Config { recovery: Mode::Fack, ..plain() });
    script.pass(100);
    for (end, leaves) in [(4001, 6001), (5001, 7001), (6001, 2001)] {
        script.hear(sack(2001, &[(3001, end)]));
        script.expect(&[("", leaves, 1, 1000)]);
    }
    script.pass(100);
    // 6001 and 7001 left before the retransmission: their arrival says nothing of it.
    script.hear(sack(2001, &[(3001, 8001)]));
    let new = script.sent();
    assert!(new.iter().all(|s| s.seq != Seq32::new(ISS).plus(2001)), "{new:?}");
    script.pass(100);
    script.hear(sack(2001, &[(3001, 9001)]));
    let again = script.sent();
    assert_eq!(again[0].seq, Seq32::new(ISS).plus(2001));
}

#[test]
fn a_timeout_after_tahoes_repair_leaves_two_segments_as_the_threshold() {
    let config = Config { recovery: Mode::Tahoe, limited_transmit: false, ..plain() };
    let mut script = Script::four_out(config);
    for _ in 0..3 {
        script.hear(peer(".", 1, 2001, 0));
    }
    script.expect(&[("", 2001, 1, 1000)]);
    script.pass(1_000);
    script.expect(&[("", 2001, 1, 1000)]);
    script.hear(peer(".", 1, 3001, 0));
    script.expect(&[("", 3001, 1, 1000), ("", 4001, 1, 1000)]);
    // From the threshold on a round trip adds one segment.
    script.hear(peer(".", 1, 5001, 0));
    assert_eq!(script.sent().len(), 2);
}

#[test]
fn after_a_timeout_the_window_grows_although_duplicates_announced_what_advances() {
    let config = Config { recovery: Mode::NewReno, limited_transmit: false, ..plain() };
    let mut script = Script::four_out(config);
    for _ in 0..2 {
        script.hear(peer(".", 1, 2001, 0));
    }
    script.pass(1_000);
    script.expect(&[("", 2001, 1, 1000)]);
    script.hear(peer(".", 1, 4001, 0));
    script.expect(&[("", 4001, 1, 1000), ("", 5001, 1, 1000)]);
}

#[test]
fn what_was_lost_behind_a_recovery_begins_the_next_one_when_it_ends() {
    let mut script = Script::ten_out(Config { recovery: Mode::Rack, ..plain() });
    script.hear(sack(1, &[(1001, 10_001)]));
    script.sent();
    assert_eq!(script.end.counters().reductions, 1);
    script.pass(50);
    // Of what left since then the first segment is missing: that is no news yet.
    script.hear(sack(1, &[(11_001, 14_001), (1001, 10_001)]));
    script.sent();
    assert_eq!(script.end.counters().reductions, 1);
    script.pass(50);
    script.hear(sack(10_001, &[(11_001, 14_001)]));
    assert_eq!(script.end.counters().reductions, 2);
}
