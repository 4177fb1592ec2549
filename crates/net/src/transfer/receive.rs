//! The receiver's side.

use std::path::{Path, PathBuf};

use super::frames::{Frame, Frames, Message, Offer, Reply, message};
use super::place::{Incoming, PlaceError, finish_dir, make_dir, path_of};
use super::{Progress, TransferError};
use crate::Connection;
use crate::stream::Streams;

/// What a receiver has got so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receiver {
    /// Entries that are complete.
    pub done: u64,
    /// Entries that are not.
    pub failed: u64,
    /// Bytes of files that arrived.
    pub received: u64,
}

/// An entry that is being received.
enum Current {
    /// Its data are written.
    File(Box<Incoming>),
    /// It has failed, and its data are thrown away.
    Failed,
}

/// Receives everything that a sender sends into `dir`, which exists.
///
/// # Errors
/// When the connection fails or the peer does not keep to the protocol. What was not finished stays
/// under a hidden name, to be taken up again.
pub async fn receive(
    connection: &Connection<impl Streams>,
    dir: &Path,
    progress: impl Fn(Progress),
) -> Result<Receiver, TransferError> {
    let mut state = State {
        dir,
        connection,
        progress,
        got: Receiver::default(),
        entries: 0,
        dirs: Vec::new(),
        name: String::new(),
    };
    let mut frames = Frames::default();
    let mut current: Option<Current> = None;
    loop {
        let frame = frames.next::<Message>(connection).await?.ok_or(TransferError::Cut)?;
        current = match (frame, current) {
            (Frame::Message(Message::Offer(offer)), None) => state.offer(offer).await?,
            (Frame::Data(bytes), Some(current)) => Some(state.data(&bytes, current).await?),
            (Frame::Message(Message::Seek { offset }), Some(Current::File(mut file))) => {
                if !file.seek(offset) {
                    return Err(TransferError::Protocol("a jump to where nothing is"));
                }
                (state.progress)(Progress::At { offset });
                Some(Current::File(file))
            }
            (Frame::Message(Message::End { hash }), Some(Current::File(file))) => {
                let finished = tokio::task::spawn_blocking(move || file.finish(&hash)).await;
                state.ended(finished.expect("finishing does not panic")).await?;
                None
            }
            (Frame::Message(Message::Skip { reason }), Some(Current::File(_))) => {
                state.failed(reason).await?;
                None
            }
            (Frame::Message(Message::Seek { .. }), Some(failed @ Current::Failed)) => Some(failed),
            (Frame::Message(Message::End { .. } | Message::Skip { .. }), Some(Current::Failed)) => {
                None
            }
            (Frame::Message(Message::Bye), None) => break,
            _ => return Err(TransferError::Protocol("a message out of turn")),
        };
    }
    for (path, offer) in state.dirs.iter().rev() {
        // Its files are there; that its time is not right is no reason to fail.
        let _ = finish_dir(path, offer);
    }
    Ok(state.got)
}

struct State<'a, S: Streams, P> {
    dir: &'a Path,
    connection: &'a Connection<S>,
    progress: P,
    got: Receiver,
    /// Entries offered so far.
    entries: u64,
    dirs: Vec<(PathBuf, Offer)>,
    /// Name of the current entry.
    name: String,
}

impl<S: Streams, P: Fn(Progress)> State<'_, S, P> {
    async fn reply(&self, reply: &Reply) -> Result<(), TransferError> {
        Ok(self.connection.write_bytes(message(reply)).await?)
    }

    async fn offer(&mut self, offer: Offer) -> Result<Option<Current>, TransferError> {
        self.entries += 1;
        self.name.clone_from(&offer.name);
        let dir = self.dir.to_owned();
        let Some(size) = offer.size else {
            let made = path_of(&dir, &offer.name)
                .and_then(|path| make_dir(&path, &offer.name).map(|()| path));
            match made {
                Ok(path) => {
                    self.dirs.push((path, offer));
                    self.ended(Ok(())).await?;
                }
                Err(error) => self.failed(error.to_string()).await?,
            }
            return Ok(None);
        };
        (self.progress)(Progress::Begins { name: offer.name.clone(), size });
        let opened = tokio::task::spawn_blocking(move || Incoming::open(&dir, offer, size)).await;
        match opened.expect("opening does not panic") {
            Ok(file) => {
                let (len, hash) = file.have();
                self.reply(&Reply::Have { entry: self.entries - 1, len, hash }).await?;
                Ok(Some(Current::File(Box::new(file))))
            }
            Err(error) => {
                self.failed(error.to_string()).await?;
                Ok(Some(Current::Failed))
            }
        }
    }

    async fn data(&mut self, bytes: &[u8], current: Current) -> Result<Current, TransferError> {
        let Current::File(mut file) = current else { return Ok(Current::Failed) };
        match file.write(bytes) {
            Ok(true) => {
                self.got.received += bytes.len() as u64;
                (self.progress)(Progress::At { offset: file.at() });
                Ok(Current::File(file))
            }
            Ok(false) => Err(TransferError::Protocol("more data than the file has")),
            Err(error) => {
                self.failed(error.to_string()).await?;
                Ok(Current::Failed)
            }
        }
    }

    async fn ended(&mut self, finished: Result<(), PlaceError>) -> Result<(), TransferError> {
        match finished {
            Ok(()) => {
                self.got.done += 1;
                (self.progress)(Progress::Done { name: self.name.clone() });
                self.reply(&Reply::Done { entry: self.entries - 1 }).await
            }
            Err(error) => self.failed(error.to_string()).await,
        }
    }

    async fn failed(&mut self, reason: String) -> Result<(), TransferError> {
        self.got.failed += 1;
        let name = self.name.clone();
        (self.progress)(Progress::Failed { name, reason: reason.clone() });
        self.reply(&Reply::Failed { entry: self.entries - 1, reason }).await
    }
}
