//! Addresses that come and go while associations are open: this host's and those of peers (RFC 5061).

use std::net::{IpAddr, SocketAddr};

use bentpipe_association::endpoint::Outbox;
use bentpipe_transport::Ports;
use bentpipe_transport::sctp::{Listener, PathEnds, Readdress, ReaddressError};
use bentpipe_units::Instant;
use bentpipe_wire::sctp::{Chunk, Packet};

use super::{Associations, Connection, Path};

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

    /// The association of a packet from an address that no association knows: its peer says in it that it has moved there, or
    /// another change where the addresses that it told of are gone, and names an address that is known.
    pub(super) fn moved(
        &mut self,
        now: Instant,
        path: Path,
        ports: Ports,
        packet: &Packet,
    ) -> Option<usize> {
        let [Chunk::Auth(_), Chunk::Asconf(asconf), ..] = &packet.chunks[..] else { return None };
        // The first copy may have deleted the address that it names.
        let id = self.by_ends.get(&(asconf.known.to_canonical(), ports)).copied();
        let id = id.or_else(|| self.of_tag(packet))?;
        let connection = self.connections.get_mut(id)?;
        let endpoint = &connection.stream.endpoint;
        if endpoint.is_move_to(path.ip(), packet) {
            self.add_path(now, id, path);
        } else if endpoint.has_answer(packet) {
            let guest = connection.paths.add(path);
            connection.guests.push(guest);
        } else {
            return None;
        }
        Some(id)
    }

    /// Whether a packet from an address that no association knows has the tag of one on its ports: it was under way when its
    /// address was deleted, or before its address was told. An answer would end that association.
    pub(super) fn is_of_somebody(&self, packet: &Packet) -> bool {
        self.of_tag(packet).is_some()
    }

    /// The association on whose ports a packet has the right tag.
    fn of_tag(&self, packet: &Packet) -> Option<usize> {
        let ports = Ports { local: packet.destination_port, peer: packet.source_port };
        let is_its = |connection: &Connection| {
            let endpoint = &connection.stream.endpoint;
            endpoint.ports() == ports && endpoint.is_authentic(packet)
        };
        self.connections.iter().find(|(_, connection)| is_its(connection)).map(|(id, _)| id)
    }

    /// The peer of an association has an address no more.
    pub(super) fn forget_address(&mut self, id: usize, address: IpAddr) {
        let address = address.to_canonical();
        self.connections[id].paths.remove(|path| path.ip() == address);
        self.forget_ends(id);
    }

    /// Packets of addresses to which no path leads any more are not an association's.
    pub(super) fn forget_ends(&mut self, id: usize) {
        let paths = &self.connections[id].paths;
        self.by_ends.retain(|(ip, _), of| *of != id || paths.find(*ip).is_some());
    }

    /// This host has another address, with a socket: peers that take changes are told. Gives the place of the socket.
    pub fn add_address(&mut self, now: Instant, socket: SocketAddr, set_primary: bool) -> usize {
        let connections = &self.connections;
        let place = self.local.add(socket, |place| {
            connections.iter().any(|(_, one)| one.paths.iter().any(|path| path.socket == place))
        });
        self.outboxes.resize_with(self.local.count(), Outbox::default);
        self.outboxes_fragmented.resize_with(self.local.count(), Outbox::default);
        self.announce();
        for id in self.ids() {
            self.tell_address(now, id, place, set_primary);
        }
        place
    }

    /// This host has an address no more. Gives the place of its socket, if there was one.
    pub fn remove_address(&mut self, now: Instant, address: IpAddr) -> Option<usize> {
        let address = address.to_canonical();
        let place = self.local.place_of(address)?;
        self.local.remove(place);
        self.announce();
        for id in self.ids() {
            let connection = &mut self.connections[id];
            let is_its = |path: &Path| path.socket == place;
            let is_used = connection.paths.iter().any(is_its);
            let change = Readdress { delete: Some(address), ..Readdress::default() };
            match connection.stream.endpoint.readdress(now, change) {
                Ok(()) => {
                    self.lose(now, id, |path| path.socket == place);
                }
                // It is the last one with a path.
                Err(ReaddressError::NotDeletable(_)) if is_used => self.strand(now, id, address),
                // Before the peer knows any address it is called from another one. One that takes no changes is lost.
                Err(_) => self.reroute(id, place),
            }
            self.mark_dirty(id);
        }
        Some(place)
    }

    /// Paths of an association are gone. Where they led another address of this host may lead, too.
    fn lose(&mut self, now: Instant, id: usize, is_gone: impl Fn(&Path) -> bool) {
        let paths = &mut self.connections[id].paths;
        let lost: Vec<_> = paths.iter().filter(|path| is_gone(path)).map(Path::ip).collect();
        paths.remove(is_gone);
        for address in lost {
            self.learn_address(now, id, address);
        }
        self.forget_ends(id);
    }

    /// No path is left: one from another address takes its place, and without one what leaves is lost until there is one.
    fn strand(&mut self, now: Instant, id: usize, address: IpAddr) {
        self.connections[id].stranded = Some(address);
        for place in 0..self.local.count() {
            if self.connections[id].stranded.is_some() {
                self.tell_address(now, id, place, true);
            }
        }
    }

    /// Tells a peer of the address of a socket, and with it of one that is gone.
    fn tell_address(&mut self, now: Instant, id: usize, place: usize, set_primary: bool) {
        self.mark_dirty(id);
        let connection = &mut self.connections[id];
        let own = self.local.own(place);
        if connection.stranded.take_if(|gone| Some(*gone) == own).is_some() {
            // The peer has never heard that it was gone.
            let local = &self.local;
            let is_lost = |path: &&mut Path| local.is_lost(path.socket);
            return connection
                .paths
                .iter_mut()
                .filter(is_lost)
                .for_each(|path| path.socket = place);
        }
        let Some(to) = self.reached_from(place, id) else { return };
        let path = Path { socket: place, to };
        let ends = self.ends(&path);
        let connection = &mut self.connections[id];
        let number = connection.paths.add(path);
        let delete = connection.stranded;
        let change = Readdress { add: Some((number, ends)), set_primary, delete };
        if connection.stream.endpoint.readdress(now, change).is_err() {
            connection.paths.remove(|other| *other == path);
        } else if connection.stranded.take().is_some() {
            let lost: Vec<_> =
                (0..self.local.count()).filter(|place| self.local.is_lost(*place)).collect();
            self.lose(now, id, |path| lost.contains(&path.socket));
        }
    }

    /// Paths from a socket that is gone begin at another one, if one leads there.
    fn reroute(&mut self, id: usize, place: usize) {
        let local = &self.local;
        let Connection { paths, stream, .. } = &mut self.connections[id];
        for path in paths.iter_mut().filter(|path| path.socket == place) {
            if let Some((socket, to)) = local.path_to(path.to.ip(), path.to.port()) {
                *path = Path { socket, to };
            }
        }
        for (number, path) in paths.numbered() {
            let ends = PathEnds { own: local.own(path.socket), peer: Some(path.ip()) };
            stream.endpoint.name_path(number, ends);
        }
    }

    /// What was to leave from sockets that are gone.
    pub(super) fn forget_lost_sockets(&mut self) {
        for place in (0..self.local.count()).filter(|place| self.local.is_lost(*place)) {
            (self.outboxes[place], self.outboxes_fragmented[place]) = Default::default();
        }
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
