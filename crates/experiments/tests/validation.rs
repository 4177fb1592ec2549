//! What TCP must share with ns-2 and with formulas.

use bentpipe_experiments::validation::{TRACED, agent, comparisons, replays, trace};

#[test]
fn windows_are_those_of_ns2_within_one_segment_up_to_the_first_loss() {
    for name in TRACED {
        let trace = trace(agent(name).expect("an agent")).expect("a run");
        let (apart, until) = trace.apart_before_loss();
        assert!(until >= 5, "{name}: the first loss comes after {until} s already");
        assert!(apart <= 1.0, "{name}: {apart} segments apart: {:?}", &trace.seconds[..8]);
    }
}

#[test]
fn with_the_losses_of_ns2_the_goodput_is_ns2s_within_a_tenth() {
    let all = replays(&[]).expect("runs");
    assert_eq!(all.len(), 60, "ten agents at six rates");
    for replayed in all {
        let apart = replayed.difference().mean.abs();
        assert!(apart <= 0.1, "{apart}: {replayed:?}");
        // The fewer losses, the less it matters where a run of events forks.
        let few = ["1e-8", "1e-7"].contains(&replayed.ber.as_str());
        assert!(!few || apart <= 0.05, "{apart}: {replayed:?}");
    }
}

#[test]
fn what_formulas_give_is_what_runs_give() {
    for comparison in comparisons().expect("runs") {
        assert!(comparison.holds(), "{comparison:?}");
    }
}
