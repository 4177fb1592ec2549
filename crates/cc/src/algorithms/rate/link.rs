//! One estimate for all connections over a link.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bentpipe_units::{BitRate, ByteCount, Instant};

use super::connection::Rate;
use super::estimator::Estimator;
use crate::Controller;

/// A link of a known rate that several connections send over, so that what one finds out of it counts for all.
/// Cloning gives another handle of the same.
///
/// Its owner tells it all that leaves and keeps to its [pace](Self::pace); the connections' controllers tell it what
/// arrives and bound each of them by the same pace.
#[derive(Clone, Debug)]
pub struct DedicatedLink(Arc<Mutex<Estimator>>);

impl DedicatedLink {
    /// A link of which nothing is known but its rate.
    pub fn new(rate: BitRate) -> Self {
        Self(Arc::new(Mutex::new(Estimator::new(rate))))
    }

    /// The rate that was given.
    pub fn rate(&self) -> BitRate {
        self.estimator().target()
    }

    /// Another rate is given, and counts from now on.
    pub fn set_rate(&self, rate: BitRate) {
        self.estimator().set_target(rate);
    }

    /// What the link carries of its rate, as far as is known.
    pub fn carried(&self) -> BitRate {
        self.estimator().carried()
    }

    /// What may leave now.
    pub fn pace(&self) -> BitRate {
        self.estimator().pace()
    }

    /// So many bytes leave now, all headers included, and of so many of them its connections will hear what became of them.
    pub fn sent(&self, now: Instant, bytes: ByteCount, answered: ByteCount) {
        self.estimator().sent(now, bytes, answered);
    }

    /// The controller of another connection, whose segments have so many bytes and which may have so many under way
    /// at most.
    pub fn join(&self, mss: ByteCount, most: ByteCount) -> Box<dyn Controller> {
        Box::new(Rate::on(self.clone(), mss, most, false))
    }

    /// A link that one connection has for itself, whose controller counts what leaves.
    pub(super) fn alone(rate: BitRate) -> Self {
        Self(Arc::new(Mutex::new(Estimator::new(rate).counting_payload())))
    }

    pub(super) fn estimator(&self) -> MutexGuard<'_, Estimator> {
        // A holder that panicked left numbers that are as good as any.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
