//! Applications at the ends of connections.

mod bulk;
mod pattern;
mod sink;

pub(crate) use bulk::BulkSource;
pub(crate) use sink::Sink;

use bentpipe_transport::{Endpoint, Event, Failure};
use bentpipe_units::Instant;

/// An application: told what its endpoint has to say, it reads, writes and closes.
pub(crate) trait App {
    /// The endpoint has news.
    fn on_event(&mut self, now: Instant, endpoint: &mut dyn Endpoint, event: Event);

    /// The time asked for by [`App::next_timer`] has come.
    fn on_timer(&mut self, _now: Instant, _endpoint: &mut dyn Endpoint) {}

    /// When the application wants to act by itself.
    fn next_timer(&self) -> Option<Instant> {
        None
    }

    /// How far it is.
    fn progress(&self) -> Progress;
}

/// How far an application is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Bytes received and verified.
    pub(crate) verified: u64,
    /// When the last byte came.
    pub(crate) last_at: Option<Instant>,
    /// A byte was not what was sent: its place in the stream.
    pub(crate) wrong_at: Option<u64>,
    /// The connection failed.
    pub(crate) failure: Option<Failure>,
}
