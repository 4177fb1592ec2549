//! Whether what is typed is right.

use std::path::Path;

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use bentpipe_gateway::{Config, ConfigErrors};
use bentpipe_net::gateway::doubt;
use serde::Serialize;

use crate::answer::{Wrong, json};
use crate::state::Shared;

/// What is wrong with a text; nothing with one that is right.
#[derive(Serialize)]
struct Checked {
    wrong: Vec<Wrong>,
}

/// Whether a text is a scenario.
pub(super) async fn scenario(State(state): State<Shared>, body: String) -> Response<Body> {
    let shared = state.clone();
    checked(&state, "scenario cannot be built", move || {
        shared.scenario(&body).err().map(Wrong::from).into_iter().collect()
    })
    .await
}

/// Whether a text is the configuration of a gateway: what `bentpipe gateway --check` says of a file, except of its key file,
/// its user and the mode of the file.
pub(super) async fn gateway(State(state): State<Shared>, body: String) -> Response<Body> {
    checked(&state, "configuration cannot be read", move || wrong_with(&body)).await
}

/// What such a look finds wrong with a text, or that it `cannot` look.
async fn checked(
    state: &Shared,
    cannot: &str,
    look: impl FnOnce() -> Vec<Wrong> + Send + 'static,
) -> Response<Body> {
    let wrong = state.places().look(look).await;
    let wrong =
        wrong.unwrap_or_else(|| vec![Wrong::plain(format!("this {cannot}; please report it"))]);
    json(&Checked { wrong })
}

fn wrong_with(body: &str) -> Vec<Wrong> {
    // No file of this name is read: it is what messages begin with.
    const NAME: &str = "gateway.toml";
    let said = |errors: &ConfigErrors| -> Vec<Wrong> {
        let wrong = |error: &bentpipe_gateway::ConfigError| Wrong {
            message: error.message.clone(),
            line: error.line,
            key: error.key.clone(),
        };
        errors.iter().map(wrong).collect()
    };
    match Config::parse(NAME, body) {
        Err(errors) => said(&errors),
        Ok(config) => {
            doubt(&config, Path::new("")).map_or_else(|doubts| said(&doubts), |()| Vec::new())
        }
    }
}
