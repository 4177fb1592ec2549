//! Transport for satellite links: protocols as state machines, two clocks to run them by.
//!
//! | you want to | look at |
//! |---|---|
//! | run a scenario and read what became of it | [`scenario::Scenario`], [`sim::run`], [`record::RunSummary`] |
//! | know which protocol is the best on a link | [`experiments::compare`] |
//! | write a congestion controller | [`cc::Controller`], [`cc::Row`] |
//! | write a link model or a queue | [`link::CustomModel`], [`link::CustomQueue`] |
//! | know delays, routes and handovers of a constellation | [`orbit::Constellation`], [`orbit::Network`] |
//! | run a protocol under a clock and a network of your own | [`transport::Endpoint`], [`transport::drain`] |
//! | send bytes to a peer that you know by its key | [`net::Host`] |
//! | keep bundles until somebody else has them | [`bundle::Node`] |
//!
//! Nothing below [`net`] reads a clock or opens a socket: time and segments are handed in, and the same machine runs in the simulator and
//! on real sockets.
//!
//! ```
//! use bentpipe::scenario::Scenario;
//! use bentpipe::sim::{Silent, run};
//!
//! // A file over a geostationary link, by TCP with CUBIC, with the seed 7.
//! let changes = ["flows.file.size=1 MB", "flows.file.protocol=tcp", "flows.file.tcp.controller=cubic"];
//! let changes: Result<Vec<_>, _> = changes.iter().map(|change| change.parse()).collect();
//! let scenario = Scenario::open("geo")?.with(&changes?)?;
//! let summary = run(&scenario.run_spec(Some(7), false)?, &mut Silent)?;
//! assert_eq!(summary.flows[0].delivered_bytes, 1_000_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! `sim` and `net` are on by default; a program needs only the one that it uses. `parquet` adds sweeps and traces in Parquet files.

pub use bentpipe_cc as cc;
pub use bentpipe_record as record;
pub use bentpipe_transport as transport;
pub use bentpipe_units as units;
pub use bentpipe_wire as wire;

#[cfg(feature = "sim")]
pub use bentpipe_experiments as experiments;
#[cfg(feature = "sim")]
pub use bentpipe_link as link;
#[cfg(feature = "sim")]
pub use bentpipe_orbit as orbit;
#[cfg(feature = "sim")]
pub use bentpipe_pep as pep;
#[cfg(feature = "sim")]
pub use bentpipe_scenario as scenario;
#[cfg(feature = "sim")]
pub use bentpipe_scenes as scenes;
#[cfg(feature = "sim")]
pub use bentpipe_sim as sim;
#[cfg(feature = "sim")]
pub use bentpipe_trace as trace;

#[cfg(feature = "net")]
pub use bentpipe_association as association;
#[cfg(feature = "net")]
pub use bentpipe_bundle as bundle;
#[cfg(feature = "net")]
pub use bentpipe_gateway as gateway;
#[cfg(feature = "net")]
pub use bentpipe_net as net;
#[cfg(feature = "net")]
pub use bentpipe_transfer as transfer;
