//! The product as the protocol of flows.

use bentpipe_association::{Fec, Tuning};
use bentpipe_link::ModelSpec;
use bentpipe_sim::{FlowSpec, Protocol, RunSpec};
use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use crate::support::*;

/// A transfer as `bentpipe send` does it, at a rate if one is given.
fn sends(name: &str, kilobytes: u64, rate: Option<&str>) -> FlowSpec {
    let rate: Option<BitRate> = rate.map(|rate| rate.parse().expect("a rate"));
    let config = Tuning { rate, ..Tuning::default() }.persistent_config().expect("settings");
    let mut flow = flow(name, 0, 1, kilobytes);
    flow.protocol = Protocol::Bentpipe {
        sender: config.clone(),
        receiver: config,
        fec: Fec::Auto,
        rates: [rate; 2],
    };
    flow
}

/// 10 Mbit/s over half a second of delay both ways, where packets get lost.
fn over_a_satellite(loss: f64, flows: Vec<FlowSpec>) -> RunSpec {
    let models = vec![rate("10 Mbit/s", 400), millis(250), ModelSpec::RandomLoss(loss)];
    spec(2, vec![link("space", [0, 1], models)], flows)
}

#[test]
fn a_file_arrives_whole_and_the_run_ends_with_it_and_is_the_same_again_and_in_wire_mode() {
    let mut spec = over_a_satellite(0.02, vec![sends("file", 3_000, None)]);
    let run = outcome(&spec);
    let flow = &run.flows[0];
    assert!(flow.complete, "{flow:?}");
    assert_eq!((flow.protocol, flow.delivered_bytes), ("bentpipe", 3_000_000));
    let (first, time) = (flow.first_byte_after, flow.metrics.connection_time.expect("a time"));
    // Keys take a round trip, and the first byte half of another one.
    assert!(first.is_some_and(|first| (0.75..0.80).contains(&first)), "{first:?}");
    assert!(run.simulated_seconds < time + 30.0, "{}", run.simulated_seconds);
    assert_eq!(outcome(&spec), run);
    spec.wire = true;
    assert_eq!(outcome(&spec), run);
}

#[test]
fn a_known_rate_is_used_from_the_first_round_trip_on_and_fills_no_queue() {
    let run = outcome(&over_a_satellite(0.01, vec![sends("file", 10_000, Some("10 Mbit/s"))]));
    let time = run.flows[0].metrics.connection_time.expect("a time");
    assert!(time < 1.2 * 8.0, "{time} s for 10 MB");
    assert_eq!(channel(&run, "space", 0).lost_queue_full, 0);
}

#[test]
fn what_is_counted_is_what_is_on_the_link() {
    let run = outcome(&over_a_satellite(0.0, vec![sends("file", 3_000, None)]));
    let flow = &run.flows[0];
    for (from, counters) in [(0, &flow.source), (1, &flow.sink)] {
        let link = channel(&run, "space", from);
        assert_eq!(link.bytes, counters.bytes_sent + 20 * link.packets);
    }
}

#[test]
fn flows_between_two_hosts_share_an_association_and_its_link() {
    let mut flows: Vec<_> = (0..4).map(|n| sends(&format!("file{n}"), 2_000, None)).collect();
    // One is asked for by its receiver, and one begins when the others are under way.
    flows[1].request = Some(ByteCount::new(300));
    flows[2].source.start = Instant::ZERO + Span::from_secs(2);
    let run = outcome(&over_a_satellite(0.01, flows));
    for flow in &run.flows {
        assert!(flow.complete && flow.failure.is_none(), "{flow:?}");
    }
    // 8 MB in all take 6.6 s.
    assert!(run.flows.iter().all(|flow| flow.metrics.connection_time < Some(12.0)));
}

#[test]
fn a_link_that_goes_dark_ends_no_transfer() {
    let mut spec = over_a_satellite(0.01, vec![sends("file", 3_000, None)]);
    spec.links[0].forth.push(dark(1_500, 60_000));
    spec.links[0].back.push(dark(1_500, 60_000));
    let run = outcome(&spec);
    let time = run.flows[0].metrics.connection_time.expect("a time");
    assert!((61.5..70.0).contains(&time), "{time}");
    // 60 s of silence cost some hundred POLLs and a few requests for keys.
    let lost = channel(&run, "space", 0).lost_blackout;
    assert!(lost < 900, "{lost} packets into the dark");
}
