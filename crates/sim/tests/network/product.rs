//! The product as the protocol of flows.

use std::sync::Arc;

use bentpipe_association::{Fec, Tuning};
use bentpipe_link::ModelSpec;
use bentpipe_record::RunSummary;
use bentpipe_sim::{
    Draw, FlowSpec, GatewaySpec, GatewaysSpec, Observer, PacketSeen, Protocol, RunSpec,
    TrafficSpec, run,
};
use bentpipe_transport::tcp;
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
    spec.links[0].forward_link.push(dark(1_500, 60_000));
    spec.links[0].return_link.push(dark(1_500, 60_000));
    let run = outcome(&spec);
    let time = run.flows[0].metrics.connection_time.expect("a time");
    assert!((61.5..70.0).contains(&time), "{time}");
    // 60 s of silence cost some hundred POLLs and a few requests for keys.
    let lost = channel(&run, "space", 0).lost_blackout;
    assert!(lost < 900, "{lost} packets into the dark");
}

/// A client, a terminal, a hub and a server; the link between the gateways loses packets. The cables hold what a repair
/// releases at once.
fn through_gateways(loss: f64, knows: bool, flow: FlowSpec) -> RunSpec {
    let lan = |name: &str, ends| link(name, ends, vec![rate("100 Mbit/s", 4_000), millis(1)]);
    let space = vec![rate("10 Mbit/s", 400), millis(250), ModelSpec::RandomLoss(loss)];
    let links = vec![lan("lan", [0, 1]), link("space", [1, 2], space), lan("net", [2, 3])];
    let rate = knows.then(|| "10 Mbit/s".parse().expect("a rate"));
    let mut spec = spec(4, links, vec![flow]);
    spec.gateways = Some(GatewaysSpec {
        terminal: GatewaySpec { node: 1, rate },
        hub: GatewaySpec { node: 2, rate },
        controller: None,
        fec: Fec::Auto,
        early_accept: true,
        buffer: None,
    });
    spec
}

/// A download by TCP: the client asks.
fn download(kilobytes: u64) -> FlowSpec {
    let config = Arc::new(tcp::Config {
        snd_buf: ByteCount::new(1_000_000),
        rcv_buf: ByteCount::new(1_000_000),
        ..tcp::Config::default()
    });
    let mut flow = flow("file", 3, 0, kilobytes);
    flow.protocol = Protocol::Tcp { sender: config.clone(), receiver: config };
    flow.request = Some(ByteCount::new(300));
    flow.gateways = Some([2, 1]);
    flow.source.start = Instant::ZERO + Span::from_secs(5);
    flow
}

/// The middle one of what five seeds say: a request or its repair may be lost in any of them.
fn median(spec: &RunSpec, say: impl Fn(&RunSummary) -> f64) -> f64 {
    let mut said: Vec<f64> =
        (1..=5).map(|seed| say(&outcome(&RunSpec { seed, ..spec.clone() }))).collect();
    said.sort_by(f64::total_cmp);
    said[2]
}

#[test]
fn gateways_carry_tcp_whole_and_the_same_again_and_end_with_it() {
    for knows in [false, true] {
        let mut spec = through_gateways(0.02, knows, download(5_000));
        let run = outcome(&spec);
        let flow = &run.flows[0];
        assert!(flow.complete && flow.failure.is_none(), "{flow:?}");
        let time = flow.metrics.connection_time.expect("a time");
        // What the link carries is found out within 5 s.
        let most = if knows { 6.0 } else { 10.0 };
        assert!(time < most, "{time} s for 4 s of data where TCP alone takes minutes");
        // The request travels with the wish to connect, and the answer comes back: one round trip.
        let first = median(&spec, |run| run.flows[0].first_byte_after.expect("a first byte"));
        assert!((0.5..0.6).contains(&first), "{first}");
        assert!(run.simulated_seconds < 5.0 + time + 60.0, "{}", run.simulated_seconds);
        assert_eq!(outcome(&spec), run);
        spec.wire = true;
        assert_eq!(outcome(&spec), run);
    }
}

#[test]
fn a_download_over_a_link_whose_rate_nobody_told_begins_with_what_it_carries() {
    // The gateways were up for 5 s and found it out. Slow start from ten segments would take 3 s more.
    for (loss, most) in [(0.0, 5.0), (0.01, 5.4)] {
        let spec = through_gateways(loss, false, download(5_000));
        let time = |run: &RunSummary| run.flows[0].metrics.connection_time.expect("a time");
        let (run, time) = (outcome(&spec), median(&spec, time));
        assert!(time < most, "{time} s for 4.2 s of packets and a round trip");
        for way in [channel(&run, "space", 2), channel(&run, "lan", 1)] {
            assert_eq!(way.lost_queue_full, 0, "{}", way.name);
        }
    }
}

#[test]
fn a_server_that_cannot_be_reached_is_no_answer_at_the_client() {
    let mut spec = through_gateways(0.0, false, download(100));
    spec.links[2].forward_link.push(ModelSpec::RandomLoss(1.0));
    let flow = &outcome(&spec).flows[0];
    assert!(!flow.complete && flow.delivered_bytes == 0 && flow.failure.is_some(), "{flow:?}");
}

#[test]
fn files_go_through_gateways_connection_after_connection() {
    let mut flow = download(1);
    flow.request = None;
    (flow.from, flow.to, flow.gateways) = (0, 3, Some([1, 2]));
    flow.traffic = Some(TrafficSpec::Files {
        size: ByteCount::new(20_000),
        pause: Draw::Constant(0.2),
        count: Some(20),
    });
    let run = outcome(&through_gateways(0.01, false, flow));
    let flow = &run.flows[0];
    let pieces = flow.pieces.expect("pieces");
    assert!(flow.complete && pieces.failed == 0 && pieces.arrived == pieces.offered, "{flow:?}");
}

/// What enters one direction of a link, and when.
struct Entering {
    channel: usize,
    packets: Vec<(Instant, usize)>,
}

impl Observer for Entering {
    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, at: Instant, channel: usize, packet: &PacketSeen<'_>) {
        if channel == self.channel {
            self.packets.push((at, packet.bytes.len()));
        }
    }
}

#[test]
fn a_gateway_reads_all_that_a_server_said_at_one_moment_before_it_sends() {
    let mut spec = through_gateways(0.0, false, download(100));
    let cable = || vec![millis(1)];
    (spec.links[2].forward_link, spec.links[2].return_link) = (cable(), cable());
    // From the hub to the terminal.
    let mut seen = Entering { channel: 3, packets: Vec::new() };
    run(&spec, &mut seen).expect("a run");
    let data: Vec<_> = seen.packets.into_iter().filter(|(_, len)| *len > 300).take(3).collect();
    // Ten segments came at once, and the window of the beginning lets three datagrams go.
    assert!(data.len() == 3 && data.iter().all(|packet| *packet == data[0]), "{data:?}");
}
