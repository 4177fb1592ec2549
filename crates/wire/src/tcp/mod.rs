//! TCP: segments and their bytes.
//!
//! RFC 9293, with window scaling and timestamps (RFC 7323), SACK (RFC 2018, RFC 2883), ECN
//! (RFC 3168) and the options of SCPS-TP (CCSDS 714.0-B).

mod codec;
mod error;
mod flags;
mod kinds;
mod layout;
mod list;
mod options;
mod segment;
#[cfg(test)]
mod tests;

pub use codec::{PROTOCOL, decode, encode};
pub use error::DecodeError;
pub use flags::Flags;
pub use list::List;
pub use options::{
    Options, SackBlock, SackBlocks, ScpsCapabilities, Snack, SynOptions, Timestamps,
};
pub use segment::{Scps, Segment};
