//! Who this host is associated with: each peer once, and by every name that it has.

use std::collections::BTreeMap;

use bentpipe_cc::KnownPath;
use slotmap::SlotMap;

use super::association::Association;
use super::identity::Identity;
use super::lasting::Lasting;
use super::links::LINKS;
use super::names::{AssociationId, Names};
use super::path_memory::{PathMemory, PathRecord};
use crate::key::PublicKey;

/// All associations.
#[derive(Debug, Default)]
pub(super) struct Directory {
    associations: SlotMap<AssociationId, Association>,
    by_peer: BTreeMap<PublicKey, AssociationId>,
    names: Names,
    /// Numbers of connections between this host and peers without an association: none is used twice.
    lasting: BTreeMap<PublicKey, Lasting>,
    /// What the paths of associations and processes before carried.
    path_memory: PathMemory,
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

    /// What the paths of processes before carried.
    pub(super) fn set_path_memory(&mut self, memory: PathMemory) {
        self.path_memory = memory;
    }

    /// What the paths to a peer carried, link by link, in associations before.
    pub(super) fn remembered(&self, peer: PublicKey) -> [Option<PathRecord>; LINKS] {
        self.path_memory.of(peer)
    }

    /// What the paths to peers carried, those of now among them.
    pub(super) fn path_memory(&self, identity: &Identity) -> PathMemory {
        let mut memory = self.path_memory.clone();
        for association in self.associations.values() {
            note(&mut memory, association, identity);
        }
        memory
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
    pub(super) fn remove(&mut self, id: AssociationId, identity: &Identity) {
        if let Some(association) = self.associations.remove(id) {
            note(&mut self.path_memory, &association, identity);
            let peer = association.peer();
            self.by_peer.remove(&peer);
            self.lasting.insert(peer, association.into_lasting());
        }
    }
}

/// Remembers what the paths of an association carry.
fn note(memory: &mut PathMemory, association: &Association, identity: &Identity) {
    for (link, at, KnownPath { rate, round_trip, .. }) in association.seen_paths() {
        let seen = identity.calendar_at(at);
        memory.note(association.peer(), link, PathRecord { rate, round_trip, seen });
    }
}
