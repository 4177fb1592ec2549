//! Link models and queues that a program brings: what is known of each, and the choice of one.

mod error;
mod registry;
mod settings;

pub use error::CustomError;
pub use registry::Registry;
pub use settings::{CustomParameter, Settings};

use std::collections::BTreeMap;

use bentpipe_units::BitRate;

use crate::queue::Discipline;
use crate::{Model, QueueLimit, Stream};

/// A link model that a program brings.
#[derive(Debug)]
pub struct CustomModel {
    /// Name in scenario files.
    pub name: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// Where the model is written down.
    pub source: &'static str,
    /// What can be set.
    pub parameters: &'static [CustomParameter],
    /// Packets leave in the order in which they enter.
    pub keeps_order: bool,
    /// Builds it for one direction of a link, which has the stream for itself.
    pub build: fn(&Settings, Stream) -> Box<dyn Model>,
}

/// A queue discipline that a program brings.
#[derive(Debug)]
pub struct CustomQueue {
    /// Name in scenario files.
    pub name: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// Where the discipline is written down.
    pub source: &'static str,
    /// What can be set.
    pub parameters: &'static [CustomParameter],
    /// Builds one before a line of this rate, which has the stream for itself.
    pub build: fn(&Settings, QueueLimit, BitRate, Stream) -> Box<dyn Discipline>,
}

/// A [`CustomModel`] and its settings.
#[derive(Clone, Debug)]
pub struct ModelChoice {
    row: &'static CustomModel,
    settings: Settings,
}

impl ModelChoice {
    /// The model of a row, in a registry or not, with these values for its parameters.
    ///
    /// # Errors
    /// When a parameter is unknown or a value is out of range.
    pub fn new(
        row: &'static CustomModel,
        parameters: &BTreeMap<String, f64>,
    ) -> Result<Self, CustomError> {
        Ok(Self { row, settings: Settings::new(row.name, row.parameters, parameters)? })
    }

    pub(crate) const fn row(&self) -> &'static CustomModel {
        self.row
    }

    pub(crate) fn build(&self, stream: Stream) -> Box<dyn Model> {
        (self.row.build)(&self.settings, stream)
    }
}

impl PartialEq for ModelChoice {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.row, other.row) && self.settings == other.settings
    }
}

/// A [`CustomQueue`] and its settings.
#[derive(Clone, Debug)]
pub struct QueueChoice {
    row: &'static CustomQueue,
    settings: Settings,
}

impl QueueChoice {
    /// The queue of a row, in a registry or not, with these values for its parameters.
    ///
    /// # Errors
    /// When a parameter is unknown or a value is out of range.
    pub fn new(
        row: &'static CustomQueue,
        parameters: &BTreeMap<String, f64>,
    ) -> Result<Self, CustomError> {
        Ok(Self { row, settings: Settings::new(row.name, row.parameters, parameters)? })
    }

    pub(crate) fn build(
        &self,
        limit: QueueLimit,
        rate: BitRate,
        stream: Stream,
    ) -> Box<dyn Discipline> {
        (self.row.build)(&self.settings, limit, rate, stream)
    }
}

impl PartialEq for QueueChoice {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.row, other.row) && self.settings == other.settings
    }
}
