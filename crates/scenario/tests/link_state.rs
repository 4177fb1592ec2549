//! Links that tell the hosts beside them when they go down and come up.

use bentpipe_record::{RunSummary, Sample};
use bentpipe_scenario::{Override, Scenario, ScenarioError};
use bentpipe_sim::{Observer, Silent, run};
use bentpipe_units::Span;

/// SCPS-TP over a hop of 500 ms that is down for ten seconds; 4 MB take 33 s without that.
const SPACE: &str = r#"
name = "space"
nodes = ["orbiter", "ground"]
duration = "10 min"

[links.space]
between = ["orbiter", "ground"]
rate = "2 Mbit/s"
queue = "200 packets"
blackouts = [{ at = "10 s", lasts = "10 s" }]
link_state = true
delay = "250 ms"

[flows.file]
from = "orbiter"
to = "ground"
size = "4 MB"
protocol = "tcp"

[flows.file.tcp]
recovery = "snack"
controller = "scps"
controller_parameters = { rate = 1.9e6 }
"#;

fn changed(changes: &[&str]) -> Result<Scenario, ScenarioError> {
    let changes: Vec<Override> = changes.iter().map(|c| c.parse().expect("a change")).collect();
    Scenario::parse("space.toml", SPACE).expect("a scenario").with(&changes)
}

fn outcome(changes: &[&str]) -> RunSummary {
    let spec = changed(changes).expect("a scenario").run_spec(None, false).expect("a run");
    let outcome = run(&spec, &mut Silent).expect("a run");
    assert!(outcome.flows[0].complete, "{:?}", outcome.flows[0].failure);
    outcome
}

/// Seconds until the file has arrived.
fn seconds(run: &RunSummary) -> f64 {
    run.flows[0].metrics.connection_time.expect("a transfer")
}

#[test]
fn a_transfer_that_is_told_takes_the_outage_and_little_more_than_a_round_trip_longer() {
    let clean = outcome(&["links.space.blackouts=[{ at = \"500 s\", lasts = \"10 s\" }]"]);
    let told = outcome(&[]);
    let untold = outcome(&["links.space.link_state=false"]);
    let later = |run: &RunSummary| seconds(run) - seconds(&clean);
    // The outage, and the round trip in which the first acknowledgement behind it comes; the rate leaves a
    // twentieth of the line to catch up with.
    assert!((10.0..10.8).contains(&later(&told)), "{}", later(&told));
    assert_eq!((told.flows[0].source.timeouts, told.flows[0].source.reductions), (0, 0));
    // The timer runs out again and again, and twice as late each time.
    assert!(later(&untold) > 13.0, "{}", later(&untold));
    assert!(untold.flows[0].source.timeouts >= 3);
}

#[test]
fn a_connection_that_is_opened_in_the_dark_opens_when_it_is_over() {
    let run = outcome(&["flows.file.start=\"12 s\"", "flows.file.size=\"1 kB\""]);
    // Three ways of 250 ms from the 20th second on: SYN, its answer, the data.
    let first = run.flows[0].first_byte_after.expect("a byte");
    assert!((8.75..8.80).contains(&first), "{first}");
}

#[test]
fn others_are_as_they_would_be_without_it() {
    let record = |changes: &[&str]| {
        let changes =
            [&["flows.file.tcp.controller=\"reno\"", "flows.file.tcp.recovery=\"sack\""], changes];
        let changes = changes.concat();
        let mut table = vec!["flows.file.tcp.controller_parameters={}"];
        table.extend(changes);
        outcome(&table)
    };
    assert_eq!(record(&[]), record(&["links.space.link_state=false"]));
}

/// When samples were taken.
struct Times(Vec<f64>);

impl Observer for Times {
    fn sample_every(&self) -> Option<Span> {
        Some(Span::from_secs(1))
    }

    fn sample(&mut self, sample: &Sample) {
        self.0.push(sample.at.as_secs_f64());
    }
}

#[test]
fn samples_are_taken_while_all_rest() {
    let lasts = "links.space.blackouts=[{ at = \"10 s\", lasts = \"100 s\" }]";
    let spec = changed(&[lasts]).expect("a scenario").run_spec(None, false).expect("a run");
    let mut times = Times(Vec::new());
    let outcome = run(&spec, &mut times).expect("a run");
    assert!(outcome.flows[0].complete);
    let every_second: Vec<_> = (0..times.0.len()).map(|n| n as f64).collect();
    assert!(times.0 == every_second && times.0.len() > 120, "{:?}", times.0);
}

#[test]
fn a_proxy_beside_the_link_is_told_and_a_host_behind_it_is_not() {
    let far = |through: &str| {
        let text = SPACE
            .replace("nodes = [", "nodes = [\"host\", ")
            .replace("from = \"orbiter\"", &format!("from = \"host\"\n{through}"))
            + "\n[links.near]\nbetween = [\"host\", \"orbiter\"]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n"
            + "[proxies.gate]\nnode = \"orbiter\"\nbuffer = \"500 kB\"\nprotocol = \"tcp\"\n"
            + "tcp = { recovery = \"snack\", controller = \"scps\" }\n";
        let spec = Scenario::parse("far.toml", &text).expect(&text).run_spec(None, false);
        run(&spec.expect("a run"), &mut Silent).expect("a run")
    };
    let (direct, split) = (far(""), far("through = [\"gate\"]"));
    assert!(direct.flows[0].source.timeouts > 0);
    assert!(split.flows[0].complete && split.proxies[0].far.timeouts == 0, "{:?}", split.proxies);
}

#[test]
fn a_link_that_is_never_down_has_nothing_to_tell() {
    let error = changed(&["links.space.blackouts=[]"]).expect_err("nothing to tell");
    assert_eq!(error.key.as_deref(), Some("links.space.link_state"), "{error}");
}
