//! The thread of a run.

use bentpipe_experiments::compare::{Variant, as_variant};
use bentpipe_experiments::limited::{Seen, lines};
use bentpipe_record::Sample;
use bentpipe_scenario::ScenarioError;
use bentpipe_sim::{Observer, PacketSeen, RunSpec};
use bentpipe_units::{ByteCount, Instant, Span};
use serde::Serialize;
use tokio::sync::mpsc;

use super::asked::Asked;
use super::watch::{Fact, Watch};
use crate::answer::Wrong;
use crate::state::{Bounded, State};

/// Time between samples where the scenario does not say, and the shortest one.
const SAMPLE_EVERY: Span = Span::from_millis(100);
const LEAST_EVERY: Span = Span::from_millis(1);

/// What there is to see of a run.
#[derive(Serialize)]
pub(super) struct Began {
    scenario: String,
    description: String,
    seed: u64,
    /// It ends here at the latest.
    duration_s: f64,
    sample_every_s: f64,
    /// Names of the nodes, in the order of their numbers.
    nodes: Vec<String>,
    flows: Vec<Flow>,
    /// The directions of links, in the order of their numbers.
    links: Vec<Link>,
    /// What the flows are: only of a variant.
    variant: Option<String>,
}

#[derive(Serialize)]
struct Flow {
    name: String,
    protocol: &'static str,
    from: String,
    to: String,
}

#[derive(Serialize)]
struct Link {
    name: String,
    from: String,
    to: String,
}

impl Began {
    /// How many flows and directions of links there are.
    pub(super) const fn sizes(&self) -> (usize, usize) {
        (self.flows.len(), self.links.len())
    }

    fn of(asked: &Asked, description: &str, spec: &RunSpec, every: Span) -> Self {
        let flow = |flow: &bentpipe_sim::FlowSpec| Flow {
            name: flow.name.clone(),
            protocol: flow.protocol.name(),
            from: spec.nodes[flow.from].clone(),
            to: spec.nodes[flow.to].clone(),
        };
        let link = |[name, from, to]: [&str; 3]| Link {
            name: name.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        };
        Self {
            scenario: spec.name.clone(),
            description: description.to_owned(),
            seed: spec.seed,
            duration_s: spec.duration.as_secs_f64(),
            sample_every_s: every.as_secs_f64(),
            nodes: spec.nodes.clone(),
            flows: spec.flows.iter().map(flow).collect(),
            links: spec.directions().into_iter().map(link).collect(),
            variant: asked.variant.clone(),
        }
    }
}

/// Lets the run happen that was asked for, and tells what becomes of it.
pub(super) fn run(asked: &Asked, state: &State, told: &mpsc::Sender<Fact>) {
    if let Err(wrong) = happen(asked, state, told) {
        // A page that is gone is told nothing.
        drop(told.blocking_send(Fact::Wrong(wrong)));
    }
}

fn happen(asked: &Asked, state: &State, told: &mpsc::Sender<Fact>) -> Result<(), Wrong> {
    let Bounded { scenario: written, is_cut } = state.scenario(&asked.scenario)?;
    let scenario = match asked.variant.as_deref().map(str::parse::<Variant>) {
        None => written,
        Some(Ok(variant)) => as_variant(&written, &variant)?,
        Some(Err(message)) => return Err(Wrong::plain(message)),
    };
    let spec = scenario.run_spec(asked.seed, false)?;
    let every = scenario.file().sample_every.map_or(SAMPLE_EVERY, |every| every.0);
    let every = every.max(LEAST_EVERY);
    let began = Began::of(asked, &scenario.file().description, &spec, every);
    let Ok(()) = told.blocking_send(Fact::Began(Box::new(began))) else { return Ok(()) };
    let watch = Watch::new(told, every, asked.packets, state.limits().memory);
    let mut both = Both { watch, seen: vec![Seen::default(); spec.flows.len()] };
    let summary = bentpipe_sim::run(&spec, &mut both).map_err(|error| ScenarioError {
        source: String::new(),
        line: None,
        key: None,
        message: error.to_string(),
    })?;
    let limits = lines(&spec, &both.seen);
    if both.watch.finish() {
        let most = state.limits().memory;
        return Err(Wrong::plain(format!("the run was ended: this process has more than {most}")));
    }
    let cut = is_cut && summary.simulated_seconds >= state.limits().simulated.as_secs_f64();
    drop(told.blocking_send(Fact::Ended { summary: Box::new(summary), limits, cut }));
    Ok(())
}

/// Tells the page, and takes note of what holds flows back.
struct Both<'a> {
    watch: Watch<'a>,
    seen: Vec<Seen>,
}

impl Observer for Both<'_> {
    fn sample_every(&self) -> Option<Span> {
        self.watch.sample_every()
    }

    fn sample(&mut self, sample: &Sample) {
        self.seen[sample.flow].take(sample);
        self.watch.sample(sample);
    }

    fn wants_queues(&self) -> bool {
        self.watch.wants_queues()
    }

    fn queue(&mut self, at: Instant, direction: usize, waiting: ByteCount) {
        self.watch.queue(at, direction, waiting);
    }

    fn goes_on(&self) -> bool {
        self.watch.goes_on()
    }

    fn wants_packets(&self) -> bool {
        self.watch.wants_packets()
    }

    fn packet(&mut self, at: Instant, channel: usize, packet: &PacketSeen<'_>) {
        self.watch.packet(at, channel, packet);
    }
}
