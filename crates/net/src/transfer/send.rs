//! The sender's side.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use super::frames::{Frame, Frames, MOST_DATA, Message, Reply, data, message};
use super::place::hash_prefix;
use super::{Entry, Progress, TransferError};
use crate::Connection;
use crate::stream::Streams;

/// What became of a transfer that went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Entries that are complete at the receiver.
    pub done: u64,
    /// Entries that are not.
    pub failed: u64,
    /// Bytes of files that were sent.
    pub sent: u64,
    /// Bytes of files that the receiver had already.
    pub skipped: u64,
}

/// Until the receiver has said what it has of a file, no more than this waits to be sent: enough to
/// keep a link busy, and little to throw away if most of the file is there already.
const MOST_UNSENT: usize = 256 * 1024;
/// Time between two looks at what waits to be sent.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What the receiver said that the writing side has not looked at yet.
#[derive(Debug, Default)]
struct News {
    have: HashMap<u64, (u64, [u8; 32])>,
    failed: HashSet<u64>,
}

/// The news, and how to wait for them.
#[derive(Debug, Default)]
struct Shared {
    news: Mutex<News>,
    heard: Notify,
}

impl Shared {
    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends entries over a connection and waits until the receiver has said what became of each.
///
/// # Errors
/// When the connection fails or the peer does not keep to the protocol. What was not finished can be
/// taken up again.
pub async fn send(
    connection: &Connection<impl Streams>,
    entries: &[Entry],
    progress: impl Fn(Progress),
) -> Result<Outcome, TransferError> {
    let shared = Shared::default();
    let (written, replied) = tokio::try_join!(
        write_all(connection, entries, &shared, &progress),
        read_replies(connection, entries, &shared, &progress),
    )?;
    Ok(Outcome { sent: written.sent, skipped: written.skipped, ..replied })
}

/// Reads the next piece of a file.
async fn read_piece(mut file: File) -> (File, io::Result<Vec<u8>>) {
    let read = move || {
        let mut piece = vec![0; MOST_DATA];
        let mut len = 0;
        // A short piece only at the end.
        while len < piece.len() {
            match file.read(&mut piece[len..]) {
                Ok(0) => break,
                Ok(more) => len += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (file, Err(error)),
            }
        }
        piece.truncate(len);
        (file, Ok(piece))
    };
    spawn_blocking(read).await.expect("reading does not panic")
}

async fn write_all(
    connection: &Connection<impl Streams>,
    entries: &[Entry],
    shared: &Shared,
    progress: &impl Fn(Progress),
) -> Result<Outcome, TransferError> {
    let mut outcome = Outcome::default();
    for (number, entry) in entries.iter().enumerate() {
        connection.write_bytes(message(&Message::Offer(entry.offer.clone()))).await?;
        let Some(size) = entry.size() else { continue };
        progress(Progress::Begins { name: entry.name().to_owned(), size });
        let end = match File::open(&entry.path) {
            Ok(file) => {
                let number = number as u64;
                write_file(connection, file, number, size, shared, progress, &mut outcome).await?
            }
            Err(error) => Message::Skip { reason: error.to_string() },
        };
        connection.write_bytes(message(&end)).await?;
    }
    connection.write_bytes(message(&Message::Bye)).await?;
    Ok(outcome)
}

/// Sends the bytes of a file. Returns how it ends.
async fn write_file(
    connection: &Connection<impl Streams>,
    mut file: File,
    number: u64,
    size: u64,
    shared: &Shared,
    progress: &impl Fn(Progress),
    outcome: &mut Outcome,
) -> Result<Message, TransferError> {
    let (mut at, mut hasher, mut heard) = (0, blake3::Hasher::new(), false);
    loop {
        let (have, failed) = {
            let mut news = shared.news();
            (news.have.remove(&number), news.failed.contains(&number))
        };
        heard = heard || have.is_some();
        if failed {
            return Ok(Message::Skip { reason: "refused".to_owned() });
        }
        if let Some((len, hash)) = have
            && len > at
            && len <= size
            && let Ok(prefix) = hash_from_start(&file, len).await
            && *prefix.finalize().as_bytes() == hash
            && file.seek(SeekFrom::Start(len)).is_ok()
        {
            connection.write_bytes(message(&Message::Seek { offset: len })).await?;
            outcome.skipped += len - at;
            (at, hasher) = (len, prefix);
            progress(Progress::At { offset: at });
        } else if file.seek(SeekFrom::Start(at)).is_err() {
            return Ok(Message::Skip { reason: "the file can not be read on".to_owned() });
        }
        if !heard && connection.unsent() > MOST_UNSENT {
            tokio::select! {
                () = shared.heard.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            continue;
        }
        let (back, piece) = read_piece(file).await;
        file = back;
        let piece = match piece {
            Ok(piece) => piece,
            Err(error) => return Ok(Message::Skip { reason: error.to_string() }),
        };
        if piece.is_empty() || at + piece.len() as u64 > size {
            break;
        }
        hasher.update(&piece);
        at += piece.len() as u64;
        outcome.sent += piece.len() as u64;
        connection.write_bytes(data(&piece)).await?;
        progress(Progress::At { offset: at });
    }
    if at == size {
        Ok(Message::End { hash: *hasher.finalize().as_bytes() })
    } else {
        Ok(Message::Skip { reason: "the file changed its size while it was sent".to_owned() })
    }
}

async fn hash_from_start(file: &File, len: u64) -> io::Result<blake3::Hasher> {
    let mut file = file.try_clone()?;
    let hash = move || {
        file.seek(SeekFrom::Start(0))?;
        hash_prefix(&file, len)
    };
    spawn_blocking(hash).await.expect("hashing does not panic")
}

async fn read_replies(
    connection: &Connection<impl Streams>,
    entries: &[Entry],
    shared: &Shared,
    progress: &impl Fn(Progress),
) -> Result<Outcome, TransferError> {
    let (mut frames, mut outcome) = (Frames::default(), Outcome::default());
    let mut left: Vec<bool> = vec![true; entries.len()];
    while outcome.done + outcome.failed < entries.len() as u64 {
        let reply = match frames.next::<Reply>(connection).await? {
            Some(Frame::Message(reply)) => reply,
            Some(Frame::Data(_)) => return Err(TransferError::Protocol("data from a receiver")),
            None => return Err(TransferError::Cut),
        };
        let (Reply::Have { entry, .. } | Reply::Done { entry } | Reply::Failed { entry, .. }) =
            &reply;
        let number = *entry as usize;
        let Some(entry) = entries.get(number).filter(|_| left[number]) else {
            return Err(TransferError::Protocol("a word on an entry that there is not"));
        };
        let name = entry.name().to_owned();
        match reply {
            Reply::Have { entry, len, hash } => {
                shared.news().have.insert(entry, (len, hash));
                shared.heard.notify_one();
            }
            Reply::Done { .. } => {
                left[number] = false;
                outcome.done += 1;
                progress(Progress::Done { name });
            }
            Reply::Failed { entry, reason } => {
                left[number] = false;
                outcome.failed += 1;
                shared.news().failed.insert(entry);
                shared.heard.notify_one();
                progress(Progress::Failed { name, reason });
            }
        }
    }
    Ok(outcome)
}
