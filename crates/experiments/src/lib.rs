//! What is found out by many runs of scenarios.
//!
//! An [`experiment`] is a scenario, a sweep, metrics and claims in TOML ([`Experiment`]); those that come with
//! the program are in the [`library`]. A [`sweep`] is many runs of a scenario, a row of a table for each. [`compare`] asks which protocol does best in one scenario, and
//! [`validation`] how TCP here compares with TCP elsewhere. [`storms`] let everything go wrong around the product.
//!
//! ```
//! use bentpipe_cc::Registry;
//! use bentpipe_experiments::compare::{CompareOptions, Variant, compare};
//! use bentpipe_scenario::Scenario;
//!
//! let scenario = Scenario::open("geo")?.with(&["flows.file.size=1 MB".parse()?])?;
//! let registry = Registry::built_in();
//! let variants = [Variant::of("tcp-cubic", &registry)?, Variant::of("tcp-bbr", &registry)?];
//! let options = CompareOptions { seeds: vec![1, 2], ..CompareOptions::default() };
//! let compared = compare(&scenario, &variants, &options, &())?;
//! assert_eq!(compared.ranking().rows.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod catalogue;
pub mod compare;
pub mod experiment;
pub mod library;
pub mod limited;
mod progress;
pub mod storms;
pub mod sweep;
pub mod validation;

pub use experiment::{Experiment, Laboratory, SweepOptions};
pub use progress::Progress;
