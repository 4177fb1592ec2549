//! How long a peer has been silent, and when a session with it is given up.

use std::fmt;
use std::sync::Arc;

use bentpipe_units::{Instant, Span};

/// Bytes of a stream that the other end is known to have. Where it goes up, the stream goes on, however much this host has
/// buffered.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Progress {
    /// What is asked for it.
    pub fn new(acknowledged: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(acknowledged))
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").finish_non_exhaustive()
    }
}

/// What is known of a peer's silence.
#[derive(Debug)]
pub(crate) struct Silence {
    idle_timeout: Span,
    /// A stranger keeps its place only as long as it says something.
    is_stranger: bool,
    progress: Option<Progress>,
    /// The most that it said.
    taken: u64,
    heard: Instant,
    /// When the peer was heard, owed nothing, or took something.
    went_on: Instant,
}

impl Silence {
    pub(crate) const fn new(
        idle_timeout: Span,
        is_stranger: bool,
        progress: Option<Progress>,
        now: Instant,
    ) -> Self {
        Self { idle_timeout, is_stranger, progress, taken: 0, heard: now, went_on: now }
    }

    /// The peer is a neighbour after all.
    pub(crate) const fn knows_peer(&mut self) {
        self.is_stranger = false;
    }

    /// Something has come.
    pub(crate) const fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.went_on = now;
    }

    /// Something has left for the peer.
    pub(crate) const fn wrote(&mut self, now: Instant) {
        self.went_on = now;
    }

    /// Looks at what the peer has taken by now, and at whether it owes anything.
    pub(crate) fn look(&mut self, now: Instant, owes: bool) {
        let taken = self.progress.as_ref().map_or(0, |Progress(acknowledged)| acknowledged());
        if !owes || taken > self.taken {
            self.went_on = now;
        }
        self.taken = self.taken.max(taken);
    }

    /// When the session is given up, if nothing happens before.
    pub(crate) fn gives_up(&self, owes: bool) -> Option<Instant> {
        let since = if self.is_stranger { self.heard } else { self.went_on };
        (self.is_stranger || owes).then(|| since + self.idle_timeout)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const IDLE: Span = Span::from_secs(120);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn a_peer_that_takes_a_buffer_slowly_is_not_given_up_and_one_that_stops_is() {
        let acknowledged = Arc::new(AtomicU64::new(0));
        let says = acknowledged.clone();
        let progress = Progress::new(move || says.load(Ordering::Relaxed));
        let mut silence = Silence::new(IDLE, false, Some(progress), at(0));
        silence.wrote(at(0));
        for minute in 1..=5 {
            acknowledged.fetch_add(60_000, Ordering::Relaxed);
            silence.look(at(60 * minute), true);
            assert_eq!(silence.gives_up(true), Some(at(60 * minute + 120)));
        }
        silence.look(at(400), true);
        assert_eq!(silence.gives_up(true), Some(at(420)));
        // What is counted anew after a connection was lost is no step back.
        acknowledged.store(5, Ordering::Relaxed);
        silence.look(at(410), true);
        assert_eq!(silence.gives_up(true), Some(at(420)));
    }

    #[test]
    fn a_stranger_has_to_say_something_and_a_neighbour_that_owes_nothing_has_not() {
        let mut stranger = Silence::new(IDLE, true, None, at(0));
        let mut neighbour = Silence::new(IDLE, false, None, at(0));
        for silence in [&mut stranger, &mut neighbour] {
            silence.wrote(at(50));
            silence.look(at(100), false);
        }
        assert_eq!((stranger.gives_up(false), neighbour.gives_up(false)), (Some(at(120)), None));
        assert_eq!(neighbour.gives_up(true), Some(at(220)));
        stranger.heard(at(110));
        assert_eq!(stranger.gives_up(false), Some(at(230)));
        stranger.knows_peer();
        assert_eq!(stranger.gives_up(false), None);
    }
}
