//! Link models and queues of a program's own are found by the names in a scenario.

use std::collections::VecDeque;

use bentpipe_link::queue::{Backlog, Discipline, Held, LineState, Packets};
use bentpipe_link::{
    CustomModel, CustomParameter, CustomQueue, Fate, LossCause, Model, Passing, QueueLimit,
    Registry,
};
use bentpipe_record::RunSummary;
use bentpipe_scenario::{Extensions, Override, Scenario, ScenarioError};
use bentpipe_sim::{Silent, run};
use bentpipe_units::{ByteCount, Instant};

const EVERY: CustomParameter = CustomParameter {
    name: "every",
    unit: "packets",
    default: 10.0,
    range: (2.0, 1000.0),
    summary: "the last of so many packets is lost",
};

/// Loses one packet of so many, as a model.
#[derive(Debug)]
struct Comb {
    every: u64,
    seen: u64,
}

static COMB: CustomModel = CustomModel {
    name: "comb",
    summary: "loses one packet of so many",
    source: "this test",
    parameters: &[EVERY],
    keeps_order: true,
    build: |settings, _| Box::new(Comb { every: settings.get("every") as u64, seen: 0 }),
};

impl Model for Comb {
    fn pass(&mut self, at: Instant, _: &Passing) -> Fate {
        self.seen += 1;
        if self.seen.is_multiple_of(self.every) {
            return Fate::Lost(LossCause::Channel);
        }
        Fate::Leaves(at)
    }
}

/// Loses what finds it full, and one packet of so many.
#[derive(Debug)]
struct Sieve {
    limit: QueueLimit,
    every: u64,
    seen: u64,
    held: VecDeque<Held>,
}

static SIEVE: CustomQueue = CustomQueue {
    name: "sieve",
    summary: "loses one packet of so many",
    source: "this test",
    parameters: &[EVERY],
    build: |settings, limit, _, _| {
        let every = settings.get("every") as u64;
        Box::new(Sieve { limit, every, seen: 0, held: VecDeque::new() })
    },
};

impl Discipline for Sieve {
    fn enqueue(&mut self, _: Instant, line: LineState, packet: Held, packets: &mut dyn Packets) {
        self.seen += 1;
        let full = match self.limit {
            QueueLimit::Packets(most) => self.held.len() >= most as usize,
            _ => false,
        };
        if self.seen.is_multiple_of(self.every) {
            packets.lost(&packet, LossCause::Early);
        } else if full && line == LineState::Busy {
            packets.lost(&packet, LossCause::QueueFull);
        } else {
            self.held.push_back(packet);
        }
    }

    fn dequeue(&mut self, _: Instant, _: &mut dyn Packets) -> Option<Held> {
        self.held.pop_front()
    }

    fn backlog(&self) -> Backlog {
        let bytes = self.held.iter().fold(ByteCount::ZERO, |sum, packet| sum + packet.bytes);
        Backlog { packets: self.held.len(), bytes }
    }
}

const LINE: &str = r#"
name = "line"
nodes = ["a", "b"]
duration = "60 s"

[links.space]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "50 ms"

[flows.file]
from = "a"
to = "b"
size = "1 MB"
protocol = "tcp"
"#;

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    let links = Registry::default().with_model(&COMB).and_then(|links| links.with_queue(&SIEVE));
    let extensions = Extensions::default().with_links(links.expect("new names"));
    Scenario::parse_with("line.toml", text, &extensions)
}

/// The outcome with this line among the keys of the link, which wire mode does not change.
fn outcome(key: &str) -> RunSummary {
    let text = LINE.replace("delay =", &format!("{key}\ndelay ="));
    let scenario = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let [typed, wire] = [false, true].map(|wire| {
        run(&scenario.run_spec(None, wire).expect("a run"), &mut Silent).expect("a run")
    });
    assert_eq!(typed, wire);
    assert_eq!(typed.flows[0].delivered_bytes, 1_000_000, "{key}");
    typed
}

#[test]
fn a_model_of_the_programs_own_loses_what_it_says() {
    let run = outcome("forward = { custom = [{ name = \"comb\", parameters = { every = 50 } }] }");
    let [forward, back] = &run.links[..] else { panic!("two directions") };
    assert_eq!((forward.lost_channel, back.lost_channel), (forward.packets / 50, 0));
    let run = outcome("custom = [{ name = \"comb\" }]");
    for direction in &run.links {
        assert_eq!(direction.lost_channel, direction.packets / 10, "one of ten in both directions");
    }
}

#[test]
fn a_queue_of_the_programs_own_loses_what_it_says() {
    let sieve =
        "forward.queue = { discipline = \"custom\", name = \"sieve\", limit = \"20 packets\"";
    let run = outcome(&format!("{sieve}, parameters = {{ every = 50 }} }}"));
    assert_eq!(run.links[0].lost_early, run.links[0].packets / 50);
    assert_eq!(run.links[1].lost_early, 0);
}

#[test]
fn what_the_program_does_not_bring_is_refused_with_the_nearest_that_it_brings() {
    for (key, at, said) in [
        ("custom = [{ name = \"cmob\" }]", "custom.0.name", "did you mean `comb`?"),
        ("return.custom = [{ name = \"sieve\" }]", "return.custom.0.name", "no link model `sieve`"),
        (
            "custom = [{ name = \"comb\", parameters = { evry = 3 } }]",
            "custom.0.parameters",
            "`comb` has no parameter `evry`",
        ),
        (
            "custom = [{ name = \"comb\", parameters = { every = 1 } }]",
            "custom.0.parameters",
            "parameter `every` of `comb` is 1: it must lie in 2..=1000",
        ),
        (
            "queue = { discipline = \"custom\", name = \"seive\" }",
            "queue.name",
            "did you mean `sieve`?",
        ),
    ] {
        let error = parse(&LINE.replace("delay =", &format!("{key}\ndelay ="))).expect_err(key);
        assert_eq!(error.key, Some(format!("links.space.{at}")), "{error}");
        assert_eq!(error.line, Some(9), "{error}");
        assert!(error.message.contains(said), "{error}");
    }
}

#[test]
fn a_changed_scenario_still_knows_what_the_program_brings() {
    let text = LINE.replace("delay =", "custom = [{ name = \"comb\" }]\ndelay =");
    let scenario = parse(&text).expect("a scenario");
    let change: Override = "links.space.custom.0.parameters.every=20".parse().expect("key=value");
    scenario.with(&[change]).expect("in range");
}
