//! Who waits for the result of many runs.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use bentpipe_experiments::Progress;
use bentpipe_units::ByteCount;
use tokio::sync::mpsc;

use crate::memory;

/// How often it is asked whether the result is wanted for each look at the memory.
const LOOKS: u32 = 64;

/// A page that waits, and is told how far it is.
pub(super) struct Waiting<'a> {
    told: &'a mpsc::Sender<(u64, u64)>,
    memory: ByteCount,
    total: AtomicU64,
    done: AtomicU64,
    looks: AtomicU32,
    swollen: AtomicBool,
}

impl<'a> Waiting<'a> {
    pub(super) fn new(told: &'a mpsc::Sender<(u64, u64)>, memory: ByteCount) -> Self {
        let [total, done] = [0, 0].map(AtomicU64::new);
        Self {
            told,
            memory,
            total,
            done,
            looks: AtomicU32::new(0),
            swollen: AtomicBool::new(false),
        }
    }

    /// Why all runs were ended, if the process had too much memory.
    pub(super) fn swollen(&self) -> Option<String> {
        let said = || format!("the runs were ended: this process has more than {}", self.memory);
        self.swollen.load(Ordering::Relaxed).then(said)
    }
}

impl Progress for Waiting<'_> {
    fn total(&self, runs: u64) {
        self.total.store(runs, Ordering::Relaxed);
    }

    fn done(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        // A page that is slow to take one count gets the next.
        let _ = self.told.try_send((done, self.total.load(Ordering::Relaxed)));
    }

    fn is_wanted(&self) -> bool {
        let looks = self.looks.fetch_add(1, Ordering::Relaxed);
        if looks.is_multiple_of(LOOKS) && memory::held() > self.memory {
            self.swollen.store(true, Ordering::Relaxed);
        }
        !self.swollen.load(Ordering::Relaxed) && !self.told.is_closed()
    }
}
