//! APP, the bulk source: streams a file in chunks, as fast as it may or at a rate.

use bentpipe_transport::{Endpoint, Event};
use bentpipe_units::{ByteCount, Instant};
use bytes::Bytes;

use super::{Progress, pattern};
use crate::SourceSpec;

/// The source of a bulk transfer.
#[derive(Debug)]
pub(crate) struct BulkSource {
    spec: SourceSpec,
    written: u64,
    /// A chunk that did not fit yet.
    rest: Bytes,
    /// When the next chunk may be written, at a rate.
    next_chunk: Option<Instant>,
    progress: Progress,
}

impl BulkSource {
    /// A source that has written nothing.
    pub(crate) fn new(spec: SourceSpec) -> Self {
        let next_chunk = spec.rate.map(|_| spec.start);
        Self { spec, written: 0, rest: Bytes::new(), next_chunk, progress: Progress::default() }
    }

    /// Writes what fits and is due; closes after the last byte.
    fn feed(&mut self, now: Instant, endpoint: &mut impl Endpoint) {
        loop {
            if self.rest.is_empty() && !self.take_chunk(now) {
                break;
            }
            let accepted = endpoint.write(now, &mut self.rest).unwrap_or(0);
            self.written += accepted as u64;
            if !self.rest.is_empty() {
                return;
            }
        }
        if self.left() == Some(0) {
            self.next_chunk = None;
            endpoint.close(now);
        }
    }

    /// Bytes that were not taken yet; `None` without end.
    fn left(&self) -> Option<u64> {
        self.spec.size.map(|size| size.get().saturating_sub(self.written))
    }

    /// The next chunk, if there is one and it is due.
    fn take_chunk(&mut self, now: Instant) -> bool {
        let chunk = self.spec.chunk.get().min(self.left().unwrap_or(u64::MAX));
        if chunk == 0 {
            return false;
        }
        let bytes = pattern::slice(self.written, chunk as usize);
        if let (Some(rate), Some(due)) = (self.spec.rate, self.next_chunk) {
            if due > now {
                return false;
            }
            self.next_chunk = Some(due + rate.time_for(ByteCount::new(bytes.len() as u64)));
        }
        self.rest = Bytes::from_static(bytes);
        true
    }
}

impl BulkSource {
    /// The endpoint has news.
    pub(super) fn on_event(&mut self, now: Instant, endpoint: &mut impl Endpoint, event: Event) {
        match event {
            Event::Connected | Event::Writable => self.feed(now, endpoint),
            Event::Failed(failure) => {
                self.progress.failure = Some(failure);
                self.next_chunk = None;
            }
            Event::Readable => while endpoint.read(now).is_some() {},
            Event::PeerClosed | Event::Closed => {}
        }
    }

    /// The time asked for has come.
    pub(super) fn on_timer(&mut self, now: Instant, endpoint: &mut impl Endpoint) {
        // A full send buffer stops the clock; Writable goes on.
        if self.rest.is_empty() && self.next_chunk.is_some_and(|due| due <= now) {
            self.feed(now, endpoint);
        }
    }

    /// When the next chunk may be written.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        if self.rest.is_empty() { self.next_chunk } else { None }
    }

    /// How far it is.
    pub(super) fn progress(&self) -> Progress {
        self.progress
    }
}
