//! What an agent did to the packets that passed it.

use serde::Serialize;

/// What became of the packets that an agent saw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgentSummary {
    /// Name in the scenario.
    pub name: String,
    /// What it is, such as `snoop`.
    pub agent: &'static str,
    /// The node at which it stands.
    pub node: String,
    /// The link that it watches.
    pub link: String,
    /// Segments that it looked at.
    pub packets: u64,
    /// Those that ended there.
    pub suppressed: u64,
    /// Segments that it sent itself.
    pub sent: u64,
}
