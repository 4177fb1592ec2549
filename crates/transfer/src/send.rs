//! The sender's side.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use bentpipe_association::host::{Connection, Runtime, lock};
use bentpipe_association::stream::Streams;
use bentpipe_units::Span;
use tokio::sync::Notify;

use crate::frames::{Frame, Frames, Kind, MOST_DATA, Message, Offer, Reply, data, message};
use crate::pieces::Pieces;
use crate::receiver::{MOST_AHEAD, MOST_NAMES_AHEAD};
use crate::source::{Entry, Source, SourceFile, Stamp};
use crate::{Progress, TransferError};

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
const LOOK_EVERY: Span = Span::from_millis(5);
/// Why a file that changed is not sent to its end.
const CHANGED: &str = "the file changed while it was sent";

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
    /// Those that could not be read here: what the receiver says of them is what it was told.
    unread: BTreeSet<u64>,
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
pub async fn send<R: Runtime, O: Source>(
    runtime: &R,
    connection: &Connection<impl Streams>,
    source: &O,
    entries: &[Entry],
    progress: impl Fn(Progress),
) -> Result<Outcome, TransferError> {
    let shared = Shared::default();
    *shared.news() = News {
        have: HashMap::new(),
        settled: vec![None; entries.len()],
        left: entries.len(),
        unread: BTreeSet::new(),
    };
    let mut writer = Writer {
        runtime,
        connection,
        source,
        entries,
        shared: &shared,
        progress: &progress,
        offers: VecDeque::new(),
        offered: 0,
        names: 0,
        pieces: Pieces::default(),
        outcome: Outcome::default(),
    };
    tokio::try_join!(writer.write_all(), read_replies(connection, entries, &shared, &progress))?;
    let outcome = writer.outcome;
    let news = shared.news();
    let [done, failed, skipped] =
        [Fate::Done, Fate::Failed, Fate::Skipped].map(|fate| news.count(fate));
    Ok(Outcome { done, failed, skipped, ..outcome })
}

struct Writer<'a, R, O, S: Streams, P> {
    runtime: &'a R,
    connection: &'a Connection<S>,
    source: &'a O,
    entries: &'a [Entry],
    shared: &'a Shared,
    progress: &'a P,
    /// Those that were offered and are not behind us.
    offers: VecDeque<Offer>,
    /// Entries that were offered.
    offered: usize,
    /// Bytes of names among the offers.
    names: usize,
    pieces: Pieces,
    outcome: Outcome,
}

impl<R: Runtime, O: Source, S: Streams, P: Fn(Progress)> Writer<'_, R, O, S, P> {
    async fn write_all(&mut self) -> Result<(), TransferError> {
        for number in 0..self.entries.len() {
            self.offer_ahead(number).await?;
            let Some(offer) = self.offers.pop_front() else { break };
            self.names -= offer.name.len();
            let Kind::File { size } = offer.kind else { continue };
            (self.progress)(Progress::Begins { name: offer.name.clone(), size });
            let path = self.entries[number].path.clone();
            let source = self.source.clone();
            let open = move || {
                let file = source.open(&path)?;
                let stamp = file.stamp()?;
                Ok::<_, io::Error>((Arc::new(file), stamp))
            };
            let end = match self.runtime.blocking(open).await? {
                Ok((file, stamp)) => self.write_file(&file, stamp, number as u64, &offer).await?,
                Err(error) => Message::Skip { reason: error.to_string() },
            };
            if matches!(end, Message::Skip { .. }) {
                self.shared.news().unread.insert(number as u64);
            }
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
            let (entry, source) = (entry.clone(), self.source.clone());
            // It may have changed since it was found.
            let offer = self.runtime.blocking(move || entry.offer_now(&source)).await?;
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
        file: &Arc<O::File>,
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
                && let Ok(prefix) = hash_from_start(self.runtime, file, have.len).await
                && *prefix.finalize().as_bytes() == have.hash
            {
                self.outcome.had += have.len.saturating_sub(at);
                if have.whole && have.len == size && is_unchanged(&**file, stamp) {
                    return Ok(Message::Keep);
                }
                if !have.whole {
                    let offset = have.len;
                    self.connection.write_bytes(message(&Message::Seek { offset })).await?;
                    (at, hasher) = (offset, prefix);
                    (self.progress)(Progress::Resumed { offset });
                }
            }
            if !heard && self.connection.unsent() > MOST_UNSENT {
                let heard = self.shared.heard.notified();
                let _ = self.runtime.timeout(LOOK_EVERY, heard).await;
                continue;
            }
            let chunk = match read_chunk(self.runtime, file, at, self.pieces.length()).await? {
                Ok(chunk) => chunk,
                Err(error) => return Ok(Message::Skip { reason: error.to_string() }),
            };
            if chunk.is_empty() || at + chunk.len() as u64 > size {
                break;
            }
            hasher.update(&chunk);
            at += chunk.len() as u64;
            self.outcome.sent += chunk.len() as u64;
            let began = self.runtime.now();
            self.connection.write_bytes(data(&chunk)).await?;
            self.pieces.took(self.runtime.now().since(began));
            (self.progress)(Progress::At { offset: at });
        }
        if at == size && is_unchanged(&**file, stamp) {
            Ok(Message::End { hash: *hasher.finalize().as_bytes() })
        } else {
            Ok(Message::Skip { reason: CHANGED.to_owned() })
        }
    }
}

/// Whether a file is still what it was when it was opened.
fn is_unchanged(file: &impl SourceFile, before: Stamp) -> bool {
    file.stamp().is_ok_and(|now| now == before)
}

/// Reads the next chunk of a file.
async fn read_chunk(
    runtime: &impl Runtime,
    file: &Arc<impl SourceFile>,
    at: u64,
    most: usize,
) -> io::Result<io::Result<Vec<u8>>> {
    let file = file.clone();
    let read = move || {
        let mut chunk = vec![0; most];
        // A short chunk only at the end.
        let len = read_full(&*file, &mut chunk, at)?;
        chunk.truncate(len);
        Ok(chunk)
    };
    runtime.blocking(read).await
}

/// Reads until there is no more room or no more to read.
fn read_full(file: &impl SourceFile, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let mut len = 0;
    while len < bytes.len() {
        match file.read_at(&mut bytes[len..], at + len as u64)? {
            0 => break,
            more => len += more,
        }
    }
    Ok(len)
}

/// The state of the hash of the first `len` bytes of a file.
async fn hash_from_start(
    runtime: &impl Runtime,
    file: &Arc<impl SourceFile>,
    len: u64,
) -> io::Result<blake3::Hasher> {
    let file = file.clone();
    let hash = move || {
        let mut hasher = blake3::Hasher::new();
        let mut at = 0;
        let mut chunk = vec![0; len.min(MOST_DATA as u64) as usize];
        while at < len {
            let want = (len - at).min(MOST_DATA as u64) as usize;
            if read_full(&*file, &mut chunk[..want], at)? < want {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            hasher.update(&chunk[..want]);
            at += want as u64;
        }
        Ok(hasher)
    };
    runtime.blocking(hash).await?
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
            biased;
            frame = frames.next::<Reply>(connection) => frame?,
            () = shared.settled.notified() => continue,
        };
        let reply = match frame {
            Some(Frame::Message(reply)) => reply,
            Some(Frame::Data(_)) => return Err(TransferError::Protocol("data from a receiver")),
            // The last file was kept while this waited, and the receiver has left already.
            None if shared.news().left == 0 => break,
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
                let reason = crate::frames::reason(&reason);
                let is_theirs = !news.unread.contains(&entry);
                let reason = if is_theirs { format!("at the receiver: {reason}") } else { reason };
                news.settle(entry, Fate::Failed).then_some(Progress::Failed { name, reason })
            }
            Reply::Skipped { reason, .. } => {
                let reason = crate::frames::reason(&reason);
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
