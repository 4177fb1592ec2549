//! A packet costs no allocation in the steady state, and time costs no memory.

use std::sync::Arc;

use bentpipe_link::{ModelSpec, QueueLimit};
use bentpipe_record::{RunSummary, Sample};
use bentpipe_sim::{
    Encapsulation, FlowSpec, LinkSpec, Observer, PacketSeen, Protocol, RunSpec, Silent, SourceSpec,
    run,
};
use bentpipe_transport::tcp;
use bentpipe_transport::xstp::Config;
use bentpipe_units::{ByteCount, Instant, Span};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Allocations that a run may make more when it lasts ten times as long: some list meets its most.
const FEW: u64 = 64;
/// Allocations of a report, on average: one with more than four gaps grows its list by doubling.
const A_REPORT: u64 = 2;

/// One endless flow over two links, as in the scenario that measures the simulator.
fn spec(seconds: u64, protocol: Protocol, forward: &[ModelSpec], queue: QueueLimit) -> RunSpec {
    let link = |name: &str, ends, rate: &str, delay_ms, more: &[ModelSpec]| {
        let rate = rate.parse().expect("a rate");
        let return_link =
            vec![ModelSpec::Rate { rate, queue }, ModelSpec::Delay(Span::from_millis(delay_ms))];
        LinkSpec {
            name: name.into(),
            ends,
            forward_link: [&return_link[..], more].concat(),
            return_link,
            mtu: None,
            tells_state: false,
            becn: false,
        }
    };
    RunSpec {
        name: "memory".into(),
        nodes: vec!["server".into(), "gateway".into(), "client".into()],
        constellation: None,
        schedulers: Vec::new(),
        gateways: None,
        links: vec![
            link("terrestrial", [0, 1], "100 Mbit/s", 40, &[]),
            link("satellite", [1, 2], "10 Mbit/s", 250, forward),
        ],
        macs: Vec::new(),
        agents: Vec::new(),
        flows: vec![FlowSpec {
            name: "bulk".into(),
            from: 0,
            to: 2,
            protocol,
            source: SourceSpec {
                start: Instant::ZERO,
                size: None,
                chunk: ByteCount::new(1000),
                message_header: ByteCount::ZERO,
                rate: None,
            },
            proxies: Vec::new(),
            gateways: None,
            traffic: None,
            request: None,
            low_priority: false,
        }],
        seed: 1,
        duration: Span::from_secs(seconds),
        encapsulation: Encapsulation::Qlp,
        wire: false,
    }
}

const BUFFER: ByteCount = ByteCount::new(1_200_000);

fn xstp(probing: bool) -> Protocol {
    let config = Config { snd_buf: BUFFER, rcv_buf: BUFFER, probing, ..Config::paper() };
    let config = Arc::new(config);
    Protocol::Xstp { sender: config.clone(), receiver: config }
}

fn tcp() -> Protocol {
    let config =
        tcp::Config { snd_buf: BUFFER, rcv_buf: BUFFER, mss: 1012, ..tcp::Config::default() };
    let config = Arc::new(config);
    Protocol::Tcp { sender: config.clone(), receiver: config }
}

/// What a run took: allocations, and the most bytes in use at the same time.
#[derive(Debug)]
struct Cost {
    allocations: u64,
    peak: usize,
    run: RunSummary,
}

fn cost(spec: &RunSpec, observer: &mut dyn Observer) -> Cost {
    let profiler = dhat::Profiler::builder().testing().build();
    let run = run(spec, observer).expect("a run");
    let stats = dhat::HeapStats::get();
    drop(profiler);
    Cost { allocations: stats.total_blocks, peak: stats.max_bytes, run }
}

/// Looks at every packet and keeps none.
#[derive(Default)]
struct Looker {
    packets: u64,
    samples: u64,
}

impl Observer for Looker {
    fn sample_every(&self) -> Option<Span> {
        Some(Span::from_millis(100))
    }

    fn sample(&mut self, _: &Sample) {
        self.samples += 1;
    }

    fn wants_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, _: Instant, _: usize, _: &PacketSeen<'_>) {
        self.packets += 1;
    }
}

/// How much more the long run took than the short one: allocations, packets, reports with gaps.
fn more(short: &Cost, long: &Cost) -> (u64, u64, u64) {
    let reports = |cost: &Cost| {
        let sink = &cost.run.flows[0].sink;
        sink.stats_sent + sink.ustats_sent
    };
    (
        long.allocations.saturating_sub(short.allocations),
        long.run.packet_hops - short.run.packet_hops,
        reports(long) - reports(short),
    )
}

// One test and not several: the counts are those of the whole process.
#[test]
fn ten_times_the_packets_take_no_more_allocations_and_no_more_memory() {
    let wide = QueueLimit::Bytes(ByteCount::new(2_000_000));
    let narrow = QueueLimit::Packets(100);
    let noise = [ModelSpec::BitErrors(1e-6)];
    for (name, forward, queue, protocol, lossless) in [
        ("a clean path", &[][..], wide, xstp(false), true),
        ("a clean path, probing", &[][..], wide, xstp(true), true),
        ("a clean path, TCP", &[][..], wide, tcp(), true),
        ("bit errors", &noise[..], wide, xstp(false), false),
        ("bit errors, probing", &noise[..], wide, xstp(true), false),
        ("bit errors, TCP", &noise[..], wide, tcp(), false),
        ("a full queue", &[][..], narrow, xstp(false), false),
        ("a full queue, probing", &[][..], narrow, xstp(true), false),
        ("a full queue, TCP", &[][..], narrow, tcp(), false),
    ] {
        let of = |seconds| cost(&spec(seconds, protocol.clone(), forward, queue), &mut Silent);
        // In TCP's window over a full queue some lists meet their most late.
        let seconds = if matches!(protocol, Protocol::Tcp { .. }) { 1_000 } else { 100 };
        let (short, long) = (of(seconds), of(10 * seconds));
        let (allocations, packets, reports) = more(&short, &long);
        println!(
            "{name}: {allocations} allocations more for {packets} packets and {reports} reports \
             more; peak {} and {} bytes",
            short.peak, long.peak
        );
        assert!(packets > 10_000, "{name}: only {packets} packets more");
        let source = &long.run.flows[0].source;
        assert_eq!(source.retransmitted_segments == 0, lossless, "{name}");
        let allowed = if lossless { FEW } else { FEW + A_REPORT * reports };
        assert!(allocations <= allowed, "{name}: {allocations} for {packets} packets");
        assert!(long.peak <= short.peak + 65_536, "{name}: {} to {}", short.peak, long.peak);
    }
    // To be looked at, packets are encoded; but nothing stays.
    let mut looker = Looker::default();
    let of = |seconds| spec(seconds, xstp(true), &noise, wide);
    let short = cost(&of(30), &mut looker);
    let long = cost(&of(120), &mut looker);
    assert!(looker.packets > long.run.packet_hops && looker.samples == 2 + 300 + 1_200);
    assert!(long.peak <= short.peak + 65_536, "looked at: {} to {}", short.peak, long.peak);
}
