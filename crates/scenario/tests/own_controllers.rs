//! Controllers of a program's own are found by the names in a scenario.

use bentpipe_cc::{
    Ack, Build, Controller, Limits, Loss, Parameter, PathView, Phase, Registry, Row, Snapshot,
};
use bentpipe_record::RunSummary;
use bentpipe_scenario::{Extensions, Override, Scenario, ScenarioError};
use bentpipe_sim::{Silent, run};

/// As many segments in flight as its parameter says, whatever happens.
#[derive(Debug)]
struct Even(Limits);

static EVEN: Row = Row {
    name: "even",
    summary: "a window that stays",
    citation: "this test",
    parameters: &[Parameter {
        name: "segments",
        unit: "segment",
        default: 1.0,
        range: (1.0, 1000.0),
        summary: "the window",
    }],
    build: &|build: &Build<'_>| {
        let window = build.mss * build.parameter(&EVEN, "segments") as u64;
        Box::new(Even(Limits { window: Some(window), ..Limits::default() }))
    },
};

impl Controller for Even {
    fn on_ack(&mut self, _path: &PathView, _ack: &Ack) {}

    fn on_loss(&mut self, _path: &PathView, _loss: &Loss) {}

    fn limits(&self) -> Limits {
        self.0
    }

    fn snapshot(&self) -> Snapshot {
        let (cwnd, ssthresh) = (self.0.window, None);
        Snapshot { phase: Phase::Other("even"), cwnd, ssthresh, gauges: Vec::new() }
    }
}

const LINE: &str = r#"
name = "line"
nodes = ["a", "b"]
duration = "10 s"

[links.space]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "50 ms"

[flows.file]
from = "a"
to = "b"
protocol = "tcp"
tcp = { controller = "even", mss = 1000, ack_every = 1 }
"#;

fn extensions() -> Extensions {
    let controllers = Registry::built_in().with(&EVEN).expect("a new name");
    Extensions::default().with_controllers(controllers)
}

fn outcome(scenario: &Scenario) -> RunSummary {
    run(&scenario.run_spec(None, false).expect("a run"), &mut Silent).expect("a run")
}

fn changed(scenario: &Scenario, change: &str) -> Result<Scenario, ScenarioError> {
    let change: Override = change.parse().expect("key=value");
    scenario.with(&[change])
}

#[test]
fn a_controller_of_the_programs_own_runs_under_its_name_with_its_parameters() {
    let scenario = Scenario::parse_with("line.toml", LINE, &extensions()).expect("a scenario");
    let ten = "flows.file.tcp.controller_parameters.segments=10";
    let ten = changed(&scenario, ten).expect("a parameter of its row");
    let delivered = |scenario| outcome(scenario).flows[0].delivered_bytes / 1000;
    // A window for each round trip of 100 ms and something, for 10 s.
    let (one, ten) = (delivered(&scenario), delivered(&ten));
    assert!((90..=100).contains(&one), "{one} segments");
    assert!((900..=1000).contains(&ten), "{ten} segments");
}

#[test]
fn what_a_controller_of_the_programs_own_has_not_is_refused_with_the_nearest_that_it_has() {
    let scenario = Scenario::parse_with("line.toml", LINE, &extensions()).expect("a scenario");
    for (change, said) in [
        ("flows.file.tcp.controller=evne", "did you mean `even`?"),
        ("flows.file.tcp.controller_parameters.segment=2", "did you mean `segments`?"),
        ("flows.file.tcp.controller_parameters.segments=0", "it must lie in 1..=1000"),
    ] {
        let error = changed(&scenario, change).expect_err(change);
        assert!(error.message.contains(said), "{error}");
    }
}

#[test]
fn without_the_program_its_controller_is_unknown() {
    let error = Scenario::parse("line.toml", LINE).expect_err("nobody brought it");
    assert_eq!(error.key.as_deref(), Some("flows.file.tcp.controller"));
    assert!(error.message.starts_with("there is no controller `even`"), "{error}");
}
