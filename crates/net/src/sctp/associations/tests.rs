mod lost_words;

use std::collections::BTreeMap;
use std::task::Waker;

use bentpipe_transport::{Failure, Inspect};
use bentpipe_units::Span;

use super::*;
use bentpipe_association::Tuning;
use bentpipe_association::stream::StreamError;

const CLIENT: usize = 0;
const SERVER: usize = 1;
const PORT: u16 = 1;
const DELAY: Span = Span::from_millis(20);

/// A datagram in flight: who gets it at which socket, who it seems to come from, the mark in its IP header,
/// and its bytes.
type InFlight = (usize, usize, SocketAddr, Ecn, Vec<u8>);

/// Two hosts, each with addresses on the networks 10.0.0.0/24, 10.0.1.0/24 and so on.
struct World {
    now: Instant,
    endpoints: [Associations; 2],
    sockets: [Vec<SocketAddr>; 2],
    in_flight: BTreeMap<(Instant, u64), InFlight>,
    count: u64,
    /// Networks that carry nothing.
    down: Vec<u8>,
    /// Addresses that nobody has any more.
    gone: Vec<IpAddr>,
    /// The UDP port that a translator puts in front of the client.
    translated: Option<u16>,
    /// Longest datagram that networks carry in one.
    carries: usize,
    /// A router marks this many of those that may be marked.
    marks: u32,
    /// The longest datagram that went in one, and how many may be cut.
    longest: usize,
    cut: u32,
}

fn at(network: u8, host: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, network, host as u8 + 1], 9899))
}

impl World {
    fn new(networks: u8) -> Self {
        let sockets = [CLIENT, SERVER].map(|host| (0..networks).map(|n| at(n, host)).collect());
        let endpoint = |host: usize| {
            let sockets: &Vec<SocketAddr> = &sockets[host];
            let source = move |peer: IpAddr| match peer {
                IpAddr::V4(v4) => Some(at(v4.octets()[2], host).ip()),
                IpAddr::V6(_) => None,
            };
            let mut seed = 77 + host as u64;
            let entropy = move || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                seed ^ (seed >> 29)
            };
            Associations::new(Local::new(sockets.clone(), source), Box::new(entropy))
        };
        let mut endpoints = [endpoint(CLIENT), endpoint(SERVER)];
        endpoints[SERVER].listen(PORT, settings());
        let (down, gone, in_flight) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self {
            now: Instant::ZERO,
            endpoints,
            sockets,
            in_flight,
            count: 0,
            down,
            gone,
            translated: None,
            carries: 1472,
            marks: 0,
            longest: 0,
            cut: 0,
        }
    }

    fn fly(&mut self, to: SocketAddr, mut from: SocketAddr, mut ecn: Ecn, bytes: Vec<u8>) {
        let IpAddr::V4(ip) = to.ip() else { return };
        let network = ip.octets()[2];
        let host = usize::from(ip.octets()[3] - 1);
        let is_gone = |address: SocketAddr| self.gone.contains(&address.ip());
        if self.down.contains(&network) || is_gone(to) || is_gone(from) {
            return;
        }
        if let Some(port) = self.translated {
            match host {
                SERVER => from.set_port(port),
                _ if to.port() != port => return,
                _ => {}
            }
        }
        if ecn == Ecn::Capable0 && self.marks > 0 {
            (ecn, self.marks) = (Ecn::Congestion, self.marks - 1);
        }
        self.count += 1;
        let socket = self.sockets[host].iter().position(|socket| socket.ip() == to.ip());
        let in_flight = (host, socket.expect("whose it is"), from, ecn, bytes);
        self.in_flight.insert((self.now + DELAY, self.count), in_flight);
    }

    fn settle(&mut self) {
        for host in [CLIENT, SERVER] {
            self.endpoints[host].flush(self.now);
            for (socket, from) in self.sockets[host].clone().into_iter().enumerate() {
                let mut whole = taken(self.endpoints[host].outbox(socket));
                whole.retain(|(_, _, bytes)| bytes.len() <= self.carries);
                let longest = whole.iter().map(|(_, _, bytes)| bytes.len()).max();
                self.longest = self.longest.max(longest.unwrap_or(0));
                let cut = taken(self.endpoints[host].outbox_fragmented(socket));
                self.cut += cut.len() as u32;
                let sent = whole.into_iter().chain(cut);
                sent.for_each(|(to, ecn, bytes)| self.fly(to, from, ecn, bytes));
            }
        }
    }

    /// Lets the time pass until `until` says that it is enough; false if a minute does not do.
    fn run(&mut self, mut until: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now + Span::from_secs(60);
        loop {
            self.settle();
            if until(self) {
                return true;
            }
            self.settle();
            let deadlines = self.endpoints.iter().filter_map(Associations::next_deadline).min();
            let arrival = self.in_flight.first_key_value().map(|((at, _), _)| *at);
            let Some(next) = Instant::earliest(deadlines, arrival).filter(|at| *at <= end) else {
                self.now = end;
                return false;
            };
            self.now = self.now.max(next);
            while let Some(entry) = self.in_flight.first_entry()
                && entry.key().0 <= self.now
            {
                let (host, socket, from, ecn, bytes) = entry.remove();
                self.endpoints[host].handle_datagram(self.now, socket, from, ecn, &bytes);
            }
            self.endpoints.iter_mut().for_each(|endpoint| endpoint.handle_timeout(self.now));
        }
    }

    fn connect(&mut self, port: u16) -> ConnectionId {
        let config = settings();
        let id = self.endpoints[CLIENT].connect(self.now, at(0, SERVER), port, config);
        id.expect("a socket leads there")
    }

    /// An association between the two.
    fn opened(&mut self) -> [ConnectionId; 2] {
        let client = self.connect(PORT);
        let mut server = None;
        let opened = self.run(|world| {
            let accepted = world.endpoints[SERVER].poll_accept(&cx());
            if let Poll::Ready((peer, id)) = accepted {
                assert_eq!(peer.ip(), at(0, CLIENT).ip());
                server = Some(id);
            }
            server.is_some() && world.endpoints[CLIENT].poll_connected(client, &cx()).is_ready()
        });
        assert!(opened, "an association");
        [client, server.expect("an association")]
    }

    /// Moves bytes from one end to the other.
    fn transfer(&mut self, [from, to]: [usize; 2], ids: [ConnectionId; 2], data: &Bytes) -> bool {
        let (mut left, mut got) = (data.clone(), Vec::new());
        let moved = self.run(|world| {
            while !left.is_empty()
                && let Poll::Ready(written) =
                    world.endpoints[from].poll_write(world.now, ids[from], &mut left, &cx())
            {
                written.expect("written");
            }
            while let Poll::Ready(read) = world.endpoints[to].poll_read(world.now, ids[to], &cx()) {
                got.extend_from_slice(&read.expect("read").expect("more"));
                world.endpoints[to].was_read(ids[to]);
            }
            got.len() >= data.len()
        });
        moved && got == *data
    }

    fn changes(&mut self, id: ConnectionId) -> Vec<PathChange> {
        let endpoint = &mut self.endpoints[CLIENT];
        std::iter::from_fn(|| match endpoint.poll_change(id, &cx()) {
            Poll::Ready(change) => change,
            Poll::Pending => None,
        })
        .collect()
    }
}

/// All datagrams of an outbox: where they go, their marks and their bytes.
fn taken(outbox: &mut Outbox) -> Vec<(SocketAddr, Ecn, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(train) = outbox.front(1) {
        all.push((train.route.address, train.ecn, train.bytes.to_vec()));
        let len = train.bytes.len();
        outbox.pop(len);
    }
    all
}

fn settings() -> Arc<Config> {
    super::super::config(&Tuning::default()).expect("settings")
}

fn cx() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

fn data(len: usize) -> Bytes {
    (0..len).map(|n| ((n * 31 / 7) ^ (n >> 9)) as u8).collect()
}

#[test]
fn bytes_go_both_ways_and_nothing_is_left_of_an_association_that_ended() {
    let mut world = World::new(1);
    let ids = world.opened();
    assert!(world.transfer([CLIENT, SERVER], ids, &data(300_000)));
    assert!(world.transfer([SERVER, CLIENT], ids, &data(200_000)));
    for (host, id) in ids.into_iter().enumerate() {
        world.endpoints[host].release(world.now, id);
    }
    assert!(
        world.run(|world| world.endpoints.iter().all(|endpoint| endpoint.connections.is_empty()))
    );
    assert!(world.endpoints.iter().all(|endpoint| endpoint.by_ends.is_empty()));
}

#[test]
fn the_peers_other_address_carries_on_while_the_first_is_dark() {
    let mut world = World::new(2);
    let ids = world.opened();
    assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
    let other = PathChange::Confirmed(at(1, SERVER));
    assert!(world.changes(ids[CLIENT]).contains(&other));
    world.down = vec![0];
    assert!(world.transfer([CLIENT, SERVER], ids, &data(2_000_000)));
    assert_eq!(world.changes(ids[CLIENT]), [PathChange::Down(at(0, SERVER))]);
    world.down.clear();
    assert!(
        world.run(|world| { world.changes(ids[CLIENT]).contains(&PathChange::Up(at(0, SERVER))) })
    );
    world.down = vec![1];
    assert!(world.transfer([SERVER, CLIENT], ids, &data(2_000_000)));
}

/// A task that counts how often it was woken.
#[derive(Default)]
struct Woken(std::sync::atomic::AtomicU32);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn who_waits_for_a_change_of_a_path_is_told_when_there_is_no_association_any_more() {
    let mut world = World::new(1);
    let [client, server] = world.opened();
    world.changes(client);
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let cx = Context::from_waker(&waker);
    assert!(world.endpoints[CLIENT].poll_change(client, &cx).is_pending());
    world.endpoints[SERVER].connections[server.0].stream.endpoint.abort(world.now);
    world.endpoints[SERVER].mark_dirty(server.0);
    let is_woken = || woken.0.load(std::sync::atomic::Ordering::Relaxed) > 0;
    assert!(world.run(|_| is_woken()));
    assert_eq!(world.endpoints[CLIENT].poll_change(client, &cx), Poll::Ready(None));
}

/// The client has another address.
fn add(world: &mut World, network: u8, set_primary: bool) {
    let address = at(network, CLIENT);
    let place = world.endpoints[CLIENT].add_address(world.now, address, set_primary);
    let sockets = &mut world.sockets[CLIENT];
    sockets.resize(sockets.len().max(place + 1), address);
    sockets[place] = address;
    world.gone.retain(|gone| *gone != address.ip());
}

/// The client has an address no more.
fn remove(world: &mut World, network: u8) {
    let address = at(network, CLIENT).ip();
    world.endpoints[CLIENT].remove_address(world.now, address).expect("an address");
    world.gone.push(address);
}

/// The client has another address, and the first no more.
fn move_client(world: &mut World, [from, to]: [u8; 2]) {
    add(world, to, true);
    remove(world, from);
}

/// The ASCONF that is on its way, as bytes.
fn asconf_in_flight(world: &World) -> Vec<u8> {
    let is_one = |bytes: &&Vec<u8>| {
        let packet = sctp::decode(Bytes::copy_from_slice(bytes)).expect("a packet");
        packet.chunks.iter().any(|chunk| matches!(chunk, sctp::Chunk::Asconf(_)))
    };
    let mut all = world.in_flight.values().map(|(_, _, _, _, bytes)| bytes);
    all.find(is_one).expect("an ASCONF").clone()
}

#[test]
fn a_host_without_any_address_goes_on_with_the_next_one() {
    let mut world = World::new(1);
    let ids = world.opened();
    assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
    remove(&mut world, 0);
    assert!(!world.run(|world| world.now > Instant::ZERO + Span::from_secs(1_000)), "a minute");
    add(&mut world, 1, true);
    assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
    assert!(world.transfer([SERVER, CLIENT], ids, &data(100_000)));
    assert_eq!(world.endpoints[SERVER].by_ends.len(), 1);
}

#[test]
fn a_host_whose_only_address_comes_back_goes_on_without_a_word() {
    let mut world = World::new(1);
    let ids = world.opened();
    assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
    for _ in 0..3 {
        remove(&mut world, 0);
        let later = world.now + Span::from_secs(2);
        world.run(|world| world.now >= later);
        add(&mut world, 0, true);
        assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
        assert!(world.transfer([SERVER, CLIENT], ids, &data(100_000)));
    }
    assert!(!world.changes(ids[CLIENT]).contains(&PathChange::Readdressed));
}

#[test]
fn an_interface_that_flaps_within_a_round_trip_ends_nothing() {
    for primary in [false, true] {
        let mut world = World::new(1);
        let ids = world.opened();
        assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
        for network in 1..4 {
            add(&mut world, network, primary);
            world.settle();
            world.now += Span::from_millis(5);
            remove(&mut world, network);
            world.settle();
        }
        add(&mut world, 9, primary);
        assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)), "primary {primary}");
        move_client(&mut world, [0, 10]);
        assert!(world.transfer([SERVER, CLIENT], ids, &data(100_000)), "primary {primary}");
    }
}

#[test]
fn a_host_that_moves_faster_than_it_can_tell_is_found_where_it_is_in_the_end() {
    for pause in [0, 5, 30, 45] {
        let mut world = World::new(1);
        let ids = world.opened();
        assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
        for network in 0..6 {
            move_client(&mut world, [network, network + 1]);
            let later = world.now + Span::from_millis(pause);
            world.run(|world| world.now >= later);
        }
        assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)), "{pause} ms");
        assert!(world.transfer([SERVER, CLIENT], ids, &data(100_000)), "{pause} ms");
        assert!(!world.run(|_| false));
        assert_eq!(world.endpoints[SERVER].by_ends.len(), 1, "{pause} ms");
    }
}

#[test]
fn reports_wait_for_the_peer_to_take_a_new_address_even_if_its_telling_is_lost() {
    let mut world = World::new(1);
    let ids = world.opened();
    let mut left = data(60_000);
    let now = world.now;
    assert!(world.endpoints[SERVER].poll_write(now, ids[SERVER], &mut left, &cx()).is_ready());
    world.settle();
    // The client moves when it has the data and has not said so.
    world.now += DELAY;
    let now = world.now;
    for (_, (host, socket, from, ecn, bytes)) in std::mem::take(&mut world.in_flight) {
        world.endpoints[host].handle_datagram(now, socket, from, ecn, &bytes);
    }
    move_client(&mut world, [0, 1]);
    world.settle();
    assert_eq!(world.in_flight.len(), 1, "an ASCONF and nothing else");
    let _ = asconf_in_flight(&world);
    world.in_flight.clear();
    assert!(world.transfer([CLIENT, SERVER], ids, &data(10_000)));
}

#[test]
fn an_asconf_that_somebody_recorded_makes_no_path() {
    let mut world = World::new(1);
    let ids = world.opened();
    add(&mut world, 1, false);
    world.settle();
    let recorded = asconf_in_flight(&world);
    assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
    assert!(!world.run(|_| false));
    for n in 10..40 {
        let from = SocketAddr::from(([10, 0, 66, n], 9899));
        world.gone.push(from.ip());
        let now = world.now;
        world.endpoints[SERVER].handle_datagram(now, 0, from, Ecn::NotCapable, &recorded);
        // Some come one by one, and some together.
        if n < 25 {
            world.settle();
        }
    }
    world.settle();
    assert_eq!(world.endpoints[SERVER].connections[ids[SERVER].0].paths.iter().count(), 2);
    // The true client moves.
    world.gone.push(at(0, CLIENT).ip());
    move_client(&mut world, [1, 2]);
    remove(&mut world, 0);
    assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
}

#[test]
fn what_comes_late_from_an_address_that_is_deleted_is_not_answered() {
    let mut world = World::new(1);
    let ids = world.opened();
    assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
    let (now, mut left) = (world.now, data(1_000));
    assert!(world.endpoints[CLIENT].poll_write(now, ids[CLIENT], &mut left, &cx()).is_ready());
    world.settle();
    let late: Vec<_> = std::mem::take(&mut world.in_flight).into_values().collect();
    assert!(!late.is_empty());
    move_client(&mut world, [0, 1]);
    assert!(!world.run(|_| false));
    for (host, socket, from, ecn, bytes) in late {
        world.endpoints[host].handle_datagram(world.now, socket, from, ecn, &bytes);
    }
    assert!(taken(world.endpoints[SERVER].outbox(0)).is_empty());
    for (host, id) in ids.into_iter().enumerate() {
        assert!(world.endpoints[host].connections[id.0].stream.status.failed.is_none());
    }
}

#[test]
fn nothing_points_to_an_association_that_is_over_whatever_became_of_its_addresses() {
    let mut world = World::new(2);
    let ids = world.opened();
    assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
    let ports = world.endpoints[SERVER].connections[ids[SERVER].0].stream.endpoint.ports();
    let now = world.now;
    world.endpoints[SERVER].remove_address(now, at(1, SERVER).ip()).expect("an address");
    world.gone.push(at(1, SERVER).ip());
    assert!(!world.run(|_| false));
    for (host, id) in ids.into_iter().enumerate() {
        world.endpoints[host].release(world.now, id);
    }
    assert!(
        world.run(|world| world.endpoints.iter().all(|endpoint| endpoint.connections.is_empty()))
    );
    let server = &mut world.endpoints[SERVER];
    assert!(server.by_ends.is_empty());
    let packet = Packet {
        source_port: ports.peer,
        destination_port: ports.local,
        chunks: [sctp::Chunk::Init(Box::default())].into_iter().collect(),
        ..Packet::default()
    };
    let mut bytes = bytes::BytesMut::new();
    sctp::encode(&packet, &mut bytes);
    server.handle_datagram(world.now, 0, at(1, CLIENT), Ecn::NotCapable, &bytes);
}

#[test]
fn of_two_addresses_either_may_go() {
    for goes in [0, 1] {
        let mut world = World::new(2);
        // The server has one.
        world.endpoints[SERVER].remove_address(Instant::ZERO, at(1, SERVER).ip()).expect("two");
        world.gone.push(at(1, SERVER).ip());
        let ids = world.opened();
        assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
        assert!(!world.run(|_| false), "HEARTBEATs go to both addresses of the client");
        remove(&mut world, goes);
        assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)), "{goes}");
        assert!(world.transfer([SERVER, CLIENT], ids, &data(100_000)), "{goes}");
    }
}

#[test]
fn an_address_that_goes_while_an_association_is_opened_is_not_missed() {
    let mut world = World::new(1);
    let id = world.connect(PORT);
    world.settle();
    add(&mut world, 1, true);
    remove(&mut world, 0);
    assert!(world.run(|world| world.endpoints[CLIENT].poll_connected(id, &cx()).is_ready()));
}

#[test]
fn a_host_that_moves_keeps_its_associations_and_leaves_nothing_behind() {
    let mut world = World::new(1);
    let ids = world.opened();
    assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
    for network in 0..20 {
        move_client(&mut world, [network, network + 1]);
        assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)), "network {network}");
        assert!(world.transfer([SERVER, CLIENT], ids, &data(100_000)), "network {network}");
        let changes = world.changes(ids[CLIENT]);
        assert!(changes.contains(&PathChange::Readdressed), "{changes:?}");
        assert!(!changes.iter().any(|change| matches!(change, PathChange::Down(_))));
    }
    let server = &world.endpoints[SERVER];
    assert_eq!(server.by_ends.len(), 1, "the peer has one address");
    assert_eq!(server.connections[ids[SERVER].0].paths.iter().count(), 1);
    for (host, id) in ids.into_iter().enumerate() {
        world.endpoints[host].release(world.now, id);
    }
    assert!(
        world.run(|world| world.endpoints.iter().all(|endpoint| endpoint.connections.is_empty()))
    );
    assert!(world.endpoints.iter().all(|endpoint| endpoint.by_ends.is_empty()));
}

#[test]
fn nobody_takes_an_association_away_without_its_key() {
    let mut world = World::new(1);
    let ids = world.opened();
    let stranger = SocketAddr::from(([10, 0, 66, 66], 9899));
    world.gone.push(stranger.ip());
    let server = &mut world.endpoints[SERVER];
    let &(_, ports) = server.by_ends.keys().next().expect("an association");
    let asconf = sctp::Chunk::Asconf(Box::new(sctp::Asconf {
        serial: bentpipe_units::Seq32::new(1),
        known: at(0, CLIENT).ip(),
        requests: vec![sctp::AsconfRequest {
            correlation: 1,
            change: sctp::AddressChange::Add(stranger.ip()),
        }],
    }));
    let covered = sctp::bytes_of(std::slice::from_ref(&asconf));
    let code = Bytes::from_static(&[7; 32]);
    let auth = sctp::Auth { key: 0, algorithm: 3, code, covered };
    for tag in [0, 1, u32::MAX] {
        let packet = Packet {
            source_port: ports.peer,
            destination_port: ports.local,
            tag,
            chunks: [sctp::Chunk::Auth(Box::new(auth.clone())), asconf.clone()]
                .into_iter()
                .collect(),
            ..Packet::default()
        };
        let mut bytes = bytes::BytesMut::new();
        sctp::encode(&packet, &mut bytes);
        server.handle_datagram(world.now, 0, stranger, Ecn::NotCapable, &bytes);
    }
    assert_eq!(server.by_ends.len(), 1);
    assert_eq!(server.connections[ids[SERVER].0].paths.iter().count(), 1);
    assert!(world.transfer([CLIENT, SERVER], ids, &data(10_000)));
}

#[test]
fn an_outage_of_all_paths_is_waited_for() {
    let mut world = World::new(2);
    let ids = world.opened();
    let data = data(1_000_000);
    let mut left = data.clone();
    let endpoint = &mut world.endpoints[CLIENT];
    assert!(endpoint.poll_write(world.now, ids[CLIENT], &mut left, &cx()).is_ready());
    world.down = vec![0, 1];
    for _ in 0..4 {
        assert!(!world.run(|_| false), "a minute without an end");
    }
    world.down.clear();
    let mut got = Vec::new();
    let arrived = world.run(|world| {
        let endpoint = &mut world.endpoints[SERVER];
        while let Poll::Ready(read) = endpoint.poll_read(world.now, ids[SERVER], &cx()) {
            got.extend_from_slice(&read.expect("read").expect("more"));
            endpoint.was_read(ids[SERVER]);
        }
        got.len() >= data.len() - left.len()
    });
    assert!(arrived && got[..] == data[..got.len()]);
}

#[test]
fn datagrams_grow_to_what_an_ethernet_carries_and_no_longer_than_the_path() {
    for (carries, longest) in [(1472, 1452..=1452), (1400, 1390..=1400), (1232, 1228..=1232)] {
        let mut world = World::new(1);
        world.carries = carries;
        let ids = world.opened();
        // What was written before the search ended keeps its length.
        for _ in 0..12 {
            assert!(world.transfer([CLIENT, SERVER], ids, &data(4_000_000)));
            world.now += Span::from_secs(2);
        }
        assert!(longest.contains(&world.longest), "{carries}: {}", world.longest);
        assert_eq!(world.cut, 0);
    }
}

#[test]
fn where_a_path_became_narrow_ip_cuts_what_was_made_before() {
    let mut world = World::new(1);
    let ids = world.opened();
    for _ in 0..3 {
        assert!(world.transfer([CLIENT, SERVER], ids, &data(4_000_000)));
    }
    assert_eq!(world.longest, 1452);
    world.carries = 1300;
    assert!(world.transfer([CLIENT, SERVER], ids, &data(4_000_000)));
    assert!(world.cut > 0);
}

#[test]
fn marks_of_routers_reach_the_sender_which_reduces_its_window() {
    for (marks, reductions) in [(0, 0), (1, 1)] {
        let mut world = World::new(1);
        let ids = world.opened();
        world.marks = marks;
        assert!(world.transfer([CLIENT, SERVER], ids, &data(300_000)));
        let counters = world.endpoints[CLIENT].stream(ids[CLIENT]).endpoint.counters();
        assert_eq!(counters.reductions, reductions);
        assert_eq!(counters.retransmitted_segments, 0);
    }
}

#[test]
fn a_translator_may_change_the_port() {
    let mut world = World::new(1);
    world.translated = Some(1000);
    let ids = world.opened();
    assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
    world.translated = Some(2000);
    assert!(world.transfer([CLIENT, SERVER], ids, &data(100_000)));
}

#[test]
fn nobody_moves_a_path_who_does_not_know_its_tag() {
    let mut world = World::new(1);
    let ids = world.opened();
    let connection = &world.endpoints[SERVER].connections[ids[SERVER].0];
    let Ports { local, peer } = connection.stream.endpoint.ports();
    let before = *connection.paths.get(Paths::PRIMARY).expect("a path");
    for chunk in [sctp::Chunk::CookieAck, sctp::Chunk::Init(Box::default())] {
        let forged = Packet {
            source_port: peer,
            destination_port: local,
            chunks: [chunk].into_iter().collect(),
            ..Packet::default()
        };
        let mut bytes = bytes::BytesMut::new();
        sctp::encode(&forged, &mut bytes);
        let from = SocketAddr::new(at(0, CLIENT).ip(), 666);
        world.endpoints[SERVER].handle_datagram(world.now, 0, from, Ecn::NotCapable, &bytes);
    }
    let connection = &world.endpoints[SERVER].connections[ids[SERVER].0];
    assert_eq!(connection.paths.get(Paths::PRIMARY), Some(&before));
}

#[test]
fn a_port_where_nobody_waits_refuses() {
    let mut world = World::new(1);
    let id = world.connect(PORT + 1);
    let mut answer = Poll::Pending;
    world.run(|world| {
        answer = world.endpoints[CLIENT].poll_connected(id, &cx());
        answer.is_ready()
    });
    let refused = StreamError::Failed(Failure::PeerAborted(0));
    assert!(matches!(answer, Poll::Ready(Err(error)) if error == refused), "{answer:?}");
}

#[test]
fn what_is_no_packet_changes_nothing_but_a_counter() {
    let mut world = World::new(1);
    let from = at(0, CLIENT);
    world.endpoints[SERVER].handle_datagram(world.now, 0, from, Ecn::NotCapable, b"hello");
    assert_eq!(*world.endpoints[SERVER].counters(), Counters { malformed: 1, strays: 0 });
    world.endpoints[SERVER].flush(world.now);
    assert!(world.endpoints[SERVER].outbox(0).is_empty());
}

#[test]
fn when_all_ports_to_a_service_are_taken_there_is_no_further_association_with_it() {
    let mut world = World::new(1);
    let peer = at(0, SERVER);
    let taken = (FIRST_PORT..=u16::MAX).filter(|port| *port != 60_000);
    for local in taken {
        world.endpoints[CLIENT].by_ends.insert((peer.ip(), Ports { local, peer: PORT }), 0);
    }
    let id = world.connect(PORT);
    assert!(
        world.endpoints[CLIENT]
            .by_ends
            .contains_key(&(peer.ip(), Ports { local: 60_000, peer: PORT }))
    );
    assert_eq!(world.endpoints[CLIENT].connect(world.now, peer, PORT, settings()), None);
    assert_ne!(world.connect(PORT + 1), id, "another service has ports of its own");
}
