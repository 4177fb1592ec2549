//! Packet radio: stations that are joined by radios and their TNCs.
//!
//! A [`Station`] has XSTP connections. Their segments go in IPv4 with a source route, in UI frames of AX.25, by KISS to a TNC:
//! over TCP, as Dire Wolf serves it, or over a serial line ([`bentpipe_wire::radio`]). Nothing is encrypted, and call signs
//! are believed: amateur services permit no more.

mod config;
mod digis;
mod framing;
mod identity;
mod line;
mod serial;
mod station;
mod tnc;

pub use bentpipe_wire::radio::ax25::TooManyRepeaters;
pub use bentpipe_wire::radio::kiss::{BadTime, Port, TncTime};
pub use bentpipe_wire::radio::{Address, BadAddress};

pub use self::config::config;
pub use self::digis::Digis;
pub use self::framing::Framing;
pub use self::identity::{BadIdentity, Identity};
pub use self::line::{Counters, Settings};
pub use self::station::{Station, TncError};
pub use self::tnc::{BadTnc, TncAddress};

/// The connections of a [`Station`].
pub type Sessions = crate::sessions::Sessions<Framing>;

/// A connection of a [`Station`].
pub type Connection = bentpipe_association::host::Connection<Sessions>;
