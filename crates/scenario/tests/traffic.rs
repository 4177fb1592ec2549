//! Traffic and priorities in scenario files.

use bentpipe_record::FlowSummary;
use bentpipe_scenario::{Scenario, ScenarioError};
use bentpipe_sim::{Silent, run};

const HEAD: &str = r#"
name = "traffic"
nodes = ["one", "two"]

[links.wire]
between = ["one", "two"]
rate = "10 Mbit/s"
delay = "5 ms"

[flows.pieces]
from = "one"
to = "two"
"#;

fn outcome(keys: &str) -> FlowSummary {
    let text = format!("{HEAD}{keys}\n");
    let scenario = Scenario::parse("test.toml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let spec = scenario.run_spec(None, false).expect("a run");
    run(&spec, &mut Silent).expect("a run").flows.remove(0)
}

fn refused(keys: &str) -> ScenarioError {
    Scenario::parse("test.toml", &format!("{HEAD}{keys}\n")).expect_err(keys)
}

#[test]
fn every_kind_of_traffic_runs_with_few_keys_and_with_all() {
    for (keys, pieces) in [
        (r#"{ kind = "cbr", packet = "200 B", interval = "20 ms", count = 50 }"#, 50),
        (r#"{ kind = "cbr", packet = "200 B", interval = "20 ms", count = 5, jitter = 1 }"#, 5),
        (r#"{ kind = "on-off", packet = "200 B", interval = "20 ms", count = 50 }"#, 50),
        (
            r#"{ kind = "on-off", packet = "200 B", interval = "20 ms", count = 50,
                on = { mean = "500 ms", law = "pareto", shape = 1.5 }, off = "1 s" }"#,
            50,
        ),
        (r#"{ kind = "files", size = "20 kB", count = 3 }"#, 3),
        (r#"{ kind = "files", size = "20 kB", count = 3, pause = { mean = "1 s" } }"#, 3),
        (r#"{ kind = "web" }"#, 10),
        (
            r#"{ kind = "web", sessions = 3, session_gap = "1 s", pages = 2, objects = 2,
                inter_page = { mean = "2 s" }, start_to_start = true, inter_object = "10 ms",
                object = { mean = "5 kB", law = "lomax", shape = 1.2 }, most = 2,
                connections = "per-object" }"#,
            12,
        ),
        (r#"{ kind = "web", sessions = 2, connections = "persistent" }"#, 20),
    ] {
        let flow = outcome(&format!("traffic = {}", keys.replace('\n', " ")));
        assert!(flow.complete, "{keys}");
        assert_eq!(flow.pieces.expect("pieces").arrived, pieces, "{keys}");
    }
}

#[test]
fn a_flow_of_one_file_has_no_pieces_whatever_its_priority() {
    for priority in ["normal", "low"] {
        let flow = outcome(&format!("size = \"10 kB\"\npriority = \"{priority}\""));
        assert!(flow.complete && flow.pieces.is_none());
    }
}

#[test]
fn what_is_wrong_with_traffic_is_said_where_it_stands() {
    let cbr = "kind = \"cbr\", packet = \"200 B\", interval = \"20 ms\"";
    for (keys, key, words) in [
        ("traffic = { kind = \"wbe\" }".into(), "traffic.kind", "did you mean `web`?"),
        ("traffic = { kind = \"web\", sesions = 1 }".into(), "traffic", "did you mean `sessions`?"),
        (format!("traffic = {{ {cbr} }}"), "traffic", "needs a `duration`"),
        (format!("size = \"1 kB\"\ntraffic = {{ {cbr}, count = 1 }}"), "size", "no meaning"),
        (format!("rate = \"1 kbit/s\"\ntraffic = {{ {cbr}, count = 1 }}"), "rate", "no meaning"),
        (format!("traffic = {{ {cbr}, count = 1 }}").replace("20 ms", "0 s"), "traffic.interval", "zero"),
        (format!("traffic = {{ {cbr}, count = 1 }}").replace("200 B", "0 B"), "traffic.packet", "zero"),
        ("traffic = { kind = \"web\", sessions = 0 }".into(), "traffic.sessions", "1..=4096"),
        ("traffic = { kind = \"web\", most = 5000 }".into(), "traffic.most", "1..=4096"),
        (
            "traffic = { kind = \"web\", most = 5, connections = \"persistent\" }".into(),
            "traffic.most",
            "needs `per-object`",
        ),
        (
            "traffic = { kind = \"web\", object = { mean = \"1 kB\", law = \"pareto\" } }".into(),
            "traffic.object.shape",
            "needs a `shape`",
        ),
        (
            "traffic = { kind = \"web\", object = { mean = \"1 kB\", law = \"lomax\", shape = 1 } }".into(),
            "traffic.object.shape",
            "above 1",
        ),
        (
            "traffic = { kind = \"web\", objects = { mean = 3, shape = 1.5 } }".into(),
            "traffic.objects.shape",
            "only `pareto` and `lomax`",
        ),
        ("traffic = { kind = \"web\", objects = -1 }".into(), "traffic.objects.mean", "below 0"),
        ("traffic = { kind = \"web\", inter_page = 5 }".into(), "traffic", "a time"),
        ("size = \"1 kB\"\npriority = \"lwo\"".into(), "priority", "did you mean `low`?"),
    ] {
        let error = refused(&keys);
        assert_eq!(error.key.as_deref(), Some(&*format!("flows.pieces.{key}")), "{error}");
        assert!(error.message.contains(words), "{error}");
        assert!(error.line.is_some(), "{error}");
    }
}
