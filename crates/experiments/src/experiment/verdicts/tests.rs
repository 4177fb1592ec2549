use bentpipe_record::{Bound, Claim};

use super::super::claims::ClaimSpec;
use super::*;

const METRIC: &str = "mean_throughput";

/// Four places, three replications each. `a` rises beyond doubt; `b` rises on average only; `c` has no
/// value at one place.
fn measured() -> SweepResult {
    let a = vec![
        vec![10.0, 11.0, 12.0],
        vec![20.0, 21.0, 22.0],
        vec![30.0, 31.0, 32.0],
        vec![40.0, 41.0, 42.0],
    ];
    let b = vec![
        vec![10.0, 12.0, 14.0],
        vec![11.0, 12.0, 14.0],
        vec![10.0, 13.0, 14.0],
        vec![9.0, 16.0, 14.0],
    ];
    let c = vec![vec![1.0; 3], vec![f64::NAN; 3], vec![1.0; 3], vec![1.0; 3]];
    SweepResult::by_hand(METRIC, &[("a", a), ("b", b), ("c", c)])
}

/// Judges a claim as it stands in a file; figure `1` is the same data, figure `2` those with `a` and `b`
/// exchanged.
fn judged_whole(claim: &str) -> Claim {
    let result = measured();
    let [a, b, c] = ["a", "b", "c"].map(|name| result.values(name, METRIC).to_vec());
    let exchanged = SweepResult::by_hand(METRIC, &[("a", b), ("b", a), ("c", c)]);
    let find = |_: &str, figure: &str| match figure {
        "1" => Some(&result),
        "2" => Some(&exchanged),
        _ => None,
    };
    let judge = Judge { experiment: "E1", default_metric: METRIC, result: &result, find: &find };
    let claim: ClaimSpec = toml::from_str(&format!("text = \"it\"\n{claim}")).expect("a claim");
    judge.judge(&claim)
}

fn judged(claim: &str) -> (bool, String) {
    let claim = judged_whole(claim);
    (claim.holds == Some(true), claim.measured)
}

fn holds(claim: &str) -> bool {
    judged(claim).0
}

#[test]
fn better_needs_a_paired_interval_that_excludes_the_opposite() {
    assert!(holds("better = { variant = 'a', than = 'b', from_x = 1 }"));
    // At 0 it is 1 worse; one below b in each pair.
    let (better, measured) = judged("better = { variant = 'a', than = 'b' }");
    assert!(!better && measured == "at 3 of 4 points; not at x = 0 (-1.0000)", "{measured}");
    let (better, measured) = judged("better = { variant = 'b', than = 'a', at = [0] }");
    assert!(!better && measured.contains("within the paired 95 % interval"), "{measured}");
    assert!(!holds("better = { variant = 'c', than = 'b', at = [1] }"), "no value");
    assert!(!holds("better = { variant = 'a', than = 'b', at = [7] }"), "no such place");
}

#[test]
fn gains_lie_in_their_range_at_every_place() {
    // 21 against 12.33.
    assert!(holds("gain = { variant = 'a', over = 'b', at = [1], min = 70, max = 71 }"));
    assert!(!holds("gain = { variant = 'a', over = 'b', at = [1], min = 71 }"));
    assert!(!holds("gain = { variant = 'a', over = 'b', at = [1], max = 70 }"));
    assert!(!holds("gain = { variant = 'a', over = 'b', min = 0 }"), "-8 % at 0");
    assert!(!holds("gain = { variant = 'c', over = 'b', at = [1], min = -100 }"), "no value");
    assert!(!holds("gain = { variant = 'a', over = 'b', at = [7], min = 0 }"), "no such place");
    assert!(holds("best_gain = { variant = 'a', over = 'b', min = 215 }"));
    assert!(!holds("best_gain = { variant = 'a', over = 'b', min = 216 }"));
}

#[test]
fn a_trend_is_one_beyond_doubt() {
    assert!(holds("trend = { variant = 'a', direction = 'rising', xs = [0, 1, 2, 3] }"));
    assert!(!holds("trend = { variant = 'a', direction = 'falling', xs = [0, 1, 2, 3] }"));
    assert!(holds("trend = { variant = 'a', direction = 'falling', xs = [3, 1] }"));
    let (rising, measured) = judged("trend = { variant = 'b', direction = 'rising', xs = [0, 3] }");
    let right = "12.00, 13.00; the first and the last not told apart";
    assert!(!rising && measured == right, "{measured}");
    assert!(
        !holds("trend = { variant = 'a', direction = 'rising', xs = [0, 7] }"),
        "no such place"
    );
    assert!(
        !holds("trend = { variant = 'a', direction = 'rising', xs = [1, 0, 3] }"),
        "a step down"
    );
    assert!(!holds("trend = { variant = 'c', direction = 'rising', xs = [0, 1, 3] }"), "no value");
    let ratio = "variant = 'a', over = 'b', xs = [0, 1, 2, 3]";
    assert!(holds(&format!("relative_trend = {{ {ratio}, direction = 'rising' }}")));
    assert!(!holds(&format!("relative_trend = {{ {ratio}, direction = 'falling' }}")));
}

#[test]
fn each_step_has_its_ratio() {
    // 21 / 11 and 31 / 21.
    assert!(holds("steps = { variant = 'a', ratio = 1.7, tolerance = 0.14, xs = [0, 1, 2] }"));
    assert!(!holds("steps = { variant = 'a', ratio = 1.7, tolerance = 0.12, xs = [0, 1, 2] }"));
    assert!(!holds("steps = { variant = 'a', ratio = 1.7, tolerance = 9.0, xs = [0, 1, 7] }"));
}

#[test]
fn a_line_is_straight() {
    assert!(holds("line = { variant = 'a', tolerance = 0.001, xs = [0, 1, 2, 3] }"));
    // From 12 to 13 by way of 12.33 at 1 and 12.33 at 2, where the line has 12.67.
    assert!(holds("line = { variant = 'b', tolerance = 0.03, xs = [0, 1, 2, 3] }"));
    assert!(!holds("line = { variant = 'b', tolerance = 0.02, xs = [0, 1, 2, 3] }"));
    assert!(!holds("line = { variant = 'a', tolerance = 1.0, xs = [0, 3] }"), "two places are one");
    assert!(!holds("line = { variant = 'a', tolerance = 1.0, xs = [0, 1, 7] }"), "no such place");
    assert!(!holds("line = { variant = 'c', tolerance = 1.0, xs = [0, 1, 3] }"), "no value");
}

#[test]
fn what_is_flat_and_in_range_is_so_at_every_place() {
    assert!(holds("flat = { variant = 'b', ratio = 1.1 }"));
    assert!(!holds("flat = { variant = 'b', ratio = 1.08 }"));
    assert!(!holds("flat = { variant = 'c', ratio = 2.0 }"), "no value at one place");
    assert!(!holds("flat = { variant = 'b', ratio = 2.0, at = [7] }"), "no such place");
    assert!(holds("range = { variant = 'a', min = 11, max = 41 }"));
    assert!(!holds("range = { variant = 'a', above = 11 }"));
    assert!(holds("range = { variant = 'a', above = 11, from_x = 1 }"));
    assert!(
        !holds("range = { variant = 'a', max = 40.9 }")
            && !holds("range = { variant = 'a', min = 12 }")
    );
    assert!(!holds("range = { variant = 'c', max = 40 }"), "no value at one place");
    assert!(!holds("range = { variant = 'a', max = 40, at = [7] }"), "no such place");
}

#[test]
fn figures_are_compared_with_others_that_were_run() {
    assert!(holds("not_below = { variant = 'a', than_figure = '1' }"));
    let (less, more) = ([vec![1.0], vec![2.0], vec![3.0]], [vec![2.0], vec![4.1], vec![5.9]]);
    assert!(!not_below(&less, &more).0 && not_below(&more, &less).0);
    let gain = "variant = 'a', over = 'b'";
    assert!(holds(&format!("larger_gain = {{ {gain}, than_figure = '2' }}")));
    assert!(!holds(&format!("larger_gain = {{ {gain}, than_figure = '1' }}")), "the same");
    let smaller = |names: &str, figure: &str| {
        holds(&format!(
            "smaller_gain = {{ {names}, than_experiment = 'E1', than_figure = '{figure}' }}"
        ))
    };
    assert!(smaller("variant = 'b', over = 'a'", "2"));
    assert!(!smaller(gain, "2") && !smaller(gain, "1") && !smaller(gain, "9"));
    assert!(!smaller("variant = 'c', over = 'a'", "2"), "no value at one place");
    let claim = judged_whole("not_below = { variant = 'a', than_figure = '9' }");
    assert_eq!((claim.holds, &*claim.measured), (None, "E1, figure 9, is not part of this run"));
    assert_eq!(claim.bound, Bound::Paper);
    let claim = judged_whole("bound = 'ours'\nnot_below = { variant = 'a', than_figure = '1' }");
    assert_eq!((claim.holds, claim.bound), (Some(true), Bound::Ours));
}
