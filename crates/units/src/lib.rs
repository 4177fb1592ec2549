//! Quantities with their units: [`Instant`], [`Span`], [`ByteCount`], [`BitRate`], [`Seq32`], and those that are real
//! numbers, such as [`Km`] and [`Decibels`].
//!
//! Every number that has a unit is one of these types, so that seconds and milliseconds, bits and
//! bytes, or a sequence number and a count cannot be mixed up. The crate has no dependencies and
//! never reads a clock.
//!
//! ```
//! use bentpipe_units::{BitRate, ByteCount, Instant, Span};
//!
//! let rate: BitRate = "10 Mbit/s".parse()?;
//! let one_way: Span = "300 ms".parse()?;
//! // What is under way when the link is full.
//! assert_eq!(rate.bytes_in(one_way * 2), ByteCount::new(750_000));
//! assert_eq!(Instant::ZERO + rate.time_for(ByteCount::new(1_250)), Instant::from_nanos(1_000_000));
//! # Ok::<(), bentpipe_units::ParseUnitError>(())
//! ```

mod analog;
mod one_way;
mod parse;
mod rate;
mod seq;
mod share;
mod time;
mod written;

pub use analog::{Decibels, Degrees, Gigahertz, Km, Percent, RainRate, Speed};
pub use one_way::OneWayDelay;
pub use parse::ParseUnitError;
pub use rate::{BitRate, ByteCount};
pub use seq::Seq32;
pub use share::Share;
pub use time::{Instant, Span};
pub use written::Written;
