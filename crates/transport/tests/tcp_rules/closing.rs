//! Closing, resetting, and what is not believed.

use super::support::*;
use bentpipe_transport::Inspect;

#[test]
fn the_end_that_closes_first_waits_and_answers_a_fin_that_comes_again() {
    let mut script = Script::open(plain());
    script.write(10);
    script.end.close(script.now);
    script.expect(&[("F", 1, 1, 10)]);
    assert_eq!(script.end.state(), State::FinWait1);
    script.hear(peer(".", 1, 12, 0));
    assert_eq!(script.end.state(), State::FinWait2);
    script.hear(peer("F.", 1, 12, 5));
    script.expect(&[("", 12, 7, 0)]);
    assert_eq!(script.end.state(), State::TimeWait);
    script.pass(900);
    script.hear(peer("F.", 6, 12, 0));
    script.expect(&[("", 12, 7, 0)]);
    script.pass(999);
    assert_eq!(script.end.state(), State::TimeWait);
    script.pass(1);
    assert_eq!((script.end.state(), script.end.poll_timeout()), (State::Closed, None));
}

#[test]
fn the_end_that_closes_last_is_closed_by_the_acknowledgement_of_its_fin() {
    let mut script = Script::open(plain());
    script.hear(peer("F.", 1, 1, 0));
    script.expect(&[("", 1, 2, 0)]);
    assert_eq!(script.end.state(), State::CloseWait);
    script.end.close(script.now);
    script.expect(&[("F", 1, 2, 0)]);
    assert_eq!(script.end.state(), State::LastAck);
    script.hear(peer(".", 2, 2, 0));
    assert_eq!(script.end.state(), State::Closed);
}

#[test]
fn only_the_next_number_resets_and_others_are_challenged() {
    let mut script = Script::open(plain());
    script.hear(peer("R", 500, 0, 0));
    script.expect(&[("", 1, 1, 0)]);
    script.hear(peer("S", 300, 0, 0));
    script.expect(&[("", 1, 1, 0)]);
    script.hear(peer("R", 99_000, 0, 0));
    script.expect(&[]);
    script.hear(peer("R", 1, 0, 0));
    assert_eq!(script.end.state(), State::Closed);
}

#[test]
fn challenges_are_answered_ten_times_in_five_seconds() {
    let mut script = Script::open(plain());
    for n in 0..50 {
        script.hear(peer("S", 300, 0, 0));
        assert_eq!(script.sent().len(), usize::from(n < 10));
    }
}

#[test]
fn what_was_never_sent_can_not_be_acknowledged() {
    let mut script = Script::open(plain());
    script.write(1000);
    script.expect(&[("", 1, 1, 1000)]);
    script.hear(peer(".", 1, 1002, 0));
    script.expect(&[("", 1001, 1, 0)]);
    assert_eq!(script.end.sender_state().in_flight, ByteCount::new(1000));
}

#[test]
fn old_duplicates_are_known_by_their_stamp() {
    let mut script = Script::start(Config { timestamps: true, ..plain() });
    script.sent();
    script.pass(100);
    let stamp =
        |value, segment| Segment { timestamps: Some(Timestamps { value, echo: 1 }), ..segment };
    script.hear(stamp(1_000, syn_ack(mss(1000))));
    assert_eq!(script.sent()[0].timestamps.map(|stamps| stamps.echo), Some(1_000));
    script.hear(stamp(999, peer(".", 1, 1, 100)));
    script.expect(&[("", 1, 1, 0)]);
    script.hear(stamp(1_001, peer(".", 1, 1, 100)));
    script.expect(&[("", 1, 101, 0)]);
    script.hear(peer(".", 101, 1, 100));
    script.expect(&[]);
}

#[test]
fn both_ends_may_close_at_once() {
    let mut script = Script::open(plain());
    script.end.close(script.now);
    script.expect(&[("F", 1, 1, 0)]);
    script.hear(peer("F.", 1, 1, 0));
    script.expect(&[("", 2, 2, 0)]);
    assert_eq!(script.end.state(), State::Closing);
    script.hear(peer(".", 2, 2, 0));
    assert_eq!(script.end.state(), State::TimeWait);
}

#[test]
fn the_other_direction_goes_on_after_a_fin() {
    let mut script = Script::open(plain());
    script.end.close(script.now);
    script.expect(&[("F", 1, 1, 0)]);
    script.hear(peer(".", 1, 2, 100));
    script.expect(&[("", 2, 101, 0)]);
    assert_eq!(script.end.state(), State::FinWait2);
    script.hear(peer("F.", 101, 2, 100));
    script.expect(&[("", 2, 202, 0)]);
    assert_eq!(script.end.state(), State::TimeWait);
}
