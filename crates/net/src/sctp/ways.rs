//! The paths of one association: where each leads and from which socket.

use std::net::{IpAddr, SocketAddr};

use bentpipe_transport::PathId;

/// An address of the peer with its UDP port, and the socket that leads there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) socket: usize,
    pub(super) to: SocketAddr,
}

impl Way {
    /// The address, in whatever form the socket has it.
    pub(super) fn ip(&self) -> IpAddr {
        self.to.ip().to_canonical()
    }
}

/// The paths of one association; their numbers are places here.
#[derive(Debug)]
pub(super) struct Ways(Vec<Way>);

impl Ways {
    /// One path, the primary one.
    pub(super) const PRIMARY: PathId = PathId(0);

    pub(super) fn new(primary: Way) -> Self {
        Self(vec![primary])
    }

    pub(super) fn get(&self, path: PathId) -> Option<&Way> {
        self.0.get(path.0 as usize)
    }

    /// The path of an address.
    pub(super) fn find(&self, ip: IpAddr) -> Option<PathId> {
        self.0.iter().position(|way| way.ip() == ip).map(|index| PathId(index as u32))
    }

    pub(super) fn add(&mut self, way: Way) -> PathId {
        self.0.push(way);
        PathId(self.0.len() as u32 - 1)
    }

    /// The peer's own packet came this way: a translator may have given it another port (RFC 6951,
    /// section 5.4).
    pub(super) fn seen(&mut self, path: PathId, way: Way) {
        if let Some(known) = self.0.get_mut(path.0 as usize) {
            *known = way;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Way> {
        self.0.iter()
    }
}
