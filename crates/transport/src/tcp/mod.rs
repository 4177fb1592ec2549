//! TCP (RFC 9293) with the extensions that long paths need.
//!
//! A [`Connection`] has a sending and a receiving side. Losses are found and repaired by a
//! [recovery], the rate is a controller's of `bentpipe-cc`. What is implemented of
//! which RFC stands in `docs/protocols/tcp.md`.

mod acks;
mod arrival;
mod compose;
mod config;
mod connection;
mod delivery;
mod emission;
mod explicit;
mod handshake;
mod lifecycle;
mod outage;
mod pacer;
mod path_mtu;
mod plain;
mod probe_cycle;
mod probes;
mod reassembly;
mod receiver;
pub mod recovery;
mod reset;
mod sender;
mod stamps;
mod state;
mod timers;
mod timing;
mod turn;
mod window_unit;

pub use config::{Config, ConfigError, InitialWindow};
pub use connection::Connection;
pub use reset::no_session_reset;
pub use state::State;
pub use turn::Turned;
