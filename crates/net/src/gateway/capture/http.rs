//! An HTTP server that knows CONNECT (RFC 9110, section 9.3.6) and nothing else.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Inner, listen};
use crate::gateway::Begun;
use crate::gateway::streams::Stream;
use crate::listening::serve;
use bentpipe_association::host::lock;
use bentpipe_gateway::Proxy;
use bentpipe_gateway::Reach;
use bentpipe_gateway::places::Place;
use bentpipe_gateway::{Destination, Verdict};

/// Opens the server.
pub(super) fn start(inner: &Arc<Inner>, tasks: &mut JoinSet<io::Result<()>>) -> io::Result<()> {
    let Some(proxy) = &inner.config().http else { return Ok(()) };
    let listener = listen(proxy.listen, false)?;
    let peer = inner.config().peer(proxy.peer.as_deref()).map_err(io::Error::other)?;
    let entrance =
        Arc::new(Entrance { inner: inner.clone(), peer: peer.to_owned(), proxy: proxy.clone() });
    let unknown = inner.unknown().clone();
    tasks.spawn(serve(listener, unknown, move |tcp, from, unknown| {
        let entrance = entrance.clone();
        async move {
            let (accepted, unknown) = (Mutex::new(None), Mutex::new(Some(unknown)));
            let service = service_fn(async |request| {
                let (response, flow) = entrance.answer(request, from, &unknown).await;
                *lock(&accepted) = flow;
                Ok::<_, Infallible>(response)
            });
            let serving = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(tcp), service)
                .with_upgrades();
            serving.await.map_err(io::Error::other)?;
            let flow = accepted.into_inner().expect("nobody has panicked while he held this lock");
            let Some((begun, upgrade)) = flow else { return Ok(()) };
            let upgraded = upgrade.await.map_err(io::Error::other)?;
            let Ok(parts) = upgraded.downcast::<TokioIo<TcpStream>>() else { return Ok(()) };
            entrance.inner.carry(begun, Stream(parts.io.into_inner()), parts.read_buf).await
        }
    }));
    Ok(())
}

/// What every request needs.
#[derive(Debug)]
struct Entrance {
    inner: Arc<Inner>,
    peer: String,
    proxy: Proxy,
}

impl Entrance {
    /// Answers a request, and begins a flow if that is what it is for.
    async fn answer(
        &self,
        request: Request<Incoming>,
        from: SocketAddr,
        unknown: &Mutex<Option<Place>>,
    ) -> (Response<Full<Bytes>>, Option<(Begun, OnUpgrade)>) {
        match self.begin(&request, from, unknown).await {
            Ok(begun) => (Response::default(), Some((begun, hyper::upgrade::on(request)))),
            Err(response) => (response, None),
        }
    }

    async fn begin(
        &self,
        request: &Request<Incoming>,
        from: SocketAddr,
        unknown: &Mutex<Option<Place>>,
    ) -> Result<Begun, Response<Full<Bytes>>> {
        if request.method() != Method::CONNECT {
            return Err(said(StatusCode::METHOD_NOT_ALLOWED, "only CONNECT is served here"));
        }
        if !self.knows(request.headers().get(PROXY_AUTHORIZATION)) {
            let mut response = said(StatusCode::PROXY_AUTHENTICATION_REQUIRED, "say who you are");
            let basic = HeaderValue::from_static("Basic realm=\"bentpipe\"");
            response.headers_mut().insert(PROXY_AUTHENTICATE, basic);
            return Err(response);
        }
        let to = request.uri().authority().map(|to| to.as_str().parse::<Destination>());
        let Some(to) = to.and_then(Result::ok).filter(Destination::leads_anywhere) else {
            return Err(said(StatusCode::BAD_REQUEST, "CONNECT needs HOST:PORT"));
        };
        let unknown = lock(unknown).take();
        let begun = self.inner.begin(&self.peer, from, to, Reach::Outside, unknown).await;
        begun.map_err(|verdict| {
            let mut response = said(status(verdict), &verdict.to_string());
            // It has no place any more.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            response
        })
    }

    /// Whether the client may use the proxy.
    fn knows(&self, given: Option<&HeaderValue>) -> bool {
        if self.proxy.users.is_empty() {
            return true;
        }
        let pair = given.and_then(|value| {
            let encoded = value.to_str().ok()?.strip_prefix("Basic ")?;
            String::from_utf8(BASE64_STANDARD.decode(encoded.trim()).ok()?).ok()
        });
        pair.as_deref().and_then(|pair| pair.split_once(':')).is_some_and(|(user, password)| {
            self.proxy.users.get(user).is_some_and(|right| right.is(password))
        })
    }
}

fn said(status: StatusCode, text: &str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(format!("{text}\n")));
    *response.status_mut() = status;
    response
}

fn status(verdict: Verdict) -> StatusCode {
    match verdict {
        Verdict::Connected => StatusCode::OK,
        Verdict::Forbidden => StatusCode::FORBIDDEN,
        Verdict::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        Verdict::Busy => StatusCode::SERVICE_UNAVAILABLE,
        Verdict::Refused | Verdict::Unreachable | Verdict::UnknownName => StatusCode::BAD_GATEWAY,
    }
}
