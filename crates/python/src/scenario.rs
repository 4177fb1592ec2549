//! Scenarios.

use std::path::PathBuf;

use bentpipe_experiments::compare::{CompareOptions, Variant, compare, default_variants, named};
use bentpipe_scenario::{Override, Scenario as Inner, did_you_mean, library};
use bentpipe_units::Span;
use pyo3::prelude::*;

use crate::comparison::Comparison;
use crate::controller::{self, ControllerClass};
use crate::error::{error, of_argument};
use crate::interrupt::{Wanted, interruptible};
use crate::run::{self, Run};

/// A scenario, read and checked, with the classes that it may name as controllers.
#[pyclass(frozen, module = "bentpipe._native")]
pub(crate) struct Scenario {
    inner: Inner,
    controllers: Vec<Py<ControllerClass>>,
}

impl From<Inner> for Scenario {
    fn from(inner: Inner) -> Self {
        Self { inner, controllers: Vec::new() }
    }
}

#[pymethods]
impl Scenario {
    /// Reads a file, or takes the scenario of that name that comes with the package.
    #[staticmethod]
    fn open(name: &str) -> PyResult<Self> {
        Inner::open(name).map(Self::from).map_err(error)
    }

    /// Reads a text, which may name these classes; `source` is what errors call it, and files that it names stand beside that.
    #[staticmethod]
    fn parse(source: &str, text: &str, controllers: Vec<Py<ControllerClass>>) -> PyResult<Self> {
        let extensions = controller::extensions(&controllers)?;
        let inner = Inner::parse_with(source, text, &extensions).map_err(error)?;
        Ok(Self { inner, controllers })
    }

    /// The same with these classes for it to name, and no others.
    fn with_controllers(&self, controllers: Vec<Py<ControllerClass>>) -> PyResult<Self> {
        let extensions = controller::extensions(&controllers)?;
        let inner = self.inner.with_extensions(&extensions).map_err(error)?;
        Ok(Self { inner, controllers })
    }

    /// A flow between two places over a constellation.
    #[staticmethod]
    fn over(constellation: &str, from: &str, to: &str) -> PyResult<Self> {
        Inner::over(constellation, from, to).map(Self::from).map_err(error)
    }

    /// The same with other values: keys and values in TOML.
    fn with_values(&self, py: Python<'_>, changes: Vec<(String, String)>) -> PyResult<Self> {
        // As on the command line, so that keys which have another name now are known.
        let changes = changes.into_iter().map(|(key, value)| format!("{key}={value}"));
        let changes: Result<Vec<Override>, String> = changes.map(|text| text.parse()).collect();
        let inner = self.inner.with(&changes.map_err(error)?).map_err(error)?;
        Ok(Self { inner, controllers: self.again(py) })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.file().name
    }

    #[getter]
    fn description(&self) -> &str {
        &self.inner.file().description
    }

    #[getter]
    fn source(&self) -> &str {
        self.inner.source()
    }

    #[getter]
    fn text(&self) -> &str {
        self.inner.text()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings()
    }

    /// Runs it once.
    #[pyo3(signature = (seed, every, capture, capture_links, wire))]
    fn run(
        &self,
        py: Python<'_>,
        seed: Option<u64>,
        every: Option<&str>,
        capture: Option<PathBuf>,
        capture_links: Vec<String>,
        wire: bool,
    ) -> PyResult<Run> {
        let every = every.map(str::parse::<Span>).transpose();
        let every = every.map_err(|error| of_argument("samples")(error.to_string()))?;
        if every.is_some_and(Span::is_zero) {
            return Err(error("samples: it must be more than 0 s"));
        }
        self.detached(py, |wanted| {
            let spec = self.inner.run_spec(seed, wire).map_err(error)?;
            let links = spec.directions();
            if let Some(unknown) =
                capture_links.iter().find(|name| !links.iter().any(|[link, ..]| link == name))
            {
                let hint = did_you_mean(unknown, links.iter().map(|[link, ..]| *link));
                return Err(error(format!("pcap_links: there is no link `{unknown}`{hint}")));
            }
            let capture = capture.as_deref().map(|path| (path, &capture_links[..]));
            run::run(&spec, every, capture, wanted)
                .map_err(|message| error(format!("{}: {message}", self.inner.source())))
        })
    }

    /// Runs it with each of some variants and ranks them; without any, with the usual ones that it can have.
    #[pyo3(signature = (variants, seeds, jobs, flows))]
    fn compare(
        &self,
        py: Python<'_>,
        variants: Option<Vec<String>>,
        seeds: Vec<u64>,
        jobs: Option<usize>,
        flows: Vec<String>,
    ) -> PyResult<Comparison> {
        self.detached(py, |wanted| {
            let variants = match variants {
                Some(names) => {
                    let known = self.inner.extensions().controllers();
                    let parsed: Result<Vec<Variant>, String> =
                        names.iter().map(|name| Variant::of(name, known)).collect();
                    parsed.map_err(error)?
                }
                None => default_variants(&self.inner, &flows).map_err(error)?.0,
            };
            let options = CompareOptions { seeds, jobs, flows };
            let compared = compare(&self.inner, &variants, &options, wanted).map_err(error)?;
            Ok(Comparison::new(compared))
        })
    }
}

impl Scenario {
    /// The scenario itself.
    pub(crate) const fn inner(&self) -> &Inner {
        &self.inner
    }

    /// The same classes once more.
    pub(crate) fn again(&self, py: Python<'_>) -> Vec<Py<ControllerClass>> {
        self.controllers.iter().map(|class| class.clone_ref(py)).collect()
    }

    /// Does something without the interpreter, which the classes take when they are told something.
    fn detached<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Wanted) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        interruptible(py, |wanted| controller::watched(&self.controllers, || work(wanted)))
    }
}

/// The scenarios that come with the package: their names, and what each of them is.
#[pyfunction]
pub(crate) fn scenarios() -> PyResult<Vec<(String, String)>> {
    let entry = |(name, text): (&str, &str)| {
        let scenario = Inner::parse(name, text).map_err(error)?;
        Ok((name.to_owned(), scenario.file().description.clone()))
    };
    library::scenarios().map(entry).collect()
}

/// The variants that a comparison knows by name, and what each of them is.
#[pyfunction]
pub(crate) fn variants() -> Vec<(String, String)> {
    named().into_iter().map(|variant| (variant.name, variant.summary)).collect()
}

/// The JSON Schema of scenarios, as a text.
#[pyfunction]
pub(crate) fn schema() -> PyResult<String> {
    serde_json::to_string(&bentpipe_scenario::schema()).map_err(error)
}
