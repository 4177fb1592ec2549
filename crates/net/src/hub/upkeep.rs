//! What time demands of associations: keys, signs of life, probes of the path.

use bentpipe_transport::Endpoint as _;
use bentpipe_units::Instant;
use bentpipe_wire::Ecn;

use super::{Hub, Owner};
use crate::association::Initiator;

impl Hub {
    /// Lets the time pass.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(owner) = self.timers.pop(now) {
            match owner {
                Owner::Connection(id) => {
                    if let Some(connection) = self.connections.get_mut(id) {
                        connection.stream.endpoint.handle_timeout(now);
                        self.stir(id);
                    }
                }
                Owner::Association(id) => self.maintain(now, id),
                // Those who waited for the host's line are served before anything is sent.
                Owner::Host => {}
            }
        }
    }

    /// Does for an association what time demands.
    fn maintain(&mut self, now: Instant, id: usize) {
        let Some(association) = self.associations.get_mut(id) else { return };
        if let Some(index) = association.forget_old(now) {
            self.by_index.remove(&index);
        }
        if let Some(index) = association.forget_offer(now) {
            self.by_index.remove(&index);
            // Whoever waited for these keys asks for others.
            self.stir_all(id);
        }
        let association = &mut self.associations[id];
        let keys = association.is_up() || association.is_offered();
        let waits = keys || !association.numbers.is_empty();
        if !waits {
            return self.dissolve(id);
        }
        if association.owes_answer(now) {
            let main = association.ways.main();
            association.send(now, main, false, &mut self.outbox, |_| {});
        }
        let changed = association.maintain_ways(now, &mut self.outbox);
        if association.wants_keys(now) {
            if association.numbers.is_empty() {
                // Nobody needs the answer any more.
                association.request = None;
                self.unname_requests(id);
            } else {
                self.ask(now, id);
            }
        }
        if changed {
            self.switch(now, id);
        }
        self.wake_lines(now, id);
        self.timers.set(Owner::Association(id), self.associations[id].deadline());
    }

    /// Asks the peer for keys.
    pub(super) fn ask(&mut self, now: Instant, id: usize) {
        if self.has_left {
            return;
        }
        let index = match &self.associations[id].request {
            Some(request) => request.index,
            None => self.new_index(),
        };
        self.by_index.insert(index, id);
        // Strictly more than last time, whatever the clock does.
        self.asked_at = (self.calendar + now.as_nanos()).max(self.asked_at + 1);
        let payload = self.greeting(id);
        let association = &mut self.associations[id];
        let initiator = Initiator::new(
            self.security,
            &self.key,
            association.peer,
            index,
            self.asked_at,
            &payload,
        );
        association.asked(now, initiator, index);
        if let Some(request) = &association.request
            && let Some(initiator) = &request.initiator
        {
            let datagram = initiator.datagram(request.cookie.as_ref());
            let way = match association.asked_by {
                Some(before) => association.ways.after(before),
                None => association.ways.main(),
            };
            association.asked_by = Some(way);
            let route = association.ways.get(way).route;
            self.outbox.push(route, Ecn::NotCapable, |out| out.extend_from_slice(&datagram));
        }
        self.timers.set(Owner::Association(id), self.associations[id].deadline());
    }

    fn dissolve(&mut self, id: usize) {
        let association = self.associations.remove(id);
        for index in association.indices() {
            self.by_index.remove(&index);
        }
        self.by_peer.remove(&association.peer);
        self.numbered.insert(association.peer, association.next_number);
        self.leave_lines(&association.lines);
        self.timers.set(Owner::Association(id), None);
    }
}
