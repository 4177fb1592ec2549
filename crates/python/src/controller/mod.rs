//! Congestion controllers that are classes of Python.
//!
//! A class becomes a row of the registry, as a controller in Rust is one. Rows are never removed, so what a class needs is kept
//! for as long as the process lives.

mod each;
mod facts;
mod rounds;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bentpipe_cc::{Build as Start, Controller, Limits, Registry, Row};
use bentpipe_scenario::Extensions;
use bentpipe_units::{BitRate, ByteCount};
use pyo3::prelude::*;
use pyo3::{PyErr, intern};

use self::each::Each;
pub(crate) use self::facts::{Ack, Build, Loss, Path, Round};
use self::rounds::Rounds;
use crate::error::error;

/// A class that is a controller.
#[pyclass(frozen, module = "bentpipe._native")]
pub(crate) struct ControllerClass {
    row: &'static Row,
    version: Option<String>,
    failure: Failure,
}

/// What a class can be set by: name, unit, default, least and largest value, what it does.
type Setting = (String, String, f64, f64, f64, String);

#[pymethods]
impl ControllerClass {
    /// A class with these settings. Its version tells it from what it was before it was changed. With `rounds` it is told of whole round trips, else of each acknowledgement, and of signals
    /// if it wants to.
    #[new]
    fn new(
        class: Py<PyAny>,
        name: String,
        summary: String,
        version: Option<String>,
        settings: Vec<Setting>,
        rounds: bool,
        signals: bool,
    ) -> Self {
        let parameters = settings.into_iter().map(|(name, unit, default, low, high, summary)| {
            let [name, unit, summary] = [name, unit, summary].map(kept);
            bentpipe_cc::Parameter { name, unit, default, range: (low, high), summary }
        });
        let parameters: &'static [_] = Box::leak(parameters.collect());
        let failure = Failure::default();
        let failed = failure.clone();
        let build = move |start: &Start<'_>| -> Box<dyn Controller> {
            let object = Python::attach(|py| {
                let build = Build::new(start, parameters);
                class.call1(py, (build,)).map(Some)
            });
            let object = failed.unless(object).flatten();
            let told = Told::new(object, failed.clone(), start);
            if rounds { Box::new(Rounds::new(told)) } else { Box::new(Each::new(told, signals)) }
        };
        let row = Row {
            name: kept(name),
            summary: kept(summary),
            citation: "a class of Python",
            parameters,
            build: Box::leak(Box::new(build)),
        };
        Self { row: Box::leak(Box::new(row)), version, failure }
    }
}

fn kept(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// These classes, for scenarios to name.
///
/// # Errors
/// When two have the same name, or one has that of a controller that comes with the package.
pub(crate) fn extensions(classes: &[Py<ControllerClass>]) -> PyResult<Extensions> {
    let registry = classes.iter().try_fold(Registry::built_in(), |registry, class| {
        registry.with(class.get().row).map_err(error)
    });
    let extensions = Extensions::default().with_controllers(registry?);
    let versions = classes.iter().filter_map(|class| {
        let class = class.get();
        Some((class.row.name, class.version.as_ref()?))
    });
    Ok(versions
        .fold(extensions, |extensions, (name, version)| extensions.with_version(name, version)))
}

/// Does something in which these classes may be told something, and gives the first exception that one of them raised instead.
pub(crate) fn watched<T>(
    classes: &[Py<ControllerClass>],
    work: impl FnOnce() -> PyResult<T>,
) -> PyResult<T> {
    let done = work();
    let raised = classes.iter().filter_map(|class| class.get().failure.take()).next();
    raised.map_or(done, Err)
}

/// The exception that a class raised: the first one since the last look.
#[derive(Clone, Debug, Default)]
struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    fn keep(&self, raised: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(raised);
    }

    fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What was to be had, unless there was an exception, which is kept.
    fn unless<T>(&self, result: PyResult<T>) -> Option<T> {
        result.map_err(|raised| self.keep(raised)).ok()
    }
}

/// An object of a class and what it wants. One that raised an exception is told nothing more: the run goes on with what it wanted
/// last and has no result.
#[derive(Debug)]
struct Told {
    object: Option<Py<PyAny>>,
    failure: Failure,
    limits: Limits,
    /// The least and the largest window.
    range: (ByteCount, ByteCount),
}

impl Told {
    fn new(object: Option<Py<PyAny>>, failure: Failure, start: &Start<'_>) -> Self {
        let limits = Limits { window: Some(start.cwnd_init), ..Limits::default() };
        let mut told = Self { object, failure, limits, range: (start.cwnd_min, start.cwnd_max) };
        told.tell(|_| Ok(()));
        told
    }

    /// Tells the object something and asks for its window and its pace.
    fn tell(&mut self, what: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        let Some(object) = &self.object else { return };
        let wanted = Python::attach(|py| {
            let object = object.bind(py);
            what(object)?;
            let number = |name| object.getattr(name)?.extract::<Option<f64>>();
            Ok((number(intern!(py, "cwnd"))?, number(intern!(py, "pacing"))?))
        });
        let wanted = wanted.and_then(|(cwnd, pacing)| self.checked(cwnd, pacing));
        match self.failure.unless(wanted) {
            Some(limits) => self.limits = limits,
            None => self.object = None,
        }
    }

    fn checked(&self, cwnd: Option<f64>, pacing: Option<f64>) -> PyResult<Limits> {
        if let Some(wrong) =
            [cwnd, pacing].into_iter().flatten().find(|it| !it.is_finite() || *it < 0.0)
        {
            return Err(error(format!("cwnd and pacing: {wrong} is neither bytes nor bit/s")));
        }
        if cwnd.is_none() && pacing.is_none() {
            return Err(error(
                "cwnd and pacing: one of them must be a number, or nothing would hold back the sender",
            ));
        }
        let (least, most) = self.range;
        let window = cwnd.map(|cwnd| ByteCount::new(cwnd as u64).clamp(least, most));
        // A pace of zero would stand still for good.
        let pacing = pacing.map(|bps| BitRate::from_bps((bps as u64).max(1)));
        Ok(Limits { window, pacing, ..Limits::default() })
    }
}

/// The values of the settings of a class.
fn settings(start: &Start<'_>, parameters: &[bentpipe_cc::Parameter]) -> BTreeMap<String, f64> {
    let value = |p: &bentpipe_cc::Parameter| {
        let given = start.parameters.get(p.name).copied();
        (p.name.to_owned(), given.unwrap_or(p.default))
    };
    parameters.iter().map(value).collect()
}
