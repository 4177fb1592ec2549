//! What connections between the same two hosts tell each other of their path.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use bentpipe_units::{Instant, Span};

/// A table for the connections to one destination, for controllers that share what they know (STCP).
///
/// Cloning gives another handle of the same table. Its owner is whoever opens the connections; a table
/// belongs to one run, or runs would see each other.
#[derive(Clone, Debug, Default)]
pub struct SharedState(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    next: u64,
    open: BTreeMap<u64, Known>,
    /// The last that a closed connection knew.
    closed: Option<Known>,
}

/// What a connection knows of the path, in bytes.
#[derive(Clone, Copy, Debug)]
struct Known {
    cwnd: f64,
    ssthresh: f64,
    at: Instant,
}

/// What a new connection starts with, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Start {
    /// Its part of all windows.
    pub(crate) cwnd: f64,
    /// The threshold known last.
    pub(crate) ssthresh: f64,
}

/// A connection's entry in a table; it leaves the table when it is dropped.
#[derive(Debug)]
pub(crate) struct Member {
    table: SharedState,
    id: u64,
}

impl SharedState {
    /// What is known is good for this long.
    pub const MAX_AGE: Span = Span::from_secs(600);

    /// A table without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets what is older than [`SharedState::MAX_AGE`]. Called before a connection is opened.
    pub fn expire(&self, now: Instant) {
        let mut table = self.lock();
        if table.closed.is_some_and(|known| now.since(known.at) > Self::MAX_AGE) {
            table.closed = None;
        }
    }

    /// A new connection: its entry, and what it starts with if anything is known.
    pub(crate) fn join(&self) -> (Member, Option<Start>) {
        let mut table = self.lock();
        let id = table.next;
        table.next += 1;
        let newest = table.open.values().copied().chain(table.closed).max_by_key(|known| known.at);
        let total = if table.open.is_empty() {
            table.closed.map_or(0.0, |known| known.cwnd)
        } else {
            table.open.values().map(|known| known.cwnd).sum()
        };
        let parts = table.open.len() as f64 + 1.0;
        let start = newest.map(|known| Start { cwnd: total / parts, ssthresh: known.ssthresh });
        drop(table);
        (Member { table: self.clone(), id }, start)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // A holder that panicked left numbers that are as good as any.
        self.0.lock().expect("nobody has panicked while he held this lock")
    }
}

impl Member {
    /// What the connection knows now.
    pub(crate) fn tell(&self, cwnd: f64, ssthresh: f64, at: Instant) {
        self.table.lock().open.insert(self.id, Known { cwnd, ssthresh, at });
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut table = self.table.lock();
        if let Some(known) = table.open.remove(&self.id) {
            table.closed = Some(known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn a_new_connection_gets_its_part_of_all_windows() {
        let table = SharedState::new();
        let (first, start) = table.join();
        assert_eq!(start, None);
        first.tell(60e3, 40e3, at(1));
        let (second, start) = table.join();
        assert_eq!(start, Some(Start { cwnd: 30e3, ssthresh: 40e3 }));
        second.tell(30e3, 50e3, at(2));
        assert_eq!(table.join().1, Some(Start { cwnd: 30e3, ssthresh: 50e3 }));
    }

    #[test]
    fn what_a_closed_connection_knew_is_kept_for_ten_minutes() {
        let table = SharedState::new();
        table.join().0.tell(60e3, 40e3, at(1));
        table.expire(at(601));
        assert_eq!(table.join().1, Some(Start { cwnd: 60e3, ssthresh: 40e3 }));
        table.expire(at(602));
        assert_eq!(table.join().1, None);
    }
}
