//! What is known of a controller: its name, where it comes from, what can be set, how it is built.

use std::collections::BTreeMap;
use std::fmt;

use bentpipe_units::ByteCount;

use crate::{Controller, SharedState};

/// One controller. The row feeds the command line, the documentation and the conformance test.
pub struct Row {
    /// Name in scenario files.
    pub name: &'static str,
    /// One line on what it does.
    pub summary: &'static str,
    /// Where the algorithm is written down.
    pub citation: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// Builds one.
    pub build: &'static Builder,
}

/// What builds the controllers of a row. One that a program brings may know more than its row: a class of another language.
pub type Builder = dyn Fn(&Build<'_>) -> Box<dyn Controller> + Send + Sync;

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Something that can be set.
#[derive(Debug)]
pub struct Parameter {
    /// Name in scenario files.
    pub name: &'static str,
    /// Unit, or `1` for a pure number.
    pub unit: &'static str,
    /// Value when it is not set.
    pub default: f64,
    /// Smallest and largest sensible value.
    pub range: (f64, f64),
    /// What it does.
    pub summary: &'static str,
}

/// What a controller is built from.
#[derive(Debug)]
pub struct Build<'a> {
    /// Payload of a full segment.
    pub mss: ByteCount,
    /// Window at the start and after idle time.
    pub cwnd_init: ByteCount,
    /// The window never falls below this.
    pub cwnd_min: ByteCount,
    /// The window never grows beyond this.
    pub cwnd_max: ByteCount,
    /// What connections to the same destination share, for controllers that use it.
    pub shared: Option<&'a SharedState>,
    /// Values of the controller's own parameters; what is missing has its default.
    pub parameters: &'a BTreeMap<String, f64>,
}

impl Build<'_> {
    /// The value of a parameter, or the default of its row; 0 if the row has no parameter of this name.
    pub fn parameter(&self, row: &Row, name: &str) -> f64 {
        let default = || row.parameters.iter().find(|p| p.name == name).map_or(0.0, |p| p.default);
        self.parameters.get(name).copied().unwrap_or_else(default)
    }
}
