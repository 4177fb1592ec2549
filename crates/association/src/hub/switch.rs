//! Connections take other ways to their peer.

use bentpipe_units::Instant;

use super::{AssociationId, Hub};

impl Hub {
    /// The way for another connection of an association: the one in use, or the one with the fewest
    /// connections for its rate if they are spread.
    pub(super) fn choose_way(&self, association: AssociationId) -> usize {
        let ways = self.associations[association].ways.open();
        let [way] = ways[..] else { return self.emptiest(association, &ways) };
        way
    }

    fn emptiest(&self, association: AssociationId, ways: &[usize]) -> usize {
        let association = &self.associations[association];
        let load = |way: usize| {
            let on_it = |(_, id): &(u32, usize)| self.connections[*id].way == way;
            let connections = association.roster.iter().filter(on_it).count() as u128;
            let link = association.ways.get(way).link;
            // Without a known rate all are taken for equal.
            let rate =
                association.lines[link].as_ref().map_or(1, |own| own.link.carried().as_bps());
            (connections + 1, u128::from(rate.max(1)))
        };
        let less = |a: &usize, b: &usize| {
            let ((m, r), (n, s)) = (load(*a), load(*b));
            (m * s).cmp(&(n * r))
        };
        ways.iter().copied().min_by(less).unwrap_or(association.ways.main())
    }

    /// Ways to a peer have changed: connections whose way does not work take another one, and segments are
    /// as long as theirs carries.
    pub(super) fn switch(&mut self, now: Instant, association: AssociationId) {
        let connections: Vec<usize> = self.associations[association].roster.all();
        for id in connections {
            if self.associations[association].ways.must_leave(self.connections[id].way) {
                self.leave_line(id);
                self.forget_path(association, self.connections[id].way);
                self.connections[id].way = self.choose_way(association);
                self.connections[id].stream.endpoint.handle_new_path(now);
                self.join_others(now, id);
                self.stir(id);
            }
            let connection = &mut self.connections[id];
            let room =
                self.associations[association].payload_room(connection.number, connection.way);
            connection.stream.endpoint.limit_payload(room);
        }
    }

    /// The peer has taken the way that it was told: round trips are what they are from now on.
    pub(super) fn follow_answers(&mut self, now: Instant, association: AssociationId) {
        let connections: Vec<usize> = self.associations[association].roster.all();
        for id in connections {
            self.connections[id].stream.endpoint.handle_new_round_trip(now);
            self.stir(id);
        }
    }
}
