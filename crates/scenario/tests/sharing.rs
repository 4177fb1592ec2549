//! Downloads of an unknown rate that share a long path.

use bentpipe_scenario::Scenario;
use bentpipe_sim::{Silent, run};

/// What two downloads over 10 Mbit/s and 600 ms deliver by so many seconds, the second of which begins at `start`: Mbit. Each is of one
/// protocol and one controller.
fn delivered(flows: [(&str, &str); 2], start: u32, seconds: u32) -> [f64; 2] {
    let [(protocol_a, controller_a), (protocol_b, controller_b)] = flows;
    let text = format!(
        r#"
name = "shared"
duration = "{seconds} s"
nodes = ["hub", "terminal", "server-a", "server-b", "client-a", "client-b"]

[links.satellite]
between = ["hub", "terminal"]
rate = "10 Mbit/s"
queue = "750 kB"
delay = "300 ms"

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
fn beside(flows: [(&str, &str); 2], start: u32) -> [f64; 2] {
    let (before, after) = (delivered(flows, start, start), delivered(flows, start, start + 60));
    [0, 1].map(|n| (after[n] - before[n]) / 60.0)
}

const STEADY: (&str, &str) = ("bentpipe", "steady");
const BBR: (&str, &str) = ("tcp", "bbr");

#[test]
fn who_comes_second_has_its_part_within_a_few_dozen_round_trips() {
    let mut sum = 0.0;
    for start in [8, 10, 20] {
        let [first, second] = beside([STEADY, STEADY], start);
        let jain = (first + second).powi(2) / 2.0 / (first * first + second * second);
        sum += jain;
        // Who jumps to what the path carries meets who has all of it at another moment each time.
        assert!(jain > 0.94, "from {start} s on {first} and {second} Mbit/s: {jain}");
        assert!(first + second > 9.3, "from {start} s on {first} and {second} Mbit/s");
    }
    assert!(sum > 3.0 * 0.97, "{}", sum / 3.0);
}

#[test]
fn beside_bbr_which_answers_no_loss_neither_has_less_than_a_third() {
    let parts = [8, 10, 13].map(|start| {
        let ([first, _], [_, second]) =
            (beside([STEADY, BBR], start), beside([BBR, STEADY], start));
        [first, second]
    });
    for (parts, name) in
        [(parts.map(|[first, _]| first), "first"), (parts.map(|[_, second]| second), "second")]
    {
        let mean = parts.iter().sum::<f64>() / 3.0;
        assert!((3.0..6.0).contains(&mean), "where it comes {name} it has {parts:?} Mbit/s");
    }
}
