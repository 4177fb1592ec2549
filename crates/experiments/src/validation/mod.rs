//! TCP beside what is known of it from elsewhere: ns-2.35, and formulas.
//!
//! `make validate` prints everything that is compared here; the tests hold what must agree.

mod agents;
mod goodput;
mod replay;
mod theory;
mod trace;

pub use agents::{AGENTS, Agent, agent};
pub use goodput::{Agreement, Found, Reference, references};
pub use replay::{Replayed, replays};
pub use theory::{Comparison, comparisons};
pub use trace::{Second, TRACED, Trace, trace};

/// What can go wrong: a scenario that is not valid, a run that cannot be, data that are damaged.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
