//! Queues and shared uplinks in scenario files.

use bentpipe_link::mac::UPLINKS;
use bentpipe_link::queue::QUEUES;
use bentpipe_link::{ModelSpec, QueueLimit};
use bentpipe_scenario::{Scenario, ScenarioError};
use bentpipe_sim::{Silent, run};

/// Three terminals and a hub; lines 7 to 9 are the first link.
const FILE: &str = r#"
name = "hub"
nodes = ["a", "b", "c", "hub"]
duration = "1 h"
encapsulation = "ip"

[links.a]
between = ["a", "hub"]
delay = "5 ms"

[links.b]
between = ["hub", "b"]
delay = "5 ms"

[links.c]
between = ["c", "hub"]
delay = "5 ms"
forward.queue = "10 packets"

[flows.a]
from = "a"
to = "hub"
size = "20 kB"

[flows.b]
from = "b"
to = "hub"
size = "20 kB"

[flows.c]
from = "hub"
to = "c"
size = "20 kB"
"#;

fn uplink(access: &str) -> String {
    let table = format!(
        "[uplinks.up]\nto = \"hub\"\nlinks = [\"a\", \"b\", \"c\"]\nrate = \"512 kbit/s\"\naccess = {access}\n"
    );
    format!("{FILE}\n{table}")
}

/// The file with this queue on link a.
fn queue(queue: &str) -> String {
    let keys = format!("between = [\"a\", \"hub\"]\nrate = \"1 Mbit/s\"\nqueue = {queue}");
    let file = FILE.replace("between = [\"a\", \"hub\"]", &keys);
    file.replace("forward.queue = \"10 packets\"", "")
}

fn refused(text: &str) -> ScenarioError {
    Scenario::parse("test.toml", text).expect_err(text)
}

fn assert_runs(text: &str) {
    let scenario = Scenario::parse("test.toml", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let typed = run(&scenario.run_spec(None, false).expect("a run"), &mut Silent).expect("a run");
    let wire = run(&scenario.run_spec(None, true).expect("a run"), &mut Silent).expect("a run");
    assert!(typed.flows.iter().all(|flow| flow.complete), "{text}");
    assert_eq!(typed, wire, "{text}");
}

#[test]
fn every_discipline_that_is_listed_runs_by_its_name_and_as_a_table() {
    for row in QUEUES {
        assert_runs(&queue(&format!("\"{}\"", row.name)));
        let table = format!("{{ discipline = \"{}\", limit = \"9 packets\" }}", row.name);
        assert_runs(&queue(&table));
    }
}

#[test]
fn every_uplink_that_is_listed_runs_by_its_name_and_as_a_table() {
    for row in UPLINKS {
        assert_runs(&uplink(&format!("\"{}\"", row.name)));
        assert_runs(&uplink(&format!("{{ protocol = \"{}\" }}", row.name)));
    }
}

#[test]
fn every_parameter_that_is_listed_is_a_key_and_no_other_is() {
    for row in QUEUES {
        let all = refused(&queue(&format!("{{ discipline = \"{}\", nonsense = 1 }}", row.name)));
        for parameter in row.parameters {
            assert!(all.message.contains(&format!("`{}`", parameter.name)), "{all}");
        }
        assert_eq!(all.message.matches('`').count() / 2, row.parameters.len() + 1, "{all}");
    }
    for row in UPLINKS {
        let all = refused(&uplink(&format!("{{ protocol = \"{}\", nonsense = 1 }}", row.name)));
        for parameter in row.parameters {
            assert!(all.message.contains(&format!("`{}`", parameter.name)), "{all}");
        }
    }
}

#[test]
fn terminals_share_one_rate_and_the_other_direction_is_as_its_link_says() {
    let file = uplink("\"cf-dama\"").replace("size = \"20 kB\"", "size = \"200 kB\"");
    let scenario = Scenario::parse("test.toml", &file).expect("a scenario");
    let run = run(&scenario.run_spec(None, false).expect("a run"), &mut Silent).expect("a run");
    let time = |n: usize| run.flows[n].metrics.connection_time.expect("complete");
    // 400 kB and more at 512 kbit/s, less the overhead, against 200 kB over an idle link.
    assert!(time(0).max(time(1)) > 6.6, "{} {}", time(0), time(1));
    assert!(time(2) < 4.0, "{}", time(2));
}

#[test]
fn terminals_that_ask_at_random_send_all_they_have_and_again_the_same() {
    let access = "{ protocol = \"cf-dama\", requests = \"random-and-piggyback\", free = false, minislots = 2 }";
    let outcome = || {
        let scenario = Scenario::parse("test.toml", &uplink(access)).expect("a scenario");
        run(&scenario.run_spec(None, false).expect("a run"), &mut Silent).expect("a run")
    };
    let first = outcome();
    assert!(first.flows.iter().all(|flow| flow.complete));
    // Nobody sends before it was granted: a round trip takes more than half a second.
    assert!(first.flows[0].first_byte_after.expect("a byte") > 1.0);
    assert_eq!(first, outcome());
}

#[test]
fn what_is_wrong_is_said_where_it_stands() {
    for (text, key, words) in [
        (queue("\"rde\""), "links.a.queue", "did you mean `red`?"),
        (queue("\"9 packtes\""), "links.a.queue", "is not a queue"),
        (queue("{ discipline = \"red\", mni = 3.0 }"), "links.a.queue", "did you mean `min`?"),
        (queue("{ discipline = \"red\", max = 3.0 }"), "links.a.queue.max", "above `min`, 5"),
        (queue("{ discipline = \"red\", min = nan }"), "links.a.queue.min", "not be below 0"),
        (
            queue("{ discipline = \"ack-priority\", in_a_row = 0 }"),
            "links.a.queue.in_a_row",
            "1 or",
        ),
        (
            queue("{ discipline = \"ack-reconstruction\", every = 0 }"),
            "links.a.queue.every",
            "1 or more",
        ),
        (queue("{ limit = \"9 packets\" }"), "links.a.queue.discipline", "missing field"),
        (queue("\"red\"").replace("rate = \"1 Mbit/s\"\n", ""), "links.a.queue", "needs a `rate`"),
        (uplink("\"alhoa\""), "uplinks.up.access", "did you mean `aloha`?"),
        (
            uplink("{ protocol = \"aloha\", timeout = \"1 ms\" }"),
            "uplinks.up.access.timeout",
            "echo",
        ),
        (uplink("{ protocol = \"tdma-dama\", slots = 1 }"), "uplinks.up.access.slots", "2 or more"),
        (
            uplink("{ protocol = \"tdma-dama\", frame = \"1 us\" }"),
            "uplinks.up.access.frame",
            "room",
        ),
        (uplink("{ protocol = \"cf-dama\", slots = 0 }"), "uplinks.up.access.slots", "1 or more"),
        (
            uplink("{ protocol = \"cf-dama\", free = false, requests = \"piggyback\" }"),
            "uplinks.up.access.requests",
            "nobody could ever ask",
        ),
        (
            uplink("{ protocol = \"cf-dama\", minislots = 4 }"),
            "uplinks.up.access.minislots",
            "needs `requests",
        ),
        (
            uplink("{ protocol = \"cf-dama\", requests = \"random\", backoff = 0 }"),
            "uplinks.up.access.backoff",
            "1 or more",
        ),
        (
            uplink("\"aloha\"").replace("to = \"hub\"\nlinks", "to = \"hbu\"\nlinks"),
            "uplinks.up.to",
            "`hub`?",
        ),
        (
            uplink("\"aloha\"").replace("[\"a\", \"b\", \"c\"]", "[\"a\", \"d\"]"),
            "uplinks.up.links.1",
            "no link `d`",
        ),
        (
            uplink("\"aloha\"").replace("[\"a\", \"b\", \"c\"]", "[\"a\", \"a\"]"),
            "uplinks.up.links.1",
            "duplicate link",
        ),
        (
            uplink("\"aloha\"").replace("[\"a\", \"b\", \"c\"]", "[]"),
            "uplinks.up.links",
            "nobody would send",
        ),
        (
            uplink("\"aloha\"").replace("to = \"hub\"\nlinks", "to = \"a\"\nlinks"),
            "uplinks.up.links.1",
            "lead to `a`",
        ),
        (
            uplink("\"aloha\"").replacen("delay", "rate = \"1 Mbit/s\"\ndelay", 1),
            "links.a.rate",
            "the rate of the uplink `up`",
        ),
        (
            format!(
                "{}{}",
                uplink("\"aloha\""),
                &uplink("\"aloha\"")[FILE.len()..].replace("up]", "too]")
            ),
            "uplinks.too.links",
            "another uplink",
        ),
    ] {
        let error = refused(&text);
        assert_eq!(error.key.as_deref(), Some(key), "{error}\n{text}");
        assert!(error.message.contains(words), "{error}");
        assert!(error.line.is_some(), "{error}");
    }
}

#[test]
fn a_setting_that_cannot_be_is_named_with_what_would_be_right() {
    for (discipline, setting, key, words) in [
        ("codel", "target = \"0 ms\"", "target", "above zero, 5 ms"),
        ("codel", "interval = \"5 ms\"", "interval", "longer than `target`, 5 ms"),
        ("fq-codel", "flows = 0", "flows", "1 to 65536"),
        ("fq-codel", "flows = 65537", "flows", "1 to 65536"),
        ("fq-codel", "quantum = \"63 B\"", "quantum", "64 B or more"),
        ("fq-codel", "target = \"1 s\"", "interval", "longer than `target`, 1 s"),
        ("pie", "update = \"0 s\"", "update", "above zero, 15 ms"),
        ("pie", "alpha = -0.1", "alpha", "0 or more, 0.125"),
        ("pie", "beta = inf", "beta", "0 or more, 1.25"),
        ("fuzzy", "target = \"0 s\"", "target", "above zero, 20 ms"),
        ("fuzzy", "gain = 1.5", "gain", "above 0 and at most 1"),
        ("fuzzy", "gain = nan", "gain", "above 0 and at most 1"),
        ("dualpi2", "coupling = 0.0", "coupling", "above 0, 2"),
        ("dualpi2", "coupling = nan", "coupling", "above 0, 2"),
        ("dualpi2", "update = \"0 s\"", "update", "above zero, 16 ms"),
        ("dualpi2", "beta = nan", "beta", "0 or more, 3.2"),
    ] {
        let text = queue(&format!("{{ discipline = \"{discipline}\", {setting} }}"));
        let error = refused(&text);
        assert_eq!(error.key, Some(format!("links.a.queue.{key}")), "{error}");
        assert!(error.message.contains(words) && error.line.is_some(), "{error}");
    }
}

#[test]
fn a_queue_in_products_holds_the_rate_of_its_direction_times_the_round_trip() {
    let limits = |room: &str, more: &str| {
        // 1 Mbit/s, 5 ms one way.
        let text = format!("{}\n{more}", queue(room));
        let spec = Scenario::parse("test.toml", &text)?.run_spec(None, false)?;
        let links = spec.links.iter().find(|link| link.name == "a").expect("link a");
        let limit = |models: &[ModelSpec]| match models[0] {
            ModelSpec::Rate { queue: QueueLimit::Bytes(bytes), .. } => bytes.get(),
            ref other => panic!("{other:?}"),
        };
        Ok::<_, ScenarioError>([limit(&links.forward_link), limit(&links.return_link)])
    };
    assert_eq!(limits("\"1 BDP\"", ""), Ok([1250, 1250]));
    assert_eq!(limits("\"0.5BDP\"", ""), Ok([625, 625]));
    let slow_return = "[links.a.return]\nrate = \"100 kbit/s\"\ndelay = \"15 ms\"";
    assert_eq!(limits("\"2 BDP\"", slow_return), Ok([5000, 500]));
    for (text, key) in [
        (queue("\"1 BDP\"").replace("delay = \"5 ms\"", ""), "links.a.queue"),
        (
            queue("{ discipline = \"red\", limit = \"1 BDP\" }").replace("delay = \"5 ms\"", ""),
            "links.a.queue.limit",
        ),
    ] {
        let error = refused(&text);
        assert_eq!(error.key.as_deref(), Some(key), "{error}");
        assert!(error.message.contains("a link with `rate` and `delay`"), "{error}");
    }
    assert!(refused(&queue("\"-1 BDP\"")).to_string().contains("BDP"));
}
