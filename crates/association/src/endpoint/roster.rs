//! Which connections an association has, and what their numbers are.
//!
//! A connection that has ended stays counted until the host forgets it, and its number is free for others before that
//! when the peer was restarted.

use std::collections::BTreeMap;

use super::numbering::Numbering;

/// The connections of one association.
#[derive(Debug)]
pub(super) struct Roster {
    by_number: BTreeMap<u32, usize>,
    numbering: Numbering,
    /// Connections that name this association, those among them that have ended.
    named: usize,
    /// Those of them that the peer has opened.
    opened: usize,
}

impl Roster {
    /// No connections; numbers go on from here.
    pub(super) const fn new(numbering: Numbering) -> Self {
        Self { by_number: BTreeMap::new(), numbering, named: 0, opened: 0 }
    }

    /// A number for a connection that this host opens.
    pub(super) fn next_number(&mut self) -> u32 {
        self.numbering.take(|number| self.by_number.contains_key(&number))
    }

    /// Whether this host opens connections of such numbers.
    pub(super) const fn is_ours(&self, number: u32) -> bool {
        self.numbering.is_ours(number)
    }

    /// A connection more.
    pub(super) fn add(&mut self, number: u32, connection: usize) {
        self.by_number.insert(number, connection);
        self.named += 1;
        self.opened += usize::from(!self.is_ours(number));
    }

    /// The number means no connection any more, or another one from now on.
    pub(super) fn free(&mut self, number: u32) {
        self.by_number.remove(&number);
    }

    /// The host forgets a connection.
    pub(super) fn remove(&mut self, number: u32, connection: usize) {
        // After a restart of the peer the number may be another one's.
        if self.find(number) == Some(connection) {
            self.free(number);
        }
        self.named -= 1;
        self.opened -= usize::from(!self.is_ours(number));
    }

    /// The connection of this number.
    pub(super) fn find(&self, number: u32) -> Option<usize> {
        self.by_number.get(&number).copied()
    }

    /// All that have a number, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        self.by_number.iter().map(|(number, id)| (*number, *id))
    }

    /// All that have a number, to be gone through while they change.
    pub(super) fn all(&self) -> Vec<usize> {
        self.by_number.values().copied().collect()
    }

    /// How many have a number.
    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Whether nobody waits for anything: no connection has a number.
    pub(super) fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// Whether the host has forgotten all of them.
    pub(super) const fn is_unnamed(&self) -> bool {
        self.named == 0
    }

    /// How many the peer has opened, those among them that have ended.
    pub(super) const fn opened(&self) -> usize {
        self.opened
    }

    /// The application has had this connection of the peer's process of this epoch.
    pub(super) fn accept(&mut self, epoch: Option<u64>, number: u32) {
        self.numbering.accept(epoch, number);
    }

    /// Whether it has.
    pub(super) fn was_accepted(&self, epoch: Option<u64>, number: u32) -> bool {
        self.numbering.was_accepted(epoch, number)
    }

    /// The numbers, which outlive the association.
    pub(super) fn into_numbering(self) -> Numbering {
        self.numbering
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_another_connection_has_by_now_stays_its_own() {
        let mut roster = Roster::new(Numbering::new(1));
        roster.add(2, 70);
        assert_eq!((roster.opened(), roster.len()), (1, 1));
        roster.free(2);
        roster.add(2, 71);
        roster.remove(2, 70);
        assert_eq!((roster.find(2), roster.opened()), (Some(71), 1));
        roster.remove(2, 71);
        assert!(roster.is_empty() && roster.is_unnamed());
    }
}
