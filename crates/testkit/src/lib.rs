//! What the tests of several crates share. Nothing that ships depends on it.

pub mod fuzz;
pub mod pair;
pub mod protocol;

pub use pair::{Crossing, Fate, Pair, Way, pattern};
pub use protocol::{Tcp, Xstp};
