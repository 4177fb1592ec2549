//! Real sockets for the secure association between hosts and the connections inside it.
//!
//! The protocol state machines are those of `bentpipe-transport`; this crate gives them a wall clock,
//! datagrams and an asynchronous byte stream. It is the only crate with sockets and threads.
#![doc = include_str!("../../../docs/files.md")]

pub mod bundles;
mod esp_sockets;
pub mod gateway;
mod host;
mod kept;
pub mod key_file;
mod listening;
mod outer_tcp;
mod paths_file;
pub mod qlp;
pub mod radio;
pub mod recording;
mod refusal;
mod runtime;
pub mod sctp;
pub mod sessions;
mod socket;
mod sockets;
mod task;
mod times_file;
pub mod transfer;
mod udp_sockets;

pub use host::Host;
pub use refusal::refusal;
pub use runtime::Tokio;
pub use times_file::TimesError;
