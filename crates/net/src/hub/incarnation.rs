//! Hosts that end and begin anew, and have forgotten all connections of before.

use bentpipe_units::{Instant, Span};

use super::Hub;
use super::control::Control;
use super::pieces::Pieces;
use super::route::Route;
use crate::key::PublicKey;

/// Copies of the last message: nobody repairs it.
const FAREWELLS: usize = 3;
/// Time between two words about strangers.
const TELL_AGAIN: Span = Span::from_secs(60);

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
        tracing::info!(peer = %association.peer, address = %from.address, "the peer was restarted");
        self.end_connections(now, id, false);
    }

    /// Somebody with an unknown key asks for an association. It is said once a minute, for whoever has put the wrong key
    /// into a configuration.
    pub(super) fn tell_of_stranger(&mut self, now: Instant, from: Route, key: PublicKey) {
        if self.stranger_at.is_none_or(|last| now.since(last) >= TELL_AGAIN) {
            self.stranger_at = Some(now);
            tracing::warn!(address = %from.address, %key, "somebody asks whose key is none of the peers'");
        }
    }

    /// Ends all connections and tells the peers, before this host ends: from then on it asks nobody and answers
    /// no request. Who does not hear it finds out by himself, when nobody answers.
    pub fn leave(&mut self, now: Instant) {
        self.has_left = true;
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
    pub(super) fn handle_leaving(&mut self, now: Instant, id: usize, from: Route) {
        let association = &mut self.associations[id];
        association.incarnation = None;
        association.ways.forget(from);
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
