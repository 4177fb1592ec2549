//! What the tables of settings of all protocols have in common.

/// Makes a table of a scenario file whose keys are settings of a protocol. Each row is a key and its type.
macro_rules! settings_table {
    (
        $(#[$table_doc:meta])*
        $table:ident, from $preset:ty;
        $($(#[$doc:meta])* $field:ident : $type:ty;)*
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
    };
}

pub(crate) use settings_table;
