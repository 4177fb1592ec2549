//! The times in requests: a peer's must grow, and so must this host's own, also over restarts.

use std::collections::BTreeMap;

use bentpipe_units::Span;

use super::Hub;
use crate::key::PublicKey;

/// What is kept may be so much older than what was said last. A host whose calendar went back adds it.
const KEPT_LATE: Span = Span::from_secs(120);
/// In nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// Nanoseconds since 1970 in the newest requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    peers: BTreeMap<PublicKey, u64>,
    own: u64,
}

impl Times {
    /// As they were kept: those of peers, and that of this host.
    pub fn new(peers: impl IntoIterator<Item = (PublicKey, u64)>, own: u64) -> Self {
        Self { peers: peers.into_iter().collect(), own }
    }

    /// Those of peers.
    pub fn peers(&self) -> impl Iterator<Item = (&PublicKey, u64)> {
        self.peers.iter().map(|(peer, time)| (peer, *time))
    }

    /// That of this host.
    pub const fn own(&self) -> u64 {
        self.own
    }

    /// A request of a peer came with this time. False if it is no newer than one before: it is a replay.
    pub(super) fn came(&mut self, peer: PublicKey, time: u64) -> bool {
        let newest = self.peers.entry(peer).or_default();
        let is_newer = time > *newest;
        if is_newer {
            *newest = time;
        }
        is_newer
    }

    /// The time of a request of this host: that of the calendar, and more than last time whatever the calendar does.
    pub(super) fn ask(&mut self, calendar: u64) -> u64 {
        self.own = calendar.max(self.own.saturating_add(1));
        self.own
    }
}

impl Hub {
    /// The times in requests, to be kept over a restart.
    pub const fn times(&self) -> &Times {
        &self.times
    }

    /// The times as they were kept, a while before this host ended. To be called before anything is sent, and what
    /// [`Hub::times`] says then is to be kept at once: the epoch of this process is among it, and no later one may have the
    /// same.
    pub fn set_times(&mut self, mut times: Times) {
        if times.own >= self.epoch {
            // The calendar of this host has gone back, so that only what was said counts. Where nothing could be kept,
            // processes differ at least.
            let differs = (self.entropy)() % SECOND;
            times.own = times.own.saturating_add(KEPT_LATE.as_nanos() + differs);
        }
        self.epoch = times.ask(self.epoch);
        self.times = times;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::SecretKey;

    #[test]
    fn times_grow_whatever_the_calendar_does() {
        let mut times = Times::default();
        assert_eq!([5, 3, 9].map(|calendar| times.ask(calendar)), [5, 6, 9]);
        let peer = SecretKey::from_bytes([1; 32]).public();
        assert_eq!([5, 5, 4, 6].map(|time| times.came(peer, time)), [true, false, false, true]);
        assert!(times.peers().eq([(&peer, 6)]));
    }
}
