//! What the receiving side acknowledges and reports.

use super::support::*;

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
