//! SCTP over UDP (RFC 6951): associations with several paths, between real sockets.
//!
//! The packets are those of SCTP, whole and with their checksum, each the payload of a UDP datagram.
//! Nothing is encrypted and nobody proves who he is: whoever sees the packets can read and change them.
//! [`Host`](crate::Host) is for everything else.
//!
//! A host has a socket for each of its addresses, all with the same UDP port, because a peer that learns
//! addresses from INIT or INIT ACK learns no ports. A path is an address of the peer; the socket is the
//! one that the kernel would take.

mod associations;
mod config;
mod connection;
mod local;
mod node;
mod paths;

pub use associations::{Associations, Counters};
pub use bentpipe_transport::sctp::{Config, Message, View};
pub use bentpipe_wire::sctp::UDP_PORT;
pub use config::config;
pub use connection::{Connection, Messages, PathChange};
pub use local::Local;
pub use node::Node;
