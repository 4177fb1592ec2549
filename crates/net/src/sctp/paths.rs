//! The paths of one association: where each leads and from which socket.

use std::net::{IpAddr, SocketAddr};

use bentpipe_transport::PathId;

/// An address of the peer with its UDP port, and the socket that leads there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) socket: usize,
    pub(super) to: SocketAddr,
}

impl Path {
    /// The address, in whatever form the socket has it.
    pub(super) fn ip(&self) -> IpAddr {
        self.to.ip().to_canonical()
    }
}

/// The paths of one association; their numbers are places here.
#[derive(Debug)]
pub(super) struct Paths(Vec<Path>);

impl Paths {
    /// One path, the primary one.
    pub(super) const PRIMARY: PathId = PathId(0);

    pub(super) fn new(primary: Path) -> Self {
        Self(vec![primary])
    }

    pub(super) fn get(&self, path: PathId) -> Option<&Path> {
        self.0.get(path.0 as usize)
    }

    /// The path of an address.
    pub(super) fn find(&self, ip: IpAddr) -> Option<PathId> {
        self.0.iter().position(|path| path.ip() == ip).map(|index| PathId(index as u32))
    }

    pub(super) fn add(&mut self, path: Path) -> PathId {
        self.0.push(path);
        PathId(self.0.len() as u32 - 1)
    }

    /// The peer's own packet came over it: a translator may have given it another port (RFC 6951,
    /// section 5.4).
    pub(super) fn seen(&mut self, number: PathId, path: Path) {
        if let Some(known) = self.0.get_mut(number.0 as usize) {
            *known = path;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter()
    }
}
