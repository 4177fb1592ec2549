//! What a program brings of its own, for scenarios to name.

use bentpipe_cc::Registry;

/// The names that scenarios may use. Without any of a program's own these are the built-in ones.
#[derive(Clone, Debug, Default)]
pub struct Extensions {
    controllers: Registry,
}

impl Extensions {
    /// The same with these controllers, for the key `controller`.
    #[must_use]
    pub fn with_controllers(mut self, controllers: Registry) -> Self {
        self.controllers = controllers;
        self
    }

    pub(crate) const fn controllers(&self) -> &Registry {
        &self.controllers
    }
}
