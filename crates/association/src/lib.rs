//! The secure association between hosts and the connections inside it: one socket's worth of peers, without the
//! socket.
//!
//! A [`Endpoint`](endpoint::Endpoint) is told the time and is given datagrams; it gives datagrams back, and byte
//! streams to applications. Which keys it uses and how they are agreed is in [`secure`]. The same code runs on real
//! sockets and in memory.
//!
//! ```
//! use bentpipe_association::{PublicKey, SecretKey, Tuning};
//!
//! let key = SecretKey::generate();
//! let named: PublicKey = key.public().to_string().parse()?;
//! assert_eq!(named, key.public());
//! // Connections send at the rate of the link, if it is known.
//! let tuning = Tuning { rate: Some("10 Mbit/s".parse()?), ..Tuning::default() };
//! assert!(tuning.config().is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod endpoint;
pub mod host;
mod key;
pub mod secure;
pub mod stream;
mod tuning;

pub use endpoint::{Fec, LEARN, Outer, Share};
pub use key::{BadKey, PublicKey, SecretKey};
pub use secure::Security;
pub use tuning::{KnownLink, Tuning};
