//! Each component draws for itself: what is added elsewhere changes nothing here.

use bentpipe_link::{ModelSpec, StateConfig, XDelDropConfig};
use bentpipe_record::{FlowSummary, LinkSummary};
use bentpipe_sim::RunSpec;
use bentpipe_units::{Instant, Span};

use crate::support::*;

/// Two links in a row, the second one with chance in all its forms.
fn noisy() -> RunSpec {
    let chance = vec![ModelSpec::BitErrors(1e-5), ModelSpec::RandomLoss(0.02), millis(60)];
    let links = vec![link("near", [0, 1], vec![millis(3)]), link("far", [1, 2], chance)];
    spec(3, links, vec![flow("file", 0, 2, 400)])
}

/// The paper's channel with blackouts.
fn channel_of_two_states() -> ModelSpec {
    let state = |seconds, drop_probability| StateConfig {
        mean_sojourn: Span::from_secs(seconds),
        drop_probability,
        drop_at_min_delay: None,
        delay_min: Span::from_millis(100),
        delay_max: Span::from_millis(150),
    };
    let config = XDelDropConfig { good: state(5, 0.0), bad: state(1, 1.0), fifo: false };
    ModelSpec::XDelDrop { config, independent: false }
}

/// What became of the first flow and the first two links, which `noisy` begins with.
fn first(spec: &RunSpec) -> (FlowSummary, Vec<LinkSummary>) {
    let run = outcome(spec);
    assert_all_arrived(spec, &run);
    (run.flows[0].clone(), run.links[..4].to_vec())
}

#[test]
fn another_node_link_and_flow_shift_no_draw_of_the_others() {
    let plain = first(&noisy());
    assert!(plain.1.iter().any(|link| link.corrupted > 0 && link.lost_random > 0));

    let mut node = noisy();
    node.nodes.extend(["n3".into(), "n4".into()]);
    assert_eq!(first(&node), plain, "two nodes without links");

    let mut links = node.clone();
    links.links.push(link("other", [3, 4], vec![ModelSpec::RandomLoss(0.1), millis(7)]));
    links.links.push(link("bridge", [2, 3], vec![ModelSpec::BitErrors(1e-4)]));
    assert_eq!(first(&links), plain, "two links that nobody uses");

    let mut flows = links;
    flows.flows.push(flow("other", 3, 4, 300));
    flows.flows.push(flow("back", 4, 3, 300));
    let with_flows = first(&flows);
    assert_eq!(with_flows, plain, "two flows over other links");
}

#[test]
fn the_order_in_which_links_and_flows_are_declared_shifts_no_draw() {
    let mut spec = noisy();
    spec.nodes.extend(["n3".into(), "n4".into()]);
    spec.links.push(link("other", [3, 4], vec![ModelSpec::RandomLoss(0.1), millis(7)]));
    spec.flows.push(flow("other", 3, 4, 300));
    let plain = outcome(&spec);
    spec.links.reverse();
    spec.flows.reverse();
    let mut reversed = outcome(&spec);
    reversed.flows.reverse();
    assert_eq!(reversed.flows, plain.flows);
    for link in &plain.links {
        assert!(reversed.links.contains(link), "{link:?}");
    }
}

#[test]
fn a_flow_that_never_starts_changes_nothing() {
    // It could use every link in both directions, so that no packet may pass two of them at once.
    for (place, more) in [
        (1, ModelSpec::RandomLoss(0.02)),
        (1, channel_of_two_states()),
        (0, channel_of_two_states()),
        (0, rate("2 Mbit/s", 10)),
    ] {
        let mut spec = noisy();
        spec.links[1].forward_link.insert(0, rate("1 Mbit/s", 20));
        spec.links[place].forward_link.push(more.clone());
        spec.links[place].return_link.push(more);
        spec.duration = Span::from_secs(3_600);
        let plain = first(&spec);
        for (from, to) in [(1, 2), (2, 1), (0, 1), (1, 0), (0, 2)] {
            let mut with_idle = spec.clone();
            let mut idle = flow("idle", from, to, 1);
            idle.source.start = Instant::ZERO + Span::from_secs(7_200);
            with_idle.flows.push(idle);
            let run = outcome(&with_idle);
            assert_eq!(run.flows[0], plain.0, "{from} to {to}");
            assert_eq!(run.links, plain.1, "{from} to {to}");
            assert_eq!(run.flows[1].source.segments_sent, 0);
        }
    }
}

#[test]
fn another_name_or_seed_gives_a_link_other_draws() {
    let plain = first(&noisy());
    let mut renamed = noisy();
    renamed.links[1].name = "elsewhere".into();
    assert_ne!(first(&renamed).0.source, plain.0.source);
    let mut reseeded = noisy();
    reseeded.seed = 2;
    assert_ne!(first(&reseeded).0.source, plain.0.source);
    assert_eq!(first(&noisy()), plain);
}

#[test]
fn both_protocols_meet_the_same_channel() {
    // The states of the channel are a function of time; what is sent through it does not matter.
    let first_loss = |probing: bool| {
        let models = vec![channel_of_two_states()];
        let config = bentpipe_transport::xstp::Config {
            probing,
            ..bentpipe_transport::xstp::Config::paper()
        };
        let flows = vec![with_config("file", [0, 1], 500, config)];
        let run = outcome(&spec(2, vec![link("space", [0, 1], models)], flows));
        channel(&run, "space", 0).first_loss_ns.expect("a loss")
    };
    assert_eq!(first_loss(true), first_loss(false));
}
