use bentpipe_units::Span;

use super::*;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

fn stamp() -> Stamp {
    Stamp { delivered: 0, delivered_at: at(0), first_sent_at: at(0), app_limited: false }
}

/// So many segments of 100 bytes, one each millisecond.
fn board(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::new(1);
    (0..segments).for_each(|n| board.push(100, false, at(n), stamp()));
    board
}

fn sack(board: &mut Scoreboard, first: u64, end: u64) -> u64 {
    let mut delivered = Delivered::default();
    board.sack(first, end, &mut delivered);
    delivered.bytes
}

#[test]
fn what_is_reported_counts_once_and_leaves_the_pipe() {
    let mut board = board(10);
    assert_eq!(sack(&mut board, 201, 401), 200);
    assert_eq!(sack(&mut board, 201, 501), 100);
    assert_eq!((board.pipe(), board.sacked_bytes()), (700, 300));
    let mut delivered = Delivered::default();
    board.acknowledge(601, &mut delivered);
    assert_eq!((delivered.bytes, delivered.segments), (300, 3));
    assert_eq!(delivered.sent_once.map(|once| once.sent_at), Some(at(5)));
    assert_eq!((board.una(), board.pipe(), board.sacked_bytes()), (601, 400, 0));
}

#[test]
fn a_block_that_covers_a_part_of_a_segment_says_nothing_of_it() {
    let mut board = board(3);
    assert_eq!(sack(&mut board, 150, 250), 0);
    assert_eq!(sack(&mut board, 150, 301), 100);
    assert_eq!(sack(&mut board, 0, u64::MAX), 200);
}

#[test]
fn lost_segments_are_repaired_in_order_and_return_to_the_pipe() {
    let mut board = board(10);
    sack(&mut board, 301, 1001);
    assert_eq!(board.lose_before(301), 300);
    assert_eq!(board.pipe(), 0);
    for n in 0..3 {
        let index = board.next_retransmission().expect("a retransmission");
        assert_eq!(board.get(index).map(|s| s.start), Some(1 + 100 * n));
        board.resend(index, at(50), stamp());
        assert_eq!(board.pipe(), 100 * (n + 1));
    }
    assert_eq!(board.next_retransmission(), None);
    assert_eq!(board.lose(1), 100, "a retransmission can be lost as well");
    assert_eq!((board.next_retransmission(), board.pipe()), (Some(1), 200));
}

#[test]
fn of_what_left_twice_by_way_of_trial_one_is_under_way_when_the_first_is_found_lost() {
    let mut board = board(5);
    for _ in 0..2 {
        board.resend(0, at(10), stamp());
        assert_eq!(board.pipe(), 600, "it is under way twice, not more");
    }
    sack(&mut board, 101, 501);
    assert_eq!(board.lose_before(101), 100);
    assert_eq!((board.pipe(), board.next_retransmission()), (100, None));
    assert_eq!(board.lose_before(101), 0);
    // The second one can be lost as well.
    assert_eq!(board.lose(0), 100);
    assert_eq!((board.pipe(), board.next_retransmission()), (0, Some(0)));
}

#[test]
fn what_was_given_up_and_did_not_leave_again_can_be_believed_and_given_up_once_more() {
    let mut board = board(5);
    sack(&mut board, 301, 501);
    assert_eq!(board.lose_before(301), 300);
    board.resend(0, at(10), stamp());
    board.believe();
    // Two are under way for the first time, one for the second.
    assert_eq!((board.pipe(), board.next_retransmission()), (300, None));
    assert_eq!(board.lose_before(301), 200, "the retransmission of the first one may still come");
    assert_eq!((board.pipe(), board.next_retransmission()), (100, Some(1)));
}

#[test]
fn a_path_that_became_narrow_takes_segments_whose_bytes_fit_whatever_else_they_end() {
    let mut board = board(2);
    board.push(101, true, at(3), stamp());
    board.lose_longer_than(100);
    assert_eq!(board.next_retransmission(), None, "a hundred bytes and a FIN");
    board.lose_longer_than(99);
    assert_eq!(board.pipe(), 0);
}

#[test]
fn after_a_timeout_everything_is_to_be_sent_again() {
    let mut board = board(5);
    sack(&mut board, 201, 401);
    assert_eq!(board.lose_all(), 500);
    assert_eq!((board.pipe(), board.outstanding()), (0, 500));
    assert_eq!(sack(&mut board, 201, 401), 200);
    assert_eq!((board.pipe(), board.next_retransmission()), (0, Some(0)));
}

#[test]
fn a_segment_that_is_too_long_now_is_cut_and_keeps_its_state() {
    let mut board = board(2);
    board.lose(0);
    board.cut(0, 60);
    assert_eq!((board.get(0).map(Sent::end), board.get(1).map(|s| s.len)), (Some(61), Some(40)));
    assert_eq!(board.get(1).map(|s| s.lost), Some(true));
    assert_eq!((board.pipe(), board.outstanding()), (100, 200));
}

#[test]
fn half_a_segment_can_be_acknowledged() {
    let mut board = board(2);
    let mut delivered = Delivered::default();
    board.acknowledge(51, &mut delivered);
    assert_eq!((delivered.bytes, board.outstanding()), (50, 150));
    assert_eq!(board.head().map(|head| (head.start, head.len)), Some((51, 50)));
}
