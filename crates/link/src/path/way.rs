//! What packets of one direction pass, one after another.

use super::agent::Side;
use crate::{Direction, Series};

/// One link of a direction and the node before it.
#[derive(Debug)]
pub(super) struct Step {
    /// The agent at the node, and on which way packets pass it.
    pub(super) agent: Option<(usize, Side)>,
    /// The station before the link, and the link's line there.
    pub(super) station: Option<(usize, u16)>,
    /// The models of the link.
    pub(super) series: Series,
}

impl Step {
    /// A link with nothing before it.
    pub(super) const fn of(series: Series) -> Self {
        Self { agent: None, station: None, series }
    }
}

/// What comes next within a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Agent,
    Station,
    Series,
}

/// Where a packet is: before a part of a step of a direction. It has arrived where there is no such step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) direction: Direction,
    pub(super) step: usize,
    pub(super) part: Part,
}

impl Place {
    /// Before the next link.
    pub(super) const fn next_step(self) -> Self {
        Self { step: self.step + 1, part: Part::Agent, ..self }
    }

    /// Before another part of the same step.
    pub(super) const fn at(self, part: Part) -> Self {
        Self { part, ..self }
    }
}
