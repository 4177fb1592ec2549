//! The trace of a link in a scenario file.

use bentpipe_units::Span;
use schemars::JsonSchema;
use serde::Deserialize;

use super::named::Choice;
use super::quantity::Quantity;

/// A trace that a link replays: its file alone, or a table with it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceTable {
    /// The file, beside the scenario file: of mahimahi, or a table as CSV or Parquet; or the name of one that comes with the program.
    pub file: String,
    /// A second file with a one-way delay in milliseconds on each line, 10 ms apart.
    pub delays: Option<String>,
    /// So much of it is over when the run begins (default: nothing).
    pub start: Option<Quantity<Span>>,
    /// It begins anew at its end (default: true).
    #[serde(rename = "loop")]
    pub repeats: Option<bool>,
    /// Its rates are multiplied by this (default: 1).
    pub scale: Option<f64>,
    /// Packets may overtake each other when the delay becomes shorter (default: false).
    #[serde(default)]
    pub reorder: bool,
}

impl Choice for TraceTable {
    const KEY: &'static str = "file";
    const EXPECTED: &'static str =
        "the file of a trace such as \"downlink.csv\", or a table with it";

    const SHORT: Option<&'static str> = Some(".+");

    fn short(text: &str) -> Option<Result<Self, String>> {
        let file = text.to_owned();
        let (delays, start, repeats, scale, reorder) = (None, None, None, None, false);
        Some(Ok(Self { file, delays, start, repeats, scale, reorder }))
    }
}
