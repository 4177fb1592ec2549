//! Scenarios: what is run.
//!
//! A scenario is a TOML file ([`Scenario`]) that becomes a run of the simulator. It comes with the program
//! ([`library`]) or from the user. A program that uses the crate may bring [`Extensions`] for its scenarios to name.

mod build;
mod confines;
mod error;
mod extensions;
mod ground;
mod identity;
pub mod library;
mod load;
mod old_keys;
mod problem;
mod profile;
mod reads;
mod schema;
mod spot;
mod text;

pub use build::{ConstellationOptions, open_constellation};
pub use confines::Confines;
pub use error::{ScenarioError, did_you_mean, nearest};
pub use extensions::Extensions;
pub use ground::{Ground, GroundError};
pub use load::{Override, Scenario};
pub use schema::file::{EncapsulationName, ScenarioFile, schema};
pub use schema::flow::FlowTable;
pub use schema::link::{LinkDirection, LinkTable};
pub use schema::protocol::ProtocolName;
pub use schema::quantity::{Quantity, Written};
pub use spot::Spot;
