//! The page itself, as it was built.

use std::io::Read as _;

use axum::body::Body;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderValue,
    IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use bytes::Bytes;
use flate2::read::GzDecoder;

use crate::answer;

/// A file of the page.
struct File {
    /// Where it is asked for.
    path: &'static str,
    /// Its content, compressed by gzip.
    packed: &'static [u8],
}

static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Where the page is asked for by those who name no file.
const INDEX: &str = "/index.html";
/// Names of files in this folder change with what is in them.
const NAMED_BY_CONTENT: &str = "/assets/";

/// Whether the page was there when this was built.
pub fn is_built() -> bool {
    FILES.iter().any(|file| file.path == INDEX)
}

/// A file of the page.
pub(crate) async fn file(method: Method, uri: Uri, headers: HeaderMap) -> Response<Body> {
    if !matches!(method, Method::GET | Method::HEAD) {
        return answer::refused(StatusCode::METHOD_NOT_ALLOWED, "only GET is served here");
    }
    let path = if uri.path() == "/" { INDEX } else { uri.path() };
    let Some(file) = FILES.iter().find(|file| file.path == path) else {
        return answer::refused(StatusCode::NOT_FOUND, "there is no such file");
    };
    let tag = format!("\"{}\"", &blake3::hash(file.packed).to_hex()[..32]);
    let known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let takes_gzip = headers
        .get(ACCEPT_ENCODING)
        .and_then(|accepted| accepted.to_str().ok())
        .is_some_and(|accepted| accepted.split(',').any(|way| way.trim().starts_with("gzip")));
    let mut response = Response::new(match (known, takes_gzip) {
        (true, _) => Body::empty(),
        (false, true) => Body::from(Bytes::from_static(file.packed)),
        (false, false) => Body::from(unpacked(file)),
    });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let kept =
        if path.starts_with(NAMED_BY_CONTENT) { "max-age=31536000, immutable" } else { "no-cache" };
    let out = response.headers_mut();
    out.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(path)));
    out.insert(CACHE_CONTROL, HeaderValue::from_static(kept));
    out.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        out.insert(ETAG, tag);
    }
    if takes_gzip && !known {
        out.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// What is in a file, for the few who do not read gzip.
fn unpacked(file: &File) -> Vec<u8> {
    let mut content = Vec::new();
    // It was written by the build of this program, and memory cannot fail otherwise.
    let read = GzDecoder::new(file.packed).read_to_end(&mut content);
    debug_assert!(read.is_ok(), "{read:?}");
    content
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}
