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
    /// More may come after what is known of the file.
    open_end: bool,
    connected: bool,
    /// Bytes of the request that have not come yet.
    awaited: u64,
    progress: Progress,
}

impl BulkSource {
    /// A source that has written nothing.
    pub(crate) fn new(spec: SourceSpec) -> Self {
        let next_chunk = spec.rate.map(|_| spec.start);
        let spec = SourceSpec { size: spec.stream_size(), ..spec };
        Self {
            spec,
            written: 0,
            rest: Bytes::new(),
            next_chunk,
            open_end: false,
            connected: false,
            awaited: 0,
            progress: Progress::default(),
        }
    }

    /// A source of which nothing is known yet but that more will come.
    pub(super) fn with_open_end(spec: SourceSpec) -> Self {
        Self {
            open_end: true,
            ..Self::new(SourceSpec { size: Some(ByteCount::ZERO), rate: None, ..spec })
        }
    }

    /// A source that sends when it has read a request of so many bytes.
    pub(super) fn with_request(spec: SourceSpec, request: ByteCount) -> Self {
        Self { awaited: request.get(), ..Self::new(spec) }
    }

    /// So much more is to be sent; [`Event::Writable`] brings it on its way.
    pub(super) fn add(&mut self, bytes: ByteCount) {
        self.spec.size = self.spec.size.map(|size| size + bytes);
    }

    /// Nothing more will come. False when that was known.
    pub(super) fn end(&mut self) -> bool {
        std::mem::take(&mut self.open_end)
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
        if self.left() == Some(0) && !self.open_end {
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
            Event::Connected => {
                self.connected = true;
                if self.awaited == 0 {
                    self.feed(now, endpoint);
                }
            }
            Event::Writable if self.connected && self.awaited == 0 => self.feed(now, endpoint),
            Event::Failed(failure) => {
                self.progress.failure = Some(failure);
                self.next_chunk = None;
            }
            Event::Readable => self.listen(now, endpoint),
            Event::Writable | Event::PeerClosed | Event::Closed => {}
        }
    }

    /// Reads what comes; the last byte of the request lets it send.
    fn listen(&mut self, now: Instant, endpoint: &mut impl Endpoint) {
        let waited = self.awaited > 0;
        while let Some(bytes) = endpoint.read(now) {
            self.awaited = self.awaited.saturating_sub(bytes.len() as u64);
        }
        if waited && self.awaited == 0 {
            self.feed(now, endpoint);
        }
    }

    /// The time asked for has come.
    pub(super) fn on_timer(&mut self, now: Instant, endpoint: &mut impl Endpoint) {
        // A full send buffer stops the clock; Writable goes on.
        if self.awaited == 0
            && self.rest.is_empty()
            && self.next_chunk.is_some_and(|due| due <= now)
        {
            self.feed(now, endpoint);
        }
    }

    /// When the next chunk may be written.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        if self.rest.is_empty() && self.awaited == 0 { self.next_chunk } else { None }
    }

    /// How far it is.
    pub(super) fn progress(&self) -> Progress {
        self.progress
    }
}
