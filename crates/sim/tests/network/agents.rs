//! Agents at a node between two links.

use std::sync::Arc;

use bentpipe_link::{Action, ModelSpec, Rule};
use bentpipe_pep::snoop;
use bentpipe_record::{RunSummary, TransportCounters};
use bentpipe_sim::{AgentPlace, AgentSpec, Protocol, RunSpec};
use bentpipe_transport::tcp;
use bentpipe_transport::tcp::recovery::Mode;
use bentpipe_units::ByteCount;
use bentpipe_wire::Kind;

use crate::support::*;

/// A megabyte of TCP from node 0 over the proxy, node 1, to node 2; the second link is `space`. The window
/// fits into the path and its queues, and every segment is acknowledged at once.
fn over_a_proxy(space: Vec<ModelSpec>) -> RunSpec {
    let rcv_buf = ByteCount::new(100_000);
    let config = Arc::new(tcp::Config { rcv_buf, ack_every: 1, ..tcp::Config::default() });
    let mut file = flow("file", 0, 2, 1000);
    file.protocol = Protocol::Tcp { sender: config.clone(), receiver: config };
    let mut line = vec![rate("2 Mbit/s", 100), millis(20)];
    line.extend(space);
    let back = vec![rate("2 Mbit/s", 100), millis(20)];
    let mut space = link("space", [1, 2], line);
    space.return_link = back;
    let wired = link("wired", [0, 1], vec![rate("10 Mbit/s", 100), millis(50)]);
    spec(3, vec![wired, space], vec![file])
}

/// The same without selective reports.
fn without_sack(spec: &RunSpec) -> RunSpec {
    let mut spec = spec.clone();
    if let Protocol::Tcp { sender, .. } = &spec.flows[0].protocol {
        let recovery = Mode::NewReno;
        let config = Arc::new(tcp::Config { sack: false, recovery, ..(**sender).clone() });
        spec.flows[0].protocol = Protocol::Tcp { sender: config.clone(), receiver: config };
    }
    spec
}

/// The same with Snoop at the proxy; it acts on the first duplicate.
fn with_snoop(spec: &RunSpec) -> RunSpec {
    let config = snoop::Config { threshold: 0, ..snoop::Config::default() };
    let agent = AgentSpec::Snoop(config);
    let place = AgentPlace { name: "base".into(), agent, node: 1, link: 1 };
    RunSpec { agents: vec![place], ..spec.clone() }
}

fn lost(nth: u64) -> ModelSpec {
    ModelSpec::Script(vec![Rule { kind: Kind::DATA, nth, count: 1, action: Action::Drop }])
}

#[test]
fn the_sender_never_learns_of_a_loss_that_snoop_repairs() {
    let spec = over_a_proxy(vec![lost(300)]);
    let alone = &outcome(&spec).flows[0];
    assert_eq!(alone.source.reductions, 1);
    assert!(alone.source.retransmitted_segments > 0);
    let run = outcome(&with_snoop(&spec));
    assert_all_arrived(&spec, &run);
    let (source, agent) = (&run.flows[0].source, &run.agents[0]);
    assert_eq!((source.retransmitted_segments, source.reductions), (0, 0));
    assert_eq!(agent.sent, 1);
    let clean = &outcome(&over_a_proxy(vec![])).flows[0].source;
    let segments_received = source.segments_received + agent.suppressed;
    assert_eq!(&TransportCounters { segments_received, ..*source }, clean);
    // The repair did not wait behind the sixty segments in the queue.
    assert!(run.flows[0].sink.reorder_peak_bytes < 15 * 1460, "{:?}", run.flows[0].sink);
    assert!(run.flows[0].metrics.effective_throughput > alone.metrics.effective_throughput);
}

#[test]
fn losses_before_the_proxy_stay_the_senders() {
    let mut spec = over_a_proxy(vec![]);
    spec.links[0].forward_link.push(lost(300));
    let run = outcome(&with_snoop(&spec));
    assert_all_arrived(&spec, &run);
    assert_eq!(run.flows[0], outcome(&spec).flows[0]);
    assert_eq!((run.agents[0].sent, run.agents[0].suppressed), (0, 0));
}

#[test]
fn losses_of_the_proxys_own_queue_are_congestion_and_stay_the_senders() {
    let mut spec = over_a_proxy(vec![]);
    spec.links[1].forward_link[0] = rate("2 Mbit/s", 10);
    let alone = outcome(&spec);
    assert!(channel(&alone, "space", 1).lost_queue_full > 0);
    let run = outcome(&with_snoop(&spec));
    assert_all_arrived(&spec, &run);
    assert_eq!(run.flows[0], alone.flows[0]);
}

#[test]
fn every_loss_of_a_noisy_link_is_repaired_once_and_no_sender_without_sack_learns_of_any() {
    for seed in 1..=10 {
        let spec = over_a_proxy(vec![ModelSpec::BitErrors(2e-6)]);
        let spec = RunSpec { seed, ..with_snoop(&without_sack(&spec)) };
        let run = outcome(&spec);
        assert_all_arrived(&spec, &run);
        let (source, agent) = (&run.flows[0].source, &run.agents[0]);
        let damaged = channel(&run, "space", 1).corrupted;
        assert_eq!((source.retransmitted_segments, source.reductions), (0, 0));
        assert!((damaged..=damaged + 1).contains(&agent.sent), "{seed}: {agent:?}, {damaged} lost");
    }
}

/// Where two losses of one round trip meet, what passes to acknowledge the first retransmission reports what came
/// after the second: Snoop ends duplicates, and leaves reports as they are.
#[test]
fn with_sack_the_sender_sees_a_second_loss_of_the_same_round_trip() {
    let two = vec![lost(300), lost(303)];
    let spec = with_snoop(&over_a_proxy(two));
    let source = &outcome(&spec).flows[0].source;
    assert_eq!(source.reductions, 1);
    assert!(source.retransmitted_segments > 0);
    let source = &outcome(&without_sack(&spec)).flows[0].source;
    assert_eq!((source.retransmitted_segments, source.reductions), (0, 0));
}

#[test]
fn over_a_noisy_link_wire_mode_and_another_run_say_the_same() {
    let mut spec = with_snoop(&over_a_proxy(vec![ModelSpec::BitErrors(2e-6)]));
    let run = outcome(&spec);
    assert_all_arrived(&spec, &run);
    assert!(run.agents[0].sent > 5, "{:?}", run.agents);
    assert_eq!(outcome(&spec), run);
    spec.wire = true;
    assert_eq!(outcome(&spec), run);
}

#[test]
fn an_agent_that_finds_nothing_to_do_changes_nothing() {
    let spec = over_a_proxy(vec![]);
    let strip = |run: RunSummary| RunSummary { agents: vec![], events: 0, ..run };
    assert_eq!(strip(outcome(&with_snoop(&spec))), strip(outcome(&spec)));
}

#[test]
fn an_agent_sees_what_passes_its_link_and_nothing_else() {
    let mut spec = with_snoop(&over_a_proxy(vec![]));
    spec.nodes.push("n3".into());
    spec.links.push(link("aside", [1, 3], vec![millis(5)]));
    let mut aside = spec.flows[0].clone();
    (aside.name, aside.to) = ("aside".into(), 3);
    let before = outcome(&spec).agents;
    spec.flows.push(aside);
    let run = outcome(&spec);
    assert!(run.flows[1].complete && before[0].packets > 700);
    spec.flows.remove(0);
    assert_eq!(outcome(&spec).agents[0].packets, 0);
}

#[test]
fn what_comes_in_damaged_over_the_agents_link_is_no_congestion_to_its_sender() {
    let mut spec = over_a_proxy(vec![]);
    (spec.flows[0].from, spec.flows[0].to) = (2, 0);
    spec.links[1].return_link.push(lost(30));
    let alone = outcome(&spec);
    assert_eq!(alone.flows[0].source.reductions, 1);
    let run = outcome(&with_snoop(&spec));
    assert_all_arrived(&spec, &run);
    assert_eq!(run.flows[0].source.reductions, 0);
    let [with, without] = [&run, &alone].map(|run| run.flows[0].metrics.effective_throughput);
    assert!(with > without, "{with} {without}");
}
