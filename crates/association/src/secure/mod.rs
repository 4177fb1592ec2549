//! The secure association between two hosts: a Noise handshake of one round trip, then datagrams that
//! are each encrypted and authenticated on their own.
//!
//! Everything here is told the time and moves bytes in memory; sockets are elsewhere. The layout of
//! the datagrams is described in `docs/protocols/association.md`.

mod admission;
mod cipher;
mod cookie;
mod datagram;
mod exchange;
mod handshake;
mod keyring;
mod replay;
mod security;
mod traffic;

pub use admission::{Admission, Verdict};
pub use datagram::{Datagram, Index, Init, MAC_LEN, SealedCookie, parse};
pub use exchange::Ephemeral;
pub use handshake::{HandshakeError, HandshakeRequest, Initiator, Responder};
pub use keyring::{Agreed, Keyring, Request, Slot};
pub use security::Security;
pub use traffic::{FRONT, OVERHEAD, Traffic};
