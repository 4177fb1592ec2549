//! What operators see, over HTTP: `/metrics`, `/health` and `/status`.
//!
//! Whoever asks gets one answer and is gone. A few are served at a time and each for a short while only, so
//! that nobody holds memory or tasks by asking slowly or much; who comes then takes the place of the slowest.

mod meant;
mod metrics;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub use self::meant::is_meant;
use super::Inner;
use crate::host::Host;
use crate::listening;
use crate::sockets;
use bentpipe_gateway::places::{Places, Rule};
use bentpipe_gateway::{Role, Status};

/// Clients that are served at the same time, and of one address: one more gets the place of the oldest.
const PLACES: usize = 32;
const EACH: usize = 8;
/// Time for a client to ask.
const ASKS_WITHIN: Duration = Duration::from_secs(2);
/// Time for the task that carries datagrams to do something.
const ANSWERS_WITHIN: Duration = Duration::from_secs(3);
/// Time for a client to ask and to take its answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Most bytes of a request; the least that hyper takes.
const REQUEST: usize = 8192;

/// Opens the server, if there is to be one. Returns its address.
///
/// # Errors
/// When the address is taken.
pub(super) fn start(
    inner: &Arc<Inner>,
    host: &Host,
    tasks: &mut JoinSet<io::Result<()>>,
) -> io::Result<Option<SocketAddr>> {
    let Some(ops) = &inner.config().ops else { return Ok(None) };
    let listener = sockets::listen(ops.listen, false)
        .map_err(|error| io::Error::new(error.kind(), format!("TCP {}: {error}", ops.listen)))?;
    let address = listener.local_addr()?;
    let gateway = Gateway { inner: inner.clone(), host: host.clone() };
    tasks.spawn(serve(Arc::new(gateway), listener));
    Ok(Some(address))
}

/// Serves for ever.
async fn serve(gateway: Arc<Gateway>, listener: TcpListener) -> io::Result<()> {
    let places = Places::new(PLACES, Rule::Newest { each: EACH });
    listening::serve(listener, places, move |tcp, _, place| {
        let gateway = gateway.clone();
        async move {
            let served = client(tcp, TIMEOUT, &*gateway).await;
            // It had one all the time.
            drop(place);
            served
        }
    })
    .await
}

/// What is asked about.
trait Monitored {
    /// All there is to know.
    fn status(&self) -> Status;

    /// The same without the flows.
    fn overview(&self) -> Status;

    /// The names by which it may be asked.
    fn names(&self) -> &[String];

    /// Whether what carries datagrams does something when it is asked to.
    fn answers(&self) -> impl Future<Output = bool> + Send;
}

/// A gateway and the socket that carries its associations.
#[derive(Debug)]
struct Gateway {
    inner: Arc<Inner>,
    host: Host,
}

impl Monitored for Gateway {
    fn status(&self) -> Status {
        self.inner.status()
    }

    fn overview(&self) -> Status {
        self.inner.overview()
    }

    fn names(&self) -> &[String] {
        self.inner.config().ops.as_ref().map_or(&[], |ops| &ops.names)
    }

    fn answers(&self) -> impl Future<Output = bool> + Send {
        self.host.answers(ANSWERS_WITHIN)
    }
}

/// Answers one request within `timeout`.
async fn client(
    io: impl AsyncRead + AsyncWrite + Unpin,
    timeout: Duration,
    gateway: &impl Monitored,
) -> io::Result<()> {
    let service = service_fn(|request: hyper::Request<hyper::body::Incoming>| async move {
        let is_meant =
            request.headers().get(HOST).is_none_or(|host| is_meant(host, gateway.names()));
        if !is_meant {
            return Ok::<_, Infallible>(text(
                StatusCode::MISDIRECTED_REQUEST,
                "ask by an address, localhost or one of ops.names\n",
            ));
        }
        Ok(answer(request.method(), request.uri().path(), gateway).await)
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(ASKS_WITHIN)
        .keep_alive(false)
        .max_buf_size(REQUEST)
        .serve_connection(TokioIo::new(io), service);
    tokio::time::timeout(timeout, serving).await?.map_err(io::Error::other)
}

/// The answer to a request.
async fn answer(method: &Method, path: &str, gateway: &impl Monitored) -> Response<Full<Bytes>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, "only GET is served here\n");
        refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refusal;
    }
    match path {
        "/metrics" => match metrics::text(gateway.overview()) {
            Ok(body) => said(StatusCode::OK, metrics::CONTENT, body),
            Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
        },
        "/health" => {
            // The status is that of the task that is asked here: if it does not answer, nobody gets it.
            let health = if gateway.answers().await {
                Health::of(&gateway.overview())
            } else {
                Health::default()
            };
            let code =
                if health.healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            json(code, &health)
        }
        "/status" => json(StatusCode::OK, &gateway.status()),
        _ => text(StatusCode::NOT_FOUND, "there are /metrics, /health and /status\n"),
    }
}

/// Whether a gateway can do its work.
#[derive(Debug, Default, Serialize)]
struct Health {
    healthy: bool,
    /// Left out where nothing works.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    peers_up: usize,
    peers: usize,
}

impl Health {
    /// A terminal needs all its peers; a hub waits for whoever comes.
    fn of(status: &Status) -> Self {
        let peers = status.peers.len();
        let peers_up = status.peers.iter().filter(|peer| peer.up).count();
        let healthy = status.role == Role::Hub || peers_up == peers;
        Self { healthy, role: Some(status.role), peers_up, peers }
    }
}

fn json(code: StatusCode, document: &impl Serialize) -> Response<Full<Bytes>> {
    match serde_json::to_string(document) {
        Ok(body) => said(code, "application/json", body + "\n"),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
    }
}

fn text(code: StatusCode, body: &str) -> Response<Full<Bytes>> {
    said(code, "text/plain; charset=utf-8", body.to_owned())
}

fn said(code: StatusCode, content: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;
    use bentpipe_gateway::testing::{peer, status};

    impl Monitored for Status {
        fn status(&self) -> Status {
            self.clone()
        }

        fn overview(&self) -> Status {
            Self { flows: Vec::new(), ..self.clone() }
        }

        fn names(&self) -> &[String] {
            &[]
        }

        fn answers(&self) -> impl Future<Output = bool> + Send {
            std::future::ready(true)
        }
    }

    /// The first line and the rest of what a client gets that says this.
    async fn ask(request: &str, status: Status) -> (String, String) {
        let (mut near, far) = duplex(1 << 20);
        near.write_all(request.as_bytes()).await.expect("room");
        // A client may end before its request does, which is an error here and no answer there.
        let _ = client(far, TIMEOUT, &status).await;
        let mut answer = String::new();
        near.read_to_string(&mut answer).await.expect("text");
        let (first, rest) = answer.split_once("\r\n").unwrap_or((&answer, ""));
        (first.to_owned(), rest.to_owned())
    }

    fn get(path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: [::1]:9100\r\n\r\n")
    }

    #[tokio::test]
    async fn a_terminal_is_healthy_while_all_its_peers_answer_and_a_hub_always() {
        for (role, peers, healthy) in [
            (Role::Terminal, vec![peer("a", true), peer("b", true)], true),
            (Role::Terminal, vec![peer("a", true), peer("b", false)], false),
            (Role::Hub, vec![peer("a", false)], true),
        ] {
            let (first, rest) = ask(&get("/health"), status(role, peers)).await;
            let code = if healthy { "200 OK" } else { "503 Service Unavailable" };
            assert_eq!(first, format!("HTTP/1.1 {code}"));
            assert!(rest.contains(&format!("{{\"healthy\":{healthy},\"role\"")), "{rest}");
        }
    }

    /// A gateway whose task hangs.
    struct Hung(Status);

    impl Monitored for Hung {
        fn status(&self) -> Status {
            self.0.clone()
        }

        fn overview(&self) -> Status {
            panic!("nobody gets the status of a task that hangs")
        }

        fn names(&self) -> &[String] {
            &[]
        }

        fn answers(&self) -> impl Future<Output = bool> + Send {
            std::future::ready(false)
        }
    }

    #[tokio::test]
    async fn a_gateway_whose_task_does_not_answer_is_not_healthy() {
        let answer = answer(&Method::GET, "/health", &Hung(status(Role::Hub, vec![]))).await;
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    }

    #[tokio::test]
    async fn the_status_can_be_read_back() {
        let given = status(Role::Hub, vec![peer("a", true)]);
        let (first, rest) = ask(&get("/status?pretty"), given.clone()).await;
        assert_eq!(first, "HTTP/1.1 200 OK");
        let (head, body) = rest.split_once("\r\n\r\n").expect("a body");
        assert!(head.contains("content-type: application/json"), "{head}");
        assert_eq!(serde_json::from_str::<Status>(body).expect("JSON"), given);
    }

    #[tokio::test]
    async fn what_is_not_there_or_not_a_get_is_refused() {
        for (request, code) in [
            (get("/"), "404"),
            (get("/status").replace("GET", "POST"), "405"),
            (get("/status").replace("GET", "DELETE"), "405"),
            ("nonsense\r\n\r\n".to_owned(), "400"),
            (format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(20_000)), "431"),
            (format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(20_000)), "431"),
        ] {
            let (first, _) = ask(&request, status(Role::Hub, vec![])).await;
            assert!(first.starts_with(&format!("HTTP/1.1 {code}")), "{first}: {request:.40}");
        }
    }

    #[tokio::test]
    async fn a_page_whose_name_leads_here_learns_nothing() {
        for (host, code) in [
            ("evil.example:9100", "421"),
            ("127.0.0.1.evil.example", "421"),
            ("localhost.evil.example", "421"),
            ("", "421"),
            ("localhost:9100", "200"),
            ("127.0.0.1", "200"),
            ("192.0.2.1:9100", "200"),
        ] {
            let request = get("/status").replace("[::1]:9100", host);
            let (first, rest) = ask(&request, status(Role::Hub, vec![])).await;
            assert!(first.starts_with(&format!("HTTP/1.1 {code}")), "{host}: {first}");
            assert_eq!(rest.contains("flows"), code == "200", "{host}");
        }
    }

    #[tokio::test]
    async fn a_client_gets_one_answer_and_is_gone() {
        let (_, rest) = ask(&get("/health").repeat(3), status(Role::Hub, vec![])).await;
        assert_eq!(rest.matches("healthy").count(), 1);
        assert!(rest.contains("connection: close"), "{rest}");
    }

    /// What becomes of a client that sends this, and takes nothing.
    async fn served_slowly(request: &str, room: usize) -> (io::Result<()>, DuplexStream) {
        let (mut near, far) = duplex(room);
        near.write_all(request.as_bytes()).await.expect("room");
        let status = status(Role::Hub, (0..1000).map(|n| peer(&n.to_string(), true)).collect());
        (client(far, Duration::from_millis(20), &status).await, near)
    }

    #[tokio::test]
    async fn who_does_not_ask_or_does_not_take_the_answer_is_left() {
        for request in ["", "GET /status HTT", &get("/status")] {
            let (served, _near) = served_slowly(request, 64).await;
            assert_eq!(served.expect_err("too slow").kind(), io::ErrorKind::TimedOut, "{request}");
        }
    }
}
