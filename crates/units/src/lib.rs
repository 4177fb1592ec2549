//! Quantities with their units: [`Instant`], [`Span`], [`ByteCount`], [`BitRate`], [`Seq32`], and those that are real
//! numbers, such as [`Km`] and [`Decibels`].
//!
//! Every number that has a unit is one of these types, so that seconds and milliseconds, bits and
//! bytes, or a sequence number and a count cannot be mixed up. The crate has no dependencies and
//! never reads a clock.

mod analog;
mod parse;
mod rate;
mod seq;
mod share;
mod time;

pub use analog::{Decibels, Degrees, Gigahertz, Km, Percent, RainRate, Speed};
pub use parse::ParseUnitError;
pub use rate::{BitRate, ByteCount};
pub use seq::Seq32;
pub use share::Share;
pub use time::{Instant, Span};
