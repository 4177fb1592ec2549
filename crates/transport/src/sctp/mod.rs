//! SCTP, the Stream Control Transmission Protocol (RFC 9260).
//!
//! An [`Association`] carries messages on streams that do not wait for each other, over one or several
//! paths to the peer. A [`Listener`] waits for associations without keeping anything of them. What is
//! implemented and what was chosen where the text leaves a choice is in `docs/protocols/sctp.md`.

mod acks;
mod association;
mod auth;
mod chunks;
mod closing;
mod config;
mod cookie;
mod draw;
mod ecn;
mod endpoint;
mod ends;
mod flight;
mod inbound;
mod listener;
mod message;
mod mtu;
mod offer;
mod opening;
mod outbox;
mod own_changes;
mod path;
mod path_ends;
mod peer_changes;
mod receiver;
mod report_path;
mod retry;
mod send_queue;
mod sender;
mod sending;
mod state;
mod stray;
mod timers;
mod transmit;
mod tsn_map;

pub use association::{Association, Identity};
pub use config::{Config, ConfigError, Counting, RtxPolicy, View};
pub use cookie::CookieKey;
pub use listener::{Answer, Listener};
pub use message::{Message, Notice, SendError};
pub use own_changes::{Readdress, ReaddressError};
pub use path_ends::PathEnds;
pub use state::State;
pub use stray::out_of_the_blue;
