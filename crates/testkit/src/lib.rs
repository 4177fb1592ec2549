//! What the tests of several crates share. Nothing that ships depends on it.
//!
//! ```
//! use bentpipe_testkit::{Fate, Pair, pattern};
//! use bentpipe_transport::xstp::Config;
//! use bentpipe_units::Span;
//!
//! // Every tenth segment is lost.
//! let mut count = 0;
//! let every_tenth = move |_: &_| {
//!     count += 1;
//!     if count % 10 == 0 { Fate::Drop } else { Fate::Pass }
//! };
//! let file = pattern(50_000);
//! let (client, server) = (Config::default(), Config::default());
//! let mut pair = Pair::new(client, server, Span::from_millis(250)).with_script(every_tenth).sending(file.clone());
//! assert!(pair.run(Span::from_secs(600)));
//! assert!(pair.server.inbox == file, "what arrived is not what was sent");
//! ```

pub mod elements;
pub mod fuzz;
pub mod hosts;
pub mod pair;
pub mod protocol;
mod sctp_pair;

pub use bentpipe_link::Direction;
pub use pair::{Crossing, Fate, Pair, pattern};
pub use protocol::{Tcp, Xstp};
pub use sctp_pair::{SctpCrossing, SctpEnd, SctpPair, SctpScript, client_address};
