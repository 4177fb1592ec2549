//! XSTP, the extended Satellite Transport Protocol, with probing.
//!
//! A receiver reports what is missing when it is asked (POLL, STAT) or when it finds a gap (USTAT);
//! the sender repairs what is reported and has no retransmission timer. With probing on, a loss makes
//! the sender stop and ask, one POLL a round trip, until two answers in a row tell whether bit errors or
//! congestion was the cause. Source: Elaasar, Li, Barbeau, Kranakis, "The eXtended Satellite
//! Transport Protocol: Its Design and Evaluation", SSC03-XI-3, 2003. The rules are numbered in
//! `docs/protocols/xstp.md`.

mod closing;
mod config;
mod control;
mod delivery;
mod dirty;
mod encode;
mod governor;
mod lifecycle;
mod opening;
mod picked;
mod poll_clock;
mod poll_density;
mod poll_need;
mod probing;
mod queue_watch;
mod receive_cache;
mod receiver;
mod reordering;
mod reports;
mod retransmissions;
mod return_delay;
mod send_cache;
mod send_timer;
mod sender;
mod session;
mod shared_member;
mod shared_path;
mod silence;
mod state;
mod timer_clock;
mod timers;
mod timestamp;
mod transmit;

pub use config::{Config, ConfigError, ProbingConfig, StatRule};
pub use return_delay::Received;
pub use session::{Session, no_session_reset};
pub use shared_member::SharedMember;
pub use shared_path::SharedPath;
pub use state::State;
pub use timer_clock::TimerClock;
pub use timestamp::receive_timestamp;
