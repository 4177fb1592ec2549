//! The link emulator: the simulator's link models, applied to real packets in real time.
//!
//! A [`Bridge`] passes the packets of two network devices over a [`Path`](bentpipe_link::Path), a [`Relay`] the datagrams of
//! UDP. [`ConstellationPath`] makes a path over the satellites of a constellation. A [`Namespace`] is a network of its own, with its
//! processes, that vanishes with the program; a [`WayOut`] leads from there to the host's own network.

mod agent;
mod bridge;
mod constellation;
mod ip;
mod namespace;
mod rounds;
mod udp;
mod way_out;

pub use agent::TcpAgent;
pub use bridge::{Bridge, Device, Packet};
pub use constellation::ConstellationPath;
pub use namespace::{Addresses, Namespace, Process};
pub use udp::{Datagram, Relay};
pub use way_out::{WayOut, devices};
