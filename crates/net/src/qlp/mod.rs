//! The Queue Link Protocol: the nodes of a network as processes of one machine, joined by POSIX message
//! queues (Elaasar et al., SSC03-XI-3, 2003, section 5).
//!
//! A [`Node`] has XSTP connections; a [`Router`] passes the frames of others over emulated links. Frames
//! are those of [`bentpipe_wire::qlp`]. Nothing is encrypted: a queue can be read and written by the user
//! who made it, and by nobody else but the administrator.

mod config;
mod framing;
mod interface;
mod node;
mod queue;
mod router;
mod routes;

pub use bentpipe_wire::qlp::{BadNode, Frame, Header, NodeId};

pub use self::config::{config, fits};
pub use self::framing::Framing;
pub use self::interface::Counters;
pub use self::node::Node;
pub use self::queue::OpenError;
pub use self::router::Router;
pub use self::routes::{BadRoute, Route, Routes};

/// The connections of a [`Node`].
pub type Sessions = crate::sessions::Sessions<Framing>;

/// A connection of a [`Node`].
pub type Connection = bentpipe_association::host::Connection<Sessions>;
