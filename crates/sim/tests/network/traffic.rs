//! Traffic of many pieces, in whole runs.

use std::sync::Arc;

use bentpipe_link::ModelSpec;
use bentpipe_link::queue::DisciplineSpec;
use bentpipe_record::{FlowSummary, PieceSummary};
use bentpipe_sim::{Connections, Draw, Protocol, RunSpec, TrafficSpec, WebSpec};
use bentpipe_transport::{sctp, tcp};
use bentpipe_units::{ByteCount, Instant, Span};

use crate::support::*;

/// A flow of this traffic over a path of 10 Mbit/s and 50 ms.
fn over_a_path(traffic: TrafficSpec) -> RunSpec {
    let models = vec![rate("10 Mbit/s", 1000), millis(50)];
    let mut flow = flow("pieces", 0, 1, 1);
    flow.source.start = Instant::ZERO + Span::from_secs(1);
    flow.traffic = Some(traffic);
    spec(2, vec![link("path", [0, 1], models)], vec![flow])
}

fn pieces(flow: &FlowSummary) -> PieceSummary {
    flow.pieces.expect("pieces")
}

fn constant(count: u64) -> TrafficSpec {
    let (packet, interval) = (ByteCount::new(500), Span::from_millis(20));
    TrafficSpec::Constant { packet, interval, jitter: 0.5, count: Some(count) }
}

fn web(connections: Connections) -> WebSpec {
    WebSpec {
        sessions: 4,
        session_gap: Span::from_millis(700),
        pages: 10,
        objects: Draw::Exponential(3.0),
        inter_page: Draw::Exponential(1.0),
        start_to_start: false,
        inter_object: Draw::Exponential(0.01),
        object: Draw::Lomax(12_000.0, 1.2),
        connections,
    }
}

fn kinds() -> Vec<TrafficSpec> {
    let (packet, interval) = (ByteCount::new(500), Span::from_millis(20));
    let bursts = |on, off| TrafficSpec::OnOff { packet, interval, on, off, count: Some(300) };
    vec![
        constant(300),
        bursts(Draw::Exponential(0.5), Draw::Exponential(0.5)),
        bursts(Draw::Pareto(0.5, 1.5), Draw::Pareto(0.5, 1.5)),
        TrafficSpec::Files {
            size: ByteCount::new(30_000),
            pause: Draw::Exponential(0.3),
            count: Some(10),
        },
        TrafficSpec::Web(web(Connections::Persistent)),
        TrafficSpec::Web(web(Connections::PerObject(6))),
    ]
}

#[test]
fn every_piece_arrives_and_wire_mode_and_another_run_say_the_same() {
    for traffic in kinds() {
        let mut spec = over_a_path(traffic.clone());
        spec.links[0].forward_link.push(ModelSpec::RandomLoss(0.01));
        let run = outcome(&spec);
        let flow = &run.flows[0];
        assert!(flow.complete, "{traffic:?}: {flow:?}");
        let pieces = pieces(flow);
        assert_eq!((pieces.arrived, pieces.failed), (pieces.offered, 0), "{traffic:?}");
        assert_eq!(pieces.offered_bytes, flow.delivered_bytes, "{traffic:?}");
        assert_eq!(flow.source.payload_bytes, flow.delivered_bytes, "{traffic:?}");
        assert_eq!(outcome(&spec), run, "{traffic:?}");
        spec.wire = true;
        assert_eq!(outcome(&spec), run, "{traffic:?}");
    }
}

/// What runs between the ends besides XSTP; nodes 2 and 3 are the second path of the last one.
fn other_protocols() -> [Protocol; 3] {
    let tcp = Arc::new(tcp::Config::default());
    let config = Arc::new(sctp::Config::default());
    let sctp = |more_paths| {
        let (sender, receiver) = (config.clone(), config.clone());
        Protocol::Sctp { sender, receiver, more_paths, address_changes: Vec::new() }
    };
    [Protocol::Tcp { sender: tcp.clone(), receiver: tcp }, sctp(Vec::new()), sctp(vec![[2, 3]])]
}

#[test]
fn every_piece_arrives_by_tcp_and_by_sctp_over_one_path_or_two() {
    for protocol in other_protocols() {
        for traffic in kinds() {
            let mut spec = over_a_path(traffic.clone());
            spec.links[0].forward_link.push(ModelSpec::RandomLoss(0.01));
            spec.nodes.extend(["n2".into(), "n3".into()]);
            spec.links.push(link("other", [2, 3], vec![rate("2 Mbit/s", 1000), millis(270)]));
            spec.flows[0].protocol = protocol.clone();
            let run = outcome(&spec);
            let flow = &run.flows[0];
            assert!(flow.complete, "{traffic:?}: {flow:?}");
            assert_eq!(pieces(flow).arrived, pieces(flow).offered, "{traffic:?}");
            assert_eq!(pieces(flow).offered_bytes, flow.delivered_bytes, "{traffic:?}");
            let used = channel(&run, "other", 2).packets > 0;
            assert_eq!(used, has_two_paths(&protocol), "{traffic:?}");
            spec.wire = true;
            assert_eq!(outcome(&spec), run, "{traffic:?}");
        }
    }
}

fn has_two_paths(protocol: &Protocol) -> bool {
    matches!(protocol, Protocol::Sctp { more_paths, .. } if !more_paths.is_empty())
}

#[test]
fn a_packet_at_an_interval_takes_the_time_of_the_way() {
    let run = outcome(&over_a_path(constant(500)));
    let times = pieces(&run.flows[0]).seconds.expect("times");
    // 50 ms and 516 bytes at 10 Mbit/s. Others wait for a tick of the sender, and the first ones for
    // the connection and the window.
    assert_eq!(times.min, 0.0504128);
    assert!(times.p90 < 0.08 && (0.15..0.3).contains(&times.max), "{times:?}");
    let elapsed = run.flows[0].metrics.connection_time.expect("complete");
    assert!((9.8..10.3).contains(&elapsed), "{elapsed}");
}

#[test]
fn files_follow_each_other_over_connections_of_their_own() {
    let files = TrafficSpec::Files {
        size: ByteCount::new(50_000),
        pause: Draw::Constant(2.0),
        count: Some(5),
    };
    let run = outcome(&over_a_path(files));
    let flow = &run.flows[0];
    assert_eq!((pieces(flow).arrived, flow.delivered_bytes), (5, 250_000));
    let times = pieces(flow).seconds.expect("times");
    // Each one opens a connection and begins with a small window again.
    assert!(times.min > 0.25 && times.max < 1.5 * times.min, "{times:?}");
    let (elapsed, mean) = (flow.metrics.connection_time.expect("complete"), times.mean);
    assert!((elapsed - 4.0 * 2.0 - 5.0 * mean).abs() < 1e-6, "{elapsed}");
}

#[test]
fn a_persistent_connection_answers_sooner_than_one_for_each_object() {
    let mean = |connections| {
        let run = outcome(&over_a_path(TrafficSpec::Web(web(connections))));
        pieces(&run.flows[0]).seconds.expect("times").p50
    };
    let (persistent, each) = (mean(Connections::Persistent), mean(Connections::PerObject(32)));
    assert!(persistent < each, "{persistent} {each}");
}

#[test]
fn objects_beyond_the_most_connections_wait() {
    let slowest = |most| {
        let mut web = web(Connections::PerObject(most));
        web.objects = Draw::Constant(10.0);
        web.inter_object = Draw::Constant(0.0);
        web.object = Draw::Constant(3000.0);
        let run = outcome(&over_a_path(TrafficSpec::Web(web)));
        assert_eq!(pieces(&run.flows[0]).arrived, 4 * 10 * 10);
        pieces(&run.flows[0]).seconds.expect("times").p50
    };
    assert!(slowest(1) > 3.0 * slowest(40), "{} {}", slowest(1), slowest(40));
}

#[test]
fn pages_that_begin_by_the_clock_offer_the_load_that_was_asked_for() {
    let mut web = web(Connections::Persistent);
    (web.sessions, web.pages, web.start_to_start) = (20, 200, true);
    (web.objects, web.object) = (Draw::Constant(2.0), Draw::Exponential(6_000.0));
    web.session_gap = Span::ZERO;
    let run = outcome(&over_a_path(TrafficSpec::Web(web)));
    let flow = &run.flows[0];
    // 20 sessions of 12 kB a second each, of which the last one ends later than 200 s.
    let offered = pieces(flow).offered_bytes as f64 / (20.0 * 200.0);
    assert!((offered / 12_000.0 - 1.0).abs() < 0.05, "{offered}");
    assert!(flow.complete);
}

#[test]
fn connections_that_fail_lose_their_pieces_and_the_rest_goes_on() {
    let mut spec = over_a_path(TrafficSpec::Files {
        size: ByteCount::new(20_000),
        pause: Draw::Constant(0.1),
        count: Some(20),
    });
    let config = bentpipe_transport::xstp::Config {
        no_response: Span::from_secs(2),
        ctl_max_retries: Some(2),
        ..bentpipe_transport::xstp::Config::default()
    };
    let mut failing = with_config("pieces", [0, 1], 1, config);
    failing.traffic = spec.flows[0].traffic.clone();
    spec.flows = vec![failing];
    spec.links[0].forward_link.push(dark(2_000, 20_000));
    spec.links[0].return_link.push(dark(2_000, 20_000));
    let run = outcome(&spec);
    let pieces = pieces(&run.flows[0]);
    assert_eq!(pieces.offered, 20);
    assert!(pieces.failed > 0 && pieces.arrived > 5, "{pieces:?}");
    assert_eq!(pieces.failed + pieces.arrived, 20);
    assert!(!run.flows[0].complete);
}

#[test]
fn traffic_beside_it_shifts_no_draw() {
    let plain = over_a_path(constant(100));
    let mut more = plain.clone();
    more.nodes.extend(["n2".into(), "n3".into()]);
    more.links.push(link("other", [2, 3], vec![millis(5)]));
    let mut web_flow = flow("web", 2, 3, 1);
    web_flow.traffic = Some(TrafficSpec::Web(web(Connections::PerObject(3))));
    more.flows.insert(0, web_flow);
    let (plain, more) = (outcome(&plain), outcome(&more));
    assert_eq!(more.flows[1], plain.flows[0]);
    assert!(more.flows[0].complete);
}

#[test]
fn packets_of_low_priority_are_lost_first() {
    let mut spec = spec(
        4,
        vec![
            link("neck", [1, 2], vec![millis(20)]),
            link("a", [0, 1], vec![rate("10 Mbit/s", 1000)]),
            link("b", [3, 1], vec![rate("10 Mbit/s", 1000)]),
        ],
        vec![flow("high", 0, 2, 500), flow("low", 3, 2, 500)],
    );
    spec.flows[1].low_priority = true;
    spec.macs.push(held(0, "2 Mbit/s", 12, DisciplineSpec::DropLowPriority));
    let run = outcome(&spec);
    let again = |n: usize| run.flows[n].source.retransmitted_segments;
    assert!(again(0) * 4 < again(1), "{} {}", again(0), again(1));
    assert_all_arrived(&spec, &run);
}
