//! Asks a gateway for its status and its metrics.

use std::time::Duration;

use bentpipe_gateway::Status;
use http_body_util::{BodyExt as _, Collected, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Time for a gateway to answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest answer, in bytes: that of a gateway with a hundred thousand flows.
const LONGEST: usize = 64 << 20;

/// The status that is served at `address`.
///
/// # Errors
/// When nobody serves one there: what is wrong.
pub async fn status(address: &str) -> Result<Status, String> {
    let body = ask(address, "/status").await?;
    serde_json::from_slice(&body).map_err(|error| no_gateway(address, &error.to_string()))
}

/// The metrics that are served at `address`, in the text format of Prometheus.
///
/// # Errors
/// When nobody serves them there: what is wrong.
pub async fn metrics(address: &str) -> Result<Bytes, String> {
    ask(address, "/metrics").await
}

async fn ask(address: &str, path: &'static str) -> Result<Bytes, String> {
    match tokio::time::timeout(TIMEOUT, connect(address, path)).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("{address} does not answer")),
    }
}

async fn connect(address: &str, path: &'static str) -> Result<Bytes, String> {
    let tcp = TcpStream::connect(address).await.map_err(|error| {
        format!(
            "no gateway serves its status at {address}: {error}; `listen` of [ops] in its configuration \
             says where it does"
        )
    })?;
    body(address, tcp, path).await
}

async fn body(address: &str, tcp: TcpStream, path: &'static str) -> Result<Bytes, String> {
    let wrong = |error: hyper::Error| no_gateway(address, &error.to_string());
    // By its address, by whatever name it was found.
    let host = tcp.peer_addr().map_err(|error| no_gateway(address, &error.to_string()))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(tcp)).await.map_err(wrong)?;
    tokio::spawn(connection);
    let request = Request::get(path).header(HOST, host.to_string()).body(Empty::<Bytes>::new());
    let request = request.map_err(|error| no_gateway(address, &error.to_string()))?;
    let response = sender.send_request(request).await.map_err(wrong)?;
    if response.status() != StatusCode::OK {
        return Err(no_gateway(address, &response.status().to_string()));
    }
    let body = Limited::new(response.into_body(), LONGEST).collect().await;
    body.map(Collected::to_bytes).map_err(|error| no_gateway(address, &error.to_string()))
}

fn no_gateway(address: &str, why: &str) -> String {
    format!("what answers at {address} is no gateway's status: {why}")
}
