//! What there is: the same lists as the command's.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode};
use bentpipe_experiments::catalogue::{Kind, entries};
use bentpipe_experiments::compare::DEFAULT_VARIANTS;
use bentpipe_orbit::cities;
use bentpipe_scenario::library;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::answer::{json, refused, text};
use crate::state::Shared;

/// What the page has to know of this server.
#[derive(Serialize)]
struct About<'a> {
    version: &'static str,
    /// The folder whose files scenarios may name.
    folder: Option<String>,
    gateways: &'a [String],
    /// Seconds of simulated time after which a run ends.
    simulated_s: f64,
    /// Runs of a comparison.
    runs: u64,
    variants: &'static [&'static str],
    places: Vec<City>,
}

#[derive(Serialize)]
struct City {
    name: &'static str,
    latitude: f64,
    longitude: f64,
}

pub(super) async fn about(State(state): State<Shared>) -> Response<Body> {
    let city = |(name, place): (&'static str, bentpipe_orbit::Place)| City {
        name,
        latitude: place.latitude().0,
        longitude: place.longitude().0,
    };
    let options = state.options();
    json(&About {
        version: env!("CARGO_PKG_VERSION"),
        folder: options.folder.as_ref().map(|folder| folder.display().to_string()),
        gateways: &options.gateways,
        simulated_s: options.limits.simulated.as_secs_f64(),
        runs: options.limits.runs,
        variants: DEFAULT_VARIANTS,
        places: cities().map(city).collect(),
    })
}

/// The document of `bentpipe list --json`, which is made once.
pub(super) async fn list() -> Response<Body> {
    static LISTS: LazyLock<Result<Value, String>> = LazyLock::new(lists);
    match &*LISTS {
        Ok(document) => json(document),
        Err(why) => refused(StatusCode::INTERNAL_SERVER_ERROR, why),
    }
}

fn lists() -> Result<Value, String> {
    let mut document = Map::new();
    for kind in Kind::ALL {
        let entries = entries(kind).map_err(|error| error.to_string())?;
        let entries = serde_json::to_value(entries).map_err(|error| error.to_string())?;
        document.insert(kind.name().to_owned(), entries);
    }
    Ok(Value::Object(document))
}

/// The text of a scenario that comes with the program.
pub(super) async fn scenario(Path(name): Path<String>) -> Response<Body> {
    match library::scenario(&name) {
        Some(toml) => text("text/plain; charset=utf-8", toml),
        None => refused(StatusCode::NOT_FOUND, "there is no scenario of this name"),
    }
}
