//! Probes for the end of a flight (RFC 8985, section 7).

use super::support::*;
use bentpipe_transport::Inspect;

/// Twenty segments are out, 1 to 20001, the first one is acknowledged after 100 ms, and the others are not heard of. No
/// more is to be sent.
fn silent() -> Script {
    let config = Config {
        recovery: Mode::Rack,
        tail_loss_probe: true,
        proportional_reduction: true,
        initial_window: InitialWindow::Segments(20),
        ..plain()
    };
    let mut script = Script::open(config);
    script.write(20_000);
    assert_eq!(script.sent().len(), 20);
    script.pass(100);
    script.hear(peer(".", 1, 1001, 0));
    script
}

/// The probe left, two round trips later.
fn probed() -> Script {
    let mut script = silent();
    script.pass(202);
    script.expect(&[("", 19_001, 1, 1000)]);
    script
}

fn ssthresh(script: &Script) -> Option<u64> {
    script.end.sender_state().ssthresh.map(ByteCount::get)
}

/// Another segment leaves and is acknowledged: the threshold after that.
fn one_more(script: &mut Script, seq: u32) -> Option<u64> {
    script.write(1_000);
    script.expect(&[("", seq, 1, 1000)]);
    script.pass(100);
    script.hear(peer(".", 1, seq + 1_000, 0));
    ssthresh(script)
}

#[test]
fn a_loss_that_the_probe_repaired_reduces_the_window_once() {
    let mut script = silent();
    script.hear(peer(".", 1, 19_001, 0));
    // A single segment: its acknowledgement may be late.
    script.pass(400);
    script.expect(&[("", 19_001, 1, 1000)]);
    script.pass(100);
    script.hear(peer(".", 1, 20_001, 0));
    assert_eq!(ssthresh(&script), None);
    let reduced = one_more(&mut script, 20_001);
    assert!(reduced.is_some());
    assert_eq!(one_more(&mut script, 21_001), reduced);
}

#[test]
fn losses_that_the_answer_to_a_probe_shows_reduce_the_window_once() {
    let mut script = probed();
    script.pass(100);
    script.hear(sack(1001, &[(19_001, 20_001)]));
    script.expect(&[("", 1001, 1, 1000)]);
    script.pass(100);
    script.hear(peer(".", 1, 20_001, 0));
    let reduced = ssthresh(&script);
    assert!(reduced > Some(9_000), "{reduced:?}");
    assert_eq!(one_more(&mut script, 20_001), reduced);
}

#[test]
fn after_a_timeout_a_probe_that_was_lost_reduces_nothing_more() {
    let mut script = probed();
    // The time of another one passes, as one is under way, and the timeout counts from there.
    script.pass(202);
    script.pass(1_000);
    loop {
        let sent = script.sent();
        let Some(last) = sent.last() else { break };
        let end = last.seq.plus(1_000).distance_from(Seq32::new(ISS));
        script.pass(100);
        script.hear(peer(".", 1, end, 0));
    }
    let reduced = ssthresh(&script);
    assert!(reduced > Some(9_000), "{reduced:?}");
    assert_eq!(one_more(&mut script, 20_001), reduced);
}
