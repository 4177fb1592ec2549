//! Flows of datagrams, in whole runs.

use bentpipe_link::ModelSpec;
use bentpipe_sim::{BuildError, Draw, FlowSpec, Protocol, RunSpec, Silent, TrafficSpec, run};
use bentpipe_units::{ByteCount, Instant, Span};

use crate::support::*;

/// 300 packets of 500 bytes, each 20 ms, from the first second on.
fn packets(name: &str, from: usize, to: usize) -> FlowSpec {
    let (packet, interval) = (ByteCount::new(500), Span::from_millis(20));
    let mut flow = flow(name, from, to, 1);
    flow.protocol = Protocol::Udp;
    flow.source.start = Instant::ZERO + Span::from_secs(1);
    flow.traffic = Some(TrafficSpec::Constant { packet, interval, jitter: 0.0, count: Some(300) });
    flow
}

fn over_a_path(flow: FlowSpec) -> RunSpec {
    // 528 bytes take 10 ms.
    spec(2, vec![link("path", [0, 1], vec![rate("422400 bit/s", 5), millis(50)])], vec![flow])
}

#[test]
fn a_datagram_takes_its_time_and_nobody_answers() {
    let run = outcome(&over_a_path(packets("cbr", 0, 1)));
    let flow = &run.flows[0];
    assert!(flow.complete, "{flow:?}");
    assert_eq!((flow.delivered_bytes, flow.source.bytes_sent), (150_000, 152_400));
    assert_eq!((flow.sink.bytes_sent, flow.protocol), (0, "udp"));
    let pieces = flow.pieces.expect("pieces");
    assert_eq!((pieces.offered, pieces.arrived, pieces.failed), (300, 300, 0));
    let seconds = pieces.seconds.expect("delays");
    assert_eq!((seconds.min, seconds.max), (0.06, 0.06));
    assert_eq!(channel(&run, "path", 0).bytes, 300 * 528);
    assert_eq!(channel(&run, "path", 1).packets, 0);
    assert_eq!(run.simulated_seconds, 1.0 + 299.0 * 0.02 + 0.06);
}

#[test]
fn what_is_lost_stays_lost_and_wire_mode_and_another_run_say_the_same() {
    let bursts = TrafficSpec::OnOff {
        packet: ByteCount::new(500),
        interval: Span::from_millis(5),
        on: Draw::Exponential(0.5),
        off: Draw::Exponential(0.5),
        count: Some(300),
    };
    let cbr = packets("cbr", 0, 1);
    for flow in [cbr.clone(), FlowSpec { traffic: Some(bursts), ..cbr }] {
        let mut spec = over_a_path(flow);
        spec.links[0].forward_link.push(ModelSpec::BitErrors(3e-5));
        let run = outcome(&spec);
        let (flow, path) = (&run.flows[0], channel(&run, "path", 0));
        let arrived = path.delivered - path.corrupted;
        assert!(!flow.complete && path.corrupted > 0);
        assert_eq!(flow.pieces.map(|p| (p.offered, p.arrived)), Some((300, arrived)));
        assert_eq!(flow.delivered_bytes, 500 * arrived);
        assert_eq!(outcome(&spec), run);
        spec.wire = true;
        assert_eq!(outcome(&spec), run);
    }
}

#[test]
fn datagrams_take_their_share_of_a_line_and_shift_no_draw_elsewhere() {
    let mut spec = over_a_path(flow("file", 0, 1, 300));
    spec.links[0].forward_link.push(ModelSpec::RandomLoss(0.01));
    let alone = outcome(&spec);
    let mut elsewhere = spec.clone();
    elsewhere.nodes.extend(["n2".into(), "n3".into()]);
    elsewhere.links.push(link("other", [2, 3], vec![millis(5), ModelSpec::RandomLoss(0.5)]));
    elsewhere.flows.push(packets("cbr", 2, 3));
    let beside = outcome(&elsewhere);
    assert_eq!((&beside.flows[..1], &beside.links[..2]), (&alone.flows[..], &alone.links[..]));
    spec.flows.insert(0, packets("cbr", 0, 1));
    let shared = outcome(&spec);
    let time = |flow: &bentpipe_record::FlowSummary| flow.metrics.connection_time.expect("a time");
    assert!(time(&shared.flows[1]) > time(&alone.flows[0]) + 1.0);
}

#[test]
fn only_packets_by_the_clock_are_datagrams() {
    let mut flow = packets("cbr", 0, 1);
    flow.traffic = None;
    let wrong = run(&over_a_path(flow), &mut Silent).expect_err("nothing to send");
    assert_eq!(wrong, BuildError::NoDatagrams { flow: "cbr".into() });
}
