//! The choice of a controller: which one, and the values of its parameters.

use std::collections::BTreeMap;

use bentpipe_units::ByteCount;

use crate::row::{Build, Row};
use crate::{Controller, SharedState};

/// A controller and its settings, checked against its row.
#[derive(Clone, Debug)]
pub struct Choice {
    row: &'static Row,
    parameters: BTreeMap<String, f64>,
    shared: Option<SharedState>,
}

/// A choice that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// There is no controller of this name.
    #[error("there is no controller `{0}`")]
    NoSuchController(String),
    /// The controller has no such parameter.
    #[error("controller `{controller}` has no parameter `{parameter}`")]
    NoSuchParameter {
        /// The controller.
        controller: &'static str,
        /// The name that it does not know.
        parameter: String,
    },
    /// The value is out of range.
    #[error("parameter `{parameter}` of `{controller}` is {value}: it must lie in {low}..={high}")]
    OutOfRange {
        /// The controller.
        controller: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What was asked for.
        value: f64,
        /// Smallest allowed value.
        low: f64,
        /// Largest allowed value.
        high: f64,
    },
}

impl Choice {
    /// The controller of a row, in a registry or not, with these values for its parameters.
    ///
    /// # Errors
    /// When a parameter is unknown or a value is out of range.
    pub fn custom(
        row: &'static Row,
        parameters: BTreeMap<String, f64>,
    ) -> Result<Self, BuildError> {
        for (given, value) in &parameters {
            let known = row.parameters.iter().find(|p| p.name == given);
            let Some(known) = known else {
                let parameter = given.clone();
                return Err(BuildError::NoSuchParameter { controller: row.name, parameter });
            };
            let (low, high) = known.range;
            if !(low..=high).contains(value) {
                return Err(BuildError::OutOfRange {
                    controller: row.name,
                    parameter: known.name,
                    value: *value,
                    low,
                    high,
                });
            }
        }
        Ok(Self::unchecked(row, parameters))
    }

    /// The controller of a row with parameters that it is known to have.
    pub(crate) const fn unchecked(row: &'static Row, parameters: BTreeMap<String, f64>) -> Self {
        Self { row, parameters, shared: None }
    }

    /// The same controller with these values for its parameters and no others.
    ///
    /// # Errors
    /// When a parameter is unknown or a value is out of range.
    pub fn with_parameters(self, parameters: BTreeMap<String, f64>) -> Result<Self, BuildError> {
        Ok(Self { shared: self.shared, ..Self::custom(self.row, parameters)? })
    }

    /// The same choice for connections that share what they know of the path (STCP). Each destination
    /// has a table of its own.
    #[must_use]
    pub fn sharing(mut self, table: SharedState) -> Self {
        self.shared = Some(table);
        self
    }

    /// Whether the controller has a parameter of this name.
    pub fn has_parameter(&self, name: &str) -> bool {
        self.row.parameters.iter().any(|parameter| parameter.name == name)
    }

    /// Whether it gives the same controller with the same settings.
    pub fn is_like(&self, other: &Self) -> bool {
        self.name() == other.name() && self.parameters == other.parameters
    }

    /// Name of the controller.
    pub fn name(&self) -> &'static str {
        self.row.name
    }

    /// Builds it for a connection whose segments and windows are now known.
    pub fn build(
        &self,
        mss: ByteCount,
        cwnd_init: ByteCount,
        cwnd_min: ByteCount,
        cwnd_max: ByteCount,
    ) -> Box<dyn Controller> {
        let (shared, parameters) = (self.shared.as_ref(), &self.parameters);
        (self.row.build)(&Build { mss, cwnd_init, cwnd_min, cwnd_max, shared, parameters })
    }
}
