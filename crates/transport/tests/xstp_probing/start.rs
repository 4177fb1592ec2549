//! What the start of probing stops and what it leaves alone (P10, P11).

use bentpipe_cc::Phase;
use bentpipe_testkit::{Direction, Pair, pattern};
use bentpipe_transport::xstp::Config;
use bentpipe_units::{Instant, Span};
use bentpipe_wire::Kind;

use crate::support::*;

/// New data that left after `from` and before `until`.
fn new_data(pair: &Pair, from: Instant, until: Instant) -> usize {
    pair.sent(Direction::Forward, Kind::DATA).filter(|c| c.at > from && c.at < until).count()
}

#[test]
fn p10_new_data_stop_although_the_window_has_room() {
    // The loss falls into slow start; what arrived before it opens the window during the cycle.
    let mut pair = wide(gaps_only()).sending(pattern(400_000)).with_script(drop_data(1_040, 1));
    assert!(pair.run(LONG));
    let cycle = cycle(&pair, 0);
    assert_eq!(new_data(&pair, start_of(&cycle), end_of(&cycle)), 0);

    let mut pair = wide(gaps_only()).sending(pattern(400_000)).with_script(drop_data(1_040, 1));
    pair.run_to(end_of(&cycle).before(INTERVAL));
    assert!(window(&pair) > state(&pair).in_flight.get() / 1000);
    assert_eq!(state(&pair).activity, "probing");
}

#[test]
fn p10_the_first_probe_leaves_at_once_and_the_next_a_round_trip_later() {
    for client in [literal(), gaps_only()] {
        let mut pair = in_step(client).sending(pattern(40_000));
        pair = pair.with_script(all_of(vec![
            drop_data(1_010, 1),
            // Nothing is answered, so that the cycle goes on.
            drop_answers(ms(3_500), ms(5_000)),
        ]));
        assert!(pair.run(LONG));
        let start = start_of(&cycle(&pair, 0));
        let probes: Vec<_> = polls(&pair).into_iter().filter(|at| *at >= start).take(3).collect();
        assert_eq!(probes, [start, start + RTT, start + RTT * 2]);
    }
}

#[test]
fn p10_backoff_ends_when_probing_starts() {
    // Without early timeouts polling backs off in the outage. Its end brings a gap report.
    let mut pair = in_step(gaps_only()).sending(pattern(60_000));
    pair = pair.with_script(blackout(ms(3_000), ms(20_000)));
    assert!(pair.run(LONG));
    let cycle = cycle(&pair, 0);
    let before = poll_gaps(&pair, ms(3_000), start_of(&cycle)).into_iter().max();
    assert_eq!(before, Some(INTERVAL * 8));
    let during = poll_gaps(&pair, start_of(&cycle), end_of(&cycle).before(INTERVAL / 10));
    assert!(during.iter().all(|gap| *gap < RTT * 2), "{during:?}");
    // The answer to the first normal POLL would end backoff too, a round trip after the cycle.
    let after = poll_gaps(&pair, end_of(&cycle), end_of(&cycle) + RTT * 2);
    assert!(after.len() >= 3 && after.iter().all(|gap| *gap < RTT / 2), "{after:?}");
}

/// The client right before and right after `at`.
fn around(pair: &mut Pair, at: Instant) -> [(u64, Phase, &'static str); 2] {
    [at.before(Span::from_nanos(1)), at].map(|at| {
        pair.run_to(at);
        let state = state(pair);
        (state.cwnd.expect("a window").get(), state.phase, state.activity)
    })
}

#[test]
fn p11_the_start_changes_neither_window_nor_phase() {
    // Once in slow start and once in avoidance, where a first cycle with congestion leads; by a USTAT
    // and, from a receiver that has none, by a STAT.
    for ustat_delay in [3, 1_000] {
        let run = || {
            let slow = until(ms(6_000), stretch(ms(4_110), RTT / 2));
            let script = all_of(vec![drop_data(1_300, 1), slow, drop_data(1_700, 1)]);
            let server = Config { ustat_delay, ..Config::paper() };
            let pair = Pair::new(gaps_only(), server, DELAY);
            pair.sending(pattern(1_200_000)).with_script(script)
        };
        let mut pair = run();
        assert!(pair.run(LONG));
        let cycles = summary(&pair).first_cycles;
        assert_eq!(cycles.len(), 2);
        assert_eq!(cycles[0].verdict, Some("congestion"));
        let mut pair = run();
        for (cycle, phase) in cycles.iter().zip([Phase::SlowStart, Phase::CongestionAvoidance]) {
            let [before, after] = around(&mut pair, start_of(cycle));
            assert_eq!((before.1, before.2, after.2), (phase, "transmitting", "probing"));
            // What the report acknowledges may open the window of avoidance by less than a segment.
            assert!(before.1 == after.1 && after.0 >= before.0 && after.0 < before.0 + 1_000);
        }
    }
}
