//! What associations are called: inside this host, and in the datagrams of peers.

use rustc_hash::FxHashMap;

use crate::secure::Index;

slotmap::new_key_type! {
    /// Names an association. One that is gone has a name that no other gets.
    pub(super) struct AssociationId;
}

/// What a timer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Host,
    Association(AssociationId),
    Connection(usize),
}

/// Whose keys a datagram was sealed with: this host's names for them.
#[derive(Debug, Default)]
pub(super) struct Names(FxHashMap<Index, AssociationId>);

impl Names {
    pub(super) fn find(&self, index: Index) -> Option<AssociationId> {
        self.0.get(&index).copied()
    }

    pub(super) fn is_free(&self, index: Index) -> bool {
        !self.0.contains_key(&index)
    }

    /// From now on the name leads to this association.
    pub(super) fn add(&mut self, index: Index, id: AssociationId) {
        self.0.insert(index, id);
    }

    /// Names of keys that are gone lead nowhere.
    pub(super) fn remove(&mut self, gone: Vec<Index>) {
        for index in gone {
            self.0.remove(&index);
        }
    }
}
