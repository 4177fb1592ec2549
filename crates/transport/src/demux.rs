//! Which session a segment belongs to.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use crate::PathId;

/// Finds the session of a segment by path and ports.
#[derive(Debug)]
pub struct Demux<K: Copy> {
    sessions: FxHashMap<Key, K>,
    listeners: FxHashMap<u16, K>,
    /// Sessions that were found lately, by the lowest bits of the local port: segments come in trains, and the
    /// ports of connections that are busy at the same time mostly follow each other.
    latest: [Cell<Option<(Key, K)>>; LATEST],
}

/// So many sessions are found without looking for them.
const LATEST: usize = 16;

/// What tells sessions apart: the path to the peer, the local and the peer's port.
type Key = (PathId, u16, u16);

impl<K: Copy> Default for Demux<K> {
    fn default() -> Self {
        let latest = std::array::from_fn(|_| Cell::new(None));
        Self { sessions: FxHashMap::default(), listeners: FxHashMap::default(), latest }
    }
}

impl<K: Copy> Demux<K> {
    /// Registers a session.
    pub fn insert(&mut self, path: PathId, local_port: u16, peer_port: u16, session: K) {
        self.latest_of(local_port).set(None);
        self.sessions.insert((path, local_port, peer_port), session);
    }

    /// Forgets a session.
    pub fn remove(&mut self, path: PathId, local_port: u16, peer_port: u16) {
        self.latest_of(local_port).set(None);
        self.sessions.remove(&(path, local_port, peer_port));
    }

    /// The session of these ports.
    #[inline]
    pub fn session(&self, path: PathId, local_port: u16, peer_port: u16) -> Option<K> {
        let wanted = (path, local_port, peer_port);
        let latest = self.latest_of(local_port);
        if let Some((key, session)) = latest.get()
            && key == wanted
        {
            return Some(session);
        }
        let session = self.sessions.get(&wanted).copied()?;
        latest.set(Some((wanted, session)));
        Some(session)
    }

    #[inline]
    fn latest_of(&self, local_port: u16) -> &Cell<Option<(Key, K)>> {
        &self.latest[usize::from(local_port) % LATEST]
    }

    /// Lets a listener wait on a port.
    pub fn listen(&mut self, local_port: u16, listener: K) {
        self.listeners.insert(local_port, listener);
    }

    /// The listener on a port.
    pub fn listener(&self, local_port: u16) -> Option<K> {
        self.listeners.get(&local_port).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_told_apart_by_path_and_both_ports() {
        let mut demux = Demux::default();
        demux.insert(PathId(1), 80, 5000, 'a');
        demux.insert(PathId(2), 80, 5000, 'b');
        demux.listen(80, 'l');
        assert_eq!(demux.session(PathId(1), 80, 5000), Some('a'));
        assert_eq!(demux.session(PathId(2), 80, 5000), Some('b'));
        assert_eq!(demux.session(PathId(1), 80, 5001), None);
        assert_eq!((demux.listener(80), demux.listener(81)), (Some('l'), None));
        demux.remove(PathId(1), 80, 5000);
        assert_eq!(demux.session(PathId(1), 80, 5000), None);
    }
}
