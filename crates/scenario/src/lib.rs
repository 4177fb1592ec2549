//! Scenarios and experiments: what is run, and how its result is judged.
//!
//! A scenario is a TOML file ([`Scenario`]) that becomes a run of the simulator. An experiment is a
//! scenario, a sweep, metrics and claims ([`Experiment`]), also in TOML. Both come with the program
//! ([`library`]) or from the user.

mod agent_table;
mod build;
pub mod compare;
mod constellation;
mod copies;
mod draw_table;
mod error;
pub mod experiment;
mod extensions;
mod file;
pub mod library;
mod load;
mod named;
mod places;
mod profile;
mod protocol;
mod proxy_table;
mod quantity;
mod queue_table;
mod sctp_table;
mod settings;
mod sky;
mod stations;
mod tcp_table;
mod traffic_table;
mod uplink_table;
pub mod validation;
mod xstp_table;

pub use constellation::{ConstellationOptions, open_constellation};
pub use error::{ScenarioError, did_you_mean};
pub use experiment::{Experiment, Progress, SweepOptions};
pub use extensions::Extensions;
pub use file::{EncapsulationName, FlowTable, LinkDirection, LinkTable, ScenarioFile, schema};
pub use load::{Override, Scenario};
pub use protocol::ProtocolName;
