//! Active queue management, in whole runs: how long packets wait before a bottleneck.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bentpipe_cc::Choice;
use bentpipe_link::ModelSpec;
use bentpipe_link::queue::{CodelConfig, DisciplineSpec, DualPi2Config, FqCodelConfig, PieConfig};
use bentpipe_record::{FlowSummary, RunSummary};
use bentpipe_sim::{FlowSpec, Observer, PacketSeen, Protocol, RunSpec, TrafficSpec, run};
use bentpipe_transport::tcp::{self, EcnMode};
use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use crate::support::*;

/// Line rate and propagation delay of the bottleneck.
const RATE: BitRate = BitRate::from_bps(10_000_000);
const DELAY: Span = Span::from_millis(40);
/// Slow start is over.
const STEADY: Instant = Instant::from_nanos(10_000_000_000);

/// How long the packets of the first flow waited before the bottleneck, from [`STEADY`] on.
#[derive(Default)]
struct Waits {
    entered: BTreeMap<Vec<u8>, VecDeque<Instant>>,
    waits: Vec<Span>,
}

impl Observer for Waits {
    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, at: Instant, channel: usize, packet: &PacketSeen<'_>) {
        if packet.envelope.from != 0 || at < STEADY {
            return;
        }
        match channel {
            0 => self.entered.entry(packet.bytes.to_vec()).or_default().push_back(at),
            2 => {
                let entered = self.entered.get_mut(packet.bytes).and_then(VecDeque::pop_front);
                let length = ByteCount::new(packet.bytes.len() as u64 + 20);
                let on_the_way = DELAY + RATE.time_for(length);
                self.waits.extend(entered.map(|entered| at.since(entered) - on_the_way));
            }
            _ => {}
        }
    }
}

impl Waits {
    fn mean_ms(&self) -> f64 {
        let sum: f64 = self.waits.iter().map(|wait| wait.as_secs_f64()).sum();
        1000.0 * sum / self.waits.len() as f64
    }
}

/// A flow of CUBIC from node 0 that has more to send than fits into the run.
fn bulk(ecn: bool) -> FlowSpec {
    bulk_of("cubic", &[], if ecn { EcnMode::Classic } else { EcnMode::Off })
}

/// The same of another controller.
fn bulk_of(controller: &str, parameters: &[(&str, f64)], ecn: EcnMode) -> FlowSpec {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let controller = Choice::new(controller, parameters).expect("a controller");
    let config = Arc::new(tcp::Config { controller, ecn, ..tcp::Config::default() });
    let mut bulk = flow("bulk", 0, 3, 100_000);
    bulk.protocol = Protocol::Tcp { sender: config.clone(), receiver: config };
    bulk
}

/// Packets of 200 bytes from node 4, each 20 ms: a call.
fn call() -> FlowSpec {
    let (packet, interval) = (ByteCount::new(200), Span::from_micros(20_011));
    let mut call = flow("call", 4, 3, 1);
    call.protocol = Protocol::Udp;
    call.source.start = STEADY;
    call.traffic = Some(TrafficSpec::Constant { packet, interval, jitter: 0.0, count: None });
    call
}

/// A minute of these flows over 10 Mbit/s and 40 ms, with room for 1000 packets.
fn bottleneck(what: DisciplineSpec, flows: Vec<FlowSpec>) -> RunSpec {
    let links = vec![
        link("neck", [1, 2], vec![ModelSpec::Delay(DELAY)]),
        link("far", [2, 3], vec![]),
        link("near", [0, 1], vec![rate("1 Gbit/s", 10_000)]),
        link("other", [4, 1], vec![rate("1 Gbit/s", 10_000)]),
    ];
    let mut spec = spec(5, links, flows);
    spec.macs.push(held(0, "10 Mbit/s", 1000, what));
    spec.duration = Span::from_secs(60);
    spec
}

fn over_the_bottleneck(what: DisciplineSpec, flows: Vec<FlowSpec>) -> (RunSummary, Waits) {
    let mut waits = Waits::default();
    let run = run(&bottleneck(what, flows), &mut waits).expect("a run");
    assert!(waits.waits.len() > 10_000, "{}", waits.waits.len());
    (run, waits)
}

fn codel() -> DisciplineSpec {
    DisciplineSpec::Codel(CodelConfig::default())
}

fn fq_codel() -> DisciplineSpec {
    DisciplineSpec::FqCodel(FqCodelConfig::default())
}

fn pie() -> DisciplineSpec {
    DisciplineSpec::Pie(PieConfig::default())
}

fn dualpi2() -> DisciplineSpec {
    DisciplineSpec::DualPi2(DualPi2Config::default())
}

/// Share of the line that the flow filled with data.
fn filled(flow: &FlowSummary) -> f64 {
    8.0 * flow.delivered_bytes as f64 / (60.0 * RATE.as_bps() as f64)
}

#[test]
fn a_bulk_flow_waits_for_a_second_with_drop_tail_and_about_the_target_otherwise() {
    let mean = |what| {
        let (run, waits) = over_the_bottleneck(what, vec![bulk(false)]);
        let filled = filled(&run.flows[0]);
        assert!(filled > 0.85, "{filled}");
        (waits.mean_ms(), channel(&run, "neck", 1).lost_early)
    };
    let (drop_tail, early) = mean(DisciplineSpec::DropTail);
    assert!(drop_tail > 700.0 && early == 0, "{drop_tail}");
    // CoDel lets only the least sojourn time of an interval come up to 5 ms, and CUBIC leaves a
    // third of the window at each drop. PI control with one flow has a probability of 0 for a while
    // after each of them, which leaves the mean below the target.
    for (what, range) in
        [(codel(), 1.0..6.0), (fq_codel(), 1.0..6.0), (pie(), 7.5..20.0), (dualpi2(), 7.5..20.0)]
    {
        let (mean, early) = mean(what.clone());
        assert!(range.contains(&mean) && early > 20, "{what:?}: {mean} {early}");
    }
}

#[test]
fn with_ecn_a_flow_loses_nothing_and_is_marked() {
    let marks_always = PieConfig { mark_threshold: 1.0, ..PieConfig::default() };
    for what in [codel(), fq_codel(), DisciplineSpec::Pie(marks_always), dualpi2()] {
        let (run, waits) = over_the_bottleneck(what.clone(), vec![bulk(true)]);
        let neck = channel(&run, "neck", 1);
        assert!(lost(neck) == 0 && neck.marked > 20, "{what:?}: {neck:?}");
        assert_eq!(run.flows[0].source.retransmitted_segments, 0, "{what:?}");
        assert!(waits.mean_ms() < 20.0, "{what:?}: {}", waits.mean_ms());
    }
    // As the RFC has it PIE drops above 10 %, where slow start drives it.
    let (run, _) = over_the_bottleneck(pie(), vec![bulk(true)]);
    let neck = channel(&run, "neck", 1);
    assert!(neck.lost_early > 0 && neck.marked > 20, "{neck:?}");
}

#[test]
fn with_l4s_bbr3_waits_a_millisecond_in_the_queue_of_low_latency() {
    let run = |parameters: &[(&str, f64)], ecn| {
        let (run, waits) = over_the_bottleneck(dualpi2(), vec![bulk_of("bbr3", parameters, ecn)]);
        let marked = channel(&run, "neck", 1).marked;
        (filled(&run.flows[0]), waits.mean_ms(), marked)
    };
    let (filled, wait, marked) = run(&[("ecn_max_rtt", 1.0)], EcnMode::L4s);
    // What ignores marks drives the queues into overload, where they drop.
    let (deaf_filled, deaf_wait, _) = run(&[], EcnMode::L4s);
    assert!(filled > 0.85 && marked > 100, "{filled} {marked}");
    assert!(wait < 1.5 && deaf_wait > 10.0, "{wait} {deaf_wait}");
    assert!(deaf_filled < 0.5, "{deaf_filled}");
}

#[test]
fn a_call_beside_bulk_flows_waits_for_two_packets_at_most_with_fq_codel() {
    // 228 bytes take 0.18 ms, besides 40 ms.
    let waits = |what| {
        let (run, _) = over_the_bottleneck(what, vec![bulk(false), call(), bulk(false)]);
        let seconds = run.flows[1].pieces.and_then(|pieces| pieces.seconds).expect("delays");
        [seconds.mean, seconds.max].map(|seconds| 1000.0 * seconds - 40.18)
    };
    let [mean, max] = waits(fq_codel());
    // One packet of a bulk flow that is being sent, and one for each of them that is as new.
    assert!(mean < 1.3 && max < 3.7, "{mean} {max}");
    for (what, least) in [(codel(), 1.5), (pie(), 7.5), (DisciplineSpec::DropTail, 500.0)] {
        let [mean, _] = waits(what.clone());
        assert!(mean > least, "{what:?}: {mean}");
    }
}

#[test]
fn flows_share_the_line_by_halves_with_fq_codel_whatever_their_round_trips() {
    let shares = |what| {
        let mut far = bulk(false);
        far.from = 4;
        let mut spec = bottleneck(what, vec![bulk(false), far]);
        // Of the second one the round trip is twice as long.
        spec.links[3].forward_link.push(millis(80));
        let run = outcome(&spec);
        [0, 1].map(|flow| filled(&run.flows[flow]))
    };
    let [near, far] = shares(fq_codel());
    assert!((near - far).abs() < 0.1 && near + far > 0.8, "{near} {far}");
    let [near, far] = shares(codel());
    assert!(near > 1.5 * far, "{near} {far}");
}
