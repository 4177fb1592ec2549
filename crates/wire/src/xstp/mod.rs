//! XSTP, the extended Satellite Transport Protocol: segments and their bytes.
//!
//! The paper (Elaasar, Li, Barbeau, Kranakis, "The eXtended Satellite Transport Protocol",
//! SSC03-XI-3, 2003) fixes a 16-byte header and the segment names; the layout is this project's
//! and is described in `docs/protocols/xstp.md`.

mod codec;
mod compact;
mod error;
mod receive_timestamp;
mod segment;
#[cfg(test)]
mod tests;

pub use codec::{PROTOCOL, decode, encode};
pub use compact::{Context, PLAIN_HEADER, compact_len, decode_compact, encode_compact};
pub use error::DecodeError;
pub use receive_timestamp::ReceiveTimestamp;
pub use segment::{Begin, Body, Flow, Gap, GapList, Report, ReportKind, ResetReason, Segment};
