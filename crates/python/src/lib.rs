//! The native module of the Python package: what Python says becomes what the crates below take, and what they found
//! becomes tables.
//!
//! Nothing is decided here. Whoever uses the package sees the classes of `python/bentpipe/`, which call these.

#![allow(clippy::needless_pass_by_value, reason = "Python's arguments come as values")]

mod comparison;
mod controller;
mod error;
mod interrupt;
mod orbit;
mod run;
mod scenario;
mod sweep;
mod table;
mod trace;

use pyo3::prelude::*;

/// The module `bentpipe._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::comparison::Comparison;
    #[pymodule_export]
    use super::controller::{Ack, Build, ControllerClass, Loss, Path, Round};
    #[pymodule_export]
    use super::error::Error;
    #[pymodule_export]
    use super::orbit::{Survey, survey};
    #[pymodule_export]
    use super::run::Run;
    #[pymodule_export]
    use super::scenario::{Scenario, scenarios, schema, variants};
    #[pymodule_export]
    use super::sweep::{Sweep, merge_shards};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::trace::{Trace, traces};
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
