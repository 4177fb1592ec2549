//! What the receiver asks for by SNACK (CCSDS 714.0-B).

use std::collections::BTreeMap;

use bentpipe_cc::Choice;
use bentpipe_transport::Inspect;
use bentpipe_wire::tcp::{ScpsCapabilities, Snack};

use super::support::*;

const BOTH: u8 = ScpsCapabilities::SNACK1 | ScpsCapabilities::SNACK2;

fn capable(bits: u8) -> SynOptions {
    let scps = Some(ScpsCapabilities { bits, connection_id: 0 });
    SynOptions { sack_permitted: true, scps, ..mss(1000) }
}

/// The connection is open; ten segments are out, 1 to 10001, and a round trip of 100 ms has passed.
fn ten_out(config: Config, answer: SynOptions) -> Script {
    let initial_window = InitialWindow::Segments(10);
    let mut script = Script::start(Config { recovery: Mode::Snack, initial_window, ..config });
    let Options::Syn(syn) = script.sent().remove(0).options else { panic!("a SYN") };
    assert_eq!(syn.scps.map(|scps| scps.bits), Some(BOTH));
    script.pass(100);
    script.hear(syn_ack(answer));
    script.expect(&[("", 1, 1, 0)]);
    script.write(50_000);
    assert_eq!(script.sent().len(), 10);
    script.pass(100);
    script
}

/// An acknowledgement that asks for what is missing.
fn snack(ack: u32, hole_offset: u16, hole_size: u16, vector: &[u8]) -> Segment {
    let snack = Snack { hole_offset, hole_size, vector: vector.iter().copied().collect() };
    Segment { options: Options::Snack(snack), ..peer(".", 1, ack, 0) }
}

#[test]
fn what_is_asked_for_leaves_at_once_and_what_the_vector_has_counts_as_arrived() {
    let mut script = ten_out(plain(), capable(BOTH));
    // The first segment is missing, and of the eight behind it the third.
    script.hear(snack(1, 0, 1, &[0b0010_0000]));
    script.expect(&[
        ("", 1, 1, 1000),
        ("", 3001, 1, 1000),
        ("", 10_001, 1, 1000),
        ("", 11_001, 1, 1000),
    ]);
    assert_eq!(script.end.counters().reductions, 1);
}

#[test]
fn a_hole_may_begin_behind_the_acknowledgement() {
    let mut script = ten_out(plain(), capable(BOTH));
    script.hear(snack(1, 2, 2, &[]));
    // All before the end of the hole that was not reported is missing.
    assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(1));
}

#[test]
fn a_repair_is_asked_for_in_vain_for_a_round_trip_and_then_leaves_again() {
    let mut script = ten_out(plain(), capable(BOTH));
    script.hear(snack(1, 0, 1, &[0]));
    assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(1));
    script.pass(50);
    script.hear(snack(1, 0, 1, &[0]));
    script.expect(&[]);
    script.pass(51);
    script.hear(snack(1, 0, 1, &[0]));
    script.expect(&[("", 1, 1, 1000)]);
    assert_eq!(script.end.counters().reductions, 1);
}

#[test]
fn requests_for_more_than_was_sent_ask_for_what_was() {
    let mut script = ten_out(plain(), capable(BOTH));
    script.hear(snack(1, 0, u16::MAX, &[0xff; 33]));
    let places = |sent: Vec<Segment>| -> Vec<u32> {
        sent.iter().map(|sent| sent.seq.distance_from(Seq32::new(ISS))).collect()
    };
    assert_eq!(places(script.sent()), [1, 1001, 2001, 3001, 4001]);
    let mut script = ten_out(plain(), capable(BOTH));
    script.hear(snack(10_001, u16::MAX, u16::MAX, &[0; 33]));
    assert!(places(script.sent()).iter().all(|place| *place > 10_000));
    assert_eq!(script.end.counters().retransmitted_segments, 0);
}

#[test]
fn losses_that_are_known_to_be_noise_leave_the_window_alone() {
    let corrupt = BTreeMap::from([("assume_corruption".to_owned(), 1.0)]);
    let controller = Choice::new("scps", corrupt).expect("a controller");
    let mut script = ten_out(Config { controller, ..plain() }, capable(BOTH));
    let before = script.end.sender_state().cwnd;
    script.hear(snack(1, 0, 1, &[0]));
    assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(1));
    assert_eq!((script.end.counters().reductions, script.end.sender_state().cwnd), (0, before));
}

#[test]
fn a_peer_without_both_forms_of_it_is_heard_by_its_sack() {
    for bits in [0, ScpsCapabilities::SNACK1] {
        let mut script = ten_out(plain(), capable(bits));
        script.hear(snack(1, 0, 1, &[0]));
        script.expect(&[]);
        script.hear(sack(1, &[(1001, 4001)]));
        assert_eq!(script.sent()[0].seq, Seq32::new(ISS).plus(1));
    }
}

#[test]
fn the_receiver_asks_for_the_first_hole_and_for_what_whole_bytes_of_the_vector_show() {
    let mut script = ten_out(plain(), capable(BOTH));
    let mut asks = |seq: u32| {
        script.hear(peer(".", seq, 1, 1000));
        script.sent().pop().expect("an answer").options
    };
    let snack = |hole_offset, hole_size, vector: &[u8]| {
        let vector = vector.iter().copied().collect();
        Options::Snack(Snack { hole_offset, hole_size, vector })
    };
    assert_eq!(asks(1), Options::None);
    assert_eq!(asks(3001), snack(0, 2, &[]));
    for seq in [4001, 6001, 7001, 8001, 9001] {
        assert_eq!(asks(seq), snack(0, 2, &[]));
    }
    // Eight segments behind the hole: the third is missing.
    assert_eq!(asks(10_001), snack(0, 2, &[0b0010_0000]));
    assert_eq!(asks(1001), snack(0, 1, &[0b0010_0000]));
    assert_eq!(asks(2001), snack(0, 1, &[]));
    assert_eq!(asks(5001), Options::None);
}

#[test]
fn what_is_missing_in_part_is_asked_for_whole() {
    let mut script = ten_out(plain(), capable(BOTH));
    script.hear(peer(".", 501, 1, 200));
    let answer = script.sent().pop().expect("an answer");
    let expected = Snack { hole_offset: 0, hole_size: 1, vector: [].into_iter().collect() };
    assert_eq!(answer.options, Options::Snack(expected));
}
