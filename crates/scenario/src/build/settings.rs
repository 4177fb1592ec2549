//! What the settings of all protocols have in common.

use std::collections::BTreeMap;

use bentpipe_cc::{BuildError, Choice, Registry, Row};
use bentpipe_units::ByteCount;

use crate::error::did_you_mean;
use crate::old_keys;

/// Says what each key of a table does to the settings of a protocol.
macro_rules! settings {
    (
        $table:ident of $config:ty;
        $($field:ident => |$c:ident, $value:ident| $set:expr;)*
    ) => {
        impl $table {
            /// Writes what is set over `config`.
            fn overwrite(
                &self,
                config: &mut $config,
                controllers: &bentpipe_cc::Registry,
            ) -> Result<(), super::settings::TableError> {
                // All keys, so that none can be left out above.
                let Self { preset: _, controller, controller_parameters, $($field,)* } = self;
                $(if let Some($value) = $field.clone() {
                    let $c = &mut *config;
                    $set;
                })*
                let named = controller.as_deref();
                let choice = &mut config.controller;
                super::settings::choose(choice, named, controller_parameters, controllers)
            }
        }
    };
}

pub(crate) use settings;

/// A setting that cannot be, with its path in the table.
pub(crate) struct TableError {
    pub(crate) key: String,
    pub(crate) problem: String,
}

/// The buffers of protocols that have no right-sizing, unless a preset says otherwise: they shall not be what limits a
/// flow of 50 Mbit/s over a geostationary satellite.
pub(crate) const ROOMY: ByteCount = ByteCount::new(4_000_000);

/// The setting that makes a controller impossible.
pub(crate) fn unfit(error: &BuildError, controllers: &Registry) -> TableError {
    let parameter = |name: &str| format!("controller_parameters.{name}");
    let (key, hint) = match error {
        BuildError::NoSuchController(name) => {
            let known = controllers.rows().map(|row| row.name);
            ("controller".to_owned(), did_you_mean(name, known))
        }
        BuildError::NoSuchParameter { controller, parameter: name } => {
            let known = controllers.find(controller).map_or(&[][..], |row| row.parameters);
            (parameter(name), did_you_mean(name, known.iter().map(|p| p.name)))
        }
        BuildError::OutOfRange { parameter: name, .. } => (parameter(name), String::new()),
    };
    TableError { key, problem: format!("{error}{hint}") }
}

/// Sets the controller, if it is named or a parameter of it is given.
pub(crate) fn choose(
    choice: &mut Choice,
    name: Option<&str>,
    parameters: &BTreeMap<String, f64>,
    controllers: &Registry,
) -> Result<(), TableError> {
    let row = controllers.find(name.unwrap_or(choice.name()));
    let parameters = by_new_names(row, parameters)?;
    let chosen = match name {
        Some(name) => controllers.choose(name, parameters),
        None if parameters.is_empty() => return Ok(()),
        None => choice.clone().with_parameters(parameters),
    };
    *choice = chosen.map_err(|error| unfit(&error, controllers))?;
    Ok(())
}

/// Parameters by the names that the controller has for them: it may know them from the last release.
pub(crate) fn by_new_names(
    row: Option<&Row>,
    given: &BTreeMap<String, f64>,
) -> Result<BTreeMap<String, f64>, TableError> {
    let knows = |name: &str| row.is_some_and(|row| row.parameters.iter().any(|p| p.name == name));
    let mut named = BTreeMap::new();
    for (name, value) in given {
        let new = old_keys::parameter(name).filter(|new| !knows(name) && knows(new));
        let name = new.unwrap_or(name).to_owned();
        if named.insert(name.clone(), *value).is_some() {
            let key = format!("controller_parameters.{name}");
            return Err(TableError {
                key,
                problem: "it is set twice, once by its old name".into(),
            });
        }
    }
    Ok(named)
}
