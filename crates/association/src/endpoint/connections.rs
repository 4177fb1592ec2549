//! The connections of a host, and which of them were changed.
//!
//! Whoever changes a session does it here: it is marked, and drained before anything else happens.

use std::collections::VecDeque;

use bentpipe_transport::xstp::Session;
use bentpipe_units::Instant;
use bytes::Bytes;
use slab::Slab;

use super::connection::Connection;
use super::memory::Memory;
use crate::stream::Stream;

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Connections {
    slab: Slab<Connection>,
    /// Those that are to be drained. One may be gone by then.
    dirty: VecDeque<usize>,
}

impl Connections {
    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }

    pub(super) fn find(&self, id: usize) -> Option<&Connection> {
        self.slab.get(id)
    }

    /// # Panics
    /// When there is none of this number.
    pub(super) fn get(&self, id: usize) -> &Connection {
        &self.slab[id]
    }

    /// # Panics
    /// When there is none of this number.
    pub(super) fn get_mut(&mut self, id: usize) -> &mut Connection {
        &mut self.slab[id]
    }

    /// One more. It has something to say.
    pub(super) fn insert(&mut self, connection: Connection) -> usize {
        let id = self.slab.insert(connection);
        self.mark_dirty(id);
        id
    }

    /// Forgets one.
    pub(super) fn remove(&mut self, id: usize) {
        self.slab.remove(id);
    }

    /// It was changed, and is drained soon.
    pub(super) fn mark_dirty(&mut self, id: usize) {
        if let Some(connection) = self.slab.get_mut(id)
            && connection.mark_dirty()
        {
            self.dirty.push_back(id);
        }
    }

    /// The next one that is to be drained.
    pub(super) fn next_dirty(&mut self) -> Option<usize> {
        while let Some(id) = self.dirty.pop_front() {
            if self.slab.get_mut(id).is_some_and(Connection::take_dirty) {
                return Some(id);
            }
        }
        None
    }

    /// The session of a connection, to be changed, and to be drained for that.
    pub(super) fn change(&mut self, id: usize) -> Option<&mut Session> {
        self.mark_dirty(id);
        self.slab.get_mut(id).map(|connection| &mut connection.stream_mut().endpoint)
    }

    /// What the application does with a connection: it says so if it has to be drained for that.
    ///
    /// # Panics
    /// When there is none of this number.
    pub(super) fn stream_mut(&mut self, id: usize) -> &mut Stream {
        self.slab[id].stream_mut()
    }

    /// A segment came for a connection: it is taken, counted, and the connection drained; or there is no room for it.
    pub(super) fn receive(&mut self, now: Instant, id: usize, plain: Bytes, memory: &mut Memory) {
        let connection = &mut self.slab[id];
        let tight = memory.is_tight();
        let Some(segment) = connection.decode(plain) else { return };
        let is_taken = connection.receive(now, segment, memory);
        if tight {
            // Otherwise it is enough to count when the connection is drained.
            self.count(id, memory);
        }
        if is_taken {
            self.mark_dirty(id);
        }
    }

    /// Counts what a connection holds.
    #[inline]
    pub(super) fn count(&mut self, id: usize, memory: &mut Memory) {
        if self.slab[id].count(memory) {
            self.wake_writers(id, memory);
        }
    }

    /// Wakes writers for which there is room now, that of this connection among them.
    #[cold]
    fn wake_writers(&mut self, id: usize, memory: &mut Memory) {
        self.slab[id].wake_writer(memory);
        for waiting in memory.take_waiting() {
            if let Some(connection) = self.slab.get_mut(waiting) {
                connection.end_wait();
            }
        }
    }
}
