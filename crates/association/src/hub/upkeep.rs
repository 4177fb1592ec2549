//! What time demands of associations: keys, signs of life, probes of the path.

use bentpipe_transport::Endpoint as _;
use bentpipe_units::Instant;

use super::{AssociationId, Hub, Owner};

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
    fn maintain(&mut self, now: Instant, id: AssociationId) {
        let Some(association) = self.associations.get_mut(id) else { return };
        let was_up = association.is_up();
        let was_coming = association.keys.is_coming();
        if association.keys.expire(now).is_some() && association.keys.epoch().is_none() {
            // What came with that request was opened by nobody who has proved his key.
            self.begin_unproven(now, id, None);
        }
        self.follow_keys(id);
        let association = &mut self.associations[id];
        if (was_up || was_coming) && !association.is_up() && !association.keys.is_coming() {
            // Whoever waited for these keys asks for others.
            let waiting: Vec<usize> = association.roster.all();
            waiting.into_iter().for_each(|connection| self.stir(connection));
        }
        let association = &mut self.associations[id];
        if association.is_over() {
            return self.dissolve(id);
        }
        if association.owes_answer(now) {
            let main = association.ways.main();
            association.send(now, main, false, &mut self.outbox, |_| {});
        }
        let changed = association.maintain_ways(now, &mut self.outbox);
        if association.wants_keys(now) {
            if association.roster.is_empty() {
                // Nobody needs the answer any more.
                association.keys.withdraw();
                self.follow_keys(id);
            } else {
                self.ask(now, id);
            }
        }
        if changed {
            self.switch(now, id);
        }
        self.wake_lines(now, id);
        self.set_timer(now, id);
    }

    /// The association is to be looked after when it says, and at once when nobody needs it any more.
    pub(super) fn set_timer(&mut self, now: Instant, id: AssociationId) {
        let association = &self.associations[id];
        let deadline = if association.is_over() { Some(now) } else { association.deadline() };
        self.timers.set(Owner::Association(id), deadline);
    }

    /// Names of keys that are gone lead nowhere.
    pub(super) fn follow_keys(&mut self, id: AssociationId) {
        for index in self.associations[id].keys.take_dropped() {
            self.by_index.remove(&index);
        }
    }

    /// An association that nothing names, and without keys, is forgotten.
    fn dissolve(&mut self, id: AssociationId) {
        let Some(association) = self.associations.remove(id) else { return };
        self.by_peer.remove(&association.peer);
        self.leave_lines(&association.lines);
        self.numbered.insert(association.peer, association.roster.into_numbering());
        self.timers.set(Owner::Association(id), None);
    }
}
