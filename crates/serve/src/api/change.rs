//! Scenarios with some values changed.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use bentpipe_scenario::Override;
use serde::{Deserialize, Serialize};

use crate::answer::{Wrong, json, refused};
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
    Wrong(Wrong),
}

/// Changes of one request: a form has one, a cell of a sweep one for each of its axes.
const MOST: usize = 64;

/// The text of the scenario with the changes in it, or what is wrong with them.
pub(super) async fn change(
    State(state): State<Shared>,
    Json(asked): Json<Asked>,
) -> Response<Body> {
    let shared = state.clone();
    match state.places().look(move || changed(&shared, &asked)).await {
        Some(changed) => json(&changed.map_or_else(Changed::Wrong, Changed::Scenario)),
        None => refused(
            StatusCode::INTERNAL_SERVER_ERROR,
            "this scenario cannot be built; please report it",
        ),
    }
}

fn changed(state: &Shared, Asked { scenario, changes }: &Asked) -> Result<String, Wrong> {
    if changes.len() > MOST {
        let count = changes.len();
        return Err(Wrong::plain(format!("{count} changes at once are too many: at most {MOST}")));
    }
    let changes: Result<Vec<Override>, String> =
        changes.iter().map(|change| change.parse()).collect();
    Ok(state.changed(scenario, &changes.map_err(Wrong::plain)?)?)
}
