//! Variants beside each other, as tables.

use bentpipe_experiments::compare::{Compared, Measure};
use bentpipe_record::{ComparisonRow, Estimate, SendLimit};
use pyo3::prelude::*;

use crate::error::error;
use crate::table::{Columns, Table};

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
        let measures: [(&str, fn(&ComparisonRow) -> Option<Estimate>); 7] = [
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

    /// A row for each run.
    fn runs(&self) -> PyResult<Table> {
        let mut columns = Columns::of(self.0.runs())
            .text("variant", |run| run.variant.as_str())
            .count("seed", |run| run.seed);
        for (measure, name) in Measure::NAMES {
            columns = columns.number(name, |run| measure.of(run));
        }
        columns = columns.truth("complete", |run| run.complete);
        for limit in SendLimit::ALL {
            let share = |run: &bentpipe_record::ComparisonRun| {
                run.limited_by.map(|shares| shares.of(limit))
            };
            columns = columns.number(&format!("limited_by_{}", limit.name()), share);
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
        let measure: Measure = measure.parse().map_err(error)?;
        let Estimate { mean, sd, ci95, n } = self.0.paired(one, other, measure).map_err(error)?;
        Ok((mean, sd, ci95, n))
    }
}
