//! SCTP: packets, their chunks and their bytes.
//!
//! RFC 9260, with the ECN chunks of RFC 4960, appendix A, whose numbers RFC 9260 keeps, AUTH of RFC 4895 and the changes of
//! addresses of RFC 5061. A packet is a
//! common header and chunks; control chunks go before DATA.

mod asconf;
mod cause;
mod chunk;
mod codec;
mod error;
mod packet;
mod parameter;
mod read;
#[cfg(test)]
mod tests;
mod tlv;
mod write;

pub use asconf::{
    AddressChange, Asconf, AsconfAck, AsconfAnswer, AsconfOutcome, AsconfRequest, Auth,
};
pub use cause::Cause;
pub use chunk::{Chunk, Data, DataFlags, GapBlock, Init, Sack, UnknownAction, UnknownChunk};
pub use codec::{PROTOCOL, UDP_PORT, bytes_of, decode, encode};
pub use error::DecodeError;
pub use packet::{Chunks, Packet};
pub use parameter::Parameter;
