//! The secure association between hosts and the connections inside it: one socket's worth of peers, without the
//! socket.
//!
//! A [`Endpoint`](endpoint::Endpoint) is told the time and is given datagrams; it gives datagrams back, and byte
//! streams to applications. Which keys it uses and how they are agreed is in [`secure`]. The same code runs on real
//! sockets and in memory.

pub mod endpoint;
pub mod host;
mod key;
pub mod secure;
pub mod stream;
mod tuning;

pub use endpoint::{Fec, Outer, Share};
pub use key::{BadKey, PublicKey, SecretKey};
pub use secure::Security;
pub use tuning::{KnownLink, Tuning};
