//! The path over satellites, in real time.

mod line;

use std::sync::{Arc, Once};

use bentpipe_link::{
    Carried, Direction, Fate, HandoverSpec, Model, ModelSpec, Passing, Path, Series, Streams,
};
use bentpipe_orbit::{Motion, Network, Node, OrbitError};
use bentpipe_units::{Instant, Span};

use self::line::{LOST, Line};

/// Two stations of a constellation and what their links are like.
#[derive(Clone, Debug)]
pub struct ConstellationPath {
    /// The constellation and its stations, at the first check.
    pub network: Network,
    /// The two stations, by their places in the list: the forward link is from the first to the second.
    pub ends: [u32; 2],
    /// What happens from each of the two up to a satellite.
    pub uplinks: [Vec<ModelSpec>; 2],
    /// What happens from a satellite down to each of the two.
    pub downlinks: [Vec<ModelSpec>; 2],
    /// What a handover does to the links of a station that holds satellites.
    pub handover: HandoverSpec,
    /// Told once when a satellite has come down: from then on nothing finds a route.
    pub trouble: fn(&OrbitError),
}

impl ConstellationPath {
    /// The path that packets take, over the satellites as they move from now on.
    pub fn path<P: Carried>(&self, seed: u64) -> Path<P> {
        Path::of(self.series(seed), seed)
    }

    /// What packets pass on the forward link and on the return link.
    fn series(&self, seed: u64) -> [Vec<Series>; 2] {
        let streams = Streams::new(seed);
        let [a, b] = self.ends;
        let said = Arc::new(Once::new());
        let directions =
            [([a, b], [0, 1], Direction::Forward), ([b, a], [1, 0], Direction::Return)];
        directions.map(|(ends, [from, to], direction)| {
            let name = direction.stream();
            let line = |models: &[Vec<ModelSpec>; 2], end: usize, place| {
                let station = ends[usize::from(end == to)];
                let (network, handover) = (&self.network, &self.handover);
                Line::new(network, handover, station, &models[end], [place, name], streams)
            };
            let transmitter =
                Transmitter::new(self, ends, line(&self.uplinks, from, "sky/up"), &said);
            let receiver = Receiver(line(&self.downlinks, to, "sky/down"));
            vec![Series::new(vec![Box::new(transmitter)]), Series::new(vec![Box::new(receiver)])]
        })
    }
}

/// The transmitter of a station and the shortest route from there to another station. What finds no route is lost.
#[derive(Debug)]
struct Transmitter {
    network: Network,
    ends: [u32; 2],
    line: Line,
    /// The nodes of the route at the last check; none when there is no route.
    route: Vec<Node>,
    motion: Motion,
    trouble: fn(&OrbitError),
    /// Whether `trouble` was told, for either direction.
    said: Arc<Once>,
}

impl Transmitter {
    fn new(path: &ConstellationPath, ends: [u32; 2], line: Line, said: &Arc<Once>) -> Self {
        let mut transmitter = Self {
            network: path.network.clone(),
            ends,
            line,
            route: Vec::new(),
            motion: Motion::new(),
            trouble: path.trouble,
            said: said.clone(),
        };
        transmitter.look();
        transmitter
    }

    /// The route as it is at the last check.
    fn look(&mut self) {
        let [from, to] = self.ends.map(Node::Station);
        let route = self.network.route(from, to, self.network.checked_at());
        let nodes = route.ok().flatten().map(|route| route.nodes).unwrap_or_default();
        if nodes != self.route {
            self.route = nodes;
            self.motion = Motion::new();
        }
    }

    /// Makes the checks up to and including `to`.
    fn advance(&mut self, to: Instant) {
        if to < self.network.next_check() {
            return;
        }
        match self.network.advance(to, |_, _| {}) {
            Ok(()) => self.look(),
            // A satellite came down: the elements say nothing any more.
            Err(error) => {
                self.route.clear();
                self.said.call_once(|| (self.trouble)(&error));
            }
        }
    }
}

/// The time that a signal takes along some nodes.
fn along(network: &Network, nodes: &[Node], at: Instant) -> Option<Span> {
    let mut sum = Span::ZERO;
    for pair in nodes.windows(2) {
        sum = sum + network.hop_delay(pair[0], pair[1], at).ok()??;
    }
    Some(sum)
}

impl Model for Transmitter {
    fn pass(&mut self, at: Instant, packet: &Passing) -> Fate {
        let (leaves, damaged) = match self.line.pass(at, packet) {
            Fate::Leaves(leaves) => (leaves, false),
            Fate::LeavesCorrupt(leaves) => (leaves, true),
            lost @ Fate::Lost(_) => return lost,
        };
        self.advance(leaves);
        if self.route.is_empty() {
            return LOST;
        }
        let (network, route) = (&self.network, &self.route);
        let arrives = leaves + self.motion.delay(leaves, |at| along(network, route, at));
        if damaged { Fate::LeavesCorrupt(arrives) } else { Fate::Leaves(arrives) }
    }

    fn forget_before(&mut self, now: Instant) {
        self.line.forget_before(now);
        self.advance(now);
    }
}

/// The link from a satellite down to a station.
#[derive(Debug)]
struct Receiver(Line);

impl Model for Receiver {
    fn pass(&mut self, at: Instant, packet: &Passing) -> Fate {
        self.0.pass(at, packet)
    }

    fn forget_before(&mut self, now: Instant) {
        self.0.forget_before(now);
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_link::{LossCause, QueueLimit};
    use std::sync::atomic::{AtomicU32, Ordering};

    use bentpipe_orbit::{Change, Constellation, IslRules, Station, known};
    use bentpipe_units::{BitRate, ByteCount, Degrees};
    use bentpipe_wire::Kind;

    use super::*;

    /// Iridium from Berkeley to Boston: 1000 bytes take 10 ms on the ground links.
    fn berkeley_to_boston() -> ConstellationPath {
        let spec = known("iridium").expect("known").expect("a constellation");
        let constellation = Constellation::new(&spec).expect("a constellation");
        let station = |name: &str| Station::terminal(name, name.parse().expect("a city"));
        let stations = vec![station("Berkeley"), station("Boston")];
        let network =
            Network::new(constellation, stations, &[], Span::from_secs(10)).expect("a network");
        let rate = BitRate::from_bps(800_000);
        let uplink = vec![ModelSpec::Rate { rate, queue: QueueLimit::Packets(50) }];
        ConstellationPath {
            network,
            ends: [0, 1],
            uplinks: [uplink.clone(), uplink],
            downlinks: Default::default(),
            handover: HandoverSpec::default(),
            trouble: |error| panic!("{error}"),
        }
    }

    fn transmitter(path: &ConstellationPath) -> Transmitter {
        let (name, streams) = (Direction::Forward.stream(), Streams::new(1));
        let (network, handover) = (&path.network, &path.handover);
        let line = Line::new(network, handover, 0, &path.uplinks[0], ["sky/up", name], streams);
        Transmitter::new(path, [0, 1], line, &Arc::new(Once::new()))
    }

    fn offer(transmitter: &mut Transmitter, at: Instant) -> Fate {
        transmitter.pass(at, &Passing { bytes: ByteCount::new(1000), kind: Kind::NONE })
    }

    /// The first time at which Berkeley gives its satellite up.
    fn handover() -> Instant {
        let mut first = None;
        let mut network = berkeley_to_boston().network;
        let see = |at, change| {
            if matches!(change, Change::Handover { station: 0, .. }) {
                first.get_or_insert(at);
            }
        };
        network.advance(Instant::ZERO + Span::from_secs(3600), see).expect("in orbit");
        first.expect("a handover")
    }

    #[test]
    fn packets_are_as_late_as_the_route_is_long_at_that_moment() {
        let (mut transmitter, mut network) =
            (transmitter(&berkeley_to_boston()), berkeley_to_boston().network);
        for second in 0..1000 {
            let at = Instant::ZERO + Span::from_secs(second);
            let leaves = at + Span::from_millis(10);
            network.advance(leaves, |_, _| {}).expect("in orbit");
            let route = network.route(Node::Station(0), Node::Station(1), network.checked_at());
            let nodes = route.expect("in orbit").expect("a route").nodes;
            let exact = leaves + along(&network, &nodes, leaves).expect("a route");
            let Fate::Leaves(arrives) = offer(&mut transmitter, at) else { panic!("lost at {at}") };
            let off = arrives.since(exact).max(exact.since(arrives));
            assert!(off < Span::from_nanos(500), "{off} at {at}");
        }
    }

    #[test]
    fn what_waits_at_a_handover_is_lost_and_what_comes_after_it_finds_an_idle_transmitter() {
        let (mut transmitter, handover) = (transmitter(&berkeley_to_boston()), handover());
        let before = handover.before(Span::from_millis(35));
        let fates: Vec<_> = (0..6).map(|_| offer(&mut transmitter, before)).collect();
        // They leave 25, 15 and 5 ms before the handover, or would leave 5, 15 and 25 ms after it.
        assert!(fates[..3].iter().all(|fate| matches!(fate, Fate::Leaves(_))), "{fates:?}");
        assert_eq!(fates[3..], [Fate::Lost(LossCause::Blackout); 3]);
        let Fate::Leaves(arrives) = offer(&mut transmitter, handover) else { panic!("lost") };
        assert!(arrives.since(handover) < Span::from_millis(10 + 60));
        assert_eq!(transmitter.line.handovers_passed(), 1);
    }

    #[test]
    fn after_a_handover_at_either_end_there_is_the_outage_that_was_asked_for() {
        let mut path = berkeley_to_boston();
        path.handover.outage = [Span::from_millis(400); 2];
        let lost_in_a_minute = |path: &ConstellationPath| {
            let [mut forward, _] = path.series(1);
            let packet = Passing { bytes: ByteCount::new(1000), kind: Kind::NONE };
            let fates = (0..1000).map(|n| {
                let at = handover().before(Span::from_secs(5)) + Span::from_millis(20 * n);
                let mut fate = Fate::Leaves(at);
                for series in &mut forward {
                    if let Fate::Leaves(at) = fate {
                        fate = series.pass(at, &packet);
                    }
                }
                fate
            });
            fates.filter(|fate| matches!(fate, Fate::Lost(_))).count()
        };
        // The uplink's handover within the 20 s: a packet each 20 ms for 400 ms, and what was on the line.
        let near = lost_in_a_minute(&path);
        path.ends = [1, 0];
        path.uplinks.swap(0, 1);
        let far = lost_in_a_minute(&path);
        assert!((20..23).contains(&near) && (20..23).contains(&far), "{near} {far}");
    }

    #[test]
    fn a_cable_takes_the_time_of_its_fibre_and_not_that_of_a_hole_through_the_earth() {
        let spec = known("iridium").expect("known").expect("a constellation");
        let constellation = Constellation::new(&spec).expect("a constellation");
        let stations = ["Berkeley", "Boston"]
            .map(|name| Station::gateway(name, name.parse().expect("a city")))
            .to_vec();
        let cables = bentpipe_orbit::connect(&stations);
        let network = Network::new(constellation, stations, &cables, Span::from_secs(10));
        let network = network.expect("a network");
        let nodes = [0, 1].map(Node::Station);
        let fibre = network.cable_delays().next();
        assert_eq!(along(&network, &nodes, Instant::ZERO), fibre);
        let light = network.light_time(nodes[0], nodes[1], Instant::ZERO).expect("nodes");
        assert!(fibre > light);
    }

    #[test]
    fn without_a_route_everything_is_lost_until_there_is_one() {
        let mut path = berkeley_to_boston();
        path.uplinks = Default::default();
        let mut transmitter = transmitter(&path);
        let route = std::mem::take(&mut transmitter.route);
        assert_eq!(offer(&mut transmitter, Instant::ZERO), Fate::Lost(LossCause::Blackout));
        transmitter.forget_before(Instant::ZERO + Span::from_secs(10));
        assert_eq!(transmitter.route.len(), route.len());
        assert!(matches!(
            offer(&mut transmitter, Instant::ZERO + Span::from_secs(10)),
            Fate::Leaves(_)
        ));
    }

    #[test]
    fn that_a_satellite_came_down_is_said_once_for_both_directions() {
        static SAID: AtomicU32 = AtomicU32::new(0);
        let text = include_str!("../../orbit/tests/data/falling.tle");
        let constellation =
            Constellation::from_elements("falling", text, None, Degrees(10.0), IslRules::NONE);
        let stations =
            ["0,0", "0,10"].map(|place| Station::terminal(place, place.parse().expect("a place")));
        let network = Network::new(
            constellation.expect("in orbit"),
            stations.to_vec(),
            &[],
            Span::from_secs(60),
        );
        let path = ConstellationPath {
            network: network.expect("a network"),
            trouble: |error| {
                assert!(error.to_string().contains("FALLING is not in orbit"), "{error}");
                SAID.fetch_add(1, Ordering::Relaxed);
            },
            ..berkeley_to_boston()
        };
        let mut directions = path.series(1);
        for day in [30, 31] {
            for direction in &mut directions {
                direction[0].forget_before(Instant::ZERO + Span::from_secs(86_400 * day));
            }
        }
        assert_eq!(SAID.load(Ordering::Relaxed), 1);
    }
}
