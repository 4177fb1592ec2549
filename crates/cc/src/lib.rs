//! Congestion control: facts in, limits out.
//!
//! The sender tells a [`Controller`] what happened and obeys its [`Limits`]. Bytes in flight, rounds
//! and loss episodes are counted once, by the sender; what to retransmit is decided elsewhere. A
//! controller is one file in `algorithms` and one row in `registry`, and runs under every protocol.
//!
//! A program brings a controller of its own as a [`Row`]. A [`Registry`] finds it by name, as scenarios do;
//! without a registry it is a [`Choice::custom`].
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use bentpipe_cc::{Ack, Build, Controller, Limits, Loss, Parameter, PathView, Phase};
//! use bentpipe_cc::{Registry, Row, Snapshot};
//! use bentpipe_units::ByteCount;
//!
//! /// One segment more for each acknowledgement; back to the start on a loss.
//! #[derive(Debug)]
//! struct Climb {
//!     start: ByteCount,
//!     window: ByteCount,
//! }
//!
//! static CLIMB: Row = Row {
//!     name: "climb",
//!     summary: "one segment more for each acknowledgement",
//!     citation: "this page",
//!     parameters: &[Parameter {
//!         name: "start",
//!         unit: "segment",
//!         default: 2.0,
//!         range: (1.0, 100.0),
//!         summary: "window at the start and after a loss",
//!     }],
//!     build: &|build: &Build<'_>| {
//!         let start = build.mss * build.parameter(&CLIMB, "start") as u64;
//!         Box::new(Climb { start, window: start })
//!     },
//! };
//!
//! impl Controller for Climb {
//!     fn on_ack(&mut self, path: &PathView, _: &Ack) {
//!         self.window = self.window + path.mss;
//!     }
//!
//!     fn on_loss(&mut self, _: &PathView, _: &Loss) {
//!         self.window = self.start;
//!     }
//!
//!     fn limits(&self) -> Limits {
//!         Limits { window: Some(self.window), ..Limits::default() }
//!     }
//!
//!     fn snapshot(&self) -> Snapshot {
//!         let (cwnd, ssthresh) = (Some(self.window), None);
//!         Snapshot { phase: Phase::Other("climb"), cwnd, ssthresh, gauges: Vec::new() }
//!     }
//! }
//!
//! let registry = Registry::built_in().with(&CLIMB)?;
//! let choice = registry.choose("climb", BTreeMap::from([("start".to_owned(), 4.0)]))?;
//! let (mss, most) = (ByteCount::new(1000), ByteCount::new(100_000));
//! let controller = choice.build(mss, mss * 10, mss, most);
//! assert_eq!(controller.limits().window, Some(ByteCount::new(4000)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithms;
mod backlog;
mod bandwidth;
mod bottleneck;
mod choice;
mod controller;
mod cubic_curve;
mod delay_probe_start;
mod ensemble;
mod event;
mod family;
mod hystart;
mod probing;
mod registry;
mod return_path;
mod row;
mod shared;
#[cfg(test)]
mod testing;
mod window;

pub use algorithms::rate::DedicatedLink;
pub use choice::{BuildError, Choice};
pub use controller::{
    Asks, Controller, Copies, Gauge, Limits, LowPriority, PathRequest, PathView, Phase, Repair,
    Snapshot,
};
pub use ensemble::{Ensemble, KnownPath};
pub use event::{Ack, Loss, LossCause, QueueLevel, RateSample, Sent, Signal};
pub use registry::{NameTaken, Registry, rows};
pub use return_path::ReturnPath;
pub use row::{Build, Builder, Parameter, Row};
pub use shared::SharedState;
