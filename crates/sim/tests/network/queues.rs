//! Queues that hold packets, in whole runs.

use bentpipe_link::ModelSpec;
use bentpipe_link::queue::{
    AckReconstructionConfig, CodelConfig, DisciplineSpec, DualPi2Config, FqCodelConfig,
    FuzzyConfig, PieConfig, RedConfig,
};
use bentpipe_record::RunSummary;
use bentpipe_sim::RunSpec;
use bentpipe_units::Span;

use crate::support::*;

/// Three flows over a bottleneck with chance behind it, from nodes 0 to 2 by way of 3 and 4 to 5.
fn bottleneck(neck: &[ModelSpec]) -> RunSpec {
    // No two packets come at the same nanosecond: their order would be nobody's business.
    let odd = |n: usize| ModelSpec::Delay(Span::from_nanos(1_000_003 + 700_027 * n as u64));
    let near = |n: usize| link(&format!("near {n}"), [n, 3], vec![rate("10 Mbit/s", 100), odd(n)]);
    let chance = [ModelSpec::BitErrors(1e-6), ModelSpec::RandomLoss(0.005), millis(40)];
    let mut links = vec![link("neck", [3, 4], [neck, &chance[..]].concat())];
    links[0].return_link = chance.to_vec();
    links.extend((0..3).map(near));
    links.push(link("far", [4, 5], vec![millis(5)]));
    let flows = (0..3).map(|n| flow(&format!("flow {n}"), n, 5, 150 + 50 * n as u64));
    spec(6, links, flows.collect())
}

fn with_queue(what: DisciplineSpec) -> RunSpec {
    let mut spec = bottleneck(&[]);
    spec.macs.push(held(0, "2 Mbit/s", 15, what));
    spec
}

fn disciplines() -> Vec<DisciplineSpec> {
    vec![
        DisciplineSpec::DropTail,
        DisciplineSpec::Red(RedConfig { weight: 0.02, ..RedConfig::default() }),
        DisciplineSpec::Codel(CodelConfig::default()),
        DisciplineSpec::FqCodel(FqCodelConfig::default()),
        DisciplineSpec::Pie(PieConfig { max_burst: Span::ZERO, ..PieConfig::default() }),
        DisciplineSpec::DualPi2(DualPi2Config::default()),
        DisciplineSpec::Fuzzy(FuzzyConfig::default()),
        DisciplineSpec::DropLowPriority,
        DisciplineSpec::AckPriority { in_a_row: 8 },
        DisciplineSpec::AckFilter { reports: true, in_place: true },
        DisciplineSpec::AckReconstruction(AckReconstructionConfig::default()),
        DisciplineSpec::Xcp { p_xcp: false },
        DisciplineSpec::Xcp { p_xcp: true },
        DisciplineSpec::BaTcp,
    ]
}

/// The record without the count of events, which is a property of the simulator, and the times of
/// losses behind the queue: those are known earlier where packets are not held.
fn record(spec: &RunSpec) -> RunSummary {
    let mut run = RunSummary { events: 0, ..outcome(spec) };
    run.links.iter_mut().for_each(|link| link.first_loss_ns = None);
    run
}

#[test]
fn a_queue_that_holds_its_packets_gives_the_record_of_one_that_does_not() {
    let plain = record(&bottleneck(&[rate("2 Mbit/s", 15)]));
    assert!(channel(&plain, "neck", 3).lost_queue_full > 20, "{plain:?}");
    assert_eq!(record(&with_queue(DisciplineSpec::DropTail)), plain);
}

#[test]
fn every_queue_delivers_everything_and_says_the_same_in_wire_mode_and_again() {
    for what in disciplines() {
        let mut spec = with_queue(what.clone());
        let run = outcome(&spec);
        assert_all_arrived(&spec, &run);
        assert!(lost(channel(&run, "neck", 3)) > 20, "{what:?}: the queue had nothing to do");
        assert_eq!(outcome(&spec), run, "{what:?}");
        spec.wire = true;
        assert_eq!(outcome(&spec), run, "{what:?}");
    }
}

#[test]
fn red_drops_before_the_queue_is_full() {
    let red = RedConfig { weight: 0.02, ..RedConfig::default() };
    let run = outcome(&with_queue(DisciplineSpec::Red(red)));
    assert!(channel(&run, "neck", 3).lost_early > 0);
}

#[test]
fn a_queue_elsewhere_shifts_no_draw() {
    let plain = bottleneck(&[rate("2 Mbit/s", 15)]);
    let mut more = plain.clone();
    more.nodes.extend(["n6".into(), "n7".into()]);
    more.links.push(link("other", [6, 7], vec![millis(5)]));
    more.flows.push(flow("other", 6, 7, 300));
    more.macs.push(held(5, "1 Mbit/s", 8, DisciplineSpec::Red(RedConfig::default())));
    let (plain, more) = (outcome(&plain), outcome(&more));
    assert_eq!(more.flows[..3], plain.flows[..]);
    assert_eq!(more.links[..plain.links.len()], plain.links[..]);
    assert!(more.flows[3].complete && lost(channel(&more, "other", 6)) > 0);
}

#[test]
fn reports_that_others_make_needless_leave_a_slow_return_link() {
    // 8 kbit/s back: a report of 20 bytes takes 20 ms.
    let mut spec = spec(2, vec![link("space", [0, 1], vec![millis(50)])], vec![]);
    spec.flows.push(flow("file", 0, 1, 400));
    spec.links[0].forward_link.insert(0, rate("2 Mbit/s", 60));
    let filter = DisciplineSpec::AckFilter { reports: true, in_place: false };
    for (what, filters) in [(filter, true), (DisciplineSpec::DropTail, false)] {
        let mut spec = spec.clone();
        let mut place = held(0, "8 kbit/s", 1000, what);
        place.lines[0].1 = bentpipe_link::Direction::Return;
        spec.macs.push(place);
        spec.duration = Span::from_secs(600);
        let run = outcome(&spec);
        assert_all_arrived(&spec, &run);
        assert_eq!(channel(&run, "space", 1).acks_filtered > 0, filters);
    }
}
