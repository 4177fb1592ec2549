//! What a gateway counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::OwnedSemaphorePermit;

/// The counts of a gateway since its start.
#[derive(Debug, Default)]
pub struct Counters {
    /// Flows that are open.
    pub open: AtomicU64,
    /// Flows so far.
    pub flows: AtomicU64,
    /// Flows that could not be connected.
    pub refused: AtomicU64,
    /// Flows that were cut off because the connection between the gateways failed.
    pub cut: AtomicU64,
    /// Bytes taken from TCP.
    pub sent: AtomicU64,
    /// Bytes given to TCP.
    pub received: AtomicU64,
}

impl Counters {
    /// Adds to a count.
    pub(super) fn add(count: &AtomicU64, more: u64) {
        count.fetch_add(more, Ordering::Relaxed);
    }
}

/// An open flow.
#[derive(Debug)]
pub(super) struct Flow {
    counters: Arc<Counters>,
    /// Its place among those that may be open.
    _permit: OwnedSemaphorePermit,
}

impl Flow {
    /// A flow begins.
    pub(super) fn new(counters: Arc<Counters>, permit: OwnedSemaphorePermit) -> Self {
        Counters::add(&counters.open, 1);
        Counters::add(&counters.flows, 1);
        Self { counters, _permit: permit }
    }

    /// So many bytes were taken from TCP.
    pub(super) fn sent(&self, bytes: usize) {
        Counters::add(&self.counters.sent, bytes as u64);
    }

    /// So many bytes were given to TCP.
    pub(super) fn received(&self, bytes: usize) {
        Counters::add(&self.counters.received, bytes as u64);
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.counters.open.fetch_sub(1, Ordering::Relaxed);
    }
}
