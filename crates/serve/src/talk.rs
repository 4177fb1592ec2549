//! What is said over a WebSocket: texts of JSON from the page, texts and frames of numbers to it.

use std::time::Duration;

use axum::body::Body;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::Response;
use axum::response::IntoResponse as _;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::answer::Wrong;

/// The protocol of the page's sockets.
const PROTOCOL: &str = "bentpipe";
/// Most bytes of what the page says at once.
pub(crate) const LONGEST: usize = 2 << 20;
/// Time for the page to say what it wants.
const ASKS_WITHIN: Duration = Duration::from_secs(10);

/// The page has gone: nothing more is done for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// One end of a WebSocket; the other one is a page.
#[derive(Debug)]
pub(crate) struct Talk(WebSocket);

impl Talk {
    /// Talks to whoever asked for a WebSocket.
    pub(crate) fn with<F>(
        upgrade: WebSocketUpgrade,
        talk: impl FnOnce(Self) -> F + Send + 'static,
    ) -> Response<Body>
    where
        F: Future<Output = Result<(), Gone>> + Send + 'static,
    {
        let upgrade =
            upgrade.protocols([PROTOCOL]).max_message_size(LONGEST).max_frame_size(LONGEST);
        // Who goes away is told nothing.
        upgrade
            .on_upgrade(move |socket| async move {
                let _ = talk(Self(socket)).await;
            })
            .into_response()
    }

    /// The first thing that the page says. What is none of it is answered, and the talk is over.
    pub(crate) async fn asked<T: DeserializeOwned>(&mut self) -> Result<T, Gone> {
        let text = tokio::time::timeout(ASKS_WITHIN, self.hear()).await.map_err(|_| Gone)??;
        match read(&text) {
            Ok(asked) => Ok(asked),
            Err(wrong) => {
                self.refuse(wrong).await?;
                Err(Gone)
            }
        }
    }

    /// The next text of the page.
    pub(crate) async fn hear(&mut self) -> Result<String, Gone> {
        loop {
            match self.0.recv().await {
                Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
                // They are answered below us.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_) | Message::Close(_)) | Err(_)) | None => {
                    return Err(Gone);
                }
            }
        }
    }

    /// Says a document.
    pub(crate) async fn say(&mut self, document: &impl Serialize) -> Result<(), Gone> {
        let text = serde_json::to_string(document).map_err(|_| Gone)?;
        self.0.send(Message::Text(text.into())).await.map_err(|_| Gone)
    }

    /// Sends numbers.
    pub(crate) async fn show(&mut self, frame: Bytes) -> Result<(), Gone> {
        self.0.send(Message::Binary(frame)).await.map_err(|_| Gone)
    }

    /// Says what is wrong, and that this was all.
    pub(crate) async fn refuse(&mut self, wrong: Wrong) -> Result<(), Gone> {
        self.end(&Refusal { kind: "wrong", wrong }).await
    }

    /// Says a document, and that this was all.
    pub(crate) async fn end(&mut self, document: &impl Serialize) -> Result<(), Gone> {
        self.say(document).await?;
        self.0.send(Message::Close(None)).await.map_err(|_| Gone)
    }
}

#[derive(Serialize)]
struct Refusal {
    kind: &'static str,
    #[serde(flatten)]
    wrong: Wrong,
}

/// What a text of the page means.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Wrong> {
    serde_json::from_str(text).map_err(|error| Wrong::plain(format!("the page said: {error}")))
}
