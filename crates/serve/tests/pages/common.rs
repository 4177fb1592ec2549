//! A server and its clients.

use std::net::SocketAddr;

use bentpipe_serve::{Limits, Options, Server};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{WebSocketStream, client_async};

/// A server on a free port of this host, with these limits.
pub(crate) async fn server(limits: Limits) -> SocketAddr {
    let options = Options { limits, ..Options::new(([127, 0, 0, 1], 0).into()) };
    serve(options).await
}

pub(crate) async fn serve(options: Options) -> SocketAddr {
    let server = Server::bind(options).await.expect("a socket");
    let address = server.address();
    tokio::spawn(server.run(std::future::pending()));
    address
}

/// The answer to a request that asks the server to close. Who asks waits for it.
pub(crate) async fn ask(address: SocketAddr, request: &str) -> String {
    let mut tcp = TcpStream::connect(address).await.expect("it listens");
    tcp.write_all(request.as_bytes()).await.expect("it reads");
    let mut all = Vec::new();
    tcp.read_to_end(&mut all).await.expect("an answer");
    String::from_utf8_lossy(&all).into_owned()
}

/// All that is answered to these bytes, and to nothing more, until the server closes.
pub(crate) async fn answer(address: SocketAddr, request: &[u8]) -> String {
    let mut tcp = TcpStream::connect(address).await.expect("it listens");
    // A server that has seen enough closes while somebody still speaks.
    let _ = tcp.write_all(request).await;
    let _ = tcp.shutdown().await;
    let mut all = Vec::new();
    let _ = tcp.read_to_end(&mut all).await;
    String::from_utf8_lossy(&all).into_owned()
}

/// The answer to a GET with these further headers.
pub(crate) async fn get(address: SocketAddr, path: &str, headers: &str) -> String {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
    ask(address, &request).await
}

/// The document that is answered to a POST of a body of this type.
pub(crate) async fn post(address: SocketAddr, path: &str, of_type: &str, body: &str) -> Value {
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: {of_type}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let said = ask(address, &request).await;
    let body = said.split("\r\n\r\n").nth(1).expect("a body");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// A page's socket.
pub(crate) struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    /// Opens one and asks for something.
    pub(crate) async fn ask(address: SocketAddr, path: &str, asked: &Value) -> Self {
        let tcp = TcpStream::connect(address).await.expect("it listens");
        let request =
            format!("ws://{address}/api/{path}").into_client_request().expect("a request");
        let (socket, _) = client_async(request, tcp).await.expect("a socket");
        let mut socket = Self(socket);
        socket.say(asked).await;
        socket
    }

    pub(crate) async fn say(&mut self, said: &Value) {
        self.0.send(Message::text(said.to_string())).await.expect("it listens");
    }

    /// The next document; nothing when the server has closed.
    pub(crate) async fn hear(&mut self) -> Option<Value> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => {
                    return Some(serde_json::from_str(&text).expect("JSON"));
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// The next frame of numbers.
    pub(crate) async fn frame(&mut self) -> Vec<u8> {
        loop {
            let said = self.0.next().await.expect("open").expect("a message");
            if let Message::Binary(frame) = said {
                return frame.to_vec();
            }
        }
    }
}
