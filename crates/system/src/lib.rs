//! What runs in real time has in common: the wall clock, and the programs of the system that set up networks.
//!
//! This is the only crate that asks the system what time it is. Everything below it is told.
//!
//! ```
//! # async fn example() {
//! use bentpipe_system::Clock;
//! use bentpipe_units::Span;
//!
//! let clock = Clock::start();
//! clock.sleep_until(Some(clock.now() + Span::from_millis(20))).await;
//! assert!(clock.now().as_nanos() >= 20_000_000);
//! # }
//! ```

mod clock;
pub mod programs;

pub use clock::{Clock, calendar, millis, seconds};
