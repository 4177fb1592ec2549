//! TCP (RFC 9293) with the extensions that long paths need.
//!
//! A [`Connection`] has a sending and a receiving side. Losses are found and repaired by a
//! [recovery], the rate is a controller's of `bentpipe-cc`. What is implemented of
//! which RFC stands in `docs/protocols/tcp.md`.

mod acks;
mod config;
mod connection;
mod delivery;
mod encode;
mod explicit;
mod fast_path;
mod handshake;
mod header_prediction;
mod lifecycle;
mod outage;
mod pacer;
mod path_mtu;
mod probe_cycle;
mod probes;
mod reassembly;
mod receive;
mod receiver;
pub mod recovery;
mod reset;
mod sender;
mod state;
mod timers;
mod timestamps;
mod timing;
mod transmit;
mod window_unit;

pub use config::{Config, ConfigError, InitialWindow};
pub use connection::Connection;
pub use fast_path::FastPath;
pub use reset::no_session_reset;
pub use state::State;
