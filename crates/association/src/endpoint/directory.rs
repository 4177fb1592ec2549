//! Who this host is associated with: each peer once, and by every name that it has.

use std::collections::BTreeMap;

use slotmap::SlotMap;

use super::association::Association;
use super::lasting::Lasting;
use super::links::LINKS;
use super::names::{AssociationId, Names};
use crate::key::PublicKey;

/// All associations.
#[derive(Debug, Default)]
pub(super) struct Directory {
    associations: SlotMap<AssociationId, Association>,
    by_peer: BTreeMap<PublicKey, AssociationId>,
    names: Names,
    /// Numbers of connections between this host and peers without an association: none is used twice.
    lasting: BTreeMap<PublicKey, Lasting>,
}

impl Directory {
    /// The association with a peer.
    pub(super) fn of_peer(&self, peer: PublicKey) -> Option<AssociationId> {
        self.by_peer.get(&peer).copied()
    }

    pub(super) const fn names(&self) -> &Names {
        &self.names
    }

    /// # Panics
    /// When it is gone.
    pub(super) fn get(&self, id: AssociationId) -> &Association {
        &self.associations[id]
    }

    /// # Panics
    /// When it is gone.
    pub(super) fn get_mut(&mut self, id: AssociationId) -> &mut Association {
        &mut self.associations[id]
    }

    /// An association, and the names of its keys.
    ///
    /// # Panics
    /// When it is gone.
    pub(super) fn split(&mut self, id: AssociationId) -> (&mut Association, &mut Names) {
        (&mut self.associations[id], &mut self.names)
    }

    pub(super) fn contains(&self, id: AssociationId) -> bool {
        self.associations.contains_key(id)
    }

    pub(super) fn len(&self) -> usize {
        self.associations.len()
    }

    pub(super) fn ids(&self) -> Vec<AssociationId> {
        self.associations.keys().collect()
    }

    /// Bytes that each link of this host has carried.
    pub(super) fn carried(&self) -> [u64; LINKS] {
        let now = self.associations.values().map(Association::carried_by_links);
        let before = self.lasting.values().map(|lasting| lasting.carried);
        let add = |all: [u64; LINKS], more: [u64; LINKS]| {
            std::array::from_fn(|link| all[link].saturating_add(more[link]))
        };
        now.chain(before).fold([0; LINKS], add)
    }

    /// What its last association left to the next one with a peer.
    pub(super) fn take_lasting(&mut self, peer: PublicKey) -> Option<Lasting> {
        self.lasting.remove(&peer)
    }

    /// An association more.
    pub(super) fn insert(&mut self, association: Association) -> AssociationId {
        let peer = association.peer();
        let id = self.associations.insert(association);
        self.by_peer.insert(peer, id);
        id
    }

    /// Forgets an association that nobody needs. It has no keys, and so no names.
    pub(super) fn remove(&mut self, id: AssociationId) {
        if let Some(association) = self.associations.remove(id) {
            let peer = association.peer();
            self.by_peer.remove(&peer);
            self.lasting.insert(peer, association.into_lasting());
        }
    }
}
