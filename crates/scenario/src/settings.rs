//! What the tables of settings of all protocols have in common.

use std::collections::BTreeMap;

use bentpipe_cc::{BuildError, Choice, Registry};

use crate::error::did_you_mean;

/// Makes a table of a scenario file whose keys are settings of a protocol. Each row is a key, its
/// type, and what it does to the settings.
macro_rules! settings_table {
    (
        $(#[$table_doc:meta])*
        $table:ident of $config:ty, from $preset:ty;
        $($(#[$doc:meta])* $field:ident : $type:ty => |$c:ident, $value:ident| $set:expr;)*
    ) => {
        $(#[$table_doc])*
        #[derive(Clone, Debug, Default, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $table {
            /// What the settings start from.
            pub preset: Option<$preset>,
            $($(#[$doc])* pub $field: Option<$type>,)*
            /// Congestion controller.
            pub controller: Option<String>,
            /// Values of the controller's own parameters.
            #[serde(default)]
            pub controller_parameters: std::collections::BTreeMap<String, f64>,
        }

        impl $table {
            /// Writes what is set over `config`.
            fn overwrite(
                &self,
                config: &mut $config,
                controllers: &bentpipe_cc::Registry,
            ) -> Result<(), crate::settings::TableError> {
                $(if let Some($value) = self.$field.clone() {
                    let $c = &mut *config;
                    $set;
                })*
                crate::settings::choose(
                    &mut config.controller,
                    self.controller.as_deref(),
                    &self.controller_parameters,
                    controllers,
                )
            }
        }
    };
}

pub(crate) use settings_table;

/// A setting that can not be, with its path in the table.
pub(crate) struct TableError {
    pub(crate) key: String,
    pub(crate) problem: String,
}

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
    let chosen = match name {
        Some(name) => controllers.choose(name, parameters.clone()),
        None if parameters.is_empty() => return Ok(()),
        None => choice.clone().with_parameters(parameters.clone()),
    };
    *choice = chosen.map_err(|error| unfit(&error, controllers))?;
    Ok(())
}
