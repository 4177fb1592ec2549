//! What follows from what happened to an association: its paths, news of them, its end.

use bentpipe_transport::sctp::Notice;
use bentpipe_transport::{Endpoint as _, Event, Failure};
use bentpipe_units::Instant;

use super::{Associations, Local, MOST_CHANGES, Path, Paths};
use crate::sctp::PathChange;

impl Associations {
    /// The peer has named its addresses: each is a path.
    pub(super) fn learn(&mut self, now: Instant, id: usize) {
        let connection = &mut self.connections[id];
        let ports = connection.stream.endpoint.ports();
        let Some(&primary) = connection.paths.get(Paths::PRIMARY) else { return };
        connection.learned = true;
        for named in connection.stream.endpoint.peer_addresses().to_vec() {
            let ip = named.to_canonical();
            if connection.paths.find(ip).is_some() || !Local::may_be_named(primary.ip(), ip) {
                continue;
            }
            let Some((socket, to)) = self.local.path_to(ip, primary.to.port()) else { continue };
            let number = connection.paths.add(Path { socket, to });
            connection.stream.endpoint.add_path(now, number);
            // Nobody takes packets away from another association by naming its peer.
            self.by_ends.entry((ip, ports)).or_insert(id);
        }
    }

    /// Takes note of paths that came and went.
    pub(super) fn note_changes(&mut self, now: Instant, id: usize) {
        while let Some(notice) = self.connections[id].stream.endpoint.poll_notice() {
            let change = match notice {
                Notice::PathConfirmed(path) => PathChange::Confirmed(self.address(id, path)),
                Notice::PathInactive(path) => PathChange::Down(self.address(id, path)),
                Notice::PathActive(path) => PathChange::Up(self.address(id, path)),
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
        let connection = &self.connections[id];
        if !connection.stream.endpoint.is_closed() {
            return;
        }
        let ports = connection.stream.endpoint.ports();
        for path in connection.paths.iter() {
            if self.by_ends.get(&(path.ip(), ports)) == Some(&id) {
                self.by_ends.remove(&(path.ip(), ports));
            }
        }
        if connection.stream.dropped || connection.unaccepted {
            self.timers.set(id, None);
            self.connections.remove(id);
        }
    }
}
