//! The sender's side.

use std::collections::{HashMap, VecDeque};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use super::entries::changed;
use super::frames::{Frame, Frames, Kind, MOST_DATA, Message, Offer, Reply, data, message};
use super::machine::{MOST_AHEAD, MOST_NAMES_AHEAD};
use super::{Entry, Progress, TransferError};
use bentpipe_association::host::Connection;
use bentpipe_association::host::lock;
use bentpipe_association::stream::Streams;

/// What became of a transfer that went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Entries that are complete at the receiver.
    pub done: u64,
    /// Entries that are not.
    pub failed: u64,
    /// Links that the receiver left out.
    pub skipped: u64,
    /// Bytes of files that were sent.
    pub sent: u64,
    /// Bytes of files that the receiver had already.
    pub had: u64,
}

/// Until the receiver has said what it has of a file, no more than this waits to be sent: enough to
/// keep a link busy, and little to throw away if most of the file is there already.
const MOST_UNSENT: usize = 256 * 1024;
/// Time between two looks at what waits to be sent.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Why a file that changed is not sent to its end.
const CHANGED: &str = "the file changed while it was sent";
/// Why what is no file any more is not sent.
const NO_FILE: &str = "it is no file any more";

/// What tells two states of a file apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    changed: i128,
    /// Device and inode.
    id: (u64, u64),
    /// When anything of it was changed. No program sets that back.
    touched: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> io::Result<Self> {
        Ok(Self {
            size: metadata.len(),
            changed: changed(metadata)?,
            id: (metadata.dev(), metadata.ino()),
            touched: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// What the receiver has of a file.
#[derive(Clone, Copy, Debug)]
struct Have {
    len: u64,
    hash: [u8; 32],
    whole: bool,
}

/// What the receiver said that the writing side has not looked at yet.
#[derive(Debug, Default)]
struct News {
    have: HashMap<u64, Have>,
    /// What became of each entry, once that is known.
    settled: Vec<Option<Fate>>,
    /// Entries of which it is not.
    left: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Done,
    Failed,
    Skipped,
}

impl News {
    /// Takes note of what became of an entry. False when that was known.
    fn settle(&mut self, entry: u64, fate: Fate) -> bool {
        let Some(place @ None) = self.settled.get_mut(entry as usize) else { return false };
        *place = Some(fate);
        self.left -= 1;
        self.have.remove(&entry);
        true
    }

    fn count(&self, fate: Fate) -> u64 {
        self.settled.iter().filter(|settled| **settled == Some(fate)).count() as u64
    }
}

/// The news, and how to wait for them.
#[derive(Debug, Default)]
struct Shared {
    news: Mutex<News>,
    /// For the writing side: the receiver has said something.
    heard: Notify,
    /// For the reading side: there may be nothing left to wait for.
    settled: Notify,
}

impl Shared {
    fn news(&self) -> MutexGuard<'_, News> {
        lock(&self.news)
    }
}

/// Sends entries over a connection and waits until it is known what became of each.
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
    *shared.news() =
        News { have: HashMap::new(), settled: vec![None; entries.len()], left: entries.len() };
    let mut writer = Writer {
        connection,
        entries,
        shared: &shared,
        progress: &progress,
        offers: VecDeque::new(),
        offered: 0,
        names: 0,
        outcome: Outcome::default(),
    };
    tokio::try_join!(writer.write_all(), read_replies(connection, entries, &shared, &progress))?;
    let outcome = writer.outcome;
    let news = shared.news();
    let [done, failed, skipped] =
        [Fate::Done, Fate::Failed, Fate::Skipped].map(|fate| news.count(fate));
    Ok(Outcome { done, failed, skipped, ..outcome })
}

struct Writer<'a, S: Streams, P> {
    connection: &'a Connection<S>,
    entries: &'a [Entry],
    shared: &'a Shared,
    progress: &'a P,
    /// Those that were offered and are not behind us.
    offers: VecDeque<Offer>,
    /// Entries that were offered.
    offered: usize,
    /// Bytes of names among the offers.
    names: usize,
    outcome: Outcome,
}

impl<S: Streams, P: Fn(Progress)> Writer<'_, S, P> {
    async fn write_all(&mut self) -> Result<(), TransferError> {
        for number in 0..self.entries.len() {
            self.offer_ahead(number).await?;
            let Some(offer) = self.offers.pop_front() else { break };
            self.names -= offer.name.len();
            let Kind::File { size } = offer.kind else { continue };
            (self.progress)(Progress::Begins { name: offer.name.clone(), size });
            let path = self.entries[number].path.clone();
            let opened = spawn_blocking(move || open(&path)).await.map_err(io::Error::other)?;
            let end = match opened {
                Ok((file, stamp)) => self.write_file(file, stamp, number as u64, &offer).await?,
                Err(error) => Message::Skip { reason: error.to_string() },
            };
            self.connection.write_bytes(message(&end)).await?;
            if end == Message::Keep && self.shared.news().settle(number as u64, Fate::Done) {
                self.shared.settled.notify_one();
                (self.progress)(Progress::Kept { name: offer.name });
            }
        }
        Ok(self.connection.write_bytes(message(&Message::Bye)).await?)
    }

    /// Offers what comes after entry `number`, so that it is known what is there of it when its turn comes.
    async fn offer_ahead(&mut self, number: usize) -> Result<(), TransferError> {
        while let Some(entry) = self.entries.get(self.offered)
            && self.offered < number + MOST_AHEAD
            && (self.offered == number || self.names + entry.offer.name.len() <= MOST_NAMES_AHEAD)
        {
            let entry = entry.clone();
            // It may have changed since it was found.
            let offer =
                spawn_blocking(move || entry.offer_now()).await.map_err(io::Error::other)?;
            self.names += offer.name.len();
            self.offered += 1;
            self.connection.write_bytes(message(&Message::Offer(offer.clone()))).await?;
            self.offers.push_back(offer);
        }
        Ok(())
    }

    /// Sends the bytes of a file. Returns how it ends.
    async fn write_file(
        &mut self,
        mut file: File,
        stamp: Stamp,
        number: u64,
        offer: &Offer,
    ) -> Result<Message, TransferError> {
        let size = stamp.size;
        if (Kind::File { size }, stamp.changed) != (offer.kind.clone(), offer.changed) {
            return Ok(Message::Skip { reason: CHANGED.to_owned() });
        }
        let (mut at, mut hasher, mut heard) = (0, blake3::Hasher::new(), false);
        loop {
            let (have, failed) = {
                let mut news = self.shared.news();
                let fate = news.settled.get(number as usize).copied().flatten();
                (news.have.remove(&number), fate.is_some())
            };
            heard = heard || have.is_some();
            if failed {
                return Ok(Message::Skip { reason: "refused".to_owned() });
            }
            if let Some(have) = have
                && have.len <= size
                && (have.len > at || have.whole)
                && let Ok(prefix) = hash_from_start(&file, have.len).await
                && *prefix.finalize().as_bytes() == have.hash
                && file.seek(SeekFrom::Start(have.len)).is_ok()
            {
                self.outcome.had += have.len.saturating_sub(at);
                if have.whole && have.len == size && is_unchanged(&file, stamp) {
                    return Ok(Message::Keep);
                }
                if !have.whole {
                    let offset = have.len;
                    self.connection.write_bytes(message(&Message::Seek { offset })).await?;
                    (at, hasher) = (offset, prefix);
                    (self.progress)(Progress::At { offset });
                }
            }
            if file.seek(SeekFrom::Start(at)).is_err() {
                return Ok(Message::Skip { reason: "the file cannot be read on".to_owned() });
            }
            if !heard && self.connection.unsent() > MOST_UNSENT {
                tokio::select! {
                    () = self.shared.heard.notified() => {}
                    () = tokio::time::sleep(LOOK_EVERY) => {}
                }
                continue;
            }
            let (back, piece) = read_piece(file).await?;
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
            self.outcome.sent += piece.len() as u64;
            self.connection.write_bytes(data(&piece)).await?;
            (self.progress)(Progress::At { offset: at });
        }
        if at == size && is_unchanged(&file, stamp) {
            Ok(Message::End { hash: *hasher.finalize().as_bytes() })
        } else {
            Ok(Message::Skip { reason: CHANGED.to_owned() })
        }
    }
}

/// Opens a file to be sent. What has taken its place since it was found may be anything: nobody may ever write to a
/// FIFO, and a link leads elsewhere.
fn open(path: &Path) -> io::Result<(File, Stamp)> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    let other = |error: &io::Error| {
        [Errno::LOOP, Errno::NXIO]
            .iter()
            .any(|kind| error.raw_os_error() == Some(kind.raw_os_error()))
    };
    let no_file = || io::Error::other(NO_FILE);
    let file = opened.map_err(|error| if other(&error) { no_file() } else { error })?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(no_file());
    }
    Ok((file, Stamp::of(&metadata)?))
}

/// Whether a file is still what it was when it was opened.
fn is_unchanged(file: &File, before: Stamp) -> bool {
    file.metadata().and_then(|metadata| Stamp::of(&metadata)).is_ok_and(|now| now == before)
}

/// Reads the next piece of a file.
async fn read_piece(mut file: File) -> Result<(File, io::Result<Vec<u8>>), TransferError> {
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
    Ok(spawn_blocking(read).await.map_err(io::Error::other)?)
}

/// The state of the hash of the first `len` bytes of a file.
async fn hash_from_start(file: &File, len: u64) -> io::Result<blake3::Hasher> {
    let mut file = file.try_clone()?;
    let hash = move || {
        file.seek(SeekFrom::Start(0))?;
        let mut hasher = blake3::Hasher::new();
        let mut left = len;
        let mut chunk = vec![0; left.min(MOST_DATA as u64) as usize];
        while left > 0 {
            let want = left.min(MOST_DATA as u64) as usize;
            file.read_exact(&mut chunk[..want])?;
            hasher.update(&chunk[..want]);
            left -= want as u64;
        }
        Ok(hasher)
    };
    spawn_blocking(hash).await.map_err(io::Error::other)?
}

async fn read_replies(
    connection: &Connection<impl Streams>,
    entries: &[Entry],
    shared: &Shared,
    progress: &impl Fn(Progress),
) -> Result<(), TransferError> {
    let mut frames = Frames::default();
    while shared.news().left > 0 {
        let frame = tokio::select! {
            frame = frames.next::<Reply>(connection) => frame?,
            () = shared.settled.notified() => continue,
        };
        let reply = match frame {
            Some(Frame::Message(reply)) => reply,
            Some(Frame::Data(_)) => return Err(TransferError::Protocol("data from a receiver")),
            None => return Err(TransferError::Cut),
        };
        let (Reply::Have { entry, .. }
        | Reply::Done { entry }
        | Reply::Failed { entry, .. }
        | Reply::Skipped { entry, .. }) = reply;
        let Some(name) = entries.get(entry as usize).map(|entry| entry.name().to_owned()) else {
            return Err(TransferError::Protocol("a word on an entry that there is not"));
        };
        let mut news = shared.news();
        // Of what is settled nothing more is of interest.
        let said = match reply {
            Reply::Have { len, hash, whole, .. } => {
                if news.settled[entry as usize].is_none() {
                    news.have.insert(entry, Have { len, hash, whole });
                }
                None
            }
            Reply::Done { .. } => news.settle(entry, Fate::Done).then_some(Progress::Done { name }),
            Reply::Failed { reason, .. } => {
                let reason = super::frames::reason(&reason);
                news.settle(entry, Fate::Failed).then_some(Progress::Failed { name, reason })
            }
            Reply::Skipped { reason, .. } => {
                let reason = super::frames::reason(&reason);
                news.settle(entry, Fate::Skipped).then_some(Progress::Skipped { name, reason })
            }
        };
        drop(news);
        shared.heard.notify_one();
        if let Some(said) = said {
            progress(said);
        }
    }
    Ok(())
}
