//! Performance-enhancing proxies, without I/O (RFC 3135 names the kinds).
//!
//! A proxy is told the time and never asks. An agent looks at the packets that pass and answers for
//! each what becomes of it; a split ends connections on either side and copies between them.

mod agent;
pub mod satpep;
pub mod scheduler;
pub mod snoop;
pub mod split;

pub use agent::{Address, Agent, Direction, Emission, Ends, Packet, Verdict};
