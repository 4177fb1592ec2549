//! The window that the receiving side states (RFC 9293, section 3.8.6.2.2; RFC 7323, section 2).

use super::support::*;

/// An end with room for four segments whose application reads when it is told to.
fn roomy() -> Script {
    let mut script =
        Script::open(Config { rcv_buf: ByteCount::new(4_000), window_scaling: false, ..plain() });
    script.reads = false;
    script
}

fn windows(sent: &[Segment]) -> Vec<(u32, u16)> {
    sent.iter().map(|s| (s.ack.distance_from(Seq32::new(IRS)), s.window)).collect()
}

#[test]
fn what_is_not_read_closes_the_window_and_its_edge_stays() {
    let mut script = roomy();
    for (n, window) in [(0, 3_000), (1, 2_000), (2, 1_000), (3, 0)] {
        script.hear(peer(".", 1 + 1000 * n, 1, 1000));
        assert_eq!(windows(&script.sent()), [(1001 + 1000 * n, window)]);
    }
    // Beyond it nothing is taken; the answer says where the window ends.
    script.hear(peer(".", 4001, 1, 1));
    assert_eq!(windows(&script.sent()), [(4001, 0)]);
}

#[test]
fn a_window_in_units_closes_although_no_segment_is_a_whole_number_of_them() {
    // RFC 7323, section 2.4: units of 16 bytes, and segments of 1001.
    let rcv_buf = ByteCount::new(600_000);
    let mut script = Script::start(Config { rcv_buf, mss: 1001, window_scaling: true, ..plain() });
    script.sent();
    script.pass(100);
    let shift = SynOptions { window_shift: Some(0), sack_permitted: true, ..mss(1001) };
    script.hear(syn_ack(shift));
    script.sent();
    script.reads = false;
    let (mut place, mut least) = (1_u32, u16::MAX);
    while let ack = script.sent().pop()
        && ack.as_ref().is_none_or(|ack| ack.window > 62)
    {
        least = ack.map_or(least, |ack| least.min(ack.window));
        script.hear(peer(".", place, 1, 1001));
        place += 1001;
        assert!(place < 700_000, "{least} units are still granted");
    }
    assert!(place <= 600_000 + 16, "{place}");
}

#[test]
fn a_window_that_opens_is_told_when_two_segments_fit() {
    let mut script = roomy();
    for n in 0..4 {
        script.hear(peer(".", 1 + 1000 * n, 1, 1000));
        script.sent();
    }
    script.read_once();
    script.expect(&[]);
    script.read_once();
    assert_eq!(windows(&script.sent()), [(4001, 2_000)]);
    script.pass(5_000);
    script.expect(&[]);
}

#[test]
fn the_edge_moves_by_whole_segments_only() {
    let mut script = roomy();
    // 300 bytes at a time, each of them read: less than a segment moves nothing.
    script.reads = true;
    let mut edges = Vec::new();
    for n in 0..10 {
        script.hear(peer(".", 1 + 300 * n, 1, 300));
        edges.extend(windows(&script.sent()).iter().map(|(ack, window)| ack + u32::from(*window)));
    }
    let steps: Vec<_> = edges.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.iter().all(|step| *step == 0 || *step >= 1000), "{edges:?}");
    assert!(steps.iter().any(|step| *step > 0), "{edges:?}");
}

#[test]
fn a_probe_of_a_closed_window_is_answered_with_it_and_its_byte_thrown_away() {
    let mut script = roomy();
    for n in 0..4 {
        script.hear(peer(".", 1 + 1000 * n, 1, 1000));
        script.sent();
    }
    for _ in 0..3 {
        script.pass(1_000);
        script.hear(peer(".", 4001, 1, 1));
        assert_eq!(windows(&script.sent()), [(4001, 0)]);
    }
    for _ in 0..4 {
        script.read_once();
    }
    script.sent();
    script.hear(peer(".", 4001, 1, 1));
    assert_eq!(script.sent()[0].ack, Seq32::new(IRS).plus(4002));
}

#[test]
fn what_came_behind_a_missing_segment_narrows_a_window_that_grows() {
    // As in Linux, whose `tcp_space` leaves out what waits out of order although it lies within the window.
    let first = ByteCount::new(20_000);
    let config = Config { rcv_buf_initial: Some(first), ack_disorder_at_once: true, ..plain() };
    let mut script = Script::open(Config { window_scaling: false, ..config });
    script.hear(peer(".", 1, 1, 1000));
    assert_eq!(windows(&script.sent()), [(1001, 22_000 - 2_000)]);
    let mut last = Vec::new();
    for n in 2..20 {
        script.hear(peer(".", 1 + 1000 * n, 1, 1000));
        last = windows(&script.sent());
    }
    // Ten segments count as the first flight: twice those, and the missing one.
    assert_eq!(last, [(1001, 21_000)]);
    // What was missing comes, and nothing takes room any more: 20 segments came, and each widened the window by two.
    script.hear(peer(".", 1001, 1, 1000));
    assert_eq!(windows(&script.sent()), [(20_001, 39_000)]);
}
