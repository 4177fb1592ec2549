//! Scenarios: what is run.
//!
//! A scenario is a TOML file ([`Scenario`]) that becomes a run of the simulator. It comes with the program
//! ([`library`]) or from the user. A program that uses the crate may bring [`Extensions`] for its scenarios to name.
//!
//! ```
//! use bentpipe_scenario::Scenario;
//!
//! let text = r#"
//!     name = "my-link"
//!     nodes = ["server", "client"]
//!
//!     [links.satellite]
//!     between = ["server", "client"]
//!     rate = "10 Mbit/s"
//!     delay = "250 ms"
//!
//!     [flows.file]
//!     from = "server"
//!     to = "client"
//!     protocol = "tcp"
//!     size = "1 MB"
//! "#;
//! let scenario = Scenario::parse("my-link.toml", text)?.with(&["links.satellite.loss=1 %".parse()?])?;
//! let spec = scenario.run_spec(Some(7), false)?;
//! assert_eq!((spec.flows.len(), spec.seed), (1, 7));
//!
//! // What is wrong is said with its line and key.
//! let wrong = text.replace("10 Mbit/s", "10 MB");
//! let error = Scenario::parse("my-link.toml", &wrong).unwrap_err();
//! assert_eq!(error.line, Some(7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub use schema::quantity::Quantity;
pub use spot::Spot;
