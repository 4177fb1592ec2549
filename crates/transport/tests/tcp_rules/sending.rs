//! What may leave: windows, marks, sizes.

use bentpipe_transport::Inspect;
use std::cell::RefCell;
use std::collections::BTreeMap;

use bentpipe_cc::{Ack, Choice, Controller, Limits, Loss, PathView, Phase, Row, Snapshot};

use super::support::*;

#[test]
fn a_mark_is_echoed_until_the_peer_has_reduced_and_an_echo_is_answered_by_the_next_new_segment() {
    let mut script = Script::start(Config { ecn: EcnMode::Classic, ..plain() });
    assert_eq!(script.sent()[0].flags, flags("SEW"));
    script.pass(100);
    let answer = syn_ack(mss(1000));
    script.hear(Segment { flags: flags("S.E"), ..answer });
    script.sent();
    script.hear(Segment { ecn: Ecn::Congestion, ..peer(".", 1, 1, 100) });
    script.expect(&[("E", 1, 101, 0)]);
    script.hear(peer(".", 101, 1, 100));
    script.expect(&[("E", 1, 201, 0)]);
    script.hear(peer(".W", 201, 1, 100));
    script.expect(&[("", 1, 301, 0)]);
    script.write(50_000);
    let sent = script.expect(&[("", 1, 301, 1000), ("", 1001, 301, 1000)]);
    assert_eq!(sent[0].ecn, Ecn::Capable0);
    script.hear(peer(".E", 301, 1001, 0));
    script.expect(&[("W", 2001, 301, 1000)]);
}

#[test]
fn where_each_mark_is_told_acknowledgements_say_which_data_were_marked() {
    // RFC 8257, section 3.2.
    let mut script = Script::start(Config { ecn: EcnMode::Dctcp, ack_every: 2, ..plain() });
    assert_eq!(script.sent()[0].flags, flags("SEW"));
    script.pass(100);
    script.hear(Segment { flags: flags("S.E"), ..syn_ack(mss(1000)) });
    script.sent();
    let marked = |seq| Segment { ecn: Ecn::Congestion, ..peer(".", seq, 1, 100) };
    script.hear(peer(".", 1, 1, 100));
    script.hear(marked(101));
    script.expect(&[("", 1, 101, 0), ("E", 1, 201, 0)]);
    script.hear(marked(201));
    script.expect(&[]);
    script.hear(peer(".", 301, 1, 100));
    script.expect(&[("E", 1, 301, 0), ("", 1, 401, 0)]);
    // Marks begin while nothing waits.
    script.hear(marked(401));
    script.expect(&[("E", 1, 501, 0)]);
    script.hear(peer(".W", 501, 1, 100));
    script.expect(&[("", 1, 601, 0)]);
}

thread_local! {
    /// What [`Listener`] was told: bytes, and how many of them were marked.
    static TOLD: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
}

/// A controller that keeps what it is told of marks.
#[derive(Debug)]
struct Listener;

static LISTENER: Row = Row {
    name: "listener",
    summary: "keeps what it is told",
    citation: "this test",
    parameters: &[],
    build: &|_| Box::new(Listener),
};

impl Controller for Listener {
    fn on_ack(&mut self, _path: &PathView, ack: &Ack) {
        TOLD.with_borrow_mut(|told| told.push((ack.bytes.get(), ack.marked.get())));
    }

    fn on_loss(&mut self, _path: &PathView, _loss: &Loss) {}

    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { phase: Phase::Other("listening"), cwnd: None, ssthresh: None, gauges: vec![] }
    }
}

#[test]
fn a_controller_is_told_how_much_of_what_arrived_was_marked() {
    let controller = Choice::custom(&LISTENER, BTreeMap::new()).expect("no parameters");
    let mut script = Script::start(Config { ecn: EcnMode::L4s, controller, ..plain() });
    script.sent();
    script.pass(100);
    let answer = syn_ack(SynOptions { sack_permitted: true, ..mss(1000) });
    script.hear(Segment { flags: flags("S.E"), ..answer });
    script.expect(&[("", 1, 1, 0)]);
    script.write(10_000);
    let sent = script.sent();
    assert!(sent.len() == 10 && sent.iter().all(|segment| segment.ecn == Ecn::Capable1));
    script.pass(100);
    script.hear(peer(".", 1, 2001, 0));
    script.hear(peer(".E", 1, 5001, 0));
    // What is reported selectively counts, too.
    script.hear(Segment { flags: flags(".E"), ..sack(5001, &[(6001, 8001)]) });
    script.hear(peer(".", 1, 10_001, 0));
    let told = TOLD.take();
    assert_eq!(told, [(2000, 0), (3000, 3000), (2000, 2000), (3000, 0)]);
}

/// Ten segments are out over a path that marks, 1 to 10001.
fn marking() -> Script {
    let initial_window = InitialWindow::Segments(10);
    let mut script = Script::start(Config { ecn: EcnMode::Classic, initial_window, ..plain() });
    script.sent();
    script.pass(100);
    let answer = syn_ack(SynOptions { sack_permitted: true, ..mss(1000) });
    script.hear(Segment { flags: flags("S.E"), ..answer });
    script.expect(&[("", 1, 1, 0)]);
    script.write(50_000);
    assert_eq!(script.sent().len(), 10);
    script.pass(100);
    script
}

/// The peer has not heard yet that the window was reduced.
fn marked(segment: Segment) -> Segment {
    Segment { flags: segment.flags.with(Flags::ECE), ..segment }
}

#[test]
fn marks_of_one_window_reduce_it_once_and_the_next_new_segment_alone_says_so() {
    // RFC 3168, section 6.1.2.
    let mut script = marking();
    for ack in [1001, 2001, 3001, 4001] {
        script.hear(marked(peer(".", 1, ack, 0)));
        assert_eq!(script.end.counters().reductions, 1, "{ack}");
        // The first of them made it eleven segments, and half of it.
        let cwnd = script.end.sender_state().cwnd.expect("a window").get();
        assert!((5_500..6_500).contains(&cwnd), "{cwnd}");
        script.expect(&[]);
    }
    script.hear(marked(peer(".", 1, 5001, 0)));
    script.expect(&[("W", 10_001, 1, 1000)]);
    // All that had left before: the peer cannot have heard of the reduction yet.
    script.hear(marked(peer(".", 1, 10_001, 0)));
    assert_eq!(script.end.counters().reductions, 1);
    assert!(script.sent().iter().all(|s| !s.flags.contains(Flags::CWR)));
    // It has heard by now: this is another mark.
    script.hear(marked(peer(".", 1, 11_001, 0)));
    assert_eq!(script.end.counters().reductions, 2);
}

#[test]
fn a_mark_in_a_recovery_reduces_nothing_more() {
    // RFC 3168, section 6.1.2: a loss and a mark of one window are one reduction.
    let mut script = marking();
    script.hear(sack(1, &[(1001, 4001)]));
    script.expect(&[("", 1, 1, 1000)]);
    let state =
        |script: &Script| (script.end.counters().reductions, script.end.sender_state().cwnd);
    assert_eq!(state(&script), (1, Some(ByteCount::new(5_000))));
    script.hear(marked(sack(1, &[(1001, 6001)])));
    script.expect(&[]);
    assert_eq!(state(&script), (1, Some(ByteCount::new(5_000))));
    script.hear(marked(sack(1, &[(1001, 7001)])));
    script.expect(&[("W", 10_001, 1, 1000)]);
    assert_eq!(state(&script), (1, Some(ByteCount::new(5_000))));
}

#[test]
fn retransmissions_and_acknowledgements_can_not_be_marked() {
    // RFC 3168, sections 6.1.4 and 6.1.5.
    let mut script = marking();
    script.hear(peer(".", 1, 1, 100));
    let ack = script.expect(&[("", 10_001, 101, 0)]);
    assert_eq!(ack[0].ecn, Ecn::NotCapable);
    script.pass(900);
    let repair = script.expect(&[("", 1, 101, 1000)]);
    assert_eq!(repair[0].ecn, Ecn::NotCapable);
    script.hear(peer(".", 101, 10_001, 0));
    let new = script.sent();
    assert!(!new.is_empty() && new.iter().all(|s| s.ecn == Ecn::Capable0));
}

#[test]
fn nagle_holds_a_short_segment_until_everything_is_acknowledged() {
    let mut script = Script::open(Config { nagle: true, ..plain() });
    script.write(10);
    script.expect(&[("", 1, 1, 10)]);
    script.write(10);
    script.expect(&[]);
    script.hear(peer(".", 1, 11, 0));
    script.expect(&[("", 11, 1, 10)]);
}

#[test]
fn a_smaller_path_mtu_cuts_what_is_sent_again_and_keeps_the_window() {
    let mut script = Script::four_out(plain());
    let before = script.end.sender_state().cwnd;
    script.expect(&[]);
    script.end.set_path_mtu(script.now, 540);
    // RFC 1191, section 6.5: one segment until acknowledgements come, and the window stays.
    script.expect(&[("", 2001, 1, 500)]);
    assert_eq!(script.end.sender_state().cwnd, before);
    assert_eq!(script.end.counters().reductions, 0);
    script.hear(peer(".", 1, 2501, 0));
    let again = script.sent();
    assert!(again.len() > 1 && again.iter().all(|s| s.payload.len() == 500), "{again:?}");
    assert_eq!(again[0].seq, Seq32::new(ISS).plus(2501));
    script.hear(peer(".", 1, 6001, 0));
    let new = script.sent();
    assert!(!new.is_empty() && new.iter().all(|s| s.payload.len() == 500), "{new:?}");
    // The path carries longer ones again, but never longer than the peer takes.
    script.end.set_path_mtu(script.now, 9_000);
    script.hear(peer(".", 1, 8001, 0));
    let longer = script.sent();
    assert!(!longer.is_empty() && longer.iter().all(|s| s.payload.len() == 1000), "{longer:?}");
}

#[test]
fn after_idle_time_the_window_starts_over() {
    let mut script = Script::open(plain());
    script.write(6_000);
    for ack in [0, 1001, 2001, 4001, 6001] {
        if ack > 0 {
            script.hear(peer(".", 1, ack, 0));
        }
        script.sent();
    }
    script.pass(2_000);
    script.write(20_000);
    assert_eq!(script.sent().len(), 2);
}

#[test]
fn a_pause_halves_the_window_of_linux_for_each_timeout_that_passed() {
    for (pause, segments) in [(900, 8), (1_100, 4), (2_100, 2), (60_000, 2)] {
        let mut script = Script::open(Config { idle_halving: true, ..plain() });
        script.write(6_000);
        for ack in [0, 1001, 2001, 4001, 6001] {
            if ack > 0 {
                script.hear(peer(".", 1, ack, 0));
            }
            script.sent();
        }
        script.pass(pause);
        script.write(20_000);
        assert_eq!(script.sent().len(), segments, "{pause} ms");
    }
}

#[test]
fn an_acknowledgement_of_two_segments_opens_the_window_by_two_and_after_a_timeout_by_one() {
    let mut script = Script::open(Config { ack_every: 2, ..plain() });
    script.write(50_000);
    assert_eq!(script.sent().len(), 2);
    script.hear(peer(".", 1, 2001, 0));
    assert_eq!(script.sent().len(), 4, "RFC 3465, section 2.2: L is 2");
    script.pass(1_000);
    script.expect(&[("", 2001, 1, 1000)]);
    script.hear(peer(".", 1, 4001, 0));
    assert_eq!(script.sent().len(), 2, "section 2.3: L is 1");
}

#[test]
fn an_acknowledgement_in_pieces_opens_the_window_by_bytes_and_not_by_pieces() {
    // RFC 3465, section 1: a receiver gains nothing by acknowledging a segment bit by bit.
    let mut script = Script::open(plain());
    script.write(50_000);
    script.expect(&[("", 1, 1, 1000), ("", 1001, 1, 1000)]);
    for ack in [101, 301, 601, 901] {
        script.hear(peer(".", 1, ack, 0));
    }
    let early = script.sent().len();
    script.hear(peer(".", 1, 1001, 0));
    assert_eq!(early + script.sent().len(), 2, "one that left the network, and one more");
}

#[test]
fn the_initial_window_is_what_the_settings_say_and_one_segment_after_a_lost_syn() {
    for (window, segments) in [
        (InitialWindow::Segments(1), 1),
        (InitialWindow::Segments(3), 3),
        (InitialWindow::Rfc3390, 4),
        (InitialWindow::Rfc6928, 10),
    ] {
        let config = Config { initial_window: window, ..plain() };
        let mut script = Script::open(config.clone());
        script.write(50_000);
        assert_eq!(script.sent().len(), segments, "{window:?}");
        let mut script = Script::start(config);
        script.sent();
        script.pass(1_000);
        assert_eq!(script.sent().len(), 1);
        script.hear(syn_ack(mss(1000)));
        script.sent();
        script.write(50_000);
        assert_eq!(script.sent().len(), 1, "{window:?} after a lost SYN");
    }
}

#[test]
fn the_peers_window_is_obeyed_as_it_is_shifted() {
    let mut script = Script::start(Config {
        window_scaling: true,
        initial_window: InitialWindow::Segments(10),
        ..plain()
    });
    script.sent();
    script.hear(Segment {
        window: 3_000,
        ..syn_ack(SynOptions { window_shift: Some(2), ..mss(1000) })
    });
    script.sent();
    script.write(50_000);
    assert_eq!(script.sent().len(), 3, "the window of a SYN is not shifted");
    script.hear(Segment { window: 1_000, ..peer(".", 1, 1001, 0) });
    // 1001 to 5001 are allowed, of which 1001 to 3001 are under way.
    script.expect(&[("", 3001, 1, 1000), ("", 4001, 1, 1000)]);
}

#[test]
fn after_idle_time_fast_start_lowers_the_priority_of_all_but_the_first_segment() {
    let controller = Choice::new("fast-start", BTreeMap::new()).expect("a controller");
    let mut script = Script::open(Config { controller, ..plain() });
    script.write(6_000);
    for ack in [0, 1001, 2001, 4001, 6001] {
        if ack > 0 {
            script.hear(peer(".", 1, ack, 0));
        }
        assert!(script.sent().iter().all(|s| !s.low_priority));
    }
    script.pass(2_000);
    script.write(20_000);
    let low: Vec<bool> = script.sent().iter().map(|s| s.low_priority).collect();
    assert_eq!(low[..3], [false, true, true], "{low:?}");
}
