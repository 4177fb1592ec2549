//! The addresses of this host, and which of its sockets leads to a peer.

use std::net::{IpAddr, SocketAddr};

/// Which address of this host the system would use to reach another one.
type Route = Box<dyn Fn(IpAddr) -> Option<IpAddr> + Send>;

/// The sockets of this host by their addresses.
pub struct Local {
    /// None where an address is gone: its place is for another one.
    sockets: Vec<Option<SocketAddr>>,
    route: Route,
}

impl Local {
    /// Sockets at these addresses. `route` says which address of this host the system would use to reach
    /// another one.
    pub fn new(
        sockets: Vec<SocketAddr>,
        route: impl Fn(IpAddr) -> Option<IpAddr> + Send + 'static,
    ) -> Self {
        Self { sockets: sockets.into_iter().map(Some).collect(), route: Box::new(route) }
    }

    /// Number of places for sockets.
    pub fn count(&self) -> usize {
        self.sockets.len()
    }

    /// The addresses of all sockets.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.sockets.iter().flatten().copied().collect()
    }

    /// The address of a socket; none where it has that of any interface.
    pub fn own(&self, socket: usize) -> Option<IpAddr> {
        let address = self.sockets.get(socket)?.as_ref()?.ip().to_canonical();
        (!address.is_unspecified()).then_some(address)
    }

    /// Where the socket of an address is.
    pub fn place_of(&self, address: IpAddr) -> Option<usize> {
        (0..self.sockets.len()).find(|place| self.own(*place) == Some(address.to_canonical()))
    }

    /// Another socket, in a place that nobody else has a use for. Gives its place.
    pub fn add(&mut self, socket: SocketAddr, in_use: impl Fn(usize) -> bool) -> usize {
        let free = |place: &usize| self.sockets[*place].is_none() && !in_use(*place);
        let place = (0..self.sockets.len()).find(free).unwrap_or(self.sockets.len());
        match self.sockets.get_mut(place) {
            Some(free) => *free = Some(socket),
            None => self.sockets.push(Some(socket)),
        }
        place
    }

    /// Whether a place has no socket any more.
    pub fn is_lost(&self, place: usize) -> bool {
        self.sockets.get(place).is_none_or(Option::is_none)
    }

    /// A socket is gone.
    pub fn remove(&mut self, place: usize) {
        if let Some(socket) = self.sockets.get_mut(place) {
            *socket = None;
        }
    }

    /// What the peer is told: the addresses, if there are several. A single one it sees, and behind a
    /// translator sees it better.
    pub fn announced(&self) -> Vec<IpAddr> {
        let addresses: Vec<_> = self
            .sockets
            .iter()
            .flatten()
            .map(|socket| socket.ip().to_canonical())
            .filter(|address| !address.is_unspecified())
            .collect();
        if addresses.len() > 1 { addresses } else { Vec::new() }
    }

    /// The socket from which an address is reached, and the address as this socket wants it.
    pub fn path_to(&self, ip: IpAddr, port: u16) -> Option<(usize, SocketAddr)> {
        let ip = ip.to_canonical();
        let fits = |socket: &SocketAddr| match socket.ip() {
            IpAddr::V4(_) => ip.is_ipv4(),
            IpAddr::V6(own) => ip.is_ipv6() || own.is_unspecified(),
        };
        let source = (self.route)(ip);
        let chosen = |socket: &SocketAddr| source.is_some_and(|source| source == socket.ip());
        let sockets =
            || self.sockets.iter().enumerate().filter_map(|(n, one)| Some((n, one.as_ref()?)));
        let (index, socket) = sockets()
            .find(|(_, socket)| fits(socket) && chosen(socket))
            .or_else(|| sockets().find(|(_, socket)| fits(socket)))?;
        let to = match ip {
            IpAddr::V4(v4) if socket.is_ipv6() => v4.to_ipv6_mapped().into(),
            other => other,
        };
        Some((index, SocketAddr::new(to, port)))
    }

    /// Whether a peer at `seen` may have this address, too. Nobody may name those of this host itself
    /// who is not on it.
    pub fn may_be_named(seen: IpAddr, named: IpAddr) -> bool {
        let broadcast = matches!(named, IpAddr::V4(v4) if v4.is_broadcast());
        let nobody = named.is_unspecified() || named.is_multicast() || broadcast;
        !nobody && (!named.is_loopback() || seen.to_canonical().is_loopback())
    }
}

impl std::fmt::Debug for Local {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Local").field("sockets", &self.sockets).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn local(sockets: &[&str], route: Option<&'static str>) -> Local {
        let sockets = sockets.iter().map(|text| text.parse().expect("an address")).collect();
        Local::new(sockets, move |_| route.map(ip))
    }

    #[test]
    fn the_socket_is_the_one_that_the_system_would_take() {
        let two = ["10.1.0.1:9899", "10.2.0.1:9899"];
        let to = "10.2.0.2:9899".parse().expect("an address");
        assert_eq!(local(&two, Some("10.2.0.1")).path_to(ip("10.2.0.2"), 9899), Some((1, to)));
        assert_eq!(local(&two, None).path_to(ip("10.2.0.2"), 9899), Some((0, to)));
        assert_eq!(local(&two, None).path_to(ip("fd00::1"), 9899), None);
        assert_eq!(local(&two, None).announced(), [ip("10.1.0.1"), ip("10.2.0.1")]);
    }

    #[test]
    fn a_socket_of_both_families_gets_addresses_in_its_own_form() {
        let any = local(&["[::]:9899"], None);
        let mapped = "[::ffff:10.0.0.1]:7".parse().expect("an address");
        assert_eq!(any.path_to(ip("10.0.0.1"), 7), Some((0, mapped)));
        assert!(any.announced().is_empty());
    }

    #[test]
    fn only_a_peer_on_this_host_may_name_its_own_addresses() {
        assert!(!Local::may_be_named(ip("10.0.0.1"), ip("127.0.0.1")));
        assert!(Local::may_be_named(ip("127.0.0.1"), ip("127.0.0.2")));
        assert!(!Local::may_be_named(ip("10.0.0.1"), ip("224.0.0.1")));
        assert!(!Local::may_be_named(ip("10.0.0.1"), ip("255.255.255.255")));
        assert!(Local::may_be_named(ip("10.0.0.1"), ip("10.9.0.1")));
    }
}
