//! Downloads of an unknown rate that share a path.

use bentpipe_scenario::Scenario;
use bentpipe_sim::{Silent, run};

/// A link with a queue of so many bandwidth-delay products.
#[derive(Clone, Copy)]
struct Link {
    mbit_s: u32,
    round_trip_ms: u32,
    products: f64,
}

const GEO: Link = Link { mbit_s: 10, round_trip_ms: 600, products: 1.0 };
const LEO: Link = Link { mbit_s: 20, round_trip_ms: 50, products: 1.0 };

/// A protocol, a controller, and the second at which a download begins.
type Flow = (&'static str, &'static str, u32);

/// What downloads over one link deliver by so many seconds: Mbit.
fn delivered(link: Link, flows: &[Flow], seconds: u32) -> Vec<f64> {
    let Link { mbit_s, round_trip_ms, products } = link;
    let queue = (f64::from(mbit_s * round_trip_ms * 125) * products) as u32;
    let delay_ms = round_trip_ms / 2;
    let hosts = (0..flows.len()).map(|n| format!(r#", "server-{n}", "client-{n}""#));
    let mut text = format!(
        r#"
name = "shared"
duration = "{seconds} s"
nodes = ["hub", "terminal"{}]

[links.satellite]
between = ["hub", "terminal"]
rate = "{mbit_s} Mbit/s"
queue = "{queue} B"
delay = "{delay_ms} ms"
"#,
        hosts.collect::<String>()
    );
    for (n, (protocol, controller, start)) in flows.iter().enumerate() {
        text += &format!(
            r#"
[links.there-{n}]
between = ["server-{n}", "hub"]
delay = "100 us"
rate = "1 Gbit/s"

[links.here-{n}]
between = ["terminal", "client-{n}"]
delay = "100 us"
rate = "1 Gbit/s"

[flows.{n}]
from = "server-{n}"
to = "client-{n}"
size = "2 GB"
start = "{start} s"
protocol = "{protocol}"
{protocol} = {{ controller = "{controller}" }}
"#
        );
    }
    let scenario = Scenario::parse("shared.toml", &text);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let summary = run(&scenario.run_spec(Some(1), false).expect("a run"), &mut Silent);
    let flows = summary.expect("a run").flows;
    flows.iter().map(|flow| flow.delivered_bytes as f64 * 8e-6).collect()
}

/// Mbit/s of both in the minute after the second one came.
fn beside(link: Link, [first, second]: [(&'static str, &'static str); 2], start: u32) -> [f64; 2] {
    let flows = [(first.0, first.1, 0), (second.0, second.1, start)];
    let by = |seconds| delivered(link, &flows, seconds);
    let (before, after) = (by(start), by(start + 60));
    [0, 1].map(|n| (after[n] - before[n]) / 60.0)
}

const STEADY: (&str, &str) = ("bentpipe", "steady");
const BBR: (&str, &str) = ("tcp", "bbr");

#[test]
fn who_comes_second_has_its_part_within_a_few_dozen_round_trips() {
    let mut sum = 0.0;
    for start in [8, 10, 20] {
        let [first, second] = beside(GEO, [STEADY, STEADY], start);
        let jain = (first + second).powi(2) / 2.0 / (first * first + second * second);
        sum += jain;
        // Who jumps to what the path carries meets who has all of it at another moment each time.
        assert!(jain > 0.94, "from {start} s on {first} and {second} Mbit/s: {jain}");
        assert!(first + second > 9.3, "from {start} s on {first} and {second} Mbit/s");
    }
    assert!(sum > 3.0 * 0.97, "{}", sum / 3.0);
}

/// What `steady` has where it comes first, and where it comes second, over the starts of the other one, and both have together at least.
fn parts_beside_bbr(link: Link) -> [f64; 3] {
    let starts = [8, 10, 13];
    let (mut first, mut second, mut least) = (0.0, 0.0, f64::INFINITY);
    for start in starts {
        let [steady, bbr] = beside(link, [STEADY, BBR], start);
        first += steady / 3.0;
        least = f64::min(least, steady + bbr);
        let [bbr, steady] = beside(link, [BBR, STEADY], start);
        second += steady / 3.0;
        least = f64::min(least, steady + bbr);
    }
    [first, second, least]
}

#[test]
fn beside_bbr_which_answers_no_loss_neither_has_less_than_a_third() {
    for (name, link, sum, parts) in [("GEO", GEO, 8.5, 3.0..6.0), ("LEO", LEO, 18.5, 6.3..12.6)] {
        let [first, second, least] = parts_beside_bbr(link);
        assert!(parts.contains(&first), "{name}: where it comes first it has {first} Mbit/s");
        assert!(parts.contains(&second), "{name}: where it comes second it has {second} Mbit/s");
        assert!(least > sum, "{name}: both together have {least} Mbit/s at times");
    }
}

#[test]
fn whoever_answers_losses_is_not_taken_for_bbr() {
    for other in [STEADY, ("tcp", "cubic")] {
        for flows in [[STEADY, other], [other, STEADY]] {
            let parts = beside(LEO, flows, 10);
            assert!(parts.iter().all(|part| (6.3..12.6).contains(part)), "{flows:?}: {parts:?}");
        }
    }
}

#[test]
fn several_who_answer_losses_are_not_taken_for_one_who_does_not() {
    let flows = [("bentpipe", "steady", 0), ("bentpipe", "steady", 3), ("tcp", "cubic", 10)];
    for (round_trip_ms, products, least) in [(50, 1.0, 4.5), (100, 0.5, 4.0)] {
        let link = Link { mbit_s: 20, round_trip_ms, products };
        let parts = delivered(link, &flows, 200);
        let cubic = parts[2] / 190.0;
        assert!(
            cubic > least,
            "{round_trip_ms} ms: CUBIC has {cubic} Mbit/s beside {parts:?} Mbit"
        );
    }
}
