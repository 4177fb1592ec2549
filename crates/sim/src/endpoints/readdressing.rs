//! Addresses of a host that come and go while its association is open.

use std::collections::VecDeque;
use std::net::IpAddr;

use bentpipe_transport::PathId;
use bentpipe_transport::sctp::{Association, Notice, PathEnds, Readdress, ReaddressError, State};
use bentpipe_units::{Instant, Span};
use bentpipe_wire::Segment;

use crate::envelope::{address, node_at};
use crate::{AddressChange, Protocol};

/// A change that comes before the association is open, or when too many wait, waits so long.
const RETRY: Span = Span::from_millis(100);

/// What an end does about addresses, its own and those of the peer.
pub(crate) struct Readdressing {
    /// For each path the node of this end and that of the peer.
    paths: Vec<[u16; 2]>,
    /// Nodes that are no addresses at first.
    later: Vec<u16>,
    /// Changes of this end that are still to come.
    changes: VecDeque<AddressChange>,
}

impl Readdressing {
    /// What there is to do for the end that has these paths; `None` where nothing changes.
    pub(super) fn new(protocol: &Protocol, paths: &[[u16; 2]]) -> Option<Box<Self>> {
        let Protocol::Sctp { address_changes, .. } = protocol else { return None };
        let own = |node: usize| paths.iter().any(|[own, _]| usize::from(*own) == node);
        let is_own = |change: &&AddressChange| change.add.or(change.delete).is_some_and(own);
        let added = address_changes.iter().filter_map(|change| change.add);
        (!address_changes.is_empty()).then(|| {
            Box::new(Self {
                paths: paths.to_vec(),
                later: added.map(|node| node as u16).collect(),
                changes: address_changes.iter().filter(is_own).copied().collect(),
            })
        })
    }

    /// The paths that are there from the start.
    pub(super) fn first_paths(&self) -> Vec<PathId> {
        let is_later = |path: &[u16; 2]| path.iter().any(|node| self.later.contains(node));
        let first = (0..).zip(&self.paths).filter(|(_, path)| !is_later(path));
        first.map(|(number, _)| PathId(number)).collect()
    }

    /// The association was just made: its paths get their names.
    pub(super) fn name_paths(&self, association: &mut Association) {
        for id in self.first_paths() {
            association.name_path(id, self.ends(id));
        }
    }

    fn ends(&self, id: PathId) -> PathEnds {
        let [own, peer] = self.paths[id.0 as usize].map(|node| IpAddr::V4(address(node)));
        PathEnds { own: Some(own), peer: Some(peer) }
    }

    /// A segment came: the peer may say by it that it has moved to the other end of this path.
    pub(super) fn meet(
        &self,
        now: Instant,
        association: &mut Association,
        path: PathId,
        segment: &Segment,
    ) {
        let Segment::Sctp(packet) = segment else { return };
        let source = IpAddr::V4(address(self.paths[path.0 as usize][1]));
        if association.is_move_to(source, packet) {
            self.add(now, association, path);
        }
    }

    fn add(&self, now: Instant, association: &mut Association, path: PathId) {
        association.add_path(now, path);
        association.name_path(path, self.ends(path));
    }

    /// Follows what the association says of the peer's addresses. True when it is to be drained again.
    pub(super) fn follow(&self, now: Instant, association: &mut Association) -> bool {
        let mut followed = false;
        while let Some(notice) = association.poll_notice() {
            let Notice::PeerAddressAdded(IpAddr::V4(added)) = notice else { continue };
            let peer = node_at(added);
            let path = self.paths.iter().position(|[_, node]| Some(*node) == peer);
            if let Some(number) = path {
                self.add(now, association, PathId(number as u32));
                followed = true;
            }
        }
        followed
    }

    /// When the next change is.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.changes.front().map(|change| change.at)
    }

    /// Tells the peer of the changes that are due. True when there was one.
    pub(super) fn handle_timeout(&mut self, now: Instant, association: &mut Association) -> bool {
        if association.state() == State::Closed {
            // There is nobody to tell any more.
            self.changes.clear();
        }
        let mut due = false;
        while let Some(change) = self.changes.front().copied().filter(|change| change.at <= now) {
            let readdress = Readdress {
                add: change.add.and_then(|node| {
                    let own = |[own, _]: &[u16; 2]| usize::from(*own) == node;
                    let id = PathId(self.paths.iter().position(own)? as u32);
                    Some((id, self.ends(id)))
                }),
                set_primary: change.set_primary,
                delete: change.delete.map(|node| IpAddr::V4(address(node as u16))),
            };
            let told = association.readdress(now, readdress);
            if matches!(told, Err(ReaddressError::NotOpen | ReaddressError::TooMany)) {
                self.changes[0].at = now + RETRY;
                break;
            }
            self.changes.pop_front();
            due = true;
        }
        due
    }
}
