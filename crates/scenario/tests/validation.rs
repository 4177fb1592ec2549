//! What TCP must share with ns-2 and with formulas.

use bentpipe_scenario::validation::{TRACED, agent, comparisons, trace};

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
fn what_formulas_give_is_what_runs_give() {
    for comparison in comparisons().expect("runs") {
        assert!(comparison.holds(), "{comparison:?}");
    }
}
