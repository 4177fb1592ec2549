//! What a page may ask to be found out.

use serde::Deserialize;

/// What is to be found out.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Asked {
    /// Which of some variants does best in a scenario.
    Compare {
        /// The text of the scenario.
        scenario: String,
        /// Names of variants; the usual ones if empty.
        #[serde(default)]
        variants: Vec<String>,
        /// Seeds of each.
        reps: u64,
    },
    /// Whether the claims of a paper hold.
    Reproduce {
        /// The identity of an experiment, such as `E1`, or of a group of them.
        experiment: String,
        /// Seeds of each point instead of the experiment's own.
        reps: Option<u64>,
    },
}
