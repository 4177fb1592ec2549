//! What the sessions over one path share: the window, what is known of the queue, and the round trip.

use std::sync::{Arc, Mutex, MutexGuard};

use bentpipe_cc::{Controller, Ensemble, KnownPath};
use bentpipe_units::{BitRate, ByteCount, Instant};

use super::queue_watch::QueueWatch;
use super::{Config, Received};

/// Windows of all sessions together are not bounded but by those of each.
const WINDOW_MAX: ByteCount = ByteCount::new(1 << 40);

/// A path that several sessions take, so that one window is enough for them (RFC 3124) and a new one knows what
/// the others have found out (RFC 9040). Cloning gives another handle of the same.
#[derive(Clone, Debug)]
pub struct SharedPath {
    config: Arc<Config>,
    ensemble: Ensemble,
    queue: SharedWatch,
}

/// A [`QueueWatch`] of one session or of several.
#[derive(Clone, Debug)]
pub(super) struct SharedWatch(Arc<Mutex<QueueWatch>>);

impl SharedPath {
    /// A path of which nothing is known; the controller and the first window are those of this
    /// configuration.
    pub fn new(config: Arc<Config>) -> Self {
        let segments = |n: u32| ByteCount::new(u64::from(n) * u64::from(config.mss));
        let (init, min) = (segments(config.cwnd_init), segments(config.cwnd_min));
        let ensemble = Ensemble::new(&config.controller, segments(1), init, min, WINDOW_MAX);
        Self { config, ensemble, queue: SharedWatch::new() }
    }

    /// The path was found to carry this, headers of all layers included. The next session that begins has a window of that size, and
    /// so has one in slow start; it falls back if the path does not carry it. The peer says when it had received what showed that.
    pub fn know(&self, now: Instant, path: KnownPath, received: Received) {
        let mut queue = self.queue.get();
        let return_delay = queue.answered(now, path.round_trip, received);
        queue.measured(now, path.round_trip);
        drop(queue);
        let (payload, whole) = self.lengths();
        let return_delay = return_delay.map(|delay| (now, delay));
        let path = KnownPath { return_delay, ..scaled(path, payload, whole) };
        self.ensemble.know(now, path);
    }

    /// The path carried this, headers of all layers included, in a session before. The next one that begins has half of it from its
    /// first acknowledgement on, if the round trip is like that of then.
    pub fn remember(&self, path: KnownPath) {
        let (payload, whole) = self.lengths();
        self.ensemble.remember(scaled(path, payload, whole));
    }

    /// What the sessions' own traffic showed the path to carry, headers of all layers included, and when something arrived last.
    pub fn observed(&self) -> Option<(Instant, KnownPath)> {
        let (payload, whole) = self.lengths();
        let (at, path) = self.ensemble.observed()?;
        Some((at, scaled(path, whole, payload)))
    }

    /// Bytes of a full segment: its payload, and with the headers of all layers.
    fn lengths(&self) -> (u64, u64) {
        let payload = u64::from(self.config.mss);
        (payload, payload + self.config.overhead.get())
    }

    /// What was told of the path by [`SharedPath::know`] is not true any more.
    pub fn forget(&self) {
        self.ensemble.forget();
    }

    /// Whether a session with this configuration, which [is one for it](Self::is_for), has the same controller.
    pub fn suits(&self, config: &Config) -> bool {
        self.config.controller.is_like(&config.controller)
    }

    /// Whether sessions with this configuration can share a window: they are told of each segment that
    /// arrives, do not stop at a loss to probe, and have no rate.
    pub fn is_for(config: &Config) -> bool {
        config.selective && !config.probing && config.controller.name() != "rate"
    }

    /// Payload of a full segment.
    pub(super) fn mss(&self) -> ByteCount {
        ByteCount::new(u64::from(self.config.mss))
    }

    /// The controller of another session.
    pub(super) fn controller(&self) -> Box<dyn Controller> {
        self.ensemble.join()
    }

    /// The queue of the path.
    pub(super) fn queue(&self) -> SharedWatch {
        self.queue.clone()
    }
}

/// The same path with its rate counted in other bytes: so many for each of so many.
fn scaled(path: KnownPath, counted: u64, of: u64) -> KnownPath {
    let rate = u128::from(path.rate.as_bps()) * u128::from(counted) / u128::from(of);
    KnownPath { rate: BitRate::from_bps(rate.min(u128::from(u64::MAX)) as u64), ..path }
}

impl SharedWatch {
    /// Nothing is known.
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(QueueWatch::new())))
    }

    /// What is known so far, to be asked and told.
    pub(super) fn get(&self) -> MutexGuard<'_, QueueWatch> {
        // A holder that panicked left numbers that are as good as any.
        self.0.lock().expect("nobody has panicked while he held this lock")
    }
}
