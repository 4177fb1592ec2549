//! The sink: reads everything and compares every byte with what was sent.

use bentpipe_transport::{Endpoint, Event};
use bentpipe_units::{ByteCount, Instant};
use bytes::Bytes;

use super::{Progress, pattern};

/// The receiving end of a bulk transfer.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    /// What it asks for its file with, until it is written.
    request: Bytes,
    progress: Progress,
}

impl Sink {
    /// A sink that asks for its file with so many bytes.
    pub(super) fn with_request(request: ByteCount) -> Self {
        Self { request: vec![0; request.get() as usize].into(), ..Self::default() }
    }

    /// The endpoint has news.
    #[inline]
    pub(super) fn on_event(&mut self, now: Instant, endpoint: &mut impl Endpoint, event: Event) {
        match event {
            Event::Readable => {
                while let Some(bytes) = endpoint.read(now) {
                    self.take(now, &bytes);
                }
            }
            Event::PeerClosed => endpoint.close(now),
            Event::Failed(failure) => self.progress.failure = Some(failure),
            // A connection that is gone says so itself.
            Event::Connected | Event::Writable if !self.request.is_empty() => {
                let _ = endpoint.write(now, &mut self.request);
            }
            Event::Connected | Event::Writable | Event::Closed => {}
        }
    }

    /// Takes the next bytes of the stream.
    #[inline(always)]
    pub(crate) fn take(&mut self, now: Instant, bytes: &[u8]) {
        if self.progress.wrong_at.is_none() {
            let place = self.progress.verified;
            self.progress.wrong_at = pattern::first_difference(place, bytes);
            self.progress.verified += bytes.len() as u64;
            self.progress.first_at.get_or_insert(now);
            self.progress.last_at = Some(now);
        }
    }

    /// How far it is.
    pub(super) fn progress(&self) -> Progress {
        self.progress
    }
}
