//! Every controller that comes with the crate, and the choice of one.

use std::collections::BTreeMap;

use bentpipe_units::ByteCount;

use crate::algorithms::{
    astart, bbr, bbr3, bulk_repeat, constant_rate, cubic, dvegas, fast_start, fixed, highspeed,
    hybla, jersey, newvegas, peach, peach_plus, rate, reno, scalable, scps, sctp, star, stcp, stp,
    swift, vegas, veno, westwood, westwood_plus, xcp,
};
use crate::row::{Build, Row};
use crate::{Controller, SharedState};

/// A controller and its settings, checked against the registry.
#[derive(Clone, Debug)]
pub struct Choice {
    row: &'static Row,
    parameters: BTreeMap<String, f64>,
    shared: Option<SharedState>,
}

/// A choice that the registry does not know.
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

static ROWS: &[Row] = &[
    stp::ROW,
    rate::ROW,
    fixed::ROW,
    reno::ROW,
    vegas::ROW,
    veno::ROW,
    westwood::ROW,
    westwood_plus::ROW,
    hybla::ROW,
    highspeed::ROW,
    scalable::ROW,
    cubic::ROW,
    bbr::ROW,
    bbr3::ROW,
    newvegas::ROW,
    dvegas::ROW,
    xcp::ROW,
    scps::ROW,
    sctp::ROW,
    peach::ROW,
    peach_plus::ROW,
    swift::ROW,
    fast_start::ROW,
    stcp::ROW,
    astart::ROW,
    bulk_repeat::ROW,
    jersey::ROW,
    star::ROW,
    constant_rate::ROW,
];

/// All controllers, in the order in which they are listed.
pub fn rows() -> &'static [Row] {
    ROWS
}

/// The controller of this name.
pub fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

impl Choice {
    /// The controller `name` with these values for its parameters.
    ///
    /// # Errors
    /// When the name or a parameter is unknown or a value is out of range.
    pub fn new(name: &str, parameters: BTreeMap<String, f64>) -> Result<Self, BuildError> {
        let row = find(name).ok_or_else(|| BuildError::NoSuchController(name.to_owned()))?;
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
        Ok(Self { row, parameters, shared: None })
    }

    /// STP's own controller.
    pub fn stp() -> Self {
        Self { row: &stp::ROW, parameters: BTreeMap::new(), shared: None }
    }

    /// SCTP's own controller.
    pub fn sctp() -> Self {
        Self { row: &sctp::ROW, parameters: BTreeMap::new(), shared: None }
    }

    /// SCTP's own controller as RFC 2960 has it, with this first slow start threshold in segments.
    pub fn sctp_2000(initial_ssthresh: u32) -> Self {
        let parameters = [
            ("initial_ssthresh".to_owned(), f64::from(initial_ssthresh)),
            ("ssthresh_floor".to_owned(), 2.0),
        ];
        Self { row: &sctp::ROW, parameters: parameters.into(), shared: None }
    }

    /// The controller of RFC 5681.
    pub fn reno() -> Self {
        Self { row: &reno::ROW, parameters: BTreeMap::new(), shared: None }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_rows_are_complete() {
        let mut names: Vec<_> = rows().iter().map(|r| r.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rows().len());
        for row in rows() {
            assert!(!row.summary.is_empty() && !row.citation.is_empty(), "{}", row.name);
            for p in row.parameters {
                assert!((p.range.0..=p.range.1).contains(&p.default), "{}.{}", row.name, p.name);
            }
        }
    }

    #[test]
    fn an_unknown_name_or_parameter_is_refused() {
        assert!(matches!(
            Choice::new("rneo", BTreeMap::new()),
            Err(BuildError::NoSuchController(name)) if name == "rneo"
        ));
        let wrong = BTreeMap::from([("alhpa".to_owned(), 1.0)]);
        assert!(matches!(Choice::new("stp", wrong), Err(BuildError::NoSuchParameter { .. })));
    }
}
