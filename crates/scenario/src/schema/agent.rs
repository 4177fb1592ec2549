//! Agents in a scenario file: what looks at packets on their way.

use bentpipe_units::Span;
use schemars::JsonSchema;
use serde::Deserialize;

use super::named::{Choice, Named};
use super::quantity::Quantity;

/// An agent at a node, before one of its links.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentTable {
    /// The node at which it stands.
    pub at: String,
    /// The link of the node that it watches: it sees what goes out over it and comes in from it.
    pub link: String,
    /// What it is.
    pub agent: Named<AgentKind>,
}

/// What an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AgentKind {
    /// Snoop: losses of the link are repaired at the link, out of sight of the sender.
    Snoop {
        /// Segments that are kept for each connection; 100.
        cache: Option<u32>,
        /// A full cache gives up its oldest segment for a new one; false.
        drop_oldest: Option<bool>,
        /// Unexpected duplicates that pass before the agent acts; 1.
        threshold: Option<u32>,
        /// Round trip between agent and receiver before it was measured; 100 ms.
        srtt: Option<Quantity<Span>>,
        /// Its mean deviation before it was measured; 250 ms.
        rttvar: Option<Quantity<Span>>,
        /// Shortest timeout of a repair; 100 ms.
        min_timeout: Option<Quantity<Span>>,
        /// Repairs of one segment after which it is left to the sender; 10.
        most_repairs: Option<u32>,
    },
}

impl Choice for AgentKind {
    const KEY: &'static str = "kind";
    const EXPECTED: &'static str = "\"snoop\", or a table with it as `kind`";
}
