//! Specifications of runs, short enough to be read at a glance.

use std::sync::Arc;

use bentpipe_link::mac::MacSpec;
use bentpipe_link::queue::{DisciplineSpec, QueueSpec};
use bentpipe_link::{Direction, ModelSpec, QueueLimit};
use bentpipe_record::{LinkSummary, RunSummary};
use bentpipe_sim::{
    Encapsulation, FlowSpec, LinkSpec, MacPlace, Protocol, RunSpec, Silent, SourceSpec, run,
};
use bentpipe_transport::xstp::Config;
use bentpipe_units::{ByteCount, Instant, Span};

/// A run over the nodes 0..`nodes` for at most a day.
pub(crate) fn spec(nodes: usize, links: Vec<LinkSpec>, flows: Vec<FlowSpec>) -> RunSpec {
    RunSpec {
        name: "by hand".into(),
        nodes: (0..nodes).map(|n| format!("n{n}")).collect(),
        links,
        macs: Vec::new(),
        agents: Vec::new(),
        constellation: None,
        schedulers: Vec::new(),
        gateways: None,
        flows,
        seed: 1,
        duration: Span::from_secs(86_400),
        encapsulation: Encapsulation::Qlp,
        wire: false,
    }
}

/// A link that is the same both ways.
pub(crate) fn link(name: &str, ends: [usize; 2], models: Vec<ModelSpec>) -> LinkSpec {
    LinkSpec {
        name: name.into(),
        ends,
        forward_link: models.clone(),
        return_link: models,
        mtu: None,
        tells_state: false,
        becn: false,
    }
}

/// A line rate with a queue of so many packets.
pub(crate) fn rate(rate: &str, packets: u32) -> ModelSpec {
    let rate = rate.parse().expect("a rate");
    ModelSpec::Rate { rate, queue: QueueLimit::Packets(packets) }
}

/// A delay.
pub(crate) fn millis(n: u64) -> ModelSpec {
    ModelSpec::Delay(Span::from_millis(n))
}

/// A blackout.
pub(crate) fn dark(from_ms: u64, lasts_ms: u64) -> ModelSpec {
    let from = Instant::ZERO + Span::from_millis(from_ms);
    ModelSpec::Blackouts(vec![(from, Span::from_millis(lasts_ms))])
}

/// A transfer of `kilobytes` that begins at once, with probing and the paper's settings.
pub(crate) fn flow(name: &str, from: usize, to: usize, kilobytes: u64) -> FlowSpec {
    let config = Config { probing: true, ..Config::paper() };
    with_config(name, [from, to], kilobytes, config)
}

/// The same with other settings.
pub(crate) fn with_config(
    name: &str,
    [from, to]: [usize; 2],
    kilobytes: u64,
    config: Config,
) -> FlowSpec {
    let config = Arc::new(config);
    FlowSpec {
        name: name.into(),
        from,
        to,
        protocol: Protocol::Xstp { sender: config.clone(), receiver: config },
        source: SourceSpec {
            start: Instant::ZERO,
            size: Some(ByteCount::new(1000 * kilobytes)),
            chunk: ByteCount::new(1000),
            message_header: ByteCount::ZERO,
            rate: None,
        },
        proxies: Vec::new(),
        gateways: None,
        traffic: None,
        request: None,
        low_priority: false,
    }
}

/// A queue that holds its packets before the forward link of a link.
pub(crate) fn held(link: usize, rate: &str, packets: u32, what: DisciplineSpec) -> MacPlace {
    let queue = QueueSpec { limit: QueueLimit::Packets(packets), discipline: what };
    let rate = rate.parse().expect("a rate");
    MacPlace { mac: MacSpec::Line { rate, queue }, lines: vec![(link, Direction::Forward)] }
}

/// What becomes of it.
pub(crate) fn outcome(spec: &RunSpec) -> RunSummary {
    run(spec, &mut Silent).expect("a run")
}

/// One direction of a link.
pub(crate) fn channel<'a>(run: &'a RunSummary, name: &str, from: usize) -> &'a LinkSummary {
    let from = format!("n{from}");
    let found = run.links.iter().find(|link| link.name == name && link.from == from);
    found.expect("the direction")
}

/// All packets that a direction lost, for whatever reason.
pub(crate) const fn lost(link: &LinkSummary) -> u64 {
    link.lost_queue_full
        + link.lost_random
        + link.lost_blackout
        + link.lost_channel
        + link.lost_scripted
        + link.lost_early
        + link.lost_collision
        + link.lost_packet_too_big
}

/// Every flow delivered the whole file, and every packet is accounted for.
pub(crate) fn assert_all_arrived(spec: &RunSpec, run: &RunSummary) {
    for (flow, summary) in spec.flows.iter().zip(&run.flows) {
        assert!(summary.complete, "{}: {:?}", flow.name, summary.failure);
        assert_eq!(Some(summary.delivered_bytes), flow.source.size.map(ByteCount::get));
    }
    for link in &run.links {
        assert_eq!(
            link.packets + link.acks_added,
            link.delivered + lost(link) + link.acks_filtered,
            "{} from {}",
            link.name,
            link.from
        );
    }
    assert_eq!(run.packet_hops, run.links.iter().map(|link| link.delivered).sum::<u64>());
}
