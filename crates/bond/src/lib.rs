//! One byte stream over connections by several links.
//!
//! Each link has a reliable connection of its own, with its own numbers, acknowledgements, losses and rate: what one link
//! does never looks like a loss on another. A [`Bond`] cuts the stream into chunks, gives each to the connection by which it
//! arrives first, and puts them in order at the other end. What lies on a link that died is retransmitted by another one.
//!
//! Nothing here knows sockets, clocks or associations: whoever runs a [`Bond`] tells it the time and what its connections
//! report, and carries what it wants to send.
//!
//! ```
//! use bentpipe_bond::{Bond, Use};
//! use bentpipe_units::{ByteCount, Instant};
//!
//! let window = ByteCount::new(1_000_000);
//! let [mut here, mut there] = [Bond::new(window), Bond::new(window)];
//! here.join(0, Use::Always);
//! there.join(0, Use::Always);
//! here.write("a stream".into());
//! while let Some(sent) = here.poll_transmit(Instant::ZERO) {
//!     for bytes in sent.bytes {
//!         there.handle_bytes(sent.member, bytes)?;
//!     }
//! }
//! assert_eq!(there.read().as_deref(), Some(&b"a stream"[..]));
//! # Ok::<(), bentpipe_bond::BondError>(())
//! ```

mod bond;
mod frame;
mod incoming;
mod member;
mod outgoing;

pub use self::bond::{Bond, BondError, Transmit};
pub use self::member::{Observed, Use};
