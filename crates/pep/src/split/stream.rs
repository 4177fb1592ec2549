//! One direction of a relay.

use std::collections::VecDeque;
use std::mem;

use bentpipe_units::{ByteCount, Instant};
use bytes::{Bytes, BytesMut};

use super::Config;
use super::pace::Pace;

/// Pieces below this length are joined while they wait: many small ones must not take more memory than
/// their bytes.
const SMALL: usize = 256;

/// The bytes that go one way. What they take of the source's buffer is counted from the moment at which
/// they are read until they are acknowledged on the other leg.
#[derive(Debug)]
pub(super) struct Stream {
    chunks: VecDeque<Bytes>,
    /// Bytes of the chunks.
    waiting: u64,
    /// Bytes that the other leg has and may have to send.
    downstream: u64,
    /// What the source's leg is to count as unread.
    stated: u64,
    /// What it was told.
    reported: Held,
    /// Bytes beyond those acknowledged on the other leg that may be acknowledged to the source; `None`
    /// for all that were read.
    spoofed: Option<u64>,
    /// The receive buffer of the source's leg, and what there is not to be used of it.
    buffer: u64,
    forbidden: u64,
    pace: Option<Pace>,
    /// The source will send no more.
    ended: bool,
    /// The other leg was told so.
    closed: bool,
}

/// What the leg of a source is to do about the bytes that were read from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// So many count as unread.
    pub(super) withheld: u64,
    /// So many are not acknowledged.
    pub(super) deferred: u64,
}

impl Stream {
    pub(super) fn new(config: Config) -> Self {
        Self {
            chunks: VecDeque::new(),
            waiting: 0,
            downstream: 0,
            stated: 0,
            reported: Held::default(),
            spoofed: config.spoof_window.map(ByteCount::get),
            buffer: config.buffer.map_or(0, ByteCount::get),
            forbidden: 0,
            pace: config.paced.then(Pace::default),
            ended: false,
            closed: false,
        }
    }

    /// Bytes that the proxy holds.
    pub(super) const fn occupied(&self) -> u64 {
        self.waiting + self.downstream
    }

    /// No more than this may be held.
    pub(super) const fn allow(&mut self, most: u64) {
        self.forbidden = self.buffer.saturating_sub(most);
    }

    /// These bytes were read.
    pub(super) fn push(&mut self, bytes: Bytes) {
        let length = bytes.len() as u64;
        self.waiting += length;
        self.stated += length;
        if let Some(pace) = &mut self.pace {
            pace.saw(length);
        }
        match self.chunks.back_mut() {
            Some(last) if last.len() + bytes.len() <= SMALL => {
                let mut joined = BytesMut::with_capacity(SMALL);
                joined.extend_from_slice(last);
                joined.extend_from_slice(&bytes);
                *last = joined.freeze();
            }
            _ => self.chunks.push_back(bytes),
        }
    }

    /// Something waits to be written.
    pub(super) fn has_bytes(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// The chunk to be written next.
    pub(super) fn front(&mut self) -> Option<&mut Bytes> {
        self.chunks.front_mut()
    }

    /// So many bytes were taken from the front chunk.
    pub(super) fn written(&mut self, taken: u64) {
        self.waiting -= taken;
        self.downstream += taken;
        if self.chunks.front().is_some_and(Bytes::is_empty) {
            self.chunks.pop_front();
        }
    }

    /// The other leg has so many bytes that it may have to send.
    pub(super) fn kept_downstream(&mut self, now: Instant, bytes: u64) {
        let made_room = bytes < self.downstream;
        self.downstream = bytes;
        let occupied = self.occupied();
        match &mut self.pace {
            None => self.stated = occupied,
            Some(pace) if made_room => self.stated = pace.release(now, self.stated, occupied),
            Some(_) => {}
        }
    }

    /// The source will send no more.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// Everything was written, and the other leg is to be told that there is no more.
    pub(super) fn is_to_be_closed(&self) -> bool {
        self.ended && !self.closed && self.chunks.is_empty()
    }

    /// The same; true once.
    pub(super) fn take_close(&mut self) -> bool {
        let due = self.is_to_be_closed();
        self.closed |= due;
        due
    }

    /// What the source's leg is to do.
    fn held(&self) -> Held {
        let beyond = |spoofed| self.occupied().saturating_sub(spoofed);
        Held { withheld: self.stated + self.forbidden, deferred: self.spoofed.map_or(0, beyond) }
    }

    /// The source's leg was not told what it is to do now.
    pub(super) fn has_changed(&self) -> bool {
        self.held() != self.reported
    }

    /// What it is to be told, if that changed.
    pub(super) fn take_change(&mut self) -> Option<Held> {
        let changed = self.has_changed();
        self.reported = self.held();
        changed.then_some(self.reported)
    }

    /// When [`Stream::handle_timeout`] must be called.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.pace.as_ref()?.deadline()
    }

    /// The next step of room may be due.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        let occupied = self.occupied();
        if let Some(pace) = &mut self.pace {
            self.stated = pace.step(now, self.stated, occupied);
        }
    }

    /// Nothing more is carried.
    pub(super) fn clear(&mut self) {
        mem::take(&mut self.chunks);
        (self.waiting, self.downstream) = (0, 0);
        self.pace = None;
    }
}
