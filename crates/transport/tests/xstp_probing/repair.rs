//! What follows a decision: the reaction, the retransmissions, then new data (P28, P29).

use bentpipe_testkit::{Crossing, Direction, Fate, Pair, pattern};
use bentpipe_transport::xstp::Config;
use bentpipe_wire::Kind;

use crate::support::*;

/// These are lost in slow start, when the window has room.
const LOST: [u32; 3] = [1_040, 1_042, 1_043];

/// Runs a cycle about them, with answers late by a half round trip or in time.
fn probed(congested: bool) -> Pair {
    let mut scripts: Vec<_> = LOST.iter().map(|seq| drop_data(*seq, 1)).collect();
    if congested {
        scripts.push(stretch(ms(2_380), RTT / 2));
    }
    let mut pair = wide(gaps_only()).sending(pattern(400_000)).with_script(all_of(scripts));
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(400_000));
    let verdict = if congested { "congestion" } else { "link" };
    assert_eq!(cycle(&pair, 0).verdict, Some(verdict));
    pair
}

#[test]
fn p28_the_missing_segments_go_first_and_then_new_data_with_a_poll_on_the_last() {
    let pair = probed(false);
    let burst = sent_at(&pair, end_of(&cycle(&pair, 0)));
    let numbers: Vec<_> = burst.iter().map(|c| c.segment.seq.get()).collect();
    assert_eq!(numbers[..3], LOST);
    assert!(burst.iter().all(|c| c.has(Kind::DATA)));
    // New data: never sent before, in order.
    let new = &numbers[3..];
    assert!(!new.is_empty() && new.windows(2).all(|two| two[0] + 1 == two[1]), "{numbers:?}");
    assert!(new.iter().all(|seq| times_sent(&pair, *seq).len() == 1));
    let with_poll: Vec<_> = burst.iter().map(|c| c.has(Kind::POLL)).collect();
    assert!(with_poll[numbers.len() - 1] && !with_poll[..numbers.len() - 1].contains(&true));
}

#[test]
fn p28_the_reaction_comes_before_new_data() {
    // Half the window is less than what is outstanding: only the retransmissions leave, and a POLL.
    let pair = probed(true);
    let burst = sent_at(&pair, end_of(&cycle(&pair, 0)));
    let numbers: Vec<_> = burst.iter().map(|c| c.segment.seq.get()).collect();
    assert_eq!(numbers[..3], LOST);
    assert_eq!((numbers.len(), burst[3].segment.kind()), (4, Kind::POLL));
}

#[test]
fn p28_what_is_missing_is_repaired_once_and_not_before_the_end() {
    for congested in [false, true] {
        let pair = probed(congested);
        for seq in LOST {
            assert_eq!(times_sent(&pair, seq)[1..], [end_of(&cycle(&pair, 0))]);
        }
    }
}

#[test]
fn p28_polls_come_at_the_normal_rate_again() {
    let pair = probed(false);
    let end = end_of(&cycle(&pair, 0));
    let during = poll_gaps(&pair, start_of(&cycle(&pair, 0)), end.before(INTERVAL));
    assert!(during.iter().all(|gap| *gap == RTT));
    let after = poll_gaps(&pair, end, end + RTT * 3);
    assert!(after.len() >= 8 && after.iter().all(|gap| *gap <= INTERVAL), "{after:?}");
}

#[test]
fn p28_a_second_cycle_begins_with_a_descriptor_and_a_map_of_its_own() {
    // The first cycle ends with slow answers. The second takes its reference from what the estimate
    // has become, and needs as many answers as the first.
    let script =
        all_of(vec![drop_data(1_010, 1), drop_data(1_030, 1), stretch(ms(3_600), RTT / 2)]);
    let mut pair = one_poll(literal()).sending(pattern(80_000)).with_script(script);
    assert!(pair.run(LONG));
    let cycles = summary(&pair).first_cycles;
    let link: Vec<_> = cycles.iter().filter(|c| c.verdict == Some("link")).collect();
    assert_eq!(cycles[0].verdict, Some("congestion"));
    assert!(!link.is_empty(), "{cycles:?}");
    assert!(link.iter().all(|c| measured(c) == [RTT * 3 / 2; 2] && c.probes >= 2));
}

#[test]
fn p29_gaps_of_ustats_that_were_ignored_are_repaired_with_the_last_stat() {
    let server = Config { ustat_delay: 1, ..Config::paper() };
    let mut pair = Pair::new(gaps_only(), server, DELAY).sending(pattern(900_000));
    pair = pair.with_script(all_of(vec![drop_data(1_300, 1), drop_data(1_315, 1)]));
    assert!(pair.run(LONG));
    let cycle = cycle(&pair, 0);
    let names = |c: &&Crossing, seq: u32| {
        let report = report_of(c).expect("a USTAT has a report");
        let lower = |gap: &bentpipe_wire::xstp::Gap| report.next.get() + u32::from(gap.lower);
        report.gaps.iter().any(|gap| lower(gap) == seq)
    };
    // The one began the cycle, the other came while it lasted.
    let arrival = |seq| {
        let ustat =
            pair.sent(Direction::Return, Kind::USTAT).find(|c| names(c, seq)).expect("a USTAT");
        assert_eq!(ustat.fate, Fate::Pass);
        ustat.at + DELAY
    };
    assert_eq!(arrival(1_300), start_of(&cycle));
    assert!(arrival(1_315) > start_of(&cycle) && arrival(1_315) < end_of(&cycle));
    for seq in [1_300, 1_315] {
        assert_eq!(times_sent(&pair, seq)[1..], [end_of(&cycle)]);
    }
    assert_eq!(summary(&pair).cycles, 1);
}
