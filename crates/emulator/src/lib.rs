//! The link emulator: the simulator's link models, applied to real packets in real time.
//!
//! A [`Bridge`] passes the packets of two network devices over a [`Path`](bentpipe_link::Path), a [`Relay`] the datagrams of
//! UDP. [`ConstellationPath`] makes a path over the satellites of a constellation. A [`Namespace`] is a network of its own, with its
//! processes, that vanishes with the program; a [`WayOut`] leads from there to the host's own network.
//!
//! ```no_run
//! use bentpipe_emulator::{Datagram, Relay};
//! use bentpipe_link::Path;
//!
//! /// Passes what comes at port 7001 on to port 7000, over a link, and the answers back.
//! fn pass(link: Path<Datagram>) -> Result<(), Box<dyn std::error::Error>> {
//!     let mut relay = Relay::bind("127.0.0.1:7001".parse()?, "127.0.0.1:7000".parse()?, link, false)?;
//!     Ok(relay.run(|_| true)?)
//! }
//! ```

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
