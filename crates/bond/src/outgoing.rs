//! The sender's part: chunks of the stream, and which connection each is on.

use std::collections::{BTreeMap, VecDeque};

use bentpipe_units::Instant;
use bytes::{Bytes, BytesMut};

use crate::bond::BondError;
use crate::incoming::INITIAL;
use crate::member::Member;

/// What was written in shorter pieces is put together: each chunk costs the receiver more than it is long otherwise.
const SHORT: usize = 2_048;

/// A chunk that was written to a connection.
#[derive(Debug)]
struct Chunk {
    bytes: Bytes,
    /// The connection; none where that is gone.
    on: Option<usize>,
    /// It has been acknowledged by then, as a rule.
    due: Instant,
}

/// What is sent.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// What no connection has yet, and where it begins.
    pending: VecDeque<Bytes>,
    pending_len: usize,
    next: u64,
    /// What connections have and has not arrived, as far as is known.
    under_way: BTreeMap<u64, Chunk>,
    under_way_len: usize,
    /// Something of it was on a connection that is gone.
    has_orphans: bool,
    /// All before `limit` may be sent.
    limit: u64,
    is_closed: bool,
}

/// What could be written next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// New bytes.
    New,
    /// A chunk that this connection does not bring.
    Again { offset: u64, not_by: Option<usize> },
}

impl Outgoing {
    pub(crate) const fn new() -> Self {
        Self {
            pending: VecDeque::new(),
            pending_len: 0,
            next: 0,
            under_way: BTreeMap::new(),
            under_way_len: 0,
            has_orphans: false,
            limit: INITIAL,
            is_closed: false,
        }
    }

    pub(crate) fn write(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.pending_len += bytes.len();
            self.pending.push_back(bytes);
        }
    }

    /// Nothing more is written.
    pub(crate) const fn close(&mut self) {
        self.is_closed = true;
    }

    /// The length of the stream, once it is known.
    pub(crate) fn total(&self) -> Option<u64> {
        self.is_closed.then_some(self.written())
    }

    /// Bytes that were written.
    pub(crate) const fn written(&self) -> u64 {
        self.next + self.pending_len as u64
    }

    /// Bytes that wait for a connection.
    pub(crate) const fn pending(&self) -> usize {
        self.pending_len
    }

    /// Bytes that connections have, as far as is known.
    pub(crate) const fn under_way(&self) -> usize {
        self.under_way_len
    }

    /// Bytes that are kept here, of which connections hold so many as well.
    pub(crate) const fn held(&self, by_connections: usize) -> usize {
        self.pending_len + self.under_way_len.saturating_sub(by_connections)
    }

    /// Everything that was written has arrived.
    pub(crate) fn is_delivered(&self) -> bool {
        self.pending.is_empty() && self.under_way.is_empty()
    }

    /// The receiver has all before `delivered`.
    pub(crate) fn handle_status(&mut self, delivered: u64, limit: u64) -> Result<(), BondError> {
        if delivered > self.next {
            return Err(BondError::Status);
        }
        self.limit = self.limit.max(limit);
        while let Some(first) = self.under_way.first_entry()
            && first.key() + first.get().bytes.len() as u64 <= delivered
        {
            self.under_way_len -= first.remove().bytes.len();
        }
        Ok(())
    }

    /// All that was written to this connection has arrived.
    pub(crate) fn handle_arrived(&mut self, on: usize) {
        self.under_way.retain(|_, chunk| chunk.on != Some(on));
        self.under_way_len = self.under_way.values().map(|chunk| chunk.bytes.len()).sum();
    }

    /// Whether a connection has something that has not arrived as far as is known.
    pub(crate) fn is_on(&self, on: usize) -> bool {
        self.under_way.values().any(|chunk| chunk.on == Some(on))
    }

    /// A connection is gone: what it had belongs to nobody.
    pub(crate) fn handle_left(&mut self, on: usize) {
        for chunk in self.under_way.values_mut().filter(|chunk| chunk.on == Some(on)) {
            chunk.on = None;
            self.has_orphans = true;
        }
    }

    /// What is to be written next: what lies where it does not go on, then what is new. Where there is nothing new a chunk
    /// that is late and that all others wait for goes a second time.
    pub(crate) fn work(&mut self, now: Instant, members: &[Member]) -> Option<Work> {
        if self.has_orphans || members.iter().any(|member| !member.goes_on()) {
            let goes_on = |chunk: &Chunk| {
                members.iter().any(|member| Some(member.id) == chunk.on && member.goes_on())
            };
            let lost = self.under_way.iter().find(|(_, chunk)| !goes_on(chunk));
            if let Some((offset, chunk)) = lost {
                return Some(Work::Again { offset: *offset, not_by: chunk.on });
            }
            self.has_orphans = false;
        }
        if self.may_send_new() {
            return Some(Work::New);
        }
        let (offset, first) = self.under_way.first_key_value()?;
        (first.due <= now).then_some(Work::Again { offset: *offset, not_by: first.on })
    }

    /// Bytes that wait for a connection, and not for the receiver.
    pub(crate) const fn sendable(&self) -> usize {
        let allowed = self.limit.saturating_sub(self.next);
        if (self.pending_len as u64) < allowed { self.pending_len } else { allowed as usize }
    }

    const fn may_send_new(&self) -> bool {
        self.pending_len > 0 && self.next < self.limit
    }

    /// When the chunk that all others wait for is late, and the connection that it is on.
    pub(crate) fn late_at(&self) -> Option<(Instant, Option<usize>)> {
        let first = self.under_way.first_key_value().filter(|_| !self.may_send_new());
        first.map(|(_, first)| (first.due, first.on))
    }

    /// The next chunk of at most so many bytes, which this connection gets, and its place in the stream.
    pub(crate) fn take(
        &mut self,
        work: Work,
        most: usize,
        on: usize,
        due: Instant,
    ) -> (u64, Bytes) {
        if let Work::Again { offset, .. } = work
            && let Some(chunk) = self.under_way.get_mut(&offset)
        {
            (chunk.on, chunk.due) = (Some(on), due);
            return (offset, chunk.bytes.clone());
        }
        let room = usize::try_from(self.limit - self.next).unwrap_or(usize::MAX);
        let bytes = self.take_pending(most.min(room));
        let offset = self.next;
        self.next += bytes.len() as u64;
        self.under_way_len += bytes.len();
        self.under_way.insert(offset, Chunk { bytes: bytes.clone(), on: Some(on), due });
        (offset, bytes)
    }

    /// So many bytes from the front, or what one piece has of them, or some short ones.
    fn take_pending(&mut self, most: usize) -> Bytes {
        let bytes = self.take_piece(most);
        if bytes.len() >= SHORT.min(most) || self.pending.is_empty() {
            return bytes;
        }
        let mut joined = BytesMut::from(bytes);
        while joined.len() < SHORT.min(most) && !self.pending.is_empty() {
            let piece = self.take_piece(most - joined.len());
            joined.extend_from_slice(&piece);
        }
        joined.freeze()
    }

    fn take_piece(&mut self, most: usize) -> Bytes {
        let Some(front) = self.pending.front_mut() else { return Bytes::new() };
        let bytes = front.split_to(front.len().min(most));
        if front.is_empty() {
            self.pending.pop_front();
        }
        self.pending_len -= bytes.len();
        bytes
    }
}
