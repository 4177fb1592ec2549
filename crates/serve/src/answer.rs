//! Answers to requests.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{Response, StatusCode};
use bentpipe_scenario::ScenarioError;
use serde::Serialize;

/// What is wrong with what was asked, as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Wrong {
    /// What is wrong and what would be right.
    pub(crate) message: String,
    /// The line of the text, counted from 1.
    pub(crate) line: Option<usize>,
    /// The key, as a path.
    pub(crate) key: Option<String>,
}

impl Wrong {
    /// Something that stands at no place of a text.
    pub(crate) fn plain(message: impl Into<String>) -> Self {
        Self { message: message.into(), line: None, key: None }
    }
}

impl From<ScenarioError> for Wrong {
    fn from(error: ScenarioError) -> Self {
        let ScenarioError { line, key, message, .. } = error;
        Self { message, line, key }
    }
}

/// A document.
pub(crate) fn json(document: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(document) {
        Ok(body) => {
            let mut response = Response::new(Body::from(body));
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
            response
        }
        Err(error) => refused(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Text, of this type.
pub(crate) fn text(content: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content));
    response
}

/// A refusal and why.
pub(crate) fn refused(code: StatusCode, why: &str) -> Response<Body> {
    let mut response = text("text/plain; charset=utf-8", format!("{why}\n"));
    *response.status_mut() = code;
    response
}
