//! TCP (RFC 9293) with the extensions that long paths need.
//!
//! A [`Connection`] has a sending and a receiving side. Losses are found and repaired by a
//! [recovery], the rate is a controller's of `bentpipe-cc`. What is implemented of
//! which RFC stands in `docs/protocols/tcp.md`.

mod ack_in;
mod agreed;
mod backlog;
mod challenges;
mod config;
mod connection;
mod delivery;
mod deviation;
mod dirty;
mod ecn;
mod ending;
mod episode;
mod explicit;
mod governor;
mod handshake;
mod inquiry;
mod keepalive;
mod outage;
mod pacer;
mod path_mtu;
mod peer_window;
mod probes;
mod probing;
mod reassembly;
mod receiver;
pub mod recovery;
mod reduction;
mod reset;
mod retransmissions;
mod round_trips;
mod sender;
mod state;
mod tail_probe;
mod timers;
mod timestamps;
mod timing;
mod window_unit;

pub use config::{Config, ConfigError, EcnMode, InitialWindow, RtoMargin};
pub use connection::{Connection, FastPath};
pub use reset::no_session_reset;
pub use state::State;
