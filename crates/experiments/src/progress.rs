//! Who waits for many runs.

/// Told of each run that is done, from any thread.
pub trait Progress: Sync {
    /// There will be so many runs.
    fn total(&self, _runs: u64) {}
    /// One more is done.
    fn done(&self) {}
    /// Whether somebody still waits for the result, asked while runs go on. Without anybody they end, and so does the work.
    fn is_wanted(&self) -> bool {
        true
    }
}

impl Progress for () {}
