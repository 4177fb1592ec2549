//! Scenarios: what is run.
//!
//! A scenario is a TOML file ([`Scenario`]) that becomes a run of the simulator. It comes with the program
//! ([`library`]) or from the user. A program that uses the crate may bring [`Extensions`] for its scenarios to name.

mod agent_table;
mod build;
mod constellation;
mod copies;
mod draw_table;
mod error;
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
mod xstp_table;

pub use constellation::{ConstellationOptions, open_constellation};
pub use error::{ScenarioError, did_you_mean, nearest};
pub use extensions::Extensions;
pub use file::{EncapsulationName, FlowTable, LinkDirection, LinkTable, ScenarioFile, schema};
pub use load::{Override, Scenario};
pub use protocol::ProtocolName;
pub use quantity::{Quantity, Written};
