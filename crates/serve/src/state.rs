//! What all requests share.

use std::sync::Arc;

use bentpipe_scenario::{Confines, Extensions, Override, Scenario, ScenarioError};
use bentpipe_units::Span;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::gateways::Gateways;
use crate::places::Places;
use crate::{Limits, Options, Token};

/// What all requests share.
#[derive(Debug)]
pub(crate) struct State {
    options: Options,
    places: Places,
    /// Pages that may talk at the same time, of which fewer run something.
    rooms: Arc<Semaphore>,
    gateways: Gateways,
}

/// A scenario that may run here.
#[derive(Debug)]
pub(crate) struct Bounded {
    pub(crate) scenario: Scenario,
    /// By itself it could last longer.
    pub(crate) is_cut: bool,
}

/// The one that there is.
pub(crate) type Shared = Arc<State>;

/// Pages that may talk at the same time.
const ROOMS: usize = 64;
/// What scenarios of the page are called in messages; files that they name lie beside it.
const SOURCE: &str = "page.toml";

impl State {
    pub(crate) fn new(options: Options) -> Self {
        let places = Places::new(&options.limits);
        let gateways = Gateways::new(&options.gateways);
        Self { options, places, rooms: Arc::new(Semaphore::new(ROOMS)), gateways }
    }

    pub(crate) const fn token(&self) -> Option<&Token> {
        self.options.token.as_ref()
    }

    pub(crate) const fn limits(&self) -> &Limits {
        &self.options.limits
    }

    pub(crate) const fn options(&self) -> &Options {
        &self.options
    }

    /// Room for one more page that talks; nothing where there are too many.
    pub(crate) fn room(&self) -> Option<OwnedSemaphorePermit> {
        self.rooms.clone().try_acquire_owned().ok()
    }

    pub(crate) const fn places(&self) -> &Places {
        &self.places
    }

    pub(crate) const fn gateways(&self) -> &Gateways {
        &self.gateways
    }

    /// A scenario of the page, within its bounds. Whether it fits together is asked here, which may take a while.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn scenario(&self, text: &str) -> Result<Bounded, ScenarioError> {
        let scenario = self.as_written(text)?;
        let simulated = self.options.limits.simulated;
        let own = scenario.file().duration.map(|duration| duration.0);
        if own.is_some_and(|own| own <= simulated) {
            return Ok(Bounded { scenario, is_cut: false });
        }
        Ok(Bounded { scenario: scenario.with(&[duration(simulated)])?, is_cut: true })
    }

    /// The same, of any duration: it cannot be run.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn as_written(&self, text: &str) -> Result<Scenario, ScenarioError> {
        let Limits { nodes, links, flows, files, .. } = self.options.limits;
        let confines = Confines { folder: self.options.folder.clone(), nodes, links, flows, files };
        let extensions = Extensions::default().confined(confines);
        Scenario::parse_with(&self.source(), text, &extensions)
    }

    /// The text of a scenario of the page with some values changed, which need not have been right before.
    ///
    /// # Errors
    /// When it is none with them.
    pub(crate) fn changed(
        &self,
        text: &str,
        changes: &[Override],
    ) -> Result<String, ScenarioError> {
        let changed = Override::put_all(&self.source(), text, changes)?;
        self.as_written(&changed)?;
        Ok(changed)
    }

    fn source(&self) -> String {
        let source = self.options.folder.as_ref().map(|folder| folder.join(SOURCE));
        source.map_or(SOURCE.into(), |path| path.to_string_lossy().into_owned())
    }
}

/// What ends a scenario at this time.
fn duration(at: Span) -> Override {
    let value = format!("\"{} s\"", at.as_nanos() / 1_000_000_000);
    Override { key: "duration".to_owned(), value }
}
