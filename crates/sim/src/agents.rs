//! Agents at nodes of the network, which look at what passes.

use std::mem;

use bentpipe_pep::snoop::{self, Snoop};
use bentpipe_pep::{Address, Agent, Direction, Emission, Ends, Packet, Verdict};
use bentpipe_record::AgentSummary;
use bentpipe_units::Instant;
use bentpipe_wire::tcp;

use crate::RunSpec;
use crate::events::{EventQueue, Slot};

/// An agent and where it stands.
#[derive(Clone, Debug)]
pub struct AgentPlace {
    /// Its name.
    pub name: String,
    /// What it is.
    pub agent: AgentSpec,
    /// The node at which it stands; what is sent from there, or to there, does not pass it.
    pub node: usize,
    /// The link of that node over which packets go out to its far side and come in from there; no
    /// other agent of the node has the same.
    pub link: usize,
}

/// What an agent is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AgentSpec {
    /// Snoop.
    Snoop(snoop::Config),
}

impl AgentSpec {
    /// Builds it.
    pub fn build(&self) -> Box<dyn Agent> {
        match self {
            Self::Snoop(config) => Box::new(Snoop::new(*config)),
        }
    }

    /// Name in records.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Snoop(_) => "snoop",
        }
    }
}

/// All agents. Each one is a component of the event queue.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    all: Vec<Placed>,
    first_slot: Slot,
    /// What an agent sends, until it is on its way.
    out: Vec<Emission>,
}

#[derive(Debug)]
struct Placed {
    agent: Box<dyn Agent>,
    node: u16,
    /// The channel by which packets go out.
    channel: u32,
    summary: AgentSummary,
}

/// The hosts of a packet, which agents know by the numbers of their nodes.
pub(crate) fn ends(from: u16, to: u16) -> Ends {
    Ends { from: Address(u128::from(from)), to: Address(u128::from(to)) }
}

impl Agents {
    /// The agents of a run, which are components `first_slot` and on.
    pub(crate) fn new(spec: &RunSpec, first_slot: Slot) -> Self {
        let place = |place: &AgentPlace| {
            let link = &spec.links[place.link];
            let second = link.ends[1] == place.node;
            Placed {
                agent: place.agent.build(),
                node: place.node as u16,
                channel: 2 * place.link as u32 + u32::from(second),
                summary: AgentSummary {
                    name: place.name.clone(),
                    agent: place.agent.name(),
                    node: spec.nodes[place.node].clone(),
                    link: link.name.clone(),
                    ..AgentSummary::default()
                },
            }
        };
        Self { all: spec.agents.iter().map(place).collect(), first_slot, out: Vec::new() }
    }

    /// True when there is none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// True when one stands at this node.
    pub(crate) fn stand_at(&self, node: u16) -> bool {
        self.all.iter().any(|placed| placed.node == node)
    }

    /// The agent by which a packet passes at a node, and in which direction: `next` leads towards where it
    /// goes, `back` towards where it comes from.
    pub(crate) fn find(
        &self,
        node: u16,
        next: Option<u32>,
        back: Option<u32>,
    ) -> Option<(usize, Direction)> {
        self.all.iter().enumerate().filter(|(_, placed)| placed.node == node).find_map(
            |(index, placed)| {
                let channel = Some(placed.channel);
                let direction = if next == channel { Some(Direction::Out) } else { None };
                let direction =
                    direction.or(if back == channel { Some(Direction::In) } else { None })?;
                Some((index, direction))
            },
        )
    }

    /// The channel by which packets go out past an agent.
    pub(crate) fn channel(&self, index: usize) -> u32 {
        self.all[index].channel
    }

    /// The node at which an agent stands.
    pub(crate) fn node(&self, index: usize) -> u16 {
        self.all[index].node
    }

    /// The agent that is this component.
    pub(crate) const fn index(&self, slot: Slot) -> usize {
        (slot - self.first_slot) as usize
    }

    /// Shows a packet to an agent.
    pub(crate) fn show(
        &mut self,
        now: Instant,
        index: usize,
        direction: Direction,
        ends: Ends,
        segment: &mut tcp::Segment,
    ) -> Verdict {
        let Placed { agent, summary, .. } = &mut self.all[index];
        let verdict = agent.handle_packet(now, Packet { ends, direction, segment }, &mut self.out);
        summary.packets += 1;
        summary.suppressed += u64::from(verdict == Verdict::Suppress);
        verdict
    }

    /// The queue had no room for a packet that went out past an agent.
    pub(crate) fn notify_drop(
        &mut self,
        now: Instant,
        index: usize,
        ends: Ends,
        segment: &tcp::Segment,
    ) {
        self.all[index].agent.handle_drop(now, ends, segment);
    }

    /// The timer of an agent fired. False when nothing was due yet.
    pub(crate) fn let_time_pass(&mut self, now: Instant, index: usize) -> bool {
        let agent = &mut self.all[index].agent;
        let due = agent.poll_timeout().is_some_and(|at| at <= now);
        if due {
            agent.handle_timeout(now, &mut self.out);
        }
        due
    }

    /// What an agent sends, for the moment of sending it.
    pub(crate) fn take_emissions(&mut self, index: usize) -> Vec<Emission> {
        self.all[index].summary.sent += self.out.len() as u64;
        mem::take(&mut self.out)
    }

    /// Gives the list back for the next ones.
    pub(crate) fn put_back(&mut self, mut emissions: Vec<Emission>) {
        emissions.clear();
        self.out = emissions;
    }

    /// Sets the timer of an agent after a change.
    pub(crate) fn set_timer(&self, now: Instant, index: usize, queue: &mut EventQueue) {
        if let Some(at) = self.all[index].agent.poll_timeout() {
            queue.set_timer(self.first_slot + index as Slot, at.max(now));
        }
    }

    /// What each of them did.
    pub(crate) fn summaries(&self) -> Vec<AgentSummary> {
        self.all.iter().map(|placed| placed.summary.clone()).collect()
    }
}
