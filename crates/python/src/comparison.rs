//! Variants beside each other, as tables.

use bentpipe_experiments::compare::{Compared, ComparedRun, Measured};
use bentpipe_experiments::sweep::{COLUMNS, Column, Value};
use bentpipe_record::{ComparisonRow, Estimate};
use bentpipe_scenario::did_you_mean;
use pyo3::prelude::*;

use crate::error::error;
use crate::table::{Columns, Table};

/// What a ranking has of a variant.
type Measure = fn(&ComparisonRow) -> Option<Estimate>;

/// A comparison that is over.
#[pyclass(frozen, module = "bentpipe._native")]
pub(crate) struct Comparison(Compared);

impl Comparison {
    pub(crate) const fn new(compared: Compared) -> Self {
        Self(compared)
    }
}

#[pymethods]
impl Comparison {
    /// The document that `bentpipe compare --format json` prints.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(self.0.ranking()).map_err(error)
    }

    #[getter]
    fn scenario(&self) -> &str {
        &self.0.ranking().scenario
    }

    #[getter]
    fn flows(&self) -> Vec<String> {
        self.0.ranking().flows.clone()
    }

    #[getter]
    fn replications(&self) -> u64 {
        self.0.ranking().replications
    }

    #[getter]
    fn chance(&self) -> bool {
        self.0.ranking().chance
    }

    /// A row for each variant, the best goodput first: the columns of `bentpipe compare --format csv`.
    fn ranking(&self) -> PyResult<Table> {
        let ranking = self.0.ranking();
        let mut columns = Columns::of(&ranking.rows)
            .count("rank", |row| row.rank)
            .text("variant", |row| row.variant.as_str());
        let measures: [(&str, Measure); 7] = [
            ("goodput_bps", |row| Some(row.goodput)),
            ("to_best_percent", |row| Some(row.to_best)),
            ("utilisation", |row| row.utilisation),
            ("overhead_percent", |row| row.overhead),
            ("fairness", |row| row.fairness),
            ("queueing_delay_s", |row| row.queueing_delay),
            ("connection_time_s", |row| row.connection_time),
        ];
        for (name, of) in measures {
            columns = columns
                .number(name, |row| of(row).map(|estimate| estimate.mean))
                .number(&format!("{name}_ci95"), |row| of(row).and_then(|it| it.ci95));
        }
        columns
            .count("complete", |row| row.complete)
            .count("replications", |_| ranking.replications)
            .table()
    }

    /// A row for each run: the columns of a sweep.
    fn runs(&self) -> PyResult<Table> {
        let mut columns = Columns::of(self.0.runs())
            .text("variant", |run: &ComparedRun| run.variant.as_str())
            .count("seed", |run| run.seed);
        for column in &COLUMNS {
            let (name, value) = (column.name, |run: &ComparedRun| column.of(&run.measured));
            columns = if column.is_number() {
                columns.number(name, |run| number(value(run)))
            } else if column.is_count() {
                columns.count(name, |run| count(value(run)))
            } else {
                columns.truth(name, |run| truth(value(run)))
            };
        }
        columns.table()
    }

    /// How much more one variant has than another with the same seed: mean, standard deviation, half width of the 95 %
    /// interval, and the number of pairs.
    fn paired(
        &self,
        one: &str,
        other: &str,
        measure: &str,
    ) -> PyResult<(f64, Option<f64>, Option<f64>, u64)> {
        let column = column(measure)?;
        let of = |run: &Measured| match column.of(run) {
            Value::Number(number) => number,
            Value::Count(count) => Some(count as f64),
            Value::Truth(truth) => Some(f64::from(u8::from(truth))),
        };
        let Estimate { mean, sd, ci95, n } = self
            .0
            .paired(one, other, of)
            .map_err(|message| error(format!("{measure}: {message}")))?;
        Ok((mean, sd, ci95, n))
    }
}

/// The column of a measure.
fn column(name: &str) -> PyResult<&'static Column> {
    let names = || COLUMNS.iter().map(|column| column.name);
    COLUMNS.iter().find(|column| column.name == name).ok_or_else(|| {
        let hint = did_you_mean(name, names());
        let known = names().collect::<Vec<_>>().join(", ");
        error(format!("there is no measure `{name}`; there are {known}{hint}"))
    })
}

const fn number(value: Value) -> Option<f64> {
    if let Value::Number(number) = value { number } else { None }
}

const fn count(value: Value) -> Option<u64> {
    if let Value::Count(count) = value { Some(count) } else { None }
}

const fn truth(value: Value) -> Option<bool> {
    if let Value::Truth(truth) = value { Some(truth) } else { None }
}
