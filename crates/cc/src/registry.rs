//! Every controller by its name: those that come with the crate, and those that a program brings.

use std::collections::BTreeMap;

use crate::algorithms::{
    astart, ba_tcp, bbr, bbr3, bulk_repeat, constant_rate, cubic, dvegas, fast_start, fixed,
    highspeed, hybla, jersey, newvegas, pbs, peach, peach_plus, rate, rcs, reno, scalable, scps,
    sctp, star, stcp, steady, stp, swift, vegas, veno, westwood, westwood_plus, xcp,
};
use crate::choice::{BuildError, Choice};
use crate::row::Row;

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
    ba_tcp::ROW,
    scps::ROW,
    sctp::ROW,
    peach::ROW,
    peach_plus::ROW,
    swift::ROW,
    pbs::ROW,
    rcs::ROW,
    fast_start::ROW,
    stcp::ROW,
    astart::ROW,
    bulk_repeat::ROW,
    jersey::ROW,
    star::ROW,
    steady::ROW,
    constant_rate::ROW,
];

/// The controllers that come with the crate, in the order in which they are listed.
pub fn rows() -> &'static [Row] {
    ROWS
}

/// The controllers that a name can mean.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// What a program brings, in the order in which it was added.
    custom: Vec<&'static Row>,
}

/// Two controllers cannot have the same name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("controller `{0}`: there is one of this name already")]
pub struct NameTaken(pub &'static str);

impl Registry {
    /// The controllers that come with the crate.
    pub const fn built_in() -> Self {
        Self { custom: Vec::new() }
    }

    /// These controllers and one more.
    ///
    /// # Errors
    /// When there is one of its name already.
    pub fn with(mut self, row: &'static Row) -> Result<Self, NameTaken> {
        if self.find(row.name).is_some() {
            return Err(NameTaken(row.name));
        }
        self.custom.push(row);
        Ok(self)
    }

    /// All of them, in the order in which they are listed.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> {
        ROWS.iter().chain(self.custom.iter().copied())
    }

    /// The controller of this name.
    pub fn find(&self, name: &str) -> Option<&'static Row> {
        self.rows().find(|row| row.name == name)
    }

    /// The controller `name` with these values for its parameters.
    ///
    /// # Errors
    /// When the name or a parameter is unknown or a value is out of range.
    pub fn choose(
        &self,
        name: &str,
        parameters: BTreeMap<String, f64>,
    ) -> Result<Choice, BuildError> {
        let row = self.find(name).ok_or_else(|| BuildError::NoSuchController(name.to_owned()))?;
        Choice::custom(row, parameters)
    }
}

impl Choice {
    /// The controller of this name that comes with the crate, with these values for its parameters.
    ///
    /// # Errors
    /// When the name or a parameter is unknown or a value is out of range.
    pub fn new(name: &str, parameters: BTreeMap<String, f64>) -> Result<Self, BuildError> {
        Registry::built_in().choose(name, parameters)
    }

    /// STP's own controller.
    pub fn stp() -> Self {
        Self::unchecked(&stp::ROW, BTreeMap::new())
    }

    /// SCTP's own controller.
    pub fn sctp() -> Self {
        Self::unchecked(&sctp::ROW, BTreeMap::new())
    }

    /// SCTP's own controller as RFC 2960 has it, with this first slow start threshold in segments.
    pub fn sctp_2000(initial_ssthresh: u32) -> Self {
        let parameters = [
            ("initial_ssthresh".to_owned(), f64::from(initial_ssthresh)),
            ("ssthresh_floor".to_owned(), 2.0),
        ];
        Self::unchecked(&sctp::ROW, parameters.into())
    }

    /// The controller of RFC 5681.
    pub fn reno() -> Self {
        Self::unchecked(&reno::ROW, BTreeMap::new())
    }

    /// CUBIC as RFC 9438 has it.
    pub fn cubic() -> Self {
        Self::unchecked(&cubic::ROW, BTreeMap::new())
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

    static MINE: Row = Row { name: "mine", parameters: &[], ..reno::ROW };
    static RENO: Row = Row { name: "reno", ..MINE };

    #[test]
    fn a_controller_of_the_callers_is_found_beside_the_built_in_ones() {
        let registry = Registry::built_in().with(&MINE).expect("a new name");
        let names: Vec<_> = registry.rows().map(|row| row.name).collect();
        assert_eq!((names.len(), names.last()), (rows().len() + 1, Some(&"mine")));
        for name in ["mine", "cubic"] {
            let choice = registry.choose(name, BTreeMap::new()).expect("a known name");
            assert_eq!(choice.name(), name);
        }
        assert!(
            Choice::new("mine", BTreeMap::new()).is_err(),
            "another registry knows nothing of it"
        );
    }

    #[test]
    fn a_second_controller_of_a_name_is_refused() {
        let registry = Registry::built_in();
        assert_eq!(registry.clone().with(&RENO).expect_err("built in"), NameTaken("reno"));
        let registry = registry.with(&MINE).expect("a new name");
        let error = registry.with(&MINE).expect_err("added before");
        assert_eq!(error.to_string(), "controller `mine`: there is one of this name already");
    }
}
