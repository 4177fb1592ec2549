//! Who may ask, and what browsers are told to keep to.
//!
//! A page of somebody else, open in a browser of this host, reaches what listens here. It cannot choose the `Origin` of its
//! requests, nor call this server by another name than its own.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, HeaderValue, ORIGIN,
    REFERRER_POLICY, SEC_WEBSOCKET_PROTOCOL, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::middleware::Next;
use bentpipe_net::gateway::is_meant;

use crate::Token;
use crate::answer::refused;
use crate::state::Shared;

/// What is behind the page, and for those alone who know the token.
const API: &str = "/api/";
/// How a WebSocket carries the token, whose other headers a page cannot set.
const TOKEN_PROTOCOL: &str = "token.";

const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What every answer has besides.
const HEADERS: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// Lets a request in or refuses it.
pub(crate) async fn guard(
    State(state): State<Shared>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let is_api = request.uri().path().starts_with(API);
    let refusal = refusal(request.headers(), is_api, state.token());
    let mut response = match refusal {
        Some((code, why)) => refused(code, why),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if is_api {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// Why a request with these headers is refused, if it is.
fn refusal(
    headers: &HeaderMap,
    is_api: bool,
    token: Option<&Token>,
) -> Option<(StatusCode, &'static str)> {
    let host = headers.get(HOST).filter(|host| is_meant(host, &[]));
    let Some(host) = host.and_then(|host| host.to_str().ok()) else {
        return Some((StatusCode::MISDIRECTED_REQUEST, "ask by an address or localhost"));
    };
    let own = format!("http://{host}");
    let is_own = |origin: &HeaderValue| origin.as_bytes().eq_ignore_ascii_case(own.as_bytes());
    if headers.get_all(ORIGIN).iter().any(|origin| !is_own(origin)) {
        return Some((StatusCode::FORBIDDEN, "pages of other origins get no answer"));
    }
    if !is_api {
        return None;
    }
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if site.is_some_and(|site| site != b"same-origin" && site != b"none") {
        return Some((StatusCode::FORBIDDEN, "pages of other origins get no answer"));
    }
    match token {
        Some(token) if !knows(headers, token) => Some((
            StatusCode::UNAUTHORIZED,
            "open the address that `bentpipe serve` printed: it has the token",
        )),
        _ => None,
    }
}

/// Whether a request has the token.
fn knows(headers: &HeaderMap, token: &Token) -> bool {
    let bearer =
        headers.get(AUTHORIZATION).and_then(|said| said.as_bytes().strip_prefix(b"Bearer "));
    let protocols = headers.get(SEC_WEBSOCKET_PROTOCOL).and_then(|said| said.to_str().ok());
    let mut named = protocols.into_iter().flat_map(|said| said.split(',')).map(str::trim);
    bearer.is_some_and(|said| token.is(said))
        || named
            .find_map(|said| said.strip_prefix(TOKEN_PROTOCOL))
            .is_some_and(|said| token.is(said.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(headers: &[(&'static str, &str)], is_api: bool, token: Option<&Token>) -> u16 {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_str(value).expect("a header"));
        }
        refusal(&map, is_api, token).map_or(200, |(code, _)| code.as_u16())
    }

    #[test]
    fn names_that_lead_here_and_pages_of_others_are_refused() {
        let host = ("host", "127.0.0.1:8380");
        for (headers, expected) in [
            (&[][..], 421),
            (&[("host", "evil.example:8380")], 421),
            (&[("host", "127.0.0.1.evil.example")], 421),
            (&[host], 200),
            (&[("host", "localhost:8380")], 200),
            (&[("host", "[::1]:8380"), ("origin", "http://[::1]:8380")], 200),
            (&[host, ("origin", "http://127.0.0.1:8380")], 200),
            (&[host, ("origin", "https://127.0.0.1:8380")], 403),
            (&[host, ("origin", "http://127.0.0.1:81")], 403),
            (&[host, ("origin", "http://localhost:8380")], 403),
            (&[host, ("origin", "http://evil.example")], 403),
            (&[host, ("origin", "null")], 403),
            (&[host, ("origin", "http://127.0.0.1:8380"), ("origin", "http://evil.example")], 403),
            (&[host, ("sec-fetch-site", "cross-site")], 403),
            (&[host, ("sec-fetch-site", "same-site")], 403),
            (&[host, ("sec-fetch-site", "same-origin")], 200),
        ] {
            assert_eq!(code(headers, true, None), expected, "{headers:?}");
        }
        // Somebody may follow a link to the page from elsewhere.
        assert_eq!(code(&[host, ("sec-fetch-site", "cross-site")], false, None), 200);
    }

    #[test]
    fn what_is_behind_the_page_needs_the_token_where_there_is_one() {
        let token: Token = "abcdefghijklmnopqrstuvwxyz".parse().expect("a token");
        let host = ("host", "192.0.2.1:8380");
        let code = |header, is_api| code(&[host, header], is_api, Some(&token));
        assert_eq!(code(("x", "y"), false), 200);
        assert_eq!(code(("x", "y"), true), 401);
        assert_eq!(code(("authorization", "Bearer abcdefghijklmnopqrstuvwxyz"), true), 200);
        assert_eq!(code(("authorization", "Bearer abcdefghijklmnopqrstuvwxy"), true), 401);
        assert_eq!(code(("authorization", "abcdefghijklmnopqrstuvwxyz"), true), 401);
        let protocol = "sec-websocket-protocol";
        assert_eq!(code((protocol, "bentpipe, token.abcdefghijklmnopqrstuvwxyz"), true), 200);
        assert_eq!(code((protocol, "bentpipe, token.wrong"), true), 401);
    }
}
