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

/// The paths of one association; their numbers are places here. A place that was left is for another one.
#[derive(Debug)]
pub(super) struct Paths(Vec<Option<Path>>);

impl Paths {
    /// The path that is there first.
    pub(super) const PRIMARY: PathId = PathId(0);

    pub(super) fn new(primary: Path) -> Self {
        Self(vec![Some(primary)])
    }

    pub(super) fn get(&self, path: PathId) -> Option<&Path> {
        self.0.get(path.0 as usize)?.as_ref()
    }

    /// The first path that is there.
    pub(super) fn first(&self) -> Option<&Path> {
        self.iter().next()
    }

    /// The path of an address.
    pub(super) fn find(&self, ip: IpAddr) -> Option<PathId> {
        self.position(|path| path.ip() == ip)
    }

    /// The path of an address as seen from a socket; any other one of that address if there is none.
    pub(super) fn find_at(&self, socket: usize, ip: IpAddr) -> Option<PathId> {
        let here = self.position(|path| path.socket == socket && path.ip() == ip);
        here.or_else(|| self.find(ip))
    }

    fn position(&self, fits: impl Fn(&Path) -> bool) -> Option<PathId> {
        let place = self.0.iter().position(|path| path.as_ref().is_some_and(&fits))?;
        Some(PathId(place as u32))
    }

    pub(super) fn add(&mut self, path: Path) -> PathId {
        let place = self.0.iter().position(Option::is_none).unwrap_or(self.0.len());
        match self.0.get_mut(place) {
            Some(free) => *free = Some(path),
            None => self.0.push(Some(path)),
        }
        PathId(place as u32)
    }

    /// Paths that are gone.
    pub(super) fn remove(&mut self, gone: impl Fn(&Path) -> bool) {
        for place in &mut self.0 {
            place.take_if(|path| gone(path));
        }
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Path> {
        self.0.iter_mut().flatten()
    }

    /// All of them with their numbers.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (PathId, &Path)> {
        (0..).map(PathId).zip(&self.0).filter_map(|(number, path)| Some((number, path.as_ref()?)))
    }

    /// Keeps these alone.
    pub(super) fn keep(&mut self, stays: impl Fn(PathId) -> bool) {
        for (number, place) in (0..).zip(&mut self.0) {
            place.take_if(|_| !stays(PathId(number)));
        }
    }

    /// The peer's own packet came over it: a translator may have given it another port (RFC 6951,
    /// section 5.4). One that came to another address of this host says nothing of that path.
    pub(super) fn seen(&mut self, number: PathId, path: Path) {
        if let Some(Some(known)) = self.0.get_mut(number.0 as usize)
            && known.socket == path.socket
        {
            known.to = path.to;
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().flatten()
    }
}
