//! A scenario in real time: source, router and destination as three processes, joined by message queues.

mod case;
mod child;
mod role;

use std::sync::atomic::{AtomicU32, Ordering};

use bentpipe_experiments::Laboratory;
use bentpipe_record::{FlowMetrics, FlowSummary, RunSummary, SCHEMA_VERSION};
use bentpipe_scenario::Scenario;
use bentpipe_units::Span;

use crate::failure::Failure;
use case::Case;
use child::Child;
use role::{Arrived, Passed, Sent};

pub(crate) use role::process;

/// Runs that happen at the same time, if the user does not say: the more there are, the shallower are the queues that the system
/// permits, and the later processes wake up.
pub(in crate::commands) const AT_ONCE: usize = 4;

/// Numbers of nodes that are given out in triples.
const TRIPLES: u32 = (1 << 16) / 3;
/// Triples that a process has before it meets those of the next one.
const OWN_TRIPLES: u32 = 64;

/// Where scenarios happen in real time.
pub(in crate::commands) struct Processes;

impl Laboratory for Processes {
    fn run(&self, scenario: &Scenario, seed: u64) -> Result<RunSummary, String> {
        run(scenario, seed).map_err(|failure| match failure {
            Failure::Input(message) | Failure::System(message) => message,
            failure => format!("{failure:?}"),
        })
    }
}

/// Lets a scenario happen once.
pub(in crate::commands) fn run(scenario: &Scenario, seed: u64) -> Result<RunSummary, Failure> {
    let case = Case::of(scenario, seed)?;
    let [source, router, destination] = nodes();
    let start = |role: &'static str, node: u16, routes: &[(u16, u16)]| {
        let mut args = vec![role.to_owned(), format!("--seed={seed}"), format!("--node={node}")];
        args.extend(routes.iter().map(|(to, next)| format!("--route={to}={next}")));
        args.push(format!("--destination={destination}"));
        Child::start(role, &args, scenario)
    };
    let mut sink = start("destination", destination, &[(source, router)])?;
    let mut link = start("router", router, &[])?;
    let mut sender = start("source", source, &[(destination, router)])?;
    // The router says nothing before it is dismissed: it is looked at for its end only.
    Child::wait_for(&mut [&mut sender, &mut sink, &mut link], 2)?;
    let (sent, arrived): (Sent, Arrived) = (sender.report()?, sink.report()?);
    link.dismiss();
    let passed: Passed = link.report()?;
    let lost = sent.lost + arrived.lost + passed.lost;
    if lost > 0 {
        anstream::eprintln!(
            "bentpipe: warning: {}, seed {seed}: {lost} frames found a message queue full and are lost; \
             `sysctl fs.mqueue.msg_max=256` lets queues be deeper",
            case.spec.name
        );
    }
    Ok(summary(&case, sent, &arrived, &passed))
}

/// Three numbers that no other run has, in the order of the path.
fn nodes() -> [u16; 3] {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let own = NEXT.fetch_add(1, Ordering::Relaxed) % OWN_TRIPLES;
    let triple = std::process::id().wrapping_mul(OWN_TRIPLES).wrapping_add(own) % TRIPLES;
    [0, 1, 2].map(|place| (triple * 3 + place) as u16)
}

/// What three processes saw, as the simulator says it.
fn summary(case: &Case, sent: Sent, arrived: &Arrived, passed: &Passed) -> RunSummary {
    let flow = case.flow();
    let since = |at: u64| Span::from_nanos(at.saturating_sub(sent.began));
    let wrong = arrived.wrong_at.map(|place| format!("byte {place} is not what was sent"));
    let complete = wrong.is_none()
        && flow.source.stream_size().is_some_and(|size| size.get() == arrived.verified);
    let until = if complete { arrived.last_at.unwrap_or(sent.began) } else { sent.ended };
    let delivered = flow.source.file_bytes(arrived.verified);
    let metrics =
        FlowMetrics::new(delivered, since(until), complete, &sent.counters, &arrived.counters);
    let flows = vec![FlowSummary {
        name: flow.name.clone(),
        protocol: flow.protocol.name(),
        controller: case.sender.controller.name(),
        complete,
        failure: wrong.or(sent.failure),
        delivered_bytes: delivered,
        first_byte_after: arrived.first_at.map(|at| since(at).as_secs_f64()),
        metrics,
        source: sent.counters,
        sink: arrived.counters,
        pieces: None,
        probing: sent.probing,
        path_bytes: Vec::new(),
    }];
    RunSummary {
        schema_version: SCHEMA_VERSION,
        scenario: case.spec.name.clone(),
        seed: case.spec.seed,
        simulated_seconds: since(sent.ended).as_secs_f64(),
        events: 0,
        packet_hops: passed.forward.packets + passed.returned.packets,
        flows,
        links: case.links([&passed.forward, &passed.returned]),
        agents: Vec::new(),
        proxies: Vec::new(),
        gateways: Vec::new(),
        steady: None,
        constellation: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_nodes_of_their_own_in_the_order_of_the_path() {
        let (first, second) = (nodes(), nodes());
        assert!(first.is_sorted() && second.is_sorted());
        assert!(first.iter().all(|node| !second.contains(node)), "{first:?} {second:?}");
    }
}
