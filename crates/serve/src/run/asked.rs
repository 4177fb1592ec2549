//! What a page may say of a run.

use serde::Deserialize;

/// A run that is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// The text of the scenario.
    pub(crate) scenario: String,
    /// Of every random draw; the scenario's own without it.
    pub(crate) seed: Option<u64>,
    /// What its bulk transfers are instead of what the scenario says.
    pub(crate) variant: Option<String>,
    /// Simulated seconds in a second; as quick as it goes without it.
    pub(crate) speed: Option<f64>,
    /// It waits for a step or to be let go on.
    #[serde(default)]
    pub(crate) paused: bool,
    /// The part of the time of which packets are shown one by one.
    pub(crate) packets: Option<Window>,
}

/// A part of the simulated time, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Window {
    pub(crate) from_s: f64,
    pub(crate) until_s: f64,
}

/// What a page says of a run that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Control {
    /// It waits.
    Pause,
    /// It goes on.
    Resume,
    /// It goes on for so much simulated time and waits.
    Step { seconds: f64 },
    /// It goes on at so many simulated seconds in a second, or as quick as it goes.
    Speed { factor: Option<f64> },
}
