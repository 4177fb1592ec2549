//! Agents and datagrams in scenario files.

use bentpipe_record::RunSummary;
use bentpipe_scenario::{Scenario, ScenarioError};
use bentpipe_sim::{Silent, run};

/// The agent stands on lines 15 to 18.
const FILE: &str = r#"
name = "proxy"
nodes = ["server", "proxy", "client"]
duration = "60 s"

[links.wired]
between = ["server", "proxy"]
delay = "20 ms"

[links.space]
between = ["client", "proxy"]
rate = "1 Mbit/s"
delay = "100 ms"
ber = 1e-6
[agents.base]
at = "proxy"
link = "space"
agent = "snoop"

[flows.file]
from = "server"
to = "client"
protocol = "tcp"
size = "500 kB"

[flows.noise]
from = "server"
to = "client"
protocol = "udp"
traffic = { kind = "cbr", packet = "200 B", interval = "50 ms" }
"#;

fn outcome(text: &str) -> RunSummary {
    let scenario = Scenario::parse("test.toml", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    run(&scenario.run_spec(None, false).expect("a run"), &mut Silent).expect("a run")
}

fn refused(old: &str, new: &str) -> ScenarioError {
    assert!(FILE.contains(old), "{old}");
    Scenario::parse("test.toml", &FILE.replace(old, new)).expect_err(new)
}

#[test]
fn an_agent_stands_where_the_file_says_and_all_its_keys_are_taken() {
    let snoop = outcome(FILE);
    let agent = &snoop.agents[0];
    assert_eq!((agent.agent, &*agent.node, &*agent.link), ("snoop", "proxy", "space"));
    assert!(snoop.flows[0].complete && agent.sent > 0);
    let all = r#"agent = { kind = "snoop", cache = 50, drop_oldest = true, threshold = 0, srtt = "300 ms",
        rttvar = "50 ms", min_timeout = "200 ms", most_repairs = 3 }"#;
    let other = outcome(&FILE.replace("agent = \"snoop\"", &all.replace('\n', " ")));
    assert!(other.flows[0].complete && other.agents != snoop.agents);
}

#[test]
fn datagrams_arrive_without_an_answer() {
    let noise = &outcome(FILE).flows[1];
    let pieces = noise.pieces.expect("pieces");
    assert_eq!((noise.protocol, noise.sink.bytes_sent, pieces.offered), ("udp", 0, 1201));
    assert!((1190..=1199).contains(&pieces.arrived), "{pieces:?}");
}

#[test]
fn what_can_not_be_is_refused_with_its_line_and_key() {
    for (old, new, line, key, said) in [
        ("at = \"proxy\"", "at = \"porxy\"", 16, "agents.base.at", "`proxy`"),
        ("link = \"space\"", "link = \"spice\"", 17, "agents.base.link", "`space`"),
        ("at = \"proxy\"", "at = \"server\"", 17, "agents.base.link", "not `server`"),
        (
            "agent = \"snoop\"",
            "agent = { kind = \"snoop\", cache = 0 }",
            18,
            "agents.base.agent.cache",
            "1 or more",
        ),
        (
            "agent = \"snoop\"",
            "agent = { kind = \"snoop\", min_timeout = \"0 s\" }",
            18,
            "agents.base.agent.min_timeout",
            "above zero",
        ),
    ] {
        let error = refused(old, new);
        assert_eq!((error.line, error.key.as_deref()), (Some(line), Some(key)), "{error}");
        assert!(error.message.contains(said), "{error}");
    }
    let twice =
        "agent = \"snoop\"\n[agents.other]\nat = \"proxy\"\nlink = \"space\"\nagent = \"snoop\"";
    let error = refused("agent = \"snoop\"", twice);
    assert!(error.message.contains("`base` watches this link"), "{error}");
    let error = refused("agent = \"snoop\"", "agent = \"split\"");
    assert!(error.message.contains("snoop"), "{error}");
    for wrong in ["size = \"1 MB\"", "traffic = { kind = \"files\", size = \"1 kB\" }"] {
        let error = refused(
            "traffic = { kind = \"cbr\", packet = \"200 B\", interval = \"50 ms\" }",
            wrong,
        );
        assert_eq!(error.key.as_deref(), Some("flows.noise.traffic"), "{error}");
    }
}
