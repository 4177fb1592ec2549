//! What a gateway counts.

use std::sync::atomic::{AtomicU64, Ordering};

use bentpipe_units::ByteCount;

use crate::open::Verdict;

/// The counts of a gateway since its start.
#[derive(Debug, Default)]
pub struct Counters {
    /// Flows that are open.
    pub open: AtomicU64,
    /// Flows so far.
    pub flows: AtomicU64,
    /// Flows that could not be connected.
    pub refused: AtomicU64,
    /// The same by what became of them.
    pub(crate) refused_by: [AtomicU64; Verdict::ALL],
    /// Flows that were cut off because the connection between the gateways failed.
    pub cut: AtomicU64,
    /// Bytes taken from TCP.
    pub sent: AtomicU64,
    /// Bytes given to TCP.
    pub received: AtomicU64,
}

impl Counters {
    /// A flow could not be connected.
    pub(crate) fn refuse(&self, why: Verdict) {
        Self::add(&self.refused, 1);
        Self::add(&self.refused_by[why as usize], 1);
    }

    /// Adds to a count.
    pub(crate) fn add(count: &AtomicU64, more: u64) {
        count.fetch_add(more, Ordering::Relaxed);
    }
}

/// Bytes in both directions.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// Taken from TCP.
    pub(crate) sent: AtomicU64,
    /// Given to TCP.
    pub(crate) received: AtomicU64,
}

/// Bytes that were counted.
pub(crate) fn load(count: &AtomicU64) -> ByteCount {
    ByteCount::new(count.load(Ordering::Relaxed))
}
