//! The track of a station in a scenario file.

use bentpipe_units::{Span, Speed};
use schemars::JsonSchema;
use serde::Deserialize;

use super::named::Choice;
use super::quantity::Quantity;

/// Where a station is over time: a file alone, or a table with it or with waypoints.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrackTable {
    /// The file, beside the scenario file: GPX, or CSV with the columns time_s, latitude, longitude and perhaps altitude_m.
    pub file: Option<String>,
    /// Or places that it passes: cities that are known, or latitude and longitude in degrees.
    #[serde(default)]
    pub waypoints: Vec<String>,
    /// Its speed between waypoints.
    pub speed: Option<Quantity<Speed>>,
    /// So much of it is over when the run begins (default: nothing).
    pub start: Option<Quantity<Span>>,
}

impl Choice for TrackTable {
    const KEY: &'static str = "file";
    const EXPECTED: &'static str =
        "the file of a track such as \"flight.gpx\", or a table with it or with `waypoints`";

    const SHORT: Option<&'static str> = Some(".+");

    fn short(text: &str) -> Option<Result<Self, String>> {
        Some(Ok(Self { file: Some(text.to_owned()), ..Self::default() }))
    }
}
