//! Connections take ways to their peer, and what they share there: turns on the line of the link where there is one,
//! and otherwise one window, in which short objects go ahead of bulk.
//!
//! Each for itself, they would fill the queue of the link together and a new one would have to find out in many
//! round trips what the others know.

use bentpipe_transport::xstp::SharedPath;
use bentpipe_units::Instant;

use super::super::ways::LINKS;
use super::context::PeerContext;

impl PeerContext<'_> {
    /// The way for another connection: the one in use, or the one with the fewest connections for its rate if they
    /// are spread.
    pub(super) fn choose_way(&self) -> usize {
        let ways = self.association.ways.open();
        let [way] = ways[..] else { return self.emptiest(&ways) };
        way
    }

    fn emptiest(&self, ways: &[usize]) -> usize {
        let association = &*self.association;
        let load = |way: usize| {
            let on_it = |(_, id): &(u32, usize)| self.connections.get(*id).way() == way;
            let connections = association.roster.iter().filter(on_it).count() as u128;
            let link = association.ways.get(way).link();
            // Without a known rate all are taken for equal.
            let rate =
                association.lines[link].as_ref().map_or(1, |own| own.link().carried().as_bps());
            (connections + 1, u128::from(rate.max(1)))
        };
        let less = |a: &usize, b: &usize| {
            let ((m, r), (n, s)) = (load(*a), load(*b));
            (m * s).cmp(&(n * r))
        };
        ways.iter().copied().min_by(less).unwrap_or(association.ways.main())
    }

    /// Ways to the peer have changed: connections whose way does not work take another one, and segments are
    /// as long as theirs carries.
    pub(in crate::endpoint) fn switch(&mut self, now: Instant) {
        for id in self.association.roster.all() {
            let before = self.connections.get(id).way();
            if self.association.ways.must_leave(before) {
                self.leave_line(id);
                self.forget_path(before);
                let way = self.choose_way();
                self.connections.get_mut(id).take_way(now, way);
                self.join_others(now, id);
                self.connections.mark_dirty(id);
            }
            let connection = self.connections.get_mut(id);
            let room = self.association.payload_room(connection.number(), connection.way());
            connection.limit_payload(room);
        }
    }

    /// The peer has taken the way that it was told: round trips are what they are from now on.
    pub(in crate::endpoint) fn follow_answers(&mut self, now: Instant) {
        self.with_sessions(|session| session.handle_new_round_trip(now));
    }

    /// A connection takes its place among those over the same way.
    pub(super) fn join_others(&mut self, now: Instant, id: usize) {
        let connection = self.connections.get_mut(id);
        let way = connection.way();
        if let Some(own) = self.association.own_line(way) {
            return connection.join_line(now, id, own);
        }
        let config = connection.session().config();
        let Some(slot) = self.association.shared.get_mut(way) else { return };
        if !SharedPath::is_for(config) {
            return;
        }
        let path = slot.get_or_insert_with(|| SharedPath::new(config.clone()));
        if path.suits(config) {
            connection.share_window(now, path);
        }
    }

    /// What was found out of a way is forgotten: nobody takes it any more.
    fn forget_path(&mut self, way: usize) {
        if let Some(slot) = self.association.shared.get_mut(way) {
            *slot = None;
        }
    }

    /// Gives the association the lines that its peer has shares of, and its connections their turns there.
    pub(in crate::endpoint) fn apply_shares(&mut self, now: Instant) {
        let Some(shares) = self.egress.shares(self.association.peer) else { return };
        for (link, own) in (0..LINKS).zip(&mut self.association.lines) {
            if let Some(share) = shares[link] {
                self.egress.apply_share(link, self.id, share, own);
            }
        }
        for id in self.association.roster.all() {
            let connection = self.connections.get_mut(id);
            if let Some(own) = self.association.own_line(connection.way()) {
                connection.join_line(now, id, own);
            }
            self.connections.mark_dirty(id);
        }
    }

    /// A connection takes no part in its line any more.
    pub(super) fn leave_line(&mut self, id: usize) {
        let connection = self.connections.get_mut(id);
        connection.leave_line(self.association.own_line(connection.way()));
    }

    /// The association is gone from the lines of the host.
    pub(in crate::endpoint) fn leave_lines(&mut self) {
        self.egress.leave(&self.association.lines);
    }

    /// A connection has something to send and waits for its turn.
    pub(super) fn wait_for_turn(&mut self, id: usize) {
        let connection = self.connections.get(id);
        let link = self.association.ways.get(connection.way()).link();
        if let Some(own) = &mut self.association.lines[link]
            && connection.wake(own)
        {
            self.egress.wake(link, own);
        }
    }

    /// The lines of the association may be free by now for those who wait.
    pub(super) fn wake_lines(&mut self, now: Instant) {
        for (link, own) in self.association.lines.iter_mut().enumerate() {
            if let Some(own) = own
                && own.take_due(now)
            {
                self.egress.wake(link, own);
            }
        }
    }
}
