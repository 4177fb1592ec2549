//! The names by which the models and queues that a program brings are found.

use std::collections::BTreeMap;

use super::{CustomError, CustomModel, CustomQueue, ModelChoice, QueueChoice};
use crate::queue::QUEUES;
use crate::registry::{MODELS, ModelRow};

/// The link models and queues that a program brings.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    models: Vec<&'static CustomModel>,
    queues: Vec<&'static CustomQueue>,
}

impl Registry {
    /// These and one model more.
    ///
    /// # Errors
    /// When there is a model of its name already, brought or built in.
    pub fn with_model(mut self, row: &'static CustomModel) -> Result<Self, CustomError> {
        free(row.name, MODELS, self.models().map(|row| row.name))?;
        self.models.push(row);
        Ok(self)
    }

    /// These and one queue more.
    ///
    /// # Errors
    /// When there is a queue of its name already, brought or built in.
    pub fn with_queue(mut self, row: &'static CustomQueue) -> Result<Self, CustomError> {
        free(row.name, QUEUES, self.queues().map(|row| row.name))?;
        self.queues.push(row);
        Ok(self)
    }

    /// The models, in the order in which they were added.
    pub fn models(&self) -> impl Iterator<Item = &'static CustomModel> {
        self.models.iter().copied()
    }

    /// The queues, in the order in which they were added.
    pub fn queues(&self) -> impl Iterator<Item = &'static CustomQueue> {
        self.queues.iter().copied()
    }

    /// The model `name` with these values for its parameters.
    ///
    /// # Errors
    /// When the name or a parameter is unknown or a value is out of range.
    pub fn model(
        &self,
        name: &str,
        parameters: &BTreeMap<String, f64>,
    ) -> Result<ModelChoice, CustomError> {
        let row = self.models().find(|row| row.name == name);
        let row = row.ok_or_else(|| CustomError::NoSuchModel(name.to_owned()))?;
        ModelChoice::new(row, parameters)
    }

    /// The queue `name` with these values for its parameters.
    ///
    /// # Errors
    /// When the name or a parameter is unknown or a value is out of range.
    pub fn queue(
        &self,
        name: &str,
        parameters: &BTreeMap<String, f64>,
    ) -> Result<QueueChoice, CustomError> {
        let row = self.queues().find(|row| row.name == name);
        let row = row.ok_or_else(|| CustomError::NoSuchQueue(name.to_owned()))?;
        QueueChoice::new(row, parameters)
    }
}

fn free(
    name: &'static str,
    built_in: &[ModelRow],
    mut brought: impl Iterator<Item = &'static str>,
) -> Result<(), CustomError> {
    if brought.any(|other| other == name) || built_in.iter().any(|row| row.name == name) {
        return Err(CustomError::NameTaken(name));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::DropTail;
    use crate::{Delay, RandomLoss};
    use bentpipe_units::Span;

    static TIDE: CustomModel = CustomModel {
        name: "tide",
        summary: "for the test",
        source: "this test",
        parameters: &[],
        keeps_order: true,
        build: |_, _| Box::new(Delay::new(Span::ZERO)),
    };
    static LOSS: CustomModel = CustomModel {
        name: "loss",
        build: |_, stream| Box::new(RandomLoss::new(1.0, stream)),
        ..TIDE
    };
    static PILE: CustomQueue = CustomQueue {
        name: "pile",
        summary: "for the test",
        source: "this test",
        parameters: &[],
        build: |_, limit, _, _| Box::new(DropTail::new(limit)),
    };
    static RED: CustomQueue = CustomQueue { name: "red", ..PILE };

    #[test]
    fn what_was_brought_is_found_by_its_name() {
        let registry = Registry::default().with_model(&TIDE).and_then(|r| r.with_queue(&PILE));
        let registry = registry.expect("new names");
        let none = BTreeMap::new();
        assert_eq!(registry.model("tide", &none), ModelChoice::new(&TIDE, &none));
        assert_eq!(registry.queue("pile", &none), QueueChoice::new(&PILE, &none));
        let unknown = CustomError::NoSuchModel("pile".to_owned());
        assert_eq!(registry.model("pile", &none), Err(unknown));
    }

    #[test]
    fn a_second_model_or_queue_of_a_name_is_refused() {
        let taken = |result: Result<Registry, CustomError>| result.expect_err("taken");
        let registry = Registry::default;
        assert_eq!(taken(registry().with_model(&LOSS)), CustomError::NameTaken("loss"));
        assert_eq!(taken(registry().with_queue(&RED)), CustomError::NameTaken("red"));
        let once = registry().with_model(&TIDE).and_then(|r| r.with_queue(&PILE));
        let once = once.expect("new names");
        assert_eq!(taken(once.clone().with_model(&TIDE)), CustomError::NameTaken("tide"));
        assert_eq!(taken(once.with_queue(&PILE)), CustomError::NameTaken("pile"));
    }
}
