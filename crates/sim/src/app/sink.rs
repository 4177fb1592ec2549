//! The sink: reads everything and compares every byte with what was sent.

use bentpipe_transport::{Endpoint, Event};
use bentpipe_units::Instant;

use super::{Progress, pattern};

/// The receiving end of a bulk transfer.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    progress: Progress,
}

impl Sink {
    /// The endpoint has news.
    #[inline]
    pub(super) fn on_event(&mut self, now: Instant, endpoint: &mut impl Endpoint, event: Event) {
        match event {
            Event::Readable => {
                while let Some(bytes) = endpoint.read(now) {
                    if self.progress.wrong_at.is_none() {
                        let place = self.progress.verified;
                        self.progress.wrong_at = pattern::first_difference(place, &bytes);
                        self.progress.verified += bytes.len() as u64;
                        self.progress.first_at.get_or_insert(now);
                        self.progress.last_at = Some(now);
                    }
                }
            }
            Event::PeerClosed => endpoint.close(now),
            Event::Failed(failure) => self.progress.failure = Some(failure),
            Event::Connected | Event::Writable | Event::Closed => {}
        }
    }

    /// How far it is.
    pub(super) fn progress(&self) -> Progress {
        self.progress
    }
}
