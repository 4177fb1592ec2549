//! The link emulator: the simulator's link models, applied to real datagrams in real time.

mod path;
mod udp;

pub use path::{Counters, Hop, Path, Way};
pub use udp::Relay;
