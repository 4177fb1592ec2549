//! What all requests share.

use std::sync::Arc;

use bentpipe_scenario::{Confines, Extensions, Scenario, ScenarioError};
use bentpipe_units::Span;

use crate::gateways::Gateways;
use crate::places::Places;
use crate::{Limits, Options, Token};

/// What all requests share.
#[derive(Debug)]
pub(crate) struct State {
    options: Options,
    places: Places,
    gateways: Gateways,
}

/// The one that there is.
pub(crate) type Shared = Arc<State>;

/// What scenarios of the page are called in messages; files that they name lie beside it.
const SOURCE: &str = "page.toml";

impl State {
    pub(crate) fn new(options: Options) -> Self {
        let places = Places::new(&options.limits);
        let gateways = Gateways::new(&options.gateways);
        Self { options, places, gateways }
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
    pub(crate) fn scenario(&self, text: &str) -> Result<Scenario, ScenarioError> {
        let scenario = self.as_written(text)?;
        let simulated = self.options.limits.simulated;
        let own = scenario.file().duration.map(|duration| duration.0);
        if own.is_some_and(|own| own <= simulated) {
            return Ok(scenario);
        }
        scenario.with(&[duration(simulated)])
    }

    /// The same, of any duration: it cannot be run.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn as_written(&self, text: &str) -> Result<Scenario, ScenarioError> {
        let Limits { nodes, links, flows, .. } = self.options.limits;
        let confines = Confines { folder: self.options.folder.clone(), nodes, links, flows };
        let source = self.options.folder.as_ref().map(|folder| folder.join(SOURCE));
        let source = source.map_or(SOURCE.into(), |path| path.to_string_lossy().into_owned());
        let extensions = Extensions::default().confined(confines);
        Scenario::parse_with(&source, text, &extensions)
    }
}

/// What ends a scenario at this time.
fn duration(at: Span) -> bentpipe_scenario::Override {
    let value = format!("\"{} s\"", at.as_nanos() / 1_000_000_000);
    bentpipe_scenario::Override { key: "duration".to_owned(), value }
}
