//! Which addresses a path joins, and paths that come and go with them.

use std::net::IpAddr;

use bentpipe_units::{Instant, Span};

use super::flight::Status;
use super::path::Path;
use super::sender::Sender;
use crate::PathId;

/// Most paths of an association: who names more addresses is refused.
pub(super) const MOST_PATHS: usize = 16;

/// Most places for them, those included that are gone and still have chunks.
const MOST_PLACES: usize = 4 * MOST_PATHS;

/// The addresses that a path joins, as far as they are known. Changes of addresses need them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathEnds {
    /// The address of this end.
    pub own: Option<IpAddr>,
    /// The address of the peer.
    pub peer: Option<IpAddr>,
}

/// Whether both ends know of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It was there when the association was opened.
    Known,
    /// This end has a new address there that the peer has not taken yet: nothing but ASCONF leaves from it (RFC 5061,
    /// section 5.3).
    Untold,
    /// It came later: data take it once it was tried (RFC 9260, section 5.4).
    Later,
    /// The address of this end is gone, and the peer was not heard of it yet: nothing leaves from it.
    Leaving,
    /// One of its addresses is gone. Its place is for another one.
    Gone,
}

/// The paths whose addresses are still there.
pub(super) fn alive(tx: &Sender) -> impl Iterator<Item = (usize, &Path)> {
    tx.paths.iter().enumerate().filter(|(_, path)| path.standing != Standing::Gone)
}

/// Adds a path, in the place of one that is gone if there is one. Gives its index; `None` when there are enough.
pub(super) fn add(
    tx: &mut Sender,
    now: Instant,
    id: PathId,
    ends: PathEnds,
    standing: Standing,
) -> Option<usize> {
    if alive(tx).count() >= MOST_PATHS {
        return None;
    }
    let mut path = Path::new(&tx.config, id, tx.flight.next(), now);
    (path.ends, path.standing) = (ends, standing);
    if standing == Standing::Untold {
        path.heartbeat.wait = Span::MAX;
    }
    // A change of addresses does not wait for its turn behind paths that never answered.
    tx.next_try = now;
    // A chunk that took a path that is gone names its place until it is acknowledged.
    let in_use = |index| {
        (0..tx.flight.len()).any(|n| tx.flight.get(n).is_some_and(|chunk| chunk.path == index))
    };
    let is_free = |index: &usize| tx.paths[*index].standing == Standing::Gone && !in_use(*index);
    let free = (0..tx.paths.len()).find(is_free);
    let index = free.unwrap_or(tx.paths.len());
    if index == MOST_PLACES {
        return None;
    }
    match tx.paths.get_mut(index) {
        Some(place) => *place = path,
        None => tx.paths.push(path),
    }
    // The last of the others went before this one came.
    if tx.paths[tx.primary].standing == Standing::Gone {
        tx.primary = index;
    }
    Some(index)
}

/// An address of a path is gone: what is in flight there leaves again on another.
pub(super) fn retire(tx: &mut Sender, index: usize) {
    leave(tx, index);
    tx.paths[index].standing = Standing::Gone;
}

/// Nothing leaves by a path any more until it is known what the peer says.
pub(super) fn leave(tx: &mut Sender, index: usize) {
    for place in 0..tx.flight.len() {
        let Some(chunk) = tx.flight.get(place) else { break };
        if chunk.path == index && chunk.status == Status::InFlight {
            tx.flight.set(place, Status::Lost);
        }
    }
    tx.paths[index].leave();
    if tx.primary == index {
        let others = || alive(tx).filter(|(other, _)| *other != index);
        let usable = others().find(|(_, path)| path.is_usable());
        let talks = usable.or_else(|| others().find(|(_, path)| path.may_talk()));
        let other = talks.or_else(|| others().next()).map(|(other, _)| other);
        tx.primary = other.unwrap_or(index);
    }
}

/// The peer keeps the address: the path is there again.
pub(super) fn revive(tx: &mut Sender, index: usize) {
    let wait = tx.heartbeat_wait();
    let path = &mut tx.paths[index];
    (path.standing, path.heartbeat.wait) = (Standing::Later, wait);
    tx.try_paths();
}

/// Indices of the paths that begin at an address of this end and have such a standing.
pub(super) fn from(tx: &Sender, own: IpAddr, standing: Standing) -> Vec<usize> {
    let paths = tx.paths.iter().enumerate();
    let is_one = |path: &Path| path.ends.own == Some(own) && path.standing == standing;
    paths.filter(|(_, path)| is_one(path)).map(|(index, _)| index).collect()
}
