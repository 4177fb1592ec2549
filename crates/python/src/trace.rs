//! Traces of links, as tables.

use std::path::{Path, PathBuf};

use bentpipe_scenario::did_you_mean;
use bentpipe_trace::import::{ImportOptions, Source, Way, import};
use bentpipe_trace::{Row, Summary, known, native, parquet};
use bentpipe_units::Span;
use pyo3::prelude::*;

use crate::error::{error, of_argument};
use crate::table::{Columns, Table};

/// A link over time.
#[pyclass(frozen, module = "bentpipe._native")]
pub(crate) struct Trace(bentpipe_trace::Trace);

#[pymethods]
impl Trace {
    /// Reads a file, or takes the trace of that name that comes with the package.
    #[staticmethod]
    #[pyo3(signature = (name, delays=None))]
    fn open(name: &str, delays: Option<&str>) -> PyResult<Self> {
        let bytes = |name: &str| bentpipe_trace::open(Path::new(name), name).map_err(error);
        let rate = bytes(name)?;
        let trace = match delays {
            None => bentpipe_trace::read(name, &rate),
            Some(file) => bentpipe_trace::read_pair((name, &rate), (file, &bytes(file)?)),
        };
        trace.map(Self).map_err(error)
    }

    /// Reads what is in the project's own format: `source` is what errors call it.
    #[staticmethod]
    fn parse(source: &str, text: &str) -> PyResult<Self> {
        native::read(source, text).map(Self).map_err(error)
    }

    /// Makes a trace of what a measuring program wrote.
    #[staticmethod]
    fn import_(format: &str, file: &str, up: bool, gap: usize, interval: &str) -> PyResult<Self> {
        let found = Source::NAMES.iter().find(|(_, known)| *known == format);
        let (source, _) = found.ok_or_else(|| {
            let hint = did_you_mean(format, Source::NAMES.map(|(_, known)| known));
            let names = Source::NAMES.map(|(_, known)| known).join(", ");
            error(format!("format: `{format}` is none of {names}{hint}"))
        })?;
        let interval = interval.parse::<Span>();
        let interval = interval.map_err(|wrong| of_argument("interval")(wrong.to_string()))?;
        let way = if up { Way::Up } else { Way::Down };
        let text =
            std::fs::read_to_string(file).map_err(|wrong| error(format!("{file}: {wrong}")))?;
        let options = ImportOptions { way, gap, interval };
        import(*source, file, &text, &options).map(Self).map_err(error)
    }

    /// The same with what another one tells that this one does not.
    fn with_(&self, other: &Self) -> Self {
        Self(self.0.clone().with(other.0.clone()))
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.0.length.as_secs_f64()
    }

    /// The document that `bentpipe trace info --json` prints.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&Summary::of(&self.0)).map_err(error)
    }

    /// A row for each time at which something changes, with all that holds from then on.
    fn rows(&self) -> PyResult<Table> {
        let rows = self.0.rows();
        let [time, rate, delay, loss, up] = native::COLUMNS;
        Columns::of(&rows)
            .number(time, |row: &Row| row.numbers[0])
            .number(rate, |row| row.numbers[1])
            .number(delay, |row| row.numbers[2])
            .number(loss, |row| row.numbers[3])
            .truth(up, |row| row.up)
            .table()
    }

    /// Writes it into a file: Parquet if its name ends in `.parquet`, else CSV.
    fn write(&self, path: PathBuf) -> PyResult<()> {
        let unwritten = |wrong: &dyn std::fmt::Display| {
            error(format!("cannot write {}: {wrong}", path.display()))
        };
        let file = std::fs::File::create(&path).map_err(|wrong| unwritten(&wrong))?;
        if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("parquet")) {
            parquet::write(&self.0, file).map_err(|wrong| unwritten(&wrong))
        } else {
            native::write(&self.0, file).map_err(|wrong| unwritten(&wrong))
        }
    }
}

/// The names of the traces that come with the package.
#[pyfunction]
pub(crate) fn traces() -> Vec<&'static str> {
    known().map(|known| known.name).collect()
}
