//! Whether what is typed is right.

use std::path::Path;

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use bentpipe_gateway::{Config, ConfigErrors};
use bentpipe_net::gateway::doubt;
use serde::Serialize;
use tokio::time::Instant;

use crate::answer::{Wrong, json};
use crate::state::Shared;

/// What is wrong with a text; nothing with one that is right.
#[derive(Serialize)]
struct Checked {
    wrong: Vec<Wrong>,
}

/// Whether a text is a scenario.
pub(super) async fn scenario(State(state): State<Shared>, body: String) -> Response<Body> {
    let place = match state.places().take(Instant::now()) {
        Ok(place) => place,
        Err(why) => return json(&Checked { wrong: vec![Wrong::plain(why)] }),
    };
    let checking = tokio::task::spawn_blocking(move || {
        let checked = state.scenario(&body).map(|_| ());
        drop(place);
        checked
    });
    let wrong = match checking.await {
        Ok(Ok(())) => Vec::new(),
        Ok(Err(error)) => vec![error.into()],
        Err(_) => vec![Wrong::plain("this scenario cannot be built; please report it")],
    };
    json(&Checked { wrong })
}

/// Whether a text is the configuration of a gateway: what `bentpipe gateway --check` says of a file, except of its key file,
/// its user and the mode of the file.
pub(super) async fn gateway(State(state): State<Shared>, body: String) -> Response<Body> {
    let place = match state.places().take(Instant::now()) {
        Ok(place) => place,
        Err(why) => return json(&Checked { wrong: vec![Wrong::plain(why)] }),
    };
    let checking = tokio::task::spawn_blocking(move || {
        let wrong = wrong_with(&body);
        drop(place);
        wrong
    });
    let cannot = |_| vec![Wrong::plain("this configuration cannot be read; please report it")];
    json(&Checked { wrong: checking.await.unwrap_or_else(cannot) })
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
