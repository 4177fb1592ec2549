//! Bodies of requests, which have to be there before anything is done for them.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{Response, StatusCode};
use axum::middleware::Next;

use crate::answer::refused;
use crate::talk::LONGEST;

/// Time for a body to come. One that comes a byte at a time has its connection for no longer.
const WITHIN: Duration = Duration::from_secs(30);

/// Lets a request in once its body is there.
pub(crate) async fn in_time(request: Request, next: Next) -> Response<Body> {
    match whole(request, WITHIN).await {
        Ok(request) => next.run(request).await,
        Err((code, why)) => refused(code, why),
    }
}

/// A request whose body is there, or why it is refused.
async fn whole(request: Request, within: Duration) -> Result<Request, (StatusCode, &'static str)> {
    let (head, body) = request.into_parts();
    match tokio::time::timeout(within, to_bytes(body, LONGEST)).await {
        Ok(Ok(body)) => Ok(Request::from_parts(head, Body::from(body))),
        Ok(Err(_)) => Err((StatusCode::PAYLOAD_TOO_LARGE, "the body is too long, or ended early")),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body did not come in time")),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};

    use super::*;

    /// What becomes of a body of these pieces, which may never end.
    async fn taken(pieces: usize, each: usize, ends: bool) -> Result<usize, StatusCode> {
        let piece = move |_| Ok::<_, std::io::Error>(vec![b'x'; each]);
        let pieces = stream::iter(0..pieces).map(piece);
        let body = if ends {
            Body::from_stream(pieces)
        } else {
            Body::from_stream(pieces.chain(stream::pending()))
        };
        let request = whole(Request::new(body), Duration::from_millis(50)).await;
        let body = request.map_err(|(code, _)| code)?.into_body();
        Ok(to_bytes(body, usize::MAX).await.expect("it is there").len())
    }

    #[tokio::test]
    async fn a_body_is_taken_whole_and_in_time_or_not_at_all() {
        assert_eq!(taken(3, 5, true).await, Ok(15));
        assert_eq!(taken(3, LONGEST, true).await, Err(StatusCode::PAYLOAD_TOO_LARGE));
        assert_eq!(taken(3, 5, false).await, Err(StatusCode::REQUEST_TIMEOUT));
    }
}
