//! The link emulator: the simulator's link models, applied to real packets in real time.

mod bridge;
mod namespace;
mod path;
mod rounds;
mod sky;
mod udp;

pub use bridge::{Bridge, Device, Packet};
pub use namespace::{Addresses, Namespace, Process};
pub use path::{Counters, Hop, Path, Way};
pub use sky::Sky;
pub use udp::{Datagram, Relay};
