//! The time passes, and what was changed is drained.

use bentpipe_transport::Endpoint as _;
use bentpipe_units::Instant;

use super::Endpoint;
use super::links::LINKS;
use super::names::{AssociationId, Owner};

impl Endpoint {
    /// Lets the time pass.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(owner) = self.timers.pop(now) {
            match owner {
                Owner::Connection(id) => {
                    if let Some(session) = self.connections.change(id) {
                        session.handle_timeout(now);
                    }
                }
                Owner::Association(id) => self.maintain(now, id),
                // Those who waited for the host's shaper are served before anything is sent.
                Owner::Host => {}
            }
        }
    }

    /// Does for an association what time demands.
    fn maintain(&mut self, now: Instant, id: AssociationId) {
        if !self.directory.contains(id) {
            return;
        }
        let goes_on = self.context(id).maintain(now);
        let association = self.directory.get_mut(id);
        self.inbox.take(association.peer(), association.carried().tunnel());
        if !goes_on {
            self.context(id).leave_shapers();
            self.directory.remove(id, &self.identity);
            self.timers.set(Owner::Association(id), None);
        }
    }

    /// Drains what was changed, until nothing is left to be sent or told.
    pub fn flush(&mut self, now: Instant) {
        while let Some(id) = self.connections.next_dirty() {
            let association = self.connections.get(id).association();
            self.context(association).drain(now, id);
        }
        self.serve(now);
    }

    /// Lets those send that are scheduled, while their shapers are free.
    fn serve(&mut self, now: Instant) {
        for link in 0..LINKS {
            let mut served = None;
            while let Some((member, id)) = self.egress.next(now, link) {
                // Once for all rounds of an association that follow each other.
                if let Some(before) = served.replace(id).filter(|before| *before != id) {
                    self.context(before).set_timer(now);
                }
                let sent = self.context(id).serve(now, link);
                self.egress.end_round(now, link, member, sent);
            }
            if let Some(last) = served {
                self.context(last).set_timer(now);
            }
        }
        self.timers.set(Owner::Host, self.egress.due());
    }

    /// When [`Endpoint::handle_timeout`] must be called.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.timers.next()
    }
}
