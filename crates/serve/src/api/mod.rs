//! What the page asks for.

mod change;
mod check;
mod lists;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::StatusCode;
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use serde::Deserialize;

use crate::answer::{json, refused, text};
use crate::body::in_time;
use crate::guard::guard;
use crate::page;
use crate::state::Shared;
use crate::talk::{LONGEST, Talk};

/// Everything that is served.
pub(crate) fn router(state: Shared) -> Router {
    let api = results(Router::new())
        .route("/about", get(lists::about))
        .route("/list", get(lists::list))
        .route("/schema", get(async || json(&bentpipe_scenario::schema())))
        .route("/scenario/{*name}", get(lists::scenario))
        .route("/check/scenario", post(check::scenario))
        .route("/check/gateway", post(check::gateway))
        .route("/change", post(change::change))
        .route("/gateways", get(gateways))
        .route("/gateways/{number}/history", get(history))
        .route("/gateways/{number}/metrics", get(metrics))
        .route("/run", any(run))
        .route("/study", any(study))
        .route("/sky", any(sky))
        .route("/sky/{kind}", post(crate::sky::file))
        .fallback(async || refused(StatusCode::NOT_FOUND, "there is nothing of this name"))
        .layer(DefaultBodyLimit::max(LONGEST))
        .layer(middleware::from_fn(in_time));
    Router::new()
        .nest("/api", api)
        .fallback(page::file)
        .layer(middleware::from_fn_with_state(state.clone(), guard))
        .with_state(state)
}

/// What needs Parquet.
#[cfg(feature = "parquet")]
fn results(api: Router<Shared>) -> Router<Shared> {
    api.route("/results", get(crate::results::list))
        .route("/result", get(crate::results::result))
        .route("/result/runs", get(crate::results::cell))
}

#[cfg(not(feature = "parquet"))]
fn results(api: Router<Shared>) -> Router<Shared> {
    api
}

async fn run(State(state): State<Shared>, upgrade: WebSocketUpgrade) -> Response {
    let of_talk = state.clone();
    Talk::with(&state, upgrade, |talk| crate::run::session(talk, of_talk))
}

async fn study(State(state): State<Shared>, upgrade: WebSocketUpgrade) -> Response {
    let of_talk = state.clone();
    Talk::with(&state, upgrade, |talk| crate::study::session(talk, of_talk))
}

async fn sky(State(state): State<Shared>, upgrade: WebSocketUpgrade) -> Response {
    let of_talk = state.clone();
    Talk::with(&state, upgrade, |talk| crate::sky::session(talk, of_talk))
}

/// All gateways, as they are now.
async fn gateways(State(state): State<Shared>) -> Response {
    json(&state.gateways().now())
}

/// Since when something is asked, in seconds of the watch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Since {
    #[serde(default = "always")]
    since: f64,
}

fn always() -> f64 {
    -1.0
}

/// What was seen of one within the last hour.
async fn history(
    State(state): State<Shared>,
    Path(number): Path<usize>,
    Query(Since { since }): Query<Since>,
) -> Response {
    match state.gateways().history(number, since) {
        Some(history) => json(&history),
        None => refused(StatusCode::NOT_FOUND, "there is no gateway of this number"),
    }
}

/// The metrics of one, from itself.
async fn metrics(State(state): State<Shared>, Path(number): Path<usize>) -> Response {
    let Some(address) = state.gateways().address(number) else {
        return refused(StatusCode::NOT_FOUND, "there is no gateway of this number");
    };
    match bentpipe_monitor::metrics(&address).await {
        Ok(body) => text("text/plain; charset=utf-8", body).into_response(),
        Err(why) => refused(StatusCode::BAD_GATEWAY, &why),
    }
}
