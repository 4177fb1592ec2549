//! A peer that says anything at all: nothing panics, nothing hangs, nothing grows.

use bentpipe_testkit::{Direction, Pair, pattern};
use bentpipe_transport::xstp::Config;
use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::xstp::{
    Begin, Body, Flow, Gap, GapList, Report, ReportKind, ResetReason, Segment,
};
use proptest::prelude::*;

/// Numbers around those that the sessions use: both ends begin at 1000 and at 0x2000.
fn numbers() -> impl Strategy<Value = Seq32> {
    prop_oneof![900..1400u32, 0x1fe0..0x2040u32, any::<u32>()].prop_map(Seq32::new)
}

/// Timestamps around those of the first ten seconds.
fn timestamps() -> impl Strategy<Value = u32> {
    prop_oneof![0..100_000u32, any::<u32>()]
}

fn reports() -> impl Strategy<Value = Report> {
    let gaps = prop::collection::vec((1..40u16, 1..40u16), 0..6);
    (any::<bool>(), timestamps(), numbers(), any::<bool>(), gaps).prop_map(
        |(stat, ts_echo, next, more, lengths)| {
            let mut gaps = GapList::new();
            let mut at = 0;
            for (hole, cached) in lengths {
                gaps.push(Gap { lower: at, upper: at + hole });
                at += hole + cached;
            }
            let kind = if stat { ReportKind::Stat } else { ReportKind::Ustat };
            Report { kind, ts_echo, received_at: None, next, more, gaps }
        },
    )
}

fn flows() -> impl Strategy<Value = Flow> {
    (
        prop_oneof![Just(0), 1..1200usize],
        prop::option::of(timestamps()),
        prop::option::of(reports()),
        prop::option::of(numbers()),
        any::<bool>(),
    )
        .prop_map(|(len, poll, report, end_ack, end)| Flow {
            payload: pattern(len),
            poll,
            report,
            end_ack,
            end: end && len == 0,
        })
}

fn bodies() -> impl Strategy<Value = Body> {
    let begin = || {
        (1..2000u16, any::<bool>(), timestamps(), timestamps())
            .prop_map(|(mss, many_gaps, ts, ts_echo)| Begin { mss, many_gaps, ts, ts_echo })
    };
    prop_oneof![
        40 => flows().prop_map(Body::Flow),
        2 => begin().prop_map(Body::Begin),
        2 => begin().prop_map(Body::BeginAck),
        1 => (0..8u32).prop_map(|code| Body::Reset(ResetReason::from_code(code))),
    ]
}

fn segments() -> impl Strategy<Value = (bool, Segment)> {
    let sq = prop_oneof![9 => Just(7u8), 1 => any::<u8>()];
    (any::<bool>(), sq, prop_oneof![Just(0), Just(64), any::<u16>()], numbers(), bodies()).prop_map(
        |(forth, sq, window, seq, body)| {
            let (source_port, destination_port) = if forth { (5001, 5002) } else { (5002, 5001) };
            (forth, Segment { source_port, destination_port, sq, window, seq, body })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn forged_segments_of_any_kind_neither_panic_nor_hang_nor_fill_the_memory(
        probing in any::<bool>(),
        forged in prop::collection::vec((0..200u64, segments()), 1..60),
    ) {
        let config = Config { probing, ..Config::default() };
        let mut pair = Pair::new(config.clone(), config, Span::from_millis(100))
            .sending(pattern(200_000))
            .answering(pattern(20_000));
        let mut at = 0;
        for (wait, (forth, segment)) in forged {
            at += wait;
            pair.run_to(Instant::from_nanos(at * 1_000_000));
            pair.inject(if forth { Direction::Forward } else { Direction::Return }, segment);
        }
        pair.run_to(Instant::from_nanos((at + 20_000) * 1_000_000));
        // Every answer has a cause: forged segments cannot make the ends talk without end.
        prop_assert!(pair.log.len() < 5_000, "{} segments", pair.log.len());
        // What was delivered cannot exceed what was sent by more than what was forged.
        prop_assert!(pair.server.inbox.len() <= 200_000 + 60 * 1_200);
    }
}
