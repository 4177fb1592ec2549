//! The components of a run, which the event queue knows by their numbers.

use crate::events::Slot;
use crate::flows::count_ends;
use crate::{FlowSpec, RunSpec, product};

/// Clocks of a run: for samples, for checks of what moves, and for links that tell how they are.
const CLOCKS: usize = 3;

/// What something happens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Component {
    /// A direction of a link.
    Channel,
    /// An end of a flow.
    End,
    /// The clock of samples.
    Sampler,
    /// The clock of the checks of links that move.
    Checker,
    /// The clock of links that tell how they are.
    LinkStates,
    /// What makes up the traffic of a flow.
    Generator,
    /// What lets connections of proxies send in turn.
    Scheduler,
    /// A flow of datagrams.
    Datagrams,
    /// A host of the product.
    Product,
    /// Medium access: a queue before links, or an uplink that terminals share.
    Mac,
    /// What looks at packets that pass.
    Agent,
    /// A direction of a link that moves.
    Moving,
}

/// The first number of each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Components {
    pub(crate) first_end: Slot,
    pub(crate) sampler: Slot,
    pub(crate) checker: Slot,
    pub(crate) link_states: Slot,
    pub(crate) first_scheduler: Slot,
    pub(crate) first_datagrams: Slot,
    pub(crate) first_product: Slot,
    pub(crate) first_mac: Slot,
    pub(crate) first_agent: Slot,
    pub(crate) first_moving: Slot,
}

impl Components {
    /// Those of a run.
    pub(crate) fn new(spec: &RunSpec) -> Self {
        let flows = &spec.flows;
        let datagrams = flows.iter().filter(|flow| flow.is_datagrams()).count();
        let generated = |flow: &&FlowSpec| flow.traffic.is_some() && !flow.is_datagrams();
        let generators = flows.iter().filter(generated).count();
        let first_end = 2 * spec.links.len() as Slot;
        let sampler = first_end + count_ends(flows) as Slot;
        let first_scheduler = sampler + (CLOCKS + generators) as Slot;
        let first_datagrams = first_scheduler + spec.schedulers.len() as Slot;
        let first_product = first_datagrams + datagrams as Slot;
        let first_mac = first_product + product::count(spec) as Slot;
        let first_agent = first_mac + spec.macs.len() as Slot;
        let first_moving = first_agent + spec.agents.len() as Slot;
        Self {
            first_end,
            sampler,
            checker: sampler + 1,
            link_states: sampler + 2,
            first_scheduler,
            first_datagrams,
            first_product,
            first_mac,
            first_agent,
            first_moving,
        }
    }

    /// The first generator: they follow the clocks.
    pub(crate) const fn first_generator(&self) -> Slot {
        self.link_states + 1
    }

    /// What a number stands for. Nearly always it is a direction of a link.
    #[inline]
    pub(crate) const fn of(&self, slot: Slot) -> Component {
        if slot < self.first_end {
            Component::Channel
        } else if slot >= self.first_moving {
            Component::Moving
        } else if slot < self.sampler {
            Component::End
        } else if slot == self.sampler {
            Component::Sampler
        } else if slot == self.checker {
            Component::Checker
        } else if slot == self.link_states {
            Component::LinkStates
        } else if slot < self.first_scheduler {
            Component::Generator
        } else if slot < self.first_datagrams {
            Component::Scheduler
        } else if slot < self.first_product {
            Component::Datagrams
        } else if slot < self.first_mac {
            Component::Product
        } else if slot < self.first_agent {
            Component::Mac
        } else {
            Component::Agent
        }
    }
}
