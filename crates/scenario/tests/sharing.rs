//! Downloads of an unknown rate that share a path.

use bentpipe_scenario::Scenario;
use bentpipe_sim::{Silent, run};

/// A link with a queue of one bandwidth-delay product.
#[derive(Clone, Copy)]
struct Link {
    mbit_s: u32,
    round_trip_ms: u32,
}

const GEO: Link = Link { mbit_s: 10, round_trip_ms: 600 };
const LEO: Link = Link { mbit_s: 20, round_trip_ms: 50 };

/// What two downloads deliver by so many seconds, the second of which begins at `start`: Mbit. Each is of one protocol and one
/// controller.
fn delivered(link: Link, flows: [(&str, &str); 2], start: u32, seconds: u32) -> [f64; 2] {
    let Link { mbit_s, round_trip_ms } = link;
    let (delay_ms, queue) = (round_trip_ms / 2, mbit_s * round_trip_ms * 125);
    let [(protocol_a, controller_a), (protocol_b, controller_b)] = flows;
    let text = format!(
        r#"
name = "shared"
duration = "{seconds} s"
nodes = ["hub", "terminal", "server-a", "server-b", "client-a", "client-b"]

[links.satellite]
between = ["hub", "terminal"]
rate = "{mbit_s} Mbit/s"
queue = "{queue} B"
delay = "{delay_ms} ms"

[links.a]
between = ["server-a", "hub"]
delay = "100 us"
rate = "1 Gbit/s"

[links.b]
between = ["server-b", "hub"]
delay = "100 us"
rate = "1 Gbit/s"

[links.c]
between = ["terminal", "client-a"]
delay = "100 us"
rate = "1 Gbit/s"

[links.d]
between = ["terminal", "client-b"]
delay = "100 us"
rate = "1 Gbit/s"

[flows.a]
from = "server-a"
to = "client-a"
size = "2 GB"
protocol = "{protocol_a}"
{protocol_a} = {{ controller = "{controller_a}" }}

[flows.b]
from = "server-b"
to = "client-b"
size = "2 GB"
start = "{start} s"
protocol = "{protocol_b}"
{protocol_b} = {{ controller = "{controller_b}" }}
"#
    );
    let scenario = Scenario::parse("shared.toml", &text);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let summary = run(&scenario.run_spec(Some(1), false).expect("a run"), &mut Silent);
    let flows = summary.expect("a run").flows;
    [0, 1].map(|n| flows[n].delivered_bytes as f64 * 8e-6)
}

/// Mbit/s of both in the minute after the second one came.
fn beside(link: Link, flows: [(&str, &str); 2], start: u32) -> [f64; 2] {
    let by = |seconds| delivered(link, flows, start, seconds);
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
