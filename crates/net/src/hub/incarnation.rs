//! Peers that were restarted, and have forgotten all connections of before.

use bentpipe_units::Instant;

use super::Hub;
use super::pieces::Pieces;
use super::route::Route;

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
        association.forget_keys();
        association.pieces = Pieces::default();
        association.ways.forget(from);
        let numbers: Vec<(u32, usize)> =
            association.numbers.iter().map(|(number, id)| (*number, *id)).collect();
        for (number, connection) in numbers {
            let stream = &mut self.connections[connection].stream;
            let ours = self.associations[id].is_ours(number);
            if ours && stream.endpoint.is_opening() {
                continue;
            }
            stream.endpoint.handle_restart(now);
            self.associations[id].numbers.remove(&number);
            self.stir(connection);
        }
        self.unname_requests(id);
    }
}
