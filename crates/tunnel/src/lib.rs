//! Datagrams of other protocols (QUIC, WireGuard, calls) across a lossy path.
//!
//! Nobody can end these flows as a proxy ends TCP. What can be done is to keep losses from them: a [`Tunnel`] packs
//! datagrams into packets as long as the path carries (RFC 9347, section 2.2), protects some packets at a time by parity
//! after the losses measured, retransmits once what parity did not bring back, as long as that is in time, and hands a
//! flow's datagrams over in order. What waits is scheduled by FQ-CoDel (RFC 8290), whose interval is the longest round trip of
//! the paths that carry something: there may be several, and a flow uses all that are worth it.
//!
//! Like an endpoint of a protocol a tunnel is told the time. Offer datagrams and hand over what came, then
//! ask for messages until there are none, and call again at [`Tunnel::deadline`]. Both directions are
//! in one machine.
//!
//! ```
//! use bentpipe_tunnel::{Config, Datagram, Protection, Tunnel};
//! use bentpipe_units::Instant;
//! use bentpipe_wire::Ecn;
//!
//! let (mut here, mut there) = (Tunnel::new(Config::default(), 1), Tunnel::new(Config::default(), 2));
//! here.set_protection(Protection::Off);
//! let (now, room) = (Instant::ZERO, 1_400);
//! let (label, bytes) = ("a client's".into(), vec![1; 3_000].into());
//! here.offer(now, Datagram { flow: 7, ecn: Ecn::NotCapable, label, bytes });
//! while let Some(message) = here.poll_transmit(now, 0, room) {
//!     there.handle_message(now, Ecn::NotCapable, message);
//! }
//! // What does not fill a packet waits a moment for more.
//! let now = here.deadline(0, room).expect("a rest");
//! let message = here.poll_transmit(now, 0, room).expect("the rest");
//! there.handle_message(now, Ecn::NotCapable, message);
//! assert_eq!(there.poll_datagram().map(|datagram| datagram.bytes.len()), Some(3_000));
//! ```

mod backlog;
mod block;
mod bounds;
mod incoming;
mod labels;
mod message;
mod meter;
mod order;
mod outgoing;
mod packing;
mod path_receiver;
mod path_sender;
mod protection;
mod record;
mod schedule;
mod slots;
mod tunnel;
mod under_way;
mod window;

pub use self::message::{Message, Packet, Parity, Range, Report};
pub use self::protection::Protection;
pub use self::record::Datagram;
pub use self::schedule::PathPlan;
pub use self::tunnel::{Config, Counters, MOST_DATAGRAM, Tunnel};
