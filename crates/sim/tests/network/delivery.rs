//! Files get where they should, over bottlenecks, routers and worse; or it is said that they did not.

use bentpipe_link::ModelSpec;
use bentpipe_sim::{BuildError, Encapsulation, Silent, run};
use bentpipe_transport::xstp::Config;
use bentpipe_units::{ByteCount, Instant, Span};

use crate::support::*;

#[test]
fn many_flows_share_a_bottleneck_and_all_deliver() {
    // Ten hosts on the left, ten on the right, 2 Mbit/s between the routers 20 and 21.
    let mut links = vec![link("neck", [20, 21], vec![rate("2 Mbit/s", 40), millis(50)])];
    let mut flows = Vec::new();
    for n in 0..10 {
        links.push(link(&format!("left {n}"), [n, 20], vec![rate("10 Mbit/s", 100)]));
        links.push(link(&format!("right {n}"), [21, 10 + n], vec![millis(2 * n as u64)]));
        flows.push(flow(&format!("flow {n}"), n, 10 + n, 200));
    }
    let spec = spec(22, links, flows);
    let run = outcome(&spec);
    assert_all_arrived(&spec, &run);
    let neck = channel(&run, "neck", 20);
    let data: u64 = run.flows.iter().map(|f| f.source.data_segments).sum();
    assert!(neck.delivered >= data && data == 10 * 200);
    // They compete: nobody is starved, and together they are no faster than the line.
    let times = run.flows.iter().map(|f| f.metrics.connection_time.expect("complete"));
    let (first, last) = (times.clone().fold(f64::MAX, f64::min), times.fold(0.0, f64::max));
    assert!(last > 8.0 && last < 3.0 * first, "from {first} to {last} s");
}

#[test]
fn flows_between_the_same_two_hosts_stay_apart() {
    let flows = (0..5).map(|n| flow(&format!("flow {n}"), n % 2, 1 - n % 2, 50 + n as u64));
    let spec = spec(2, vec![link("wire", [0, 1], vec![millis(20)])], flows.collect());
    let run = outcome(&spec);
    assert_all_arrived(&spec, &run);
}

#[test]
fn routers_forward_over_several_links() {
    let hop = |n: usize| link(&format!("hop {n}"), [n, n + 1], vec![millis(10 * (n as u64 + 1))]);
    let spec = spec(5, (0..4).map(hop).collect(), vec![flow("file", 0, 4, 300)]);
    let run = outcome(&spec);
    assert_all_arrived(&spec, &run);
    let crossed = channel(&run, "hop 0", 0).delivered;
    for n in 0..4 {
        let (forward, back) = (channel(&run, &format!("hop {n}"), n), n + 1);
        assert_eq!((forward.packets, forward.delivered), (crossed, crossed));
        assert_eq!(lost(channel(&run, &format!("hop {n}"), back)), 0);
    }
    // The handshake alone takes a round trip of 200 ms, and so does the first window.
    assert!(run.flows[0].metrics.connection_time > Some(0.5));
}

#[test]
fn the_way_with_the_fewest_links_is_taken_and_the_other_stays_empty() {
    let links = vec![
        link("a", [0, 1], vec![]),
        link("b", [1, 2], vec![]),
        link("detour", [0, 3], vec![]),
        link("detour on", [3, 4], vec![]),
        link("detour back", [4, 2], vec![]),
    ];
    let run = outcome(&spec(5, links, vec![flow("file", 0, 2, 20)]));
    assert!(run.flows[0].complete);
    assert!(channel(&run, "a", 0).packets > 20 && channel(&run, "b", 2).packets > 2);
    assert_eq!(channel(&run, "detour", 0).packets, 0);
}

#[test]
fn a_drop_tail_bottleneck_loses_packets_yet_every_byte_arrives() {
    for probing in [false, true] {
        let models = vec![rate("1 Mbit/s", 5), millis(100)];
        let config = Config { probing, ..Config::paper() };
        let flows = vec![
            with_config("one", [0, 1], 500, config.clone()),
            with_config("two", [0, 1], 500, config),
        ];
        let spec = spec(2, vec![link("neck", [0, 1], models)], flows);
        let run = outcome(&spec);
        assert_all_arrived(&spec, &run);
        let neck = channel(&run, "neck", 0);
        assert!(neck.lost_queue_full > 10, "{neck:?}");
        assert_eq!(lost(neck), neck.lost_queue_full);
        let again: u64 = run.flows.iter().map(|f| f.source.retransmitted_segments).sum();
        assert!(again >= neck.lost_data && neck.lost_data > 0, "{again} < {}", neck.lost_data);
    }
}

#[test]
fn losses_errors_darkness_and_overtaking_together_still_deliver_every_byte() {
    let bad = [
        ModelSpec::BitErrors(1e-5),
        ModelSpec::RandomLoss(0.03),
        dark(2_000, 3_000),
        ModelSpec::PeriodicBlackout {
            first: Instant::ZERO + Span::from_secs(7),
            every: Span::from_secs(11),
            lasts: Span::from_secs(1),
        },
        millis(120),
    ];
    for encapsulation in [Encapsulation::Qlp, Encapsulation::Ip, Encapsulation::Udp] {
        let links = vec![
            link("first", [0, 1], bad.to_vec()),
            link("second", [1, 2], [&bad[..], &[rate("3 Mbit/s", 20)]].concat()),
        ];
        let mut spec = spec(3, links, vec![flow("there", 0, 2, 300), flow("back", 2, 0, 300)]);
        spec.encapsulation = encapsulation;
        let typed = outcome(&spec);
        assert_all_arrived(&spec, &typed);
        assert!(typed.links.iter().all(|link| link.corrupted > 0 && link.lost_blackout > 0));
        spec.wire = true;
        assert_eq!(outcome(&spec), typed, "{encapsulation:?}");
    }
}

#[test]
fn the_duration_ends_a_run() {
    let mut endless = flow("endless", 0, 1, 1);
    endless.source.size = None;
    let models = vec![rate("1 Mbit/s", 1000), millis(50)];
    let mut spec = spec(2, vec![link("wire", [0, 1], models)], vec![endless]);
    let mut before = 0;
    for seconds in [0, 1, 10, 100] {
        spec.duration = Span::from_secs(seconds);
        let run = outcome(&spec);
        assert_eq!(run.simulated_seconds, seconds as f64);
        let flow = &run.flows[0];
        assert_eq!((flow.complete, &flow.failure), (false, &None));
        assert!(flow.delivered_bytes >= before && flow.delivered_bytes <= 125_000 * seconds);
        before = flow.delivered_bytes;
    }
    assert!(before > 100 * 110_000, "the line is busy: {before}");
}

#[test]
fn a_run_ends_by_itself_when_nothing_is_left_to_do() {
    let spec = spec(2, vec![link("wire", [0, 1], vec![millis(5)])], vec![flow("file", 0, 1, 10)]);
    let run = outcome(&spec);
    let took = run.flows[0].metrics.connection_time.expect("complete");
    assert!(took < 5.0 && run.simulated_seconds >= took && run.simulated_seconds < 60.0);
}

#[test]
fn a_far_end_that_is_dark_for_ever_is_not_reached_and_that_is_said() {
    let mut spec = spec(
        3,
        vec![
            link("near", [0, 1], vec![millis(1)]),
            link("far", [1, 2], vec![millis(1), dark(0, 1_000_000_000)]),
        ],
        vec![flow("file", 0, 2, 10)],
    );
    spec.duration = Span::from_secs(600);
    let run = outcome(&spec);
    assert_eq!(run.simulated_seconds, 600.0, "the paper's sender never gives up");
    let flow = &run.flows[0];
    assert_eq!((flow.complete, flow.delivered_bytes, &flow.failure), (false, 0, &None));
    assert_eq!((flow.metrics.connection_time, flow.metrics.effective_throughput), (None, 0.0));
    let far = channel(&run, "far", 1);
    assert!(far.packets > 5 && far.lost_blackout == far.packets && far.delivered == 0);
}

#[test]
fn a_sender_that_may_give_up_does_and_that_is_said_too() {
    let models = vec![millis(1), dark(1_000, 1_000_000_000)];
    for (start, config) in [
        // Before the handshake, and in the middle of the file.
        (Span::from_secs(5), Config::default()),
        (Span::ZERO, Config { no_response: Span::from_secs(60), ..Config::default() }),
    ] {
        let mut flow = with_config("file", [0, 1], 100_000, config);
        flow.source.start = Instant::ZERO + start;
        let spec = spec(2, vec![link("wire", [0, 1], models.clone())], vec![flow]);
        let run = outcome(&spec);
        let flow = &run.flows[0];
        assert!(!flow.complete && flow.failure.is_some(), "{flow:?}");
        assert!(run.simulated_seconds < 3_600.0, "{} s", run.simulated_seconds);
        assert_eq!(flow.delivered_bytes > 0, start.is_zero());
    }
}

#[test]
fn what_can_not_be_is_refused_before_anything_happens() {
    let wire = || vec![link("wire", [0, 1], vec![])];
    let refused = |flow| run(&spec(3, wire(), vec![flow]), &mut Silent).expect_err("refused");
    assert!(matches!(refused(flow("file", 0, 2, 1)), BuildError::NoRoute { to, .. } if to == "n2"));
    assert!(matches!(refused(flow("file", 1, 1, 1)), BuildError::ToItself { .. }));
    let nothing = run(&spec(3, wire(), vec![]), &mut Silent).expect("a quiet run");
    assert_eq!((nothing.events, nothing.simulated_seconds), (0, 0.0));
}

#[test]
fn a_file_of_one_byte_and_one_of_many_odd_chunks_arrive_whole() {
    for (size, chunk, mss) in [(1, 1000, 1000), (99_991, 7, 1000), (200_003, 65_535, 536)] {
        let config = Config { mss, ..Config::paper() };
        let mut flow = with_config("file", [0, 1], 1, config);
        flow.source.size = Some(ByteCount::new(size));
        flow.source.chunk = ByteCount::new(chunk);
        let spec = spec(2, vec![link("wire", [0, 1], vec![millis(10)])], vec![flow]);
        assert_all_arrived(&spec, &outcome(&spec));
    }
}
