//! Requests for keys and their answers.

use bentpipe_units::Instant;
use bentpipe_wire::Ecn;
use bytes::Bytes;

use super::association::Held;
use super::early::segments;
use super::epoch::EPOCH;
use super::receive::NO_DATAGRAM;
use super::route::Route;
use super::{AssociationId, Hub};
use crate::secure::{Agreed, Index, Init, SealedCookie};

impl Hub {
    /// Asks the peer for keys.
    pub(super) fn ask(&mut self, now: Instant, id: AssociationId) {
        if self.identity.is_closed() {
            return;
        }
        let index = match self.associations[id].keys.requested() {
            Some(index) => index,
            None => self.identity.new_index(|index| !self.by_index.contains_key(&index)),
        };
        self.by_index.insert(index, id);
        let association = &mut self.associations[id];
        let segments = association.early.payload();
        let initiator = self.identity.request(now, association.peer, index, &segments);
        association.keys.asked(now, Box::new(initiator), index);
        let is_proven = association.keys.epoch().is_some();
        association.asked_by = Some(association.ways.to_ask_by(association.asked_by, is_proven));
        self.send_request(id, index);
        self.set_timer(now, id);
    }

    /// Sends the request that waits for its answer to `index`.
    fn send_request(&mut self, id: AssociationId, index: Index) {
        let association = &mut self.associations[id];
        let Some(request) = association.keys.request(index) else { return };
        let Some(initiator) = &request.initiator else { return };
        let datagram = initiator.datagram(request.cookie.as_ref());
        let way = association.asked_by.unwrap_or(association.ways.main());
        let route = association.ways.route_to_ask(way);
        self.outbox.push(route, Ecn::NotCapable, |out| out.extend_from_slice(&datagram));
    }

    /// A request came. It may be a replay, and its sender may be elsewhere: it is answered, and what is known of
    /// the peer stays as it is until the peer uses the keys.
    pub(super) fn handle_init(&mut self, now: Instant, from: Route, init: &Init<'_>) -> Option<()> {
        let greeting = self.gate.admit(now, from, init, &mut self.identity, &mut self.outbox)?;
        let (epoch, early) = greeting.payload.split_first_chunk::<EPOCH>()?;
        let epoch = u64::from_be_bytes(*epoch);
        if !self.identity.is_newer(greeting.peer, greeting.time) {
            return None;
        }
        let known = self.by_peer.get(&greeting.peer).copied();
        if known.is_some_and(|id| self.associations[id].keys.is_past(epoch)) {
            // A request that comes late, or two processes with one key.
            self.gate.log_old_process(now, from, greeting.peer);
            return None;
        }
        let id = known.unwrap_or_else(|| self.associate(now, greeting.peer, from));
        let held = self.open_early(now, id, from, epoch, early);
        let early = &mut self.associations[id].early;
        let payload = self.identity.greeting(&early.payload());
        let _ = early.take_rest();
        let index = self.identity.new_index(|index| !self.by_index.contains_key(&index));
        let (traffic, datagram) = greeting.answer(index, &payload);
        let held = Held { route: from, segments: held };
        self.associations[id].keys.offer(now, traffic, index, epoch, held);
        self.follow_keys(id);
        self.by_index.insert(index, id);
        self.outbox.push(from, Ecn::NotCapable, |out| out.extend_from_slice(&datagram));
        self.set_timer(now, id);
        Some(())
    }

    /// The segments of a request open connections at once, and the answer says so, unless the peer seems to have
    /// been restarted: then their numbers may be those of connections that still live, and what is returned waits until
    /// the peer has proved it.
    fn open_early(
        &mut self,
        now: Instant,
        id: AssociationId,
        from: Route,
        epoch: u64,
        early: &[u8],
    ) -> Vec<Bytes> {
        let segments = segments(early).map(Bytes::copy_from_slice);
        let known = self.associations[id].keys.epoch();
        if known.is_some_and(|known| known != epoch) {
            return segments.collect();
        }
        if known.is_none() {
            self.begin_unproven(now, id, Some(epoch));
        }
        self.associations[id].early.set_collects(true);
        for segment in segments {
            self.handle_plain(now, id, NO_DATAGRAM, from, segment);
        }
        self.flush(now);
        self.associations[id].early.set_collects(false);
        Vec::new()
    }

    /// The peer has used the keys that it asked for.
    pub(super) fn handle_agreed(
        &mut self,
        now: Instant,
        id: AssociationId,
        agreed: Agreed<Held>,
        had_keys: bool,
    ) {
        self.follow_keys(id);
        self.begin_proven(now, id);
        let association = &mut self.associations[id];
        association.asked_by = None;
        let Held { route, segments } = agreed.held;
        if agreed.new_epoch {
            self.begin_epoch(now, id, route);
        } else if association.ways.is_at(route) {
            // The answer arrived there.
            self.switch(now, id);
        }
        self.go_on(id, had_keys);
        for segment in segments {
            self.handle_plain(now, id, NO_DATAGRAM, route, segment);
        }
    }

    /// Connections that waited for keys can go on. What a request to open was sealed with, the peer may not have had.
    fn go_on(&mut self, id: AssociationId, had_keys: bool) {
        if !had_keys {
            // The peer may have forgotten the association, and counts anew what it cuts.
            self.associations[id].pieces.forget();
        }
        let all: Vec<usize> = self.associations[id].roster.all();
        for connection in all {
            let endpoint = &mut self.connections[connection].stream.endpoint;
            if !had_keys || endpoint.is_opening() {
                endpoint.repeat_opening();
                self.stir(connection);
            }
        }
    }

    /// An answer came to the request that was sent under `receiver`.
    pub(super) fn handle_response(
        &mut self,
        now: Instant,
        from: Route,
        receiver: Index,
        sender: Index,
        noise: &[u8],
    ) -> Option<()> {
        let &id = self.by_index.get(&receiver)?;
        let association = &mut self.associations[id];
        let had_keys = association.is_up();
        let request = association.keys.request(receiver)?;
        if !self.gate.hears_answer(now) {
            return None;
        }
        let initiator = request.initiator.take()?;
        let (traffic, payload) = match initiator.finish(sender, noise) {
            Ok(finished) => finished,
            Err(waiting) => {
                request.initiator = Some(waiting);
                return None;
            }
        };
        let Some((epoch, early)) = payload.split_first_chunk::<EPOCH>() else {
            association.keys.withdraw();
            self.follow_keys(id);
            return None;
        };
        let epoch = u64::from_be_bytes(*epoch);
        let asked_by = association.asked_by.unwrap_or(association.ways.main());
        let route = association.ways.route_to_ask(asked_by);
        let agreed = association.take_over(now, traffic, epoch)?;
        association.ways.answered_by(asked_by);
        self.follow_keys(id);
        if agreed.new_epoch {
            self.begin_epoch(now, id, route);
        }
        self.begin_proven(now, id);
        let association = &mut self.associations[id];
        let main = association.ways.main();
        // The peer sends nothing before it has seen that the keys are in use.
        let rest = association.early.take_rest();
        for plain in std::iter::once(Bytes::new()).chain(rest) {
            association
                .send(now, main, true, &mut self.outbox, |out| out.extend_from_slice(&plain));
        }
        for segment in segments(early) {
            self.handle_plain(now, id, NO_DATAGRAM, from, Bytes::copy_from_slice(segment));
        }
        // What waited for keys can go, by the way that was answered.
        self.switch(now, id);
        self.go_on(id, had_keys);
        self.set_timer(now, id);
        Some(())
    }

    /// The peer wants a proof of this host's address with its request.
    pub(super) fn handle_cookie(
        &mut self,
        receiver: Index,
        sealed: &SealedCookie<'_>,
    ) -> Option<()> {
        let &id = self.by_index.get(&receiver)?;
        let request = self.associations[id].keys.request(receiver)?;
        let cookie = request.initiator.as_ref()?.open_cookie(sealed)?;
        // Once for each request: a cookie that comes again makes this host send nothing.
        if request.cookie.replace(cookie).is_none() {
            self.send_request(id, receiver);
        }
        Some(())
    }
}
