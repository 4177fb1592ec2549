//! Real sockets: the secure association between hosts and the connections inside it.
//!
//! The protocol state machines are those of `bentpipe-transport`; this crate gives them a wall clock,
//! datagrams and an asynchronous byte stream. It is the only crate with sockets and threads.
#![doc = include_str!("../../../docs/files.md")]

pub mod association;
mod carriers;
mod clock;
mod connection;
pub mod emulate;
pub mod gateway;
mod host;
pub mod hub;
mod key;
mod listening;
mod log_limit;
mod places;
mod programs;
pub mod qlp;
mod refusal;
pub mod sctp;
mod shared;
mod socket;
mod sockets;
mod stream;
mod times_file;
pub mod transfer;
mod tuning;
mod udp_sockets;

pub use association::Security;
pub use connection::Connection;
pub use host::Host;
pub use hub::{Carrier, Fec, Share};
pub use key::{BadKey, KeyFileError, PublicKey, SecretKey};
pub use refusal::refusal;
pub use times_file::TimesError;
pub use tuning::{KnownLink, Tuning};
