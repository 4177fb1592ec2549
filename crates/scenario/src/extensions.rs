//! What a program brings of its own, for scenarios to name.

use std::collections::BTreeMap;

use bentpipe_cc::Registry as Controllers;
use bentpipe_link::Registry as Links;

use crate::Confines;

/// The names that scenarios may use, and what they may take. Without any of a program's own these are the built-in ones, and
/// nothing is bounded.
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    controllers: Controllers,
    links: Links,
    versions: BTreeMap<String, String>,
    confines: Option<Confines>,
}

impl Extensions {
    /// The same with these controllers, for the key `controller`.
    #[must_use]
    pub fn with_controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// The same with these link models and queues, for the key `custom` of links and for queues with
    /// `discipline = "custom"`.
    #[must_use]
    pub fn with_links(mut self, links: Links) -> Self {
        self.links = links;
        self
    }

    /// The same with a version of what has this name, which tells it from what it was before it was changed. Runs of one version
    /// are taken for the same by sweeps.
    #[must_use]
    pub fn with_version(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.versions.insert(name.into(), version.into());
        self
    }

    pub(crate) const fn versions(&self) -> &BTreeMap<String, String> {
        &self.versions
    }

    /// The same for scenarios that somebody else wrote, within these bounds.
    #[must_use]
    pub fn confined(mut self, confines: Confines) -> Self {
        self.confines = Some(confines);
        self
    }

    pub(crate) const fn confines(&self) -> Option<&Confines> {
        self.confines.as_ref()
    }

    /// The controllers that can be named.
    pub const fn controllers(&self) -> &Controllers {
        &self.controllers
    }

    pub(crate) const fn links(&self) -> &Links {
        &self.links
    }
}
