//! Hosts that end and begin anew, and have forgotten all connections of before.

use bentpipe_units::Instant;

use super::Hub;
use super::control::Control;
use super::pieces::Pieces;
use super::route::Route;

/// Copies of the last message: nobody repairs it.
const FAREWELLS: usize = 3;

/// Bytes of an incarnation at the front of a handshake message's payload.
pub(super) const INCARNATION: usize = 8;

impl Hub {
    /// What goes with a handshake message: which incarnation of this host speaks, then segments.
    pub(super) fn greeting(&mut self, association: usize) -> Vec<u8> {
        let segments = self.associations[association].early.payload();
        [&self.incarnation.to_be_bytes()[..], &segments].concat()
    }

    /// A handshake message came by this route from this incarnation of the peer. If it is another one than before, the
    /// connections of before end: their numbers will mean others. Those that this host has opened and the
    /// peer has not answered are as good as new.
    pub(super) fn meet(&mut self, now: Instant, id: usize, from: Route, incarnation: u64) {
        let association = &mut self.associations[id];
        let before = association.incarnation.replace(incarnation);
        if before.is_none_or(|before| before == incarnation) {
            return;
        }
        association.ways.forget(from);
        self.end_connections(now, id, false);
    }

    /// Ends all connections and tells the peers, before this host ends. Who does not hear it finds out by
    /// himself, when nobody answers.
    pub fn leave(&mut self, now: Instant) {
        let all: Vec<usize> = self.associations.iter().map(|(id, _)| id).collect();
        for id in all {
            for _ in 0..FAREWELLS {
                self.associations[id].tell(now, &Control::Leaving, &mut self.outbox);
            }
            self.end_connections(now, id, true);
        }
        self.flush(now);
    }

    /// The peer ends. What this host has opened and the peer has not answered waits for the next incarnation.
    pub(super) fn handle_leaving(&mut self, now: Instant, id: usize) {
        self.associations[id].incarnation = None;
        self.end_connections(now, id, false);
    }

    /// Ends the connections of an association and forgets its keys. Those that this host has opened and the peer
    /// has not answered stay, unless they end too.
    fn end_connections(&mut self, now: Instant, id: usize, opening_too: bool) {
        let association = &mut self.associations[id];
        association.forget_keys();
        association.pieces = Pieces::default();
        let numbers: Vec<(u32, usize)> =
            association.numbers.iter().map(|(number, id)| (*number, *id)).collect();
        for (number, connection) in numbers {
            self.stir(connection);
            let stream = &mut self.connections[connection].stream;
            let ours = self.associations[id].is_ours(number);
            if ours && stream.endpoint.is_opening() && !opening_too {
                continue;
            }
            stream.endpoint.handle_restart(now);
            self.associations[id].numbers.remove(&number);
        }
        self.unname_requests(id);
    }
}
