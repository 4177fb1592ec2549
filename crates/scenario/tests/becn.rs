//! A queue that tells senders of congestion by messages, in place of marks (BECN).

use bentpipe_record::{LinkSummary, RunSummary};
use bentpipe_scenario::{Override, Scenario, ScenarioError};
use bentpipe_sim::{Silent, run};

/// The neck lies before a satellite: a mark goes there and back before the sender hears of it.
const NECK: &str = r#"
name = "neck"
nodes = ["server", "hub", "terminal"]
duration = "60 s"

[links.wired]
between = ["server", "hub"]
rate = "20 Mbit/s"
queue = "1000 packets"
delay = "5 ms"

[links.satellite]
between = ["hub", "terminal"]
rate = "4 Mbit/s"
delay = "250 ms"
becn = true

[links.satellite.forward]
queue = { discipline = "fuzzy", limit = "400 packets", target = "60 ms" }

[flows.file]
from = "server"
to = "terminal"
protocol = "tcp"

[flows.file.tcp]
ecn = "classic"
"#;

fn changed(changes: &[&str]) -> Result<Scenario, ScenarioError> {
    let changes: Vec<Override> = changes.iter().map(|c| c.parse().expect("a change")).collect();
    Scenario::parse("neck.toml", NECK).expect("a scenario").with(&changes)
}

fn outcome(changes: &[&str], wire: bool) -> RunSummary {
    let spec = changed(changes).expect("a scenario").run_spec(None, wire).expect("a run");
    run(&spec, &mut Silent).expect("a run")
}

fn direction<'a>(run: &'a RunSummary, name: &str, from: &str) -> &'a LinkSummary {
    run.links.iter().find(|link| link.name == name && link.from == from).expect("the direction")
}

/// Packets that go from the hub to the server beyond those that the terminal has sent: messages.
fn messages(run: &RunSummary) -> u64 {
    let (near, far) = (direction(run, "wired", "hub"), direction(run, "satellite", "terminal"));
    near.packets - far.delivered
}

#[test]
fn the_sender_is_told_by_messages_and_reduces_its_window_for_them() {
    let (told, marked) = (outcome(&[], false), outcome(&["links.satellite.becn=false"], false));
    assert_eq!(messages(&marked), 0);
    let counted = direction(&told, "satellite", "hub").marked;
    assert!(counted > 0 && messages(&told) == counted, "{counted} and {}", messages(&told));
    for run in [&told, &marked] {
        assert!(run.flows[0].source.reductions > 0);
        assert!(run.flows[0].delivered_bytes > 15_000_000, "the link is used");
    }
    // Half a round trip earlier, the queue is shorter when the sender slows down.
    let lost = |run: &RunSummary| direction(run, "satellite", "hub").lost_data;
    assert!(lost(&told) <= lost(&marked), "{} and {}", lost(&told), lost(&marked));
}

#[test]
fn a_run_with_real_bytes_has_the_same_record() {
    assert_eq!(outcome(&[], false), outcome(&[], true));
}

#[test]
fn who_hears_no_messages_is_marked_and_so_is_a_host_of_its_own_queue() {
    let sctp = outcome(&["flows.file.protocol=sctp", "flows.file.sctp.ecn=true"], false);
    assert!(direction(&sctp, "satellite", "hub").marked > 0);
    let own = outcome(&["flows.file.from=hub"], false);
    assert!(direction(&own, "satellite", "hub").marked > 0);
    assert_eq!(direction(&own, "wired", "hub").packets, 0);
    assert_eq!(messages(&sctp), 0);
    for run in [sctp, own] {
        assert!(run.flows[0].source.reductions > 0);
    }
}

#[test]
fn where_no_queue_marks_there_is_nothing_to_tell() {
    for queue in [
        "\"100 packets\"",
        "{ discipline = \"ack-filter\", limit = \"400 packets\" }",
        "{ discipline = \"fuzzy\", limit = \"400 packets\", ecn = false }",
    ] {
        let error = changed(&[&format!("links.satellite.forward.queue={queue}")]);
        let error = error
            .map(|scenario| scenario.run_spec(None, false).map(drop))
            .expect_err("no queue marks");
        assert!(error.to_string().contains("links.satellite.becn"), "{error}");
    }
}
