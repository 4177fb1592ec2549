//! Addresses that come and go while associations are open: this host's and those of peers (RFC 5061).

use std::net::{IpAddr, SocketAddr};

use bentpipe_association::endpoint::Outbox;
use bentpipe_transport::Ports;
use bentpipe_transport::sctp::{Listener, PathEnds, Readdress};
use bentpipe_units::Instant;
use bentpipe_wire::sctp::{Chunk, Packet};

use super::{Associations, Path};

impl Associations {
    /// The addresses that a path joins.
    pub(super) fn ends(&self, path: &Path) -> PathEnds {
        PathEnds { own: self.local.own(path.socket), peer: Some(path.ip()) }
    }

    /// Another path of an association. Nobody takes packets away from another one by naming its peer.
    pub(super) fn add_path(&mut self, now: Instant, id: usize, path: Path) {
        let ends = self.ends(&path);
        let connection = &mut self.connections[id];
        let ports = connection.stream.endpoint.ports();
        let number = connection.paths.add(path);
        if !connection.stream.endpoint.add_path(now, number) {
            return connection.paths.remove(|other| *other == path);
        }
        connection.stream.endpoint.name_path(number, ends);
        self.by_ends.entry((path.ip(), ports)).or_insert(id);
    }

    /// The association of a packet from an address that no association knows: its peer says in it that it has moved, and
    /// names an address that is known.
    pub(super) fn moved(
        &mut self,
        now: Instant,
        path: Path,
        ports: Ports,
        packet: &Packet,
    ) -> Option<usize> {
        let [Chunk::Auth(_), Chunk::Asconf(asconf)] = &packet.chunks[..] else { return None };
        let &id = self.by_ends.get(&(asconf.known.to_canonical(), ports))?;
        if !self.connections[id].stream.endpoint.is_genuine_change(packet) {
            return None;
        }
        self.add_path(now, id, path);
        Some(id)
    }

    /// The peer of an association has an address no more.
    pub(super) fn forget_address(&mut self, id: usize, address: IpAddr) {
        let address = address.to_canonical();
        let connection = &mut self.connections[id];
        connection.paths.remove(|path| path.ip() == address);
        let ends = (address, connection.stream.endpoint.ports());
        if self.by_ends.get(&ends) == Some(&id) {
            self.by_ends.remove(&ends);
        }
    }

    /// This host has another address, with a socket: peers that take changes are told. Gives the place of the socket.
    pub fn add_address(&mut self, now: Instant, socket: SocketAddr, set_primary: bool) -> usize {
        let place = self.local.add(socket);
        self.outboxes.resize_with(self.local.count(), Outbox::default);
        self.outboxes_fragmented.resize_with(self.local.count(), Outbox::default);
        // What the place had to send before has gone or never will.
        (self.outboxes[place], self.outboxes_fragmented[place]) = Default::default();
        self.announce();
        for id in self.ids() {
            let Some(to) = self.reached_from(place, id) else { continue };
            let path = Path { socket: place, to };
            let ends = self.ends(&path);
            let connection = &mut self.connections[id];
            let number = connection.paths.add(path);
            let change = Readdress { add: Some((number, ends)), set_primary, delete: None };
            if connection.stream.endpoint.readdress(now, change).is_err() {
                connection.paths.remove(|other| *other == path);
            }
            self.mark_dirty(id);
        }
        place
    }

    /// This host has an address no more. Gives the place of its socket, if there was one.
    pub fn remove_address(&mut self, now: Instant, address: IpAddr) -> Option<usize> {
        let place = self.local.place_of(address)?;
        self.local.remove(place);
        self.announce();
        for id in self.ids() {
            let connection = &mut self.connections[id];
            let change = Readdress { delete: Some(address.to_canonical()), ..Readdress::default() };
            // Where the peer takes no changes its packets are lost, as they are.
            let _ = connection.stream.endpoint.readdress(now, change);
            connection.paths.remove(|path| path.socket == place);
            self.mark_dirty(id);
        }
        Some(place)
    }

    /// An address of the peer that the system reaches from a socket, or would if nothing better is there.
    fn reached_from(&self, place: usize, id: usize) -> Option<SocketAddr> {
        let own = self.local.own(place)?;
        let paths = || self.connections[id].paths.iter().map(|path| path.to);
        let is_best = |to: &SocketAddr| {
            self.local.path_to(to.ip(), to.port()).is_some_and(|(socket, _)| socket == place)
        };
        let same_family = |to: &SocketAddr| to.ip().to_canonical().is_ipv4() == own.is_ipv4();
        paths().filter(same_family).find(is_best).or_else(|| paths().find(same_family))
    }

    fn ids(&self) -> Vec<usize> {
        self.connections.iter().map(|(id, _)| id).collect()
    }

    /// Whoever opens an association from now on is told the addresses of now.
    fn announce(&mut self) {
        if let Some((_, config, listener)) = &mut self.listener {
            *listener = Listener::new(config.clone(), self.key.clone(), self.local.announced());
        }
    }

    /// The addresses of this host.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.local.addresses()
    }
}
