//! Hosts that end and begin anew, and have forgotten all connections of before. One run of a host's process is
//! an epoch.

use bentpipe_units::Instant;

use super::control::Control;
use super::marks::Marks;
use super::pieces::Pieces;
use super::route::Route;
use super::{AssociationId, Hub};

/// Copies of the last message: nobody repairs it.
const CLOSES: usize = 3;

/// Bytes of an epoch at the front of a handshake message's payload.
pub(super) const EPOCH: usize = 8;

/// Which connections of an association end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// All of them.
    All,
    /// Those that both ends know. What this host has opened and the peer has not answered waits for whoever
    /// answers, if nothing was sent by it that the one of before may have taken.
    Known,
    /// Those that the peer has opened.
    Theirs,
}

impl Hub {
    /// The peer has proved that it was started anew, and is reached by this route. The connections of before end: their
    /// numbers will mean others.
    pub(super) fn begin_epoch(&mut self, now: Instant, id: AssociationId, route: Route) {
        let association = &mut self.associations[id];
        association.ways.forget(route);
        association.pieces = Pieces::default();
        association.marks = Marks::default();
        tracing::info!(peer = %association.peer, address = %route.address, "the peer was restarted");
        self.end_connections(now, id, Ending::Known);
    }

    /// A request of this epoch opens connections, before its sender has proved to be the peer of now. Those of another
    /// epoch end; those of this one may be known to the peer, whose answer came and whose word was lost.
    pub(super) fn begin_unproven(&mut self, now: Instant, id: AssociationId, epoch: Option<u64>) {
        let before = std::mem::replace(&mut self.associations[id].unproven, epoch);
        if before.is_some() && before != epoch {
            self.end_connections(now, id, Ending::Theirs);
        }
    }

    /// The peer has proved which epoch is its own. Connections of a request of another one, which somebody may have kept,
    /// end: their numbers will mean others.
    pub(super) fn begin_proven(&mut self, now: Instant, id: AssociationId) {
        let proven = self.associations[id].keys.epoch();
        self.begin_unproven(now, id, proven);
        self.associations[id].unproven = None;
    }

    /// Ends all connections and tells the peers, before this host ends: from then on it asks nobody and answers
    /// no request. Who does not hear it finds out by himself, when nobody answers.
    pub fn leave(&mut self, now: Instant) {
        self.identity.close();
        let all: Vec<AssociationId> = self.associations.keys().collect();
        for id in all {
            for _ in 0..CLOSES {
                self.associations[id].tell(now, &Control::Leaving, &mut self.outbox);
            }
            self.end_connections(now, id, Ending::All);
            self.associations[id].keys.withdraw();
            self.forget_keys(now, id);
        }
        self.flush(now);
    }

    /// The peer ends. What this host has opened and the peer has not answered waits for its next epoch.
    pub(super) fn handle_leaving(&mut self, now: Instant, id: AssociationId) {
        let ways = &mut self.associations[id].ways;
        ways.forget(ways.get(ways.main()).route);
        self.end_connections(now, id, Ending::Known);
        self.forget_keys(now, id);
    }

    /// All that was agreed with a peer is forgotten.
    fn forget_keys(&mut self, now: Instant, id: AssociationId) {
        let association = &mut self.associations[id];
        association.pieces = Pieces::default();
        association.unproven = None;
        association.keys.forget();
        self.follow_keys(id);
        self.set_timer(now, id);
    }

    /// Ends connections of an association.
    fn end_connections(&mut self, now: Instant, id: AssociationId, which: Ending) {
        let association = &self.associations[id];
        let numbers: Vec<(u32, usize)> = association.roster.iter().collect();
        for (number, connection) in numbers {
            self.stir(connection);
            let stream = &mut self.connections[connection].stream;
            let ours = self.associations[id].roster.is_ours(number);
            let stays = match which {
                Ending::All => false,
                Ending::Known => {
                    ours && stream.endpoint.is_opening() && !stream.endpoint.has_sent()
                }
                Ending::Theirs => ours,
            };
            if !stays {
                stream.endpoint.handle_restart(now);
                self.associations[id].roster.free(number);
            }
        }
    }
}
