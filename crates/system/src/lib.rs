//! What runs in real time has in common: the wall clock, and the programs of the system that set up networks.
//!
//! This is the only crate that asks the system what time it is. Everything below it is told.

mod clock;
pub mod programs;

pub use clock::{Clock, calendar, millis, seconds};
