//! The deterministic simulator: virtual time, nodes, links, endpoints, applications.
//!
//! A [`RunSpec`] says what there is; [`run`] lets it happen and gives the [`RunSummary`]. The same
//! specification and seed give the same record, byte for byte, on every machine.
//!
//! [`RunSummary`]: bentpipe_record::RunSummary
//!
//! ```
//! use bentpipe_scenario::Scenario;
//! use bentpipe_sim::{Silent, run};
//!
//! let spec = Scenario::open("geo")?.run_spec(Some(7), false)?;
//! let summary = run(&spec, &mut Silent)?;
//! assert!(summary.flows[0].complete);
//! assert_eq!(summary, run(&spec, &mut Silent)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agent_queues;
mod agents;
mod app;
mod capture;
mod channel;
mod components;
mod connection;
mod cut_through;
mod datagrams;
mod endpoints;
mod envelope;
mod events;
mod flows;
mod generated;
mod held;
mod hosted;
mod lan;
mod macs;
mod network;
mod observer;
mod outages;
mod packet;
mod product;
pub mod program;
mod proxies;
mod quoted;
mod routes;
mod runner;
mod shapers;
mod spec;
pub mod storm;
mod topology;
mod traffic;
mod transit;
mod wire_mode;

pub use agent_queues::hold_before_agents;
pub use agents::{AgentPlace, AgentSpec};
pub use app::pattern;
pub use capture::{Capture, CaptureError};
pub use envelope::Envelope;
pub use observer::{Observer, PacketSeen, Silent};
pub use routes::passed;
pub use runner::run;
pub use spec::{
    AddressChange, BuildError, Encapsulation, FlowSpec, GatewaySpec, GatewaysSpec, GroundSpec,
    LinkSpec, MacPlace, MtuSpec, Protocol, ProxySpec, RunSpec, SatelliteNetworkSpec, SchedulerSpec,
    Sharing, SourceSpec,
};
pub use traffic::{Connections, Draw, TrafficSpec, WebSpec};
