//! What is said over a WebSocket: texts of JSON from the page, texts and frames of numbers to it.

use std::time::Duration;

use axum::body::Body;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse as _;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout, timeout_at};

use crate::answer::{Wrong, refused};
use crate::state::State;

/// The protocol of the page's sockets.
const PROTOCOL: &str = "bentpipe";
/// Most bytes of what the page says at once.
pub(crate) const LONGEST: usize = 2 << 20;
/// Time for the page to say what it wants.
const ASKS_WITHIN: Duration = Duration::from_secs(10);
/// Time between two questions whether the page is still there, and for it to say anything at all.
const PING: Duration = Duration::from_secs(15);
const SILENT: Duration = Duration::from_secs(45);
/// Time for the page to take what it is told.
const TAKES_WITHIN: Duration = Duration::from_secs(30);

/// The page has gone: nothing more is done for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// One end of a WebSocket; the other one is a page.
#[derive(Debug)]
pub(crate) struct Talk {
    socket: WebSocket,
    /// When the page said anything last, and when it is asked next whether it is there.
    heard: Instant,
    ping: Instant,
}

impl Talk {
    /// Talks to whoever asked for a WebSocket, if there is room.
    pub(crate) fn with<F>(
        state: &State,
        upgrade: WebSocketUpgrade,
        talk: impl FnOnce(Self) -> F + Send + 'static,
    ) -> Response<Body>
    where
        F: Future<Output = Result<(), Gone>> + Send + 'static,
    {
        let Some(room) = state.room() else {
            return refused(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open here");
        };
        let upgrade =
            upgrade.protocols([PROTOCOL]).max_message_size(LONGEST).max_frame_size(LONGEST);
        // Who goes away is told nothing.
        upgrade
            .on_upgrade(move |socket| async move {
                let now = Instant::now();
                let _ = talk(Self { socket, heard: now, ping: now + PING }).await;
                drop(room);
            })
            .into_response()
    }

    /// The first thing that the page says. What is none of it is answered, and the talk is over.
    pub(crate) async fn asked<T: DeserializeOwned>(&mut self) -> Result<T, Gone> {
        let text = timeout(ASKS_WITHIN, self.hear()).await.map_err(|_| Gone)??;
        match read(&text) {
            Ok(asked) => Ok(asked),
            Err(wrong) => {
                self.refuse(wrong).await?;
                Err(Gone)
            }
        }
    }

    /// The next text of the page, for which whoever talks has to wait all the time: a page that has gone without a word is
    /// missed here.
    pub(crate) async fn hear(&mut self) -> Result<String, Gone> {
        loop {
            let Ok(heard) = timeout_at(self.ping, self.socket.recv()).await else {
                if self.heard.elapsed() >= SILENT {
                    return Err(Gone);
                }
                self.ping = Instant::now() + PING;
                self.send(Message::Ping(Bytes::new())).await?;
                continue;
            };
            self.heard = Instant::now();
            match heard {
                Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
                // They are answered below us.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_) | Message::Close(_)) | Err(_)) | None => {
                    return Err(Gone);
                }
            }
        }
    }

    /// A page that takes nothing has gone.
    async fn send(&mut self, message: Message) -> Result<(), Gone> {
        let sent = timeout(TAKES_WITHIN, self.socket.send(message)).await;
        sent.map_err(|_| Gone)?.map_err(|_| Gone)
    }

    /// Says a document.
    pub(crate) async fn say(&mut self, document: &impl Serialize) -> Result<(), Gone> {
        let text = serde_json::to_string(document).map_err(|_| Gone)?;
        self.send(Message::Text(text.into())).await
    }

    /// Sends numbers.
    pub(crate) async fn show(&mut self, frame: Bytes) -> Result<(), Gone> {
        self.send(Message::Binary(frame)).await
    }

    /// Says what is wrong, and that this was all.
    pub(crate) async fn refuse(&mut self, wrong: Wrong) -> Result<(), Gone> {
        self.end(&Refusal { kind: "wrong", wrong }).await
    }

    /// Says a document, and that this was all.
    pub(crate) async fn end(&mut self, document: &impl Serialize) -> Result<(), Gone> {
        self.say(document).await?;
        self.send(Message::Close(None)).await
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
