//! A station that has connections: the line to its TNC, and the task that runs both.

use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use bentpipe_association::host::{Shared, lock};
use bentpipe_system::Clock;
use bentpipe_units::Instant;
use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;

use super::line::{Counters, Line, Settings};
use super::tnc::{Tnc, TncAddress};
use super::{Digis, Framing, Identity, Sessions};
use crate::sessions::Opener;
use crate::task;

/// Bytes that are read from a TNC before what they ask for is sent.
const BATCH: usize = 4096;

/// A TNC that is not there, or no more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TncError {
    /// The line to it cannot be opened.
    #[error("no TNC at {tnc}: {why}")]
    Absent {
        /// Where it should be.
        tnc: String,
        /// What the system says.
        why: String,
    },
    /// It does not take or say anything any more.
    #[error("the TNC at {tnc} is gone: {why}")]
    Lost {
        /// Where it was.
        tnc: String,
        /// What the system says.
        why: String,
    },
}

/// A station that has connections. Clones are the same station.
///
/// It goes on in the background, on the runtime that it was made on, until the last clone and the last connection are
/// gone. When its TNC is gone, all its connections fail.
#[derive(Clone, Debug)]
pub struct Station {
    opener: Opener<Framing>,
    line: Arc<Mutex<Line>>,
    tnc: TncAddress,
    /// Why the TNC is gone, once it is.
    lost: watch::Receiver<Option<String>>,
}

impl Deref for Station {
    type Target = Opener<Framing>;

    fn deref(&self) -> &Opener<Framing> {
        &self.opener
    }
}

impl Station {
    /// The station of this identity, at a TNC that is told the settings.
    ///
    /// # Errors
    /// When there is no such TNC.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn open(
        tnc: TncAddress,
        own: Identity,
        digis: Digis,
        settings: &Settings,
    ) -> Result<Self, TncError> {
        let opened = Tnc::open(&tnc).await;
        let opened = opened
            .map_err(|error| TncError::Absent { tnc: tnc.to_string(), why: error.to_string() })?;
        let clock = Clock::start();
        let entropy = || getrandom::u64().expect("the system's source of randomness");
        let sessions = Sessions::new(Framing::new(own, digis), Box::new(entropy));
        let shared = Arc::new(Shared::new(sessions, Arc::new(clock)));
        let line = Arc::new(Mutex::new(Line::new(settings)));
        let (tell, lost) = watch::channel(None);
        let task = run(opened, line.clone(), shared.clone(), clock, tell);
        Ok(Self { opener: Opener::new(task::run(shared, Arc::default(), task)), line, tnc, lost })
    }

    /// What became of its frames so far.
    pub fn counters(&self) -> Counters {
        let dropped = self.opener.dropped();
        let mut counters = lock(&self.line).counters();
        counters.malformed += dropped.malformed;
        counters.unwanted += dropped.unwanted;
        counters
    }

    /// Waits until the TNC is gone, and says why.
    pub async fn lost(&self) -> TncError {
        let mut lost = self.lost.clone();
        let why = match lost.wait_for(Option::is_some).await {
            Ok(why) => why.clone(),
            Err(_) => None,
        };
        let why = why.unwrap_or_else(|| "the task that carries frames has ended".to_owned());
        TncError::Lost { tnc: self.tnc.to_string(), why }
    }
}

/// Runs a station for ever.
async fn run(
    tnc: Tnc,
    line: Arc<Mutex<Line>>,
    shared: Arc<Shared<Sessions>>,
    clock: Clock,
    lost: watch::Sender<Option<String>>,
) {
    let why = carry(tnc, &line, &shared, clock).await;
    lost.send_replace(Some(why.to_string()));
    // Connections that are opened still fail like those that there are.
    loop {
        shared.endpoint().give_up(shared.now());
        shared.changed.notified().await;
    }
}

/// Carries frames between the sessions and the TNC until that is gone, and says why it is.
async fn carry(
    mut tnc: Tnc,
    line: &Mutex<Line>,
    shared: &Shared<Sessions>,
    clock: Clock,
) -> io::Error {
    let (mut heard, mut out) = ([0; BATCH], BytesMut::new());
    loop {
        let deadline = turn(&mut lock(line), shared);
        if out.is_empty() {
            out = lock(line).take_waiting();
        }
        tokio::select! {
            read = tnc.reader.read(&mut heard) => match read {
                Ok(0) => return io::Error::other("it has closed the line"),
                Ok(count) => hear(&heard[..count], &mut lock(line), shared),
                Err(error) => return error,
            },
            written = tnc.writer.write(&out), if !out.is_empty() => match written {
                Ok(0) => return io::ErrorKind::WriteZero.into(),
                Ok(count) => out.advance(count),
                Err(error) => return error,
            },
            () = shared.changed.notified() => {}
            () = clock.sleep_until(deadline) => {}
        }
    }
}

/// Takes what the TNC says.
fn hear(bytes: &[u8], line: &mut Line, shared: &Shared<Sessions>) {
    let mut sessions = shared.endpoint();
    let now = shared.now();
    for byte in bytes {
        if let Some(frame) = line.hear(*byte) {
            sessions.handle_frame(now, frame);
        }
    }
}

/// Lets the time pass and sends. Returns the next deadline.
fn turn(line: &mut Line, shared: &Shared<Sessions>) -> Option<Instant> {
    let mut sessions = shared.endpoint();
    let now = shared.now();
    sessions.handle_timeout(now);
    sessions.flush(now);
    while let Some(frame) = sessions.next_frame() {
        line.send(frame);
    }
    sessions.next_deadline()
}
