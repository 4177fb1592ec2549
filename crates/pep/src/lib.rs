//! Performance-enhancing proxies, without I/O (RFC 3135 names the kinds).
//!
//! A proxy is told the time and never asks. An agent looks at the packets that pass and answers for
//! each what becomes of it; a split ends connections on either side and copies between them.
//!
//! ```
//! use bentpipe_pep::scheduler::{Discipline, Scheduler};
//! use bentpipe_units::{BitRate, ByteCount, Instant};
//!
//! // Two connections share a link of 1 Mbit/s; the second one counts twice.
//! let mut link = Scheduler::new(BitRate::from_bps(1_000_000), Discipline::Weighted);
//! let (one, two) = (link.join(1), link.join(2));
//! link.wake(one);
//! link.wake(two);
//! let mut now = Instant::ZERO;
//! let mut turns = [0; 2];
//! for _ in 0..30 {
//!     let member = link.next(now).expect("somebody has something to send");
//!     link.sent(now, member, ByteCount::new(1_250));
//!     turns[member as usize] += 1;
//!     now = link.poll_timeout().unwrap_or(now);
//! }
//! assert_eq!(turns, [10, 20]);
//! ```

mod agent;
pub mod satpep;
pub mod scheduler;
pub mod snoop;
pub mod split;

pub use agent::{Address, Agent, Direction, Emission, Ends, Packet, Verdict};
