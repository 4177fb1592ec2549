//! Requests for keys and their answers.

use bentpipe_units::Instant;
use bentpipe_wire::Ecn;
use bytes::Bytes;

use super::Endpoint;
use super::association::Held;
use super::early::segments;
use super::names::AssociationId;
use super::receive::Envelope;
use super::route::Route;
use crate::secure::{Index, Init};

/// Bytes of an epoch at the front of a handshake message's payload.
const EPOCH: usize = 8;

/// The epoch and the segments in the payload of a handshake message.
fn split_payload(payload: &[u8]) -> Option<(u64, &[u8])> {
    let (epoch, segments) = payload.split_first_chunk::<EPOCH>()?;
    Some((u64::from_be_bytes(*epoch), segments))
}

impl Endpoint {
    /// A request came. It may be a replay, and its sender may be elsewhere: it is answered, and what is known of
    /// the peer stays as it is until the peer uses the keys.
    pub(super) fn handle_init(&mut self, now: Instant, from: Route, init: &Init<'_>) -> Option<()> {
        let outbox = self.egress.outbox();
        let request = self.gate.admit(now, from, init, &mut self.identity, outbox)?;
        let (epoch, early) = split_payload(&request.payload)?;
        if !self.identity.is_newer(request.peer, request.time) {
            return None;
        }
        let known = self.directory.of_peer(request.peer);
        if known.is_some_and(|id| self.directory.get(id).is_past(epoch)) {
            // A request that comes late, or two processes with one key.
            self.gate.log_old_process(now, from, request.peer);
            return None;
        }
        let id = known.unwrap_or_else(|| self.associate(now, request.peer, from));
        // Before the answer is written, for it takes along what the connections say.
        let held = self.open_early(now, id, from, epoch, early);
        let segments = self.directory.get_mut(id).take_early();
        let payload = self.identity.handshake_payload(&segments);
        let names = self.directory.names();
        let index = self.identity.new_index(|index| names.is_free(index));
        let (traffic, datagram) = request.answer(index, &payload);
        let held = Held { route: from, segments: held };
        self.context(id).offer(now, traffic, index, epoch, held);
        let outbox = self.egress.outbox();
        outbox.push(from, Ecn::NotCapable, |out| out.extend_from_slice(&datagram));
        self.context(id).set_timer(now);
        Some(())
    }

    /// The segments of a request open connections at once, and the answer says so, unless the peer seems to have
    /// been restarted: then their numbers may be those of connections that still live, and what is returned waits
    /// until the peer has proved it.
    fn open_early(
        &mut self,
        now: Instant,
        id: AssociationId,
        from: Route,
        epoch: u64,
        early: &[u8],
    ) -> Vec<Bytes> {
        let segments = segments(early).map(Bytes::copy_from_slice);
        if !self.context(id).may_open_early(now, epoch) {
            return segments.collect();
        }
        self.directory.get_mut(id).set_collects(true);
        for segment in segments {
            self.handle_plain(now, id, Envelope::NONE, from, segment);
        }
        self.flush(now);
        self.directory.get_mut(id).set_collects(false);
        Vec::new()
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
        let id = self.directory.names().find(receiver)?;
        let association = self.directory.get_mut(id);
        let had_keys = association.is_up();
        let request = association.request(receiver)?;
        // Only now, for what answers nothing costs nothing.
        if !self.gate.hears_answer(now) {
            return None;
        }
        let (traffic, payload) = match request.initiator.take()?.finish(sender, noise) {
            Ok(finished) => finished,
            Err(waiting) => {
                // Forged: the right one may still come.
                request.initiator = Some(waiting);
                return None;
            }
        };
        let mut context = self.context(id);
        let Some((epoch, early)) = split_payload(&payload) else {
            context.withdraw_request();
            return None;
        };
        if !context.handle_answer(now, traffic, epoch) {
            return None;
        }
        for segment in segments(early) {
            self.handle_plain(now, id, Envelope::NONE, from, Bytes::copy_from_slice(segment));
        }
        let mut context = self.context(id);
        // What waited for keys can go, by the path that was answered.
        context.switch(now);
        context.go_on(had_keys);
        context.set_timer(now);
        Some(())
    }
}
