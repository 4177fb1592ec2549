//! The receiver knows nothing of it (P1), the state it takes (P2), and what is counted (P32).

use bentpipe_testkit::{Direction, Pair, pattern};
use bentpipe_transport::Inspect;
use bentpipe_transport::xstp::{Config, ProbingConfig};
use bentpipe_units::{Instant, Span};
use bentpipe_wire::Kind;
use bentpipe_wire::xstp::{Body, Flow, Segment, encode};
use bytes::BytesMut;

use crate::support::*;

/// Losses of all kinds, and one outage.
fn trouble() -> Script {
    let mut scripts: Vec<_> = (0..8).map(|n| drop_data(1_150 + 97 * n, 1 + n % 2)).collect();
    scripts.push(drop_answers(ms(19_500), ms(19_750)));
    scripts.push(blackout(ms(9_000), ms(12_000)));
    scripts.push(until(ms(16_000), stretch(ms(14_000), RTT / 2)));
    Box::new(all_of(scripts))
}

fn troubled(client: Config, server: Config) -> Pair {
    let mut pair = Pair::new(client, server, DELAY).sending(pattern(1_200_000));
    pair = pair.with_script(trouble());
    assert!(pair.run(LONG));
    assert_eq!(pair.server.inbox, pattern(1_200_000));
    pair
}

#[test]
fn p1_a_receiver_answers_alike_whatever_its_own_settings_of_probing() {
    let told = |server: Config| {
        let pair = troubled(prober(), server);
        assert!(summary(&pair).cycles > 3);
        pair.log.into_iter().map(|c| (c.at, c.direction, c.segment)).collect::<Vec<_>>()
    };
    let probe = ProbingConfig { map_size: 9, probes_needed: 5, ..ProbingConfig::default() };
    let server = Config { probing: true, probe, ..Config::paper() };
    assert_eq!(told(Config::paper()), told(server));
}

#[test]
fn p1_a_probe_is_bit_for_bit_a_poll_like_any_other() {
    let pair = troubled(prober(), Config::paper());
    let cycles = summary(&pair).first_cycles;
    let probing = |at: Instant| cycles.iter().any(|c| start_of(c) <= at && at < end_of(c));
    let mut probes = 0;
    for sent in pair.sent(Direction::Forward, Kind::POLL).filter(|c| probing(c.at)) {
        probes += 1;
        let flow = sent.flow().expect("a composite");
        let poll = Flow { poll: flow.poll, ..Flow::default() };
        let plain = Segment {
            source_port: 5001,
            destination_port: 5002,
            sq: 7,
            window: 64,
            seq: sent.segment.seq,
            body: Body::Flow(poll),
        };
        let bytes = |segment: &Segment| {
            let mut bytes = BytesMut::new();
            encode(segment, None, &mut bytes);
            bytes
        };
        assert_eq!(bytes(&sent.segment), bytes(&plain));
        assert_eq!(bytes(&plain).len(), 20);
    }
    assert!(probes > 10, "{probes}");
}

#[test]
fn p1_probing_sends_no_type_of_segment_that_is_not_sent_without_it() {
    let types = |client: Config| {
        let pair = troubled(client, Config::paper());
        let mut types: Vec<_> = pair.log.iter().map(|c| c.segment.kind().bits()).collect();
        types.sort_unstable();
        types.dedup();
        types
    };
    let without = types(Config::paper());
    assert!(types(prober()).iter().all(|kind| without.contains(kind)));
}

#[test]
fn p1_every_probe_is_answered_at_once_with_its_own_timestamp() {
    let mut pair = in_step(literal()).sending(pattern(60_000));
    pair = pair.with_script(drop_data(1_010, 1));
    assert!(pair.run(LONG));
    let probe = sent_at(&pair, start_of(&cycle(&pair, 0)))[0];
    let echo = probe.flow().and_then(|flow| flow.poll).expect("a POLL");
    let answer = pair.sent(Direction::Return, Kind::STAT).find(|c| c.at == probe.at + DELAY);
    assert_eq!(answer.and_then(report_of).map(|report| report.ts_echo), Some(echo));
}

#[test]
fn p2_a_sender_is_not_probing_until_a_loss_is_found() {
    let mut pair = wide(prober()).sending(pattern(200_000));
    while !pair.run(Span::ZERO) && pair.step() {
        assert_ne!(state(&pair).activity, "probing");
    }
    assert_eq!((summary(&pair).cycles, summary(&pair).probes), (0, 0));
}

#[test]
fn p2_without_the_option_no_loss_starts_it() {
    let mut pair = wide(Config::paper()).sending(pattern(1_200_000)).with_script(trouble());
    while !pair.run(Span::ZERO) && pair.step() {
        assert_ne!(state(&pair).activity, "probing");
    }
    let client = pair.client.session.as_ref().expect("a client");
    assert_eq!(client.probing_summary(), None);
    assert!(reductions(&pair) > 0);
}

#[test]
fn p32_what_is_counted_agrees_with_the_wire() {
    let pair = troubled(prober(), Config::paper());
    let summary = summary(&pair);
    let cycles = &summary.first_cycles;
    assert_eq!(cycles.len() as u64, summary.cycles);
    assert_eq!(summary.early + summary.explicit, summary.cycles);
    let verdicts = [summary.premature, summary.link_decisions, summary.congestion_decisions];
    assert_eq!(verdicts.iter().sum::<u64>(), summary.cycles);
    // Each kind happened.
    assert!(verdicts.iter().all(|n| *n > 0), "{verdicts:?}");
    assert!(summary.early > 0 && summary.explicit > 0);
    let of = |verdict| cycles.iter().filter(|c| c.verdict == Some(verdict)).count() as u64;
    assert_eq!(["premature", "link", "congestion"].map(of), verdicts);
    let by = |trigger| cycles.iter().filter(|c| c.trigger == trigger).count() as u64;
    assert_eq!((by("early_timeout"), by("gap_report")), (summary.early, summary.explicit));

    for cycle in cycles {
        let (start, end) = (start_of(cycle), end_of(cycle));
        let probes = polls(&pair).into_iter().filter(|at| start <= *at && *at < end).count();
        assert_eq!(cycle.probes, probes as u64);
    }
    assert_eq!(cycles.iter().map(|c| c.probes).sum::<u64>(), summary.probes);
    let seconds: f64 = cycles.iter().filter_map(|c| c.seconds).sum();
    assert!((summary.mean_cycle_seconds - seconds / cycles.len() as f64).abs() < 1e-9);
}

#[test]
fn p32_the_first_sixteen_cycles_are_kept_and_all_are_counted() {
    let lost = (0..20).map(|n| drop_data(1_100 + 150 * n, 1)).collect();
    let mut pair = wide(prober()).sending(pattern(3_200_000)).with_script(all_of(lost));
    assert!(pair.run(LONG));
    let summary = summary(&pair);
    assert_eq!((summary.cycles, summary.link_decisions), (20, 20));
    assert_eq!(summary.first_cycles.len(), 16);
    assert!(summary.first_cycles.iter().all(|c| c.verdict == Some("link") && c.probes == 1));
    assert_eq!(summary.probes, 20);
}
