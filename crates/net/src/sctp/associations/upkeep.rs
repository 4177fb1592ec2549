//! What follows from what happened to an association: its paths, news of them, its end.

use std::net::IpAddr;

use bentpipe_transport::sctp::Notice;
use bentpipe_transport::{Endpoint as _, Event, Failure};
use bentpipe_units::Instant;

use super::{Associations, Connection, Local, MOST_CHANGES, Path};
use crate::sctp::PathChange;

impl Associations {
    /// The peer has named its addresses: each is a path.
    pub(super) fn learn(&mut self, now: Instant, id: usize) {
        let connection = &mut self.connections[id];
        connection.learned = true;
        for named in connection.stream.endpoint.peer_addresses().to_vec() {
            self.learn_address(now, id, named);
        }
    }

    /// The peer has this address: a path leads there.
    pub(super) fn learn_address(&mut self, now: Instant, id: usize, named: IpAddr) {
        let ip = named.to_canonical();
        let connection = &self.connections[id];
        let Some(&first) = connection.paths.first() else { return };
        if connection.paths.find(ip).is_some() || !Local::may_be_named(first.ip(), ip) {
            return;
        }
        if let Some((socket, to)) = self.local.path_to(ip, first.to.port()) {
            self.add_path(now, id, Path { socket, to });
        }
    }

    /// Takes note of paths that came and went.
    pub(super) fn note_changes(&mut self, now: Instant, id: usize) {
        while let Some(notice) = self.connections[id].stream.endpoint.poll_notice() {
            let change = match notice {
                Notice::PathConfirmed(path) => PathChange::Confirmed(self.address(id, path)),
                Notice::PathInactive(path) => PathChange::Down(self.address(id, path)),
                Notice::PathActive(path) => PathChange::Up(self.address(id, path)),
                Notice::PeerAddressAdded(address) => {
                    self.learn_address(now, id, address);
                    self.mark_dirty(id);
                    continue;
                }
                Notice::PeerAddressDeleted(address) => {
                    self.forget_address(id, address);
                    PathChange::Deleted(address)
                }
                Notice::Readdressed => PathChange::Readdressed,
                Notice::ReaddressRefused(code) => {
                    let Connection { paths, stream, .. } = &mut self.connections[id];
                    paths.keep(|path| stream.endpoint.has_path(path));
                    self.forget_ends(id);
                    PathChange::ReaddressRefused(code)
                }
                Notice::Restarted => {
                    // What was in flight is lost, and no stream of bytes goes on without it.
                    let stream = &mut self.connections[id].stream;
                    stream.endpoint.abort(now);
                    stream.note(Event::Failed(Failure::PeerRestarted));
                    self.mark_dirty(id);
                    continue;
                }
            };
            let connection = &mut self.connections[id];
            if connection.changes.len() == MOST_CHANGES {
                connection.changes.pop_front();
            }
            connection.changes.push_back(change);
            if let Some(watcher) = connection.watcher.take() {
                watcher.wake();
            }
        }
    }

    /// From its end on there is no such association, and its packets are strays.
    pub(super) fn forget_if_over(&mut self, id: usize) {
        let connection = &mut self.connections[id];
        if !connection.stream.endpoint.is_closed() {
            return;
        }
        self.by_ends.retain(|_, of| *of != id);
        if let Some(watcher) = connection.watcher.take() {
            watcher.wake();
        }
        if connection.stream.dropped || connection.unaccepted {
            self.timers.set(id, None);
            self.connections.remove(id);
        }
    }
}
