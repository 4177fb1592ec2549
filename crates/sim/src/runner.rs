//! The run itself: the event loop, samples, and the summary at the end.

use bentpipe_link::Streams;
use bentpipe_record::{FlowMetrics, FlowSummary, RunSummary, SCHEMA_VERSION, Sample};
use bentpipe_units::{ByteCount, Instant, Span};

use crate::agent_queues::hold_before_agents;
use crate::components::{Component, Components};
use crate::endpoints::Endpoints;
use crate::network::Network;
use crate::network::queues::show_queues;
use crate::topology::Topology;
use crate::{BuildError, Observer, RunSpec, TrafficSpec};

/// Events after which the observer is asked whether the run is to go on.
const ASKED_EVERY: u64 = 1024;

/// Lets a run happen and says what became of it.
///
/// # Errors
/// When the specification cannot be built, or a satellite comes down on the path.
pub fn run(spec: &RunSpec, observer: &mut dyn Observer) -> Result<RunSummary, BuildError> {
    let spec = &*hold_before_agents(spec);
    let sample_every = observer.sample_every();
    let components = Components::new(spec);
    let others = (components.first_mac - components.first_end) as usize;
    let mut network = Network::new(spec, others, observer);
    check(spec, &network)?;
    let streams = Streams::new(spec.seed);
    let mut endpoints = Endpoints::new(spec, &streams, &components)?;
    endpoints.ends.fit_to_links(&network);
    endpoints.schedule_starts(&mut network);
    if sample_every.is_some() {
        network.queue.set_timer(components.sampler, Instant::ZERO);
    }
    if let Some(topology) = network.topology() {
        let first = topology.next_check();
        network.queue.set_timer(components.checker, first);
    }
    if let Some(first) = network.next_turn(Instant::ZERO) {
        network.queue.set_timer(components.link_states, first);
    }
    let end = Instant::ZERO + spec.duration;
    let (mut events, mut last, mut now) = (0, Instant::ZERO, Instant::ZERO);
    let mut out_of_time = false;
    loop {
        let next = network.queue.peek();
        // A program wakes once for all that comes at one moment.
        if endpoints.products.wait() && next.is_none_or(|(at, _)| at > now) {
            endpoints.run_products(now, &mut network);
            continue;
        }
        let Some((at, slot)) = next else { break };
        if events % ASKED_EVERY == 0 && !network.observer.goes_on() {
            break;
        }
        now = at;
        if now > end {
            out_of_time = true;
            break;
        }
        let component = components.of(slot);
        match component {
            Component::Channel | Component::Moving => {
                let packet = if component == Component::Channel {
                    network.arrive(now, slot)
                } else {
                    network.arrive_moving(now, slot)
                };
                if let Some(packet) = packet {
                    endpoints.arrive(now, &mut network, packet);
                }
            }
            Component::End => {
                if !endpoints.fire(now, &mut network, slot) {
                    continue;
                }
            }
            Component::Sampler | Component::Checker | Component::LinkStates => {
                network.queue.clear(slot);
                let next = if component == Component::Sampler {
                    take_samples(now, spec, &endpoints, &mut network);
                    sample_every.map(|every| now + every)
                } else if component == Component::Checker {
                    network.check(now)?;
                    network.topology().map(Topology::next_check)
                } else {
                    for (link, up) in network.turn_links(now) {
                        endpoints.handle_link_state(now, &mut network, link, up);
                    }
                    network.next_turn(now)
                };
                if let Some(next) = next
                    && goes_on(&endpoints, &network, &components)
                {
                    network.queue.set_timer(slot, next);
                }
                continue;
            }
            Component::Generator => endpoints.generate(now, &mut network, slot),
            Component::Scheduler => {
                let Endpoints { proxies, ends, .. } = &mut endpoints;
                proxies.fire(now, &mut network, ends, slot);
            }
            Component::Datagrams => endpoints.datagrams.fire(now, &mut network, slot),
            Component::Product => {
                network.queue.clear(slot);
                if !goes_on(&endpoints, &network, &components) {
                    continue;
                }
                endpoints.products.fire(slot);
            }
            Component::Mac => network.serve(now, slot),
            Component::Agent => {
                if !network.fire_agent(now, slot) {
                    continue;
                }
            }
        }
        events += 1;
        last = now;
    }
    let ended = if out_of_time { end } else { last };
    network.show(end);
    Ok(summarise(spec, &endpoints, &network, events, ended))
}

/// Whether anything is left to happen. Samples and checks alone keep no run going, nor do links, unless somebody waits for
/// one, nor hosts whose connections are over.
fn goes_on(endpoints: &Endpoints, network: &Network<'_>, components: &Components) -> bool {
    let clocks = components.sampler..=components.link_states;
    let hosts = components.first_product..components.first_mac;
    let idle = clocks.chain(hosts).filter(|slot| network.queue.has(*slot)).count();
    network.queue.len() > idle || network.awaits_link() || endpoints.are_in_use()
}

fn check(spec: &RunSpec, network: &Network<'_>) -> Result<(), BuildError> {
    for flow in &spec.flows {
        if flow.is_datagrams() && !flow.traffic.as_ref().is_some_and(TrafficSpec::is_timed) {
            return Err(BuildError::NoDatagrams { flow: flow.name.clone() });
        }
        let name = |node: usize| spec.nodes[node].clone();
        for [from, to] in flow.paths().chain(flow.legs().skip(1)) {
            if from == to {
                return Err(BuildError::ToItself { flow: flow.name.clone(), node: name(from) });
            }
            if !network.connects(from, to) || !network.connects(to, from) {
                let (from, to) = (name(from), name(to));
                return Err(BuildError::NoRoute { flow: flow.name.clone(), from, to });
            }
        }
    }
    Ok(())
}

fn take_samples(now: Instant, spec: &RunSpec, endpoints: &Endpoints, network: &mut Network<'_>) {
    for flow in 0..spec.flows.len() {
        let Some(source) = endpoints.source(flow) else { continue };
        let state = source.endpoint().sender_state();
        let delivered = endpoints.outcome(flow).verified;
        network.observer.sample(&Sample {
            at: now,
            flow,
            cwnd: state.cwnd,
            ssthresh: state.ssthresh,
            srtt: state.srtt,
            in_flight: state.in_flight,
            delivered: ByteCount::new(delivered),
            phase: state.phase.name(),
            activity: state.activity,
            limit: state.limit,
            route_delay: network.topology().and_then(|topology| topology.route_delay(flow)),
        });
    }
    for sample in endpoints.proxies.samples(&endpoints.ends, now) {
        network.observer.proxy(&sample);
    }
    show_queues(network, now);
}

fn summarise(
    spec: &RunSpec,
    endpoints: &Endpoints,
    network: &Network<'_>,
    events: u64,
    ended: Instant,
) -> RunSummary {
    let flows = (0..spec.flows.len()).map(|n| summarise_flow(spec, endpoints, n, ended)).collect();
    RunSummary {
        schema_version: SCHEMA_VERSION,
        scenario: spec.name.clone(),
        seed: spec.seed,
        simulated_seconds: ended.as_secs_f64(),
        events,
        packet_hops: network.packet_hops(),
        flows,
        links: network.links(spec),
        agents: network.agents(),
        proxies: endpoints.proxies.summaries(&endpoints.ends, spec, ended),
        gateways: endpoints.products.gateway_summaries(spec),
        steady: None,
        constellation: network.topology().map(Topology::summary),
    }
}

fn summarise_flow(
    spec: &RunSpec,
    endpoints: &Endpoints,
    index: usize,
    ended: Instant,
) -> FlowSummary {
    let flow = index;
    if let Some(summary) = endpoints.datagrams.summary(flow, &spec.flows[flow], ended) {
        return summary;
    }
    let source = endpoints.source(flow);
    let (outcome, pieces) = (endpoints.outcome(flow), endpoints.pieces(flow));
    let path_bytes = endpoints.path_bytes(flow);
    let flow = &spec.flows[flow];
    let wrong = outcome.wrong_at.map(|place| format!("byte {place} is not what was sent"));
    let whole = match pieces {
        Some((_, whole)) => whole,
        None => flow.source.stream_size().is_some_and(|s| s.get() == outcome.verified),
    };
    let complete = wrong.is_none() && whole;
    let until = if complete { outcome.last_at.unwrap_or(flow.source.start) } else { ended };
    let elapsed: Span = until.since(flow.source.start);
    let (mut sent, mut received) = (outcome.sent, outcome.received);
    endpoints.count_datagrams(index, [&mut sent, &mut received]);
    let delivered = flow.source.file_bytes(outcome.verified);
    FlowSummary {
        name: flow.name.clone(),
        protocol: flow.protocol.name(),
        controller: source.as_ref().map_or("", |e| e.endpoint().controller_name()),
        complete,
        failure: wrong.or(outcome.failure.map(|failure| failure.to_string())),
        delivered_bytes: delivered,
        first_byte_after: outcome.first_at.map(|at| at.since(flow.source.start).as_secs_f64()),
        metrics: FlowMetrics::new(delivered, elapsed, complete, &sent, &received),
        source: sent,
        sink: received,
        pieces: pieces.map(|(pieces, _)| pieces),
        probing: source.as_ref().and_then(|e| e.endpoint().probing_summary()),
        path_bytes,
    }
}
