//! Figures 1 to 3 of the paper, section 4, on the wire. Figure 4, the map, is tested next to it.

use bentpipe_testkit::{Crossing, Direction, Fate, Pair, pattern};
use bentpipe_transport::Inspect;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{Instant, Span};
use bentpipe_wire::Kind;

use crate::support::*;

/// When a segment arrived that took 150 ms or more.
fn arrival(c: &Crossing) -> Option<Instant> {
    match c.fate {
        Fate::Pass => Some(c.at + DELAY),
        Fate::Late(by) => Some(c.at + DELAY + by),
        _ => None,
    }
}

/// Asserts figure 1: the drop breaks the interleaf, the break is found when a POLL is due, and that
/// POLL is the first probe. Returns how long it took.
fn found_after_the_drop(pair: &Pair) -> Span {
    let dropped = pair.log.iter().find(|c| c.fate == Fate::Drop).expect("a drop").at;
    let cycle = cycle(pair, 0);
    assert_eq!(cycle.trigger, "early_timeout");
    let start = start_of(&cycle);
    // Two POLLs left with no STAT in between.
    let last_poll = polls(pair).into_iter().rfind(|at| *at < start).expect("a POLL");
    let came = |at: Instant| at > last_poll && at <= start;
    assert!(!pair.sent(Direction::Return, Kind::STAT).filter_map(arrival).any(came));
    assert_eq!(
        sent_at(pair, start).iter().map(|c| c.segment.kind()).collect::<Vec<_>>(),
        [Kind::POLL]
    );
    start.since(dropped)
}

#[test]
fn figure_1_one_lost_poll_is_found_by_an_early_timeout() {
    for k in 24..44 {
        let lost = drop_nth(Direction::Forward, Kind::POLL, k);
        let mut pair = wide(literal()).sending(pattern(800_000)).with_script(lost);
        pair.run_to(ms(9_000));
        let delay = found_after_the_drop(&pair);
        assert!(delay > RTT / 3 && delay <= RTT + INTERVAL, "{k}: {delay}");
    }
}

#[test]
fn figure_1_one_lost_stat_is_found_by_an_early_timeout() {
    for k in 24..44 {
        let lost = drop_nth(Direction::Return, Kind::STAT, k);
        let mut pair = wide(literal()).sending(pattern(800_000)).with_script(lost);
        pair.run_to(ms(9_000));
        let delay = found_after_the_drop(&pair);
        assert!(delay > RTT / 3 && delay <= RTT + INTERVAL, "{k}: {delay}");
    }
}

#[test]
fn figure_1_with_slack_a_lost_stat_may_be_found_where_stats_do_not_come_in_step() {
    // Found are those that would have come before their POLL while the next one comes after its.
    let mut found = 0;
    for k in 24..44 {
        let lost = drop_nth(Direction::Return, Kind::STAT, k);
        let mut pair = in_step(prober()).sending(pattern(100_000));
        pair = pair.with_script(all_of(vec![lost, jitter()]));
        pair.run_to(ms(9_000));
        if summary(&pair).cycles > 0 {
            found += 1;
            let delay = found_after_the_drop(&pair);
            assert!(delay > RTT / 3 && delay <= RTT + INTERVAL, "{k}: {delay}");
        }
    }
    assert!(found >= 5, "{found}");
}

/// The path grows from 100 ms each way to this at 4 s.
fn longer_path(client: Config, delay: [Span; 2]) -> Pair {
    let short = Span::from_millis(100);
    let mut pair = Pair::new(client, Config::paper(), short);
    pair = pair.sending(pattern(900_000));
    pair.run_to(ms(4_000));
    assert_eq!(summary(&pair).cycles, 0);
    pair.delay = delay;
    pair
}

#[test]
fn figure_2_a_stretched_round_trip_gives_a_false_early_timeout_that_an_empty_stat_ends() {
    // With slack a stretch of 50 ms is not enough, which is what it is for: twice as much, one way.
    let one_way = [Span::from_millis(200), Span::from_millis(100)];
    for (client, delay) in [(literal(), [DELAY; 2]), (prober(), one_way)] {
        let mut pair = longer_path(client, delay);
        pair.run_to(ms(4_800));
        let cycle = cycle(&pair, 0);
        assert_eq!((cycle.trigger, cycle.verdict), ("early_timeout", Some("premature")));
        assert!(start_of(&cycle) > ms(4_000) && start_of(&cycle) < ms(4_500));
        // The STAT that was waited for is the first one that comes, and it misses nothing.
        let stats =
            pair.sent(Direction::Return, Kind::STAT).filter(|c| c.at + delay[1] <= end_of(&cycle));
        let last = stats.last().and_then(report_of).expect("a STAT");
        assert!(last.gaps.is_empty());
        let at_poll = Span::from_micros(u64::from(last.ts_echo) * 100);
        assert!(Instant::ZERO + at_poll < start_of(&cycle));
        assert!(length_of(&cycle) < INTERVAL);
        // It cost one POLL: nothing was retransmitted and the window is whole.
        assert_eq!((cycle.probes, window(&pair), reductions(&pair)), (1, 64, 0));
        assert!(pair.run(LONG));
        let session = pair.client.session.as_ref().expect("a client");
        assert_eq!(session.counters().retransmitted_segments, 0);
        assert_eq!(pair.server.inbox, pattern(900_000));
    }
}

#[test]
fn figure_2_an_answer_that_takes_longer_is_given_another_round_trip() {
    // TCP-probing would give up the exchange after a round trip and start a new one.
    let mut pair = one_poll(literal()).sending(pattern(60_000));
    pair = pair.with_script(all_of(vec![drop_data(1_010, 1), stretch(ms(3_600), RTT / 2)]));
    assert!(pair.run(LONG));
    let cycle = cycle(&pair, 0);
    // The first probe's answer came after the second had left, and both count.
    assert_eq!(measured(&cycle), [RTT * 3 / 2; 2]);
    assert_eq!(length_of(&cycle), RTT + RTT * 3 / 2);
}

#[test]
fn figure_2_an_exchange_followed_by_two_newer_ones_is_obsolete() {
    // The answer to the first probe takes more than three round trips, the others one.
    let slow = until(ms(3_600) + DELAY * 2, stretch(ms(3_600), RTT * 3));
    let mut pair = one_poll(literal()).sending(pattern(60_000));
    pair = pair.with_script(all_of(vec![drop_data(1_010, 1), slow]));
    assert!(pair.run(LONG));
    let cycle = cycle(&pair, 0);
    assert_eq!((measured(&cycle), length_of(&cycle)), (vec![RTT; 2], RTT * 3));
    assert_eq!(cycle.verdict, Some("link"));
}

#[test]
fn figure_3_a_cycle_goes_through_its_phases_on_the_wire() {
    // The path is dead for 1.5 s.
    let (dead, alive) = (ms(5_000), ms(6_500));
    let mut pair = wide(prober()).sending(pattern(900_000)).with_script(blackout(dead, alive));
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(900_000));
    let cycle = cycle(&pair, 0);
    let (start, end) = (start_of(&cycle), end_of(&cycle));
    assert_eq!((cycle.trigger, cycle.verdict), ("early_timeout", Some("link")));

    // From the loss to its detection: data go on into the outage, for less than two round trips.
    assert!(start > dead && start < dead + RTT * 2);
    let data = |from: Instant, to: Instant| {
        pair.sent(Direction::Forward, Kind::DATA).filter(move |c| c.at > from && c.at < to).count()
    };
    assert!(data(dead, start) > 0);
    // Probes without answer: one for each round trip, and nothing else.
    let probes: Vec<_> = polls(&pair).into_iter().filter(|at| *at >= start && *at < end).collect();
    assert_eq!(probes.len() as u64, cycle.probes);
    let step = probes[1].since(probes[0]);
    assert!(probes.windows(2).all(|two| two[1].since(two[0]) == step) && step <= RTT);
    assert!(probes.iter().filter(|at| **at < alive).count() >= 4);
    assert_eq!(data(start, end), 0);
    // Two answers in a row after the outage: to the first two probes that got through both ways.
    let through: Vec<_> = probes.into_iter().filter(|at| *at >= alive).collect();
    assert_eq!(end, through[1] + RTT);
    // Retransmissions and then new data at the old level.
    let numbers: Vec<_> = sent_at(&pair, end).iter().map(|c| c.segment.seq.get()).collect();
    let again = numbers.iter().filter(|seq| times_sent(&pair, **seq)[0] < start).count();
    assert!(again > 0 && numbers[..again].windows(2).all(|two| two[0] < two[1]));
    assert!(data(end, end + RTT * 2) > 64 / 2);
    assert_eq!(reductions(&pair), 0);
}
