//! Sweeps: many runs, here or on workers elsewhere.

use std::io::Cursor;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use bentpipe_experiments::compare::Variant;
use bentpipe_experiments::sweep::file::{Done, SweepFile};
use bentpipe_experiments::sweep::{Axis, Seeds, Shard, Sweep as Inner, Varied, merge, table};
use bentpipe_scenario::Scenario as InnerScenario;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator};

use crate::controller::{self, ControllerClass};
use crate::error::{error, of_argument};
use crate::interrupt::{Wanted, interruptible};
use crate::scenario::Scenario;
use crate::table::Table;

/// A sweep that is planned.
#[pyclass(frozen, module = "bentpipe._native")]
pub(crate) struct Sweep {
    inner: Inner,
    controllers: Vec<Py<ControllerClass>>,
}

#[pymethods]
impl Sweep {
    /// Keys and their values in TOML, names of variants, seeds such as `1-10,15`, and the flows that are measured.
    #[new]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        vary: Vec<(String, Vec<String>)>,
        variants: Vec<String>,
        seeds: &str,
        flows: Vec<String>,
    ) -> PyResult<Self> {
        let axes: Result<Vec<Axis>, String> =
            vary.into_iter().map(|(key, values)| Axis::new(&key, values)).collect();
        let base: &InnerScenario = scenario.inner();
        let known = base.extensions().controllers();
        let named: Result<Vec<Variant>, String> =
            variants.iter().map(|name| Variant::of(name, known)).collect();
        let seeds: Result<Seeds, _> = seeds.parse();
        let varied = Varied {
            axes: axes.map_err(of_argument("vary"))?,
            variants: named.map_err(error)?,
            seeds: seeds.map_err(of_argument("seeds"))?,
            flows,
        };
        let inner = Inner::new(base.clone(), varied).map_err(error)?;
        Ok(Self { inner, controllers: scenario.again(py) })
    }

    /// How many runs there are.
    fn __len__(&self) -> usize {
        usize::try_from(self.inner.total()).unwrap_or(usize::MAX)
    }

    /// Whether every cell can be run.
    fn check(&self, py: Python<'_>, jobs: Option<usize>) -> PyResult<()> {
        self.detached(py, |_| self.inner.check(jobs).map_err(error))
    }

    /// Runs the runs with these numbers, the last one excluded.
    fn run(&self, py: Python<'_>, first: u64, end: u64, jobs: Option<usize>) -> PyResult<Table> {
        self.batch(py, first..end.min(self.inner.total()), jobs).map(Table::from)
    }

    /// Runs these runs, as a stream of Arrow's IPC, which goes over a network.
    fn run_part<'py>(&self, py: Python<'py>, runs: Vec<u64>) -> PyResult<Bound<'py, PyBytes>> {
        let batch = self.batch(py, runs.into_iter(), Some(1))?;
        Ok(PyBytes::new(py, &written(&batch).map_err(error)?))
    }

    /// Runs what is missing in a Parquet file: rows there are now, and those of them that were run.
    fn write(
        &self,
        py: Python<'_>,
        out: &str,
        shard: Option<&str>,
        replace: bool,
        jobs: Option<usize>,
    ) -> PyResult<(u64, u64)> {
        let shard: Option<Shard> = shard.map(str::parse).transpose().map_err(error)?;
        self.detached(py, |wanted| {
            let shard = shard.unwrap_or(Shard::WHOLE);
            let file =
                SweepFile::open(&self.inner, shard, Path::new(out), replace).map_err(error)?;
            let Done { rows, run } = file.run(jobs, wanted).map_err(error)?;
            Ok((rows, run))
        })
    }

    /// The same with parts that are run elsewhere: `parts` is told the runs that are missing, as ranges whose ends are excluded,
    /// and gives an iterator over what `run_part` gave for them, in order.
    fn gather(&self, out: &str, replace: bool, parts: &Bound<'_, PyAny>) -> PyResult<(u64, u64)> {
        let file = SweepFile::open(&self.inner, Shard::WHOLE, Path::new(out), replace);
        let mut file = file.map_err(error)?;
        let ranges = file.to_run().map_err(error)?.into_iter();
        let ranges: Vec<(u64, u64)> = ranges.map(|range| (range.start, range.end)).collect();
        for part in PyIterator::from_object(&parts.call1((ranges,))?)? {
            for batch in read(part?.cast::<PyBytes>()?.as_bytes()).map_err(error)? {
                file.append(&batch).map_err(error)?;
            }
        }
        let Done { rows, run } = file.finish().map_err(error)?;
        Ok((rows, run))
    }

    /// Parts, in order, as one table.
    fn join(&self, parts: Vec<Bound<'_, PyBytes>>) -> PyResult<Table> {
        let mut batches = Vec::new();
        for part in &parts {
            batches.extend(read(part.as_bytes()).map_err(error)?);
        }
        let joined = arrow_select::concat::concat_batches(&table::schema(&self.inner), &batches);
        joined.map(Table::from).map_err(error)
    }
}

impl Sweep {
    fn batch(
        &self,
        py: Python<'_>,
        runs: impl Iterator<Item = u64> + Send,
        jobs: Option<usize>,
    ) -> PyResult<RecordBatch> {
        self.detached(py, |wanted| self.inner.run_batch(runs, jobs, wanted).map_err(error))
    }

    fn detached<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Wanted) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        interruptible(py, |wanted| controller::watched(&self.controllers, || work(wanted)))
    }
}

fn written(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema())?;
    stream.write(batch)?;
    stream.into_inner()
}

fn read(part: &[u8]) -> Result<Vec<RecordBatch>, ArrowError> {
    StreamReader::try_new(Cursor::new(part), None)?.collect()
}

/// Puts Parquet files of shards together: rows there are now, and rows that the whole sweep has.
#[pyfunction]
pub(crate) fn merge_shards(
    py: Python<'_>,
    files: Vec<std::path::PathBuf>,
    out: &str,
    partial: bool,
) -> PyResult<(u64, u64)> {
    let merged = py.detach(|| merge(&files, Path::new(out), partial)).map_err(error)?;
    Ok((merged.rows, merged.total))
}
