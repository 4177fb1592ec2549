//! The times in requests: a peer's must grow, and so must this host's own, also over restarts.

use std::collections::BTreeMap;

use crate::key::PublicKey;

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

    /// The newest of each, here and there.
    #[must_use]
    pub fn with(mut self, others: &Self) -> Self {
        for (peer, time) in others.peers() {
            self.came(*peer, time);
        }
        self.own = self.own.max(others.own);
        self
    }

    /// That of this host is later by so many nanoseconds.
    pub(super) const fn add(&mut self, nanos: u64) {
        self.own = self.own.saturating_add(nanos);
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
