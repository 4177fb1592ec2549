//! What the tests of several crates share. Nothing that ships depends on it.

pub mod elements;
pub mod fuzz;
pub mod hosts;
pub mod pair;
pub mod protocol;
mod sctp_pair;

pub use bentpipe_link::Direction;
pub use pair::{Crossing, Fate, Pair, pattern};
pub use protocol::{Tcp, Xstp};
pub use sctp_pair::{SctpCrossing, SctpEnd, SctpPair, SctpScript};
