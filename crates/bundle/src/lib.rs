//! Bundles of RFC 9171 for links that are there for seconds: a node that keeps what it was given until somebody else has it.
//!
//! [`Node`] takes bundles, checks them, keeps them on a [`Folder`], delivers them at its endpoints and gives them to the next
//! hop. [`layer`] has the convergence layers, machines without sockets; [`carry`] runs one of them over a stream of bytes.
//! Custody goes hop by hop: an answer is sent when a bundle is on the medium, and a bundle is deleted when that answer has
//! come.
//!
//! ```
//! use bentpipe_bundle::{Config, DtnTime, Limits, MemoryFolder, Node, Reports, Request, endpoint};
//! use bentpipe_units::Span;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config {
//!     node: "dtn://earth/".parse()?,
//!     neighbours: vec!["dtn://relay/".parse()?],
//!     routes: vec![],
//!     limits: Limits::default(),
//!     retry: Span::from_secs(30),
//! };
//! let now = DtnTime::from_millis(800_000_000_000);
//! let mut node = Node::open(config, MemoryFolder::new(1), now, 1)?;
//! let request = Request {
//!     to: endpoint("dtn://relay/mail")?,
//!     from: endpoint("dtn://earth/mail")?,
//!     report_to: endpoint("dtn://earth/mail")?,
//!     reports: Reports::default(),
//!     lifetime: Span::from_secs(3600),
//!     payload: b"hello".to_vec(),
//! };
//! let id = node.submit(now, &request)?;
//! assert!(id.name().ends_with("@dtn://earth/mail"));
//! assert_eq!(node.holds().0, 1);
//! # Ok(())
//! # }
//! ```

mod calendar;
mod carry;
mod checked;
mod eid;
mod id;
pub mod layer;
mod making;
mod node;
mod origin;
mod shape;
mod shared;
mod silence;
mod standing;
mod store;

pub use calendar::DtnTime;
pub use carry::{CarryError, Peer, Terms, carry};
pub use checked::{Checked, Invalid, LONGEST_ENDPOINT};
pub use eid::{BadEndpoint, NodeId, Pattern, endpoint};
pub use id::{BundleId, IdHash, LONGEST_ID};
pub use making::{Reports, Request, Status, Told, read_report};
pub use node::{
    Answer, Config, Counters, Entry, Limits, News, Node, NotDeleted, Outgoing, Queue, Refusal,
    Route, SessionId, Taken,
};
pub use origin::Origin;
pub use shape::MOST_BLOCKS;
pub use shared::{Line, SharedNode, keep};
pub use silence::Progress;
pub use store::{Folder, MemoryFolder};

/// An endpoint ID of RFC 9171, section 4.2.5.
pub use bp7::EndpointID;
