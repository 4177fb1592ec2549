//! What the receiving side acknowledges and reports.

use super::support::*;
use bentpipe_transport::ProxyLeg;

#[test]
fn acknowledgements_are_delayed_for_one_segment_and_not_for_two_or_for_disorder() {
    let mut script = Script::open(Config { ack_every: 2, ..plain() });
    script.hear(peer(".", 1, 1, 1000));
    script.pass(200);
    script.expect(&[("", 1, 1001, 0)]);
    script.hear(peer(".", 1001, 1, 1000));
    script.hear(peer(".", 2001, 1, 1000));
    script.expect(&[("", 1, 3001, 0)]);
    script.hear(peer(".", 4001, 1, 1000));
    let duplicate = script.expect(&[("", 1, 3001, 0)]);
    assert_eq!(blocks(&duplicate[0]), [(4001, 5001)]);
    script.hear(peer(".", 3001, 1, 1000));
    script.expect(&[("", 1, 5001, 0)]);
}

#[test]
fn quick_acknowledgements_come_first() {
    let mut script = Script::open(Config { ack_every: 2, quick_acks: 2, ..plain() });
    for n in 0..2 {
        script.hear(peer(".", 1 + 1000 * n, 1, 1000));
        script.expect(&[("", 1, 1001 + 1000 * n, 0)]);
    }
    script.hear(peer(".", 2001, 1, 1000));
    script.expect(&[]);
}

#[test]
fn what_comes_twice_is_reported_first() {
    let mut script = Script::open(plain());
    script.hear(peer(".", 1, 1, 1000));
    script.expect(&[("", 1, 1001, 0)]);
    script.hear(peer(".", 2001, 1, 1000));
    script.expect(&[("", 1, 1001, 0)]);
    script.hear(peer(".", 1, 1, 1000));
    let answer = script.expect(&[("", 1, 1001, 0)]);
    assert_eq!(blocks(&answer[0]), [(1, 1001), (2001, 3001)]);
    script.hear(peer(".", 2001, 1, 1000));
    let answer = script.expect(&[("", 1, 1001, 0)]);
    assert_eq!(blocks(&answer[0]), [(2001, 3001), (2001, 3001)]);
}

#[test]
fn what_came_twice_above_an_acknowledgement_that_waits_is_not_reported() {
    let mut script = Script::open(plain());
    script.hear(peer(".", 1, 1, 1000));
    script.end.defer_acks(script.now, ByteCount::new(1000));
    script.hear(peer(".", 1, 1, 1000));
    assert!(script.sent().iter().all(|ack| blocks(ack).is_empty()));
    script.end.defer_acks(script.now, ByteCount::ZERO);
    let ack = script.expect(&[("", 1, 1001, 0)]);
    assert_eq!(blocks(&ack[0]), [(1, 1001)], "below it, it is no news of what is missing");
}

/// A connection with timestamps and reports, and a segment of the peer with this stamp.
fn stamped(config: Config) -> Script {
    let mut script = Script::start(Config { timestamps: true, mss: 1012, ..config });
    script.sent();
    script.pass(100);
    script.hear(stamp(1_000, syn_ack(SynOptions { sack_permitted: true, ..mss(1012) })));
    assert_eq!(script.sent()[0].timestamps.map(|stamps| stamps.echo), Some(1_000));
    script
}

fn stamp(value: u32, segment: Segment) -> Segment {
    Segment { timestamps: Some(Timestamps { value, echo: 1 }), ..segment }
}

#[test]
fn the_newest_report_comes_first_and_timestamps_leave_room_for_three() {
    // RFC 2018, sections 3 and 4.
    let mut plainly = Script::open(plain());
    let mut stamped = stamped(plain());
    let mut last = (Vec::new(), Vec::new());
    for first in [2001, 4001, 6001, 8001, 10_001] {
        plainly.hear(peer(".", first, 1, 1000));
        last.0 = blocks(&plainly.expect(&[("", 1, 1, 0)])[0]);
        stamped.hear(stamp(1_001, peer(".", first, 1, 1000)));
        last.1 = blocks(&stamped.expect(&[("", 1, 1, 0)])[0]);
    }
    let newest = [(10_001, 11_001), (8001, 9001), (6001, 7001), (4001, 5001)];
    assert_eq!(last, (newest.to_vec(), newest[..3].to_vec()));
    // What a segment joins is the newest.
    plainly.hear(peer(".", 3001, 1, 1000));
    let answer = plainly.expect(&[("", 1, 1, 0)]);
    assert_eq!(blocks(&answer[0])[0], (2001, 5001));
}

#[test]
fn an_echo_is_the_stamp_of_the_first_segment_that_waited_for_the_acknowledgement() {
    // RFC 7323, section 4.3: so that a round trip covers the delay of the acknowledgement.
    let mut script = stamped(Config { ack_every: 2, ..plain() });
    script.hear(stamp(2_000, peer(".", 1, 1, 1000)));
    script.expect(&[]);
    script.hear(stamp(2_001, peer(".", 1001, 1, 1000)));
    let echo = |sent: Vec<Segment>| sent[0].timestamps.map(|stamps| stamps.echo);
    assert_eq!(echo(script.expect(&[("", 1, 2001, 0)])), Some(2_000));
    // What comes out of order leaves it as it is.
    script.hear(stamp(2_005, peer(".", 4001, 1, 1000)));
    assert_eq!(echo(script.expect(&[("", 1, 2001, 0)])), Some(2_000));
    script.hear(stamp(2_006, peer(".", 2001, 1, 2000)));
    assert_eq!(echo(script.expect(&[("", 1, 5001, 0)])), Some(2_006));
}

#[test]
fn the_answer_to_a_retransmission_of_the_last_segment_echoes_its_stamp() {
    // As in Linux (`tcp_sequence`): the acknowledgement was lost, and a long timeout is no round trip.
    let mut script = stamped(plain());
    let echo = |sent: Vec<Segment>| sent[0].timestamps.map(|stamps| stamps.echo);
    for (value, first) in [(2_000, 1), (2_001, 1001)] {
        script.hear(stamp(value, peer(".", first, 1, 1000)));
        script.expect(&[("", 1, first + 1000, 0)]);
    }
    script.hear(stamp(9_000, peer(".", 1001, 1, 1000)));
    assert_eq!(echo(script.expect(&[("", 1, 2001, 0)])), Some(9_000));
    // One that ends before says nothing new of it.
    script.hear(stamp(9_500, peer(".", 1, 1, 1000)));
    assert_eq!(echo(script.expect(&[("", 1, 2001, 0)])), Some(9_000));
}

#[test]
fn a_reset_counts_whatever_its_stamp() {
    // RFC 7323, section 5.2.
    let mut script = stamped(plain());
    script.hear(stamp(5, peer("R", 1, 1, 0)));
    assert_eq!(script.told(), Some(Event::Failed(Failure::ResetByPeer)));
}

#[test]
fn acknowledgements_come_by_the_round_trip_where_that_is_wanted() {
    // CCSDS 714.0-B-2: delayed by a time, not counted. The handshake took 100 ms.
    let mut script = Script::open(Config { acks_per_rtt: 2, ..plain() });
    for n in 0..20 {
        script.hear(peer(".", 1 + n * 1_000, 1, 1_000));
    }
    script.pass(50);
    script.expect(&[("", 1, 20_001, 0)]);
    script.hear(peer(".", 20_001, 1, 1_000));
    script.pass(50);
    script.expect(&[("", 1, 21_001, 0)]);
    // What is missing is told at once.
    script.hear(peer(".", 22_001, 1, 1_000));
    script.expect(&[("", 1, 21_001, 0)]);
}
