//! Scenarios with some values changed.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use bentpipe_scenario::Override;
use serde::{Deserialize, Serialize};

use crate::answer::{json, refused};
use crate::state::Shared;

/// A scenario, and what is to be changed in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    scenario: String,
    /// As `--set` has them: KEY=VALUE.
    changes: Vec<String>,
}

/// What becomes of it. A wrong value is an answer as well: somebody may be typing it still.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Changed {
    Scenario(String),
    Wrong(String),
}

/// The text of the scenario with the changes in it, or what is wrong with them.
pub(super) async fn change(
    State(state): State<Shared>,
    Json(asked): Json<Asked>,
) -> Response<Body> {
    let shared = state.clone();
    let changing = state.places().work(move || {
        let changes: Result<Vec<Override>, String> =
            asked.changes.iter().map(|change| change.parse()).collect();
        let scenario = shared.as_written(&asked.scenario).map_err(|error| error.to_string())?;
        let changed = scenario.with(&changes?).map_err(|error| error.to_string())?;
        Ok(changed.text().to_owned())
    });
    let changing = match changing {
        Ok(changing) => changing,
        Err(why) => return refused(StatusCode::TOO_MANY_REQUESTS, &why),
    };
    match changing.await {
        Ok(changed) => json(&changed.map_or_else(Changed::Wrong, Changed::Scenario)),
        Err(_) => refused(
            StatusCode::INTERNAL_SERVER_ERROR,
            "this scenario cannot be built; please report it",
        ),
    }
}
