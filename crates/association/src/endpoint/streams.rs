//! The connections of an endpoint as applications use them.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use bentpipe_transport::xstp::Session;

use super::Endpoint;
use crate::stream::{ConnectionId, Kept, Stream, Streams};

impl Streams for Endpoint {
    type Endpoint = Session;

    fn stream(&self, id: ConnectionId) -> &Stream {
        self.connections.get(id.0).stream()
    }

    fn stream_mut(&mut self, id: ConnectionId) -> &mut Stream {
        self.connections.stream_mut(id.0)
    }

    fn changed(&mut self, id: ConnectionId) {
        self.connections.mark_dirty(id.0);
    }

    fn was_read(&mut self, id: ConnectionId) -> bool {
        self.count(id);
        false
    }

    fn keeps(&mut self, id: ConnectionId, kept: Kept) {
        if self.connections.get_mut(id.0).keep(kept) {
            self.count(id);
        }
    }

    fn room(&mut self, id: ConnectionId) -> usize {
        let connection = self.connections.get_mut(id.0);
        let memory = self.directory.get_mut(connection.association()).memory();
        connection.room(id.0, memory)
    }

    fn was_written(&mut self, id: ConnectionId) {
        self.count(id);
    }

    fn shortages(&self) -> Arc<AtomicUsize> {
        self.settings.tight()
    }
}
