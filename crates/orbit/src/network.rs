//! A constellation and its stations over time: links, handovers, delays, routes.

use bentpipe_units::{Instant, Km, Span};

use crate::antennas::{Antennas, Sky};
use crate::earth::Sight;
use crate::graph::{Graph, NOBODY, Tree};
use crate::isl::Isls;
use crate::routes::node;
use crate::{Cable, Constellation, Epoch, OrbitError, Place, Role, Route, Routes, Station, Vector};

/// Shortest time from one check to the next: with less a run would make nothing but checks.
pub(crate) const LEAST_INTERVAL: Span = Span::from_millis(1);

/// Something that packets go from and to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// A satellite, by its number in the constellation.
    Satellite(u32),
    /// A station, by its place in the list.
    Station(u32),
}

/// What a check changed. A packet that has not left a link whole when the link goes down is lost; one
/// that is on its way through space arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A link between two satellites came up.
    IslUp {
        /// One end.
        a: u32,
        /// The other end.
        b: u32,
    },
    /// A link between two satellites went down.
    IslDown {
        /// One end.
        a: u32,
        /// The other end.
        b: u32,
    },
    /// A station gave up a satellite, took one, or took one in place of another.
    Handover {
        /// The station.
        station: u32,
        /// The satellite that it gave up.
        from: Option<u32>,
        /// The satellite that it took.
        to: Option<u32>,
    },
}

/// A constellation and its stations at a time that only goes forward.
///
/// Links come up and go down at checks only: at the start, then after every check interval, and where slots of time
/// begin for which satellites are assigned.
/// Between checks the satellites move, and with them the delays of the links that are up. Delays and
/// routes are asked for a time that lies between the last check and the next; whoever asks first
/// calls [`Network::advance`].
#[derive(Clone, Debug)]
pub struct Network {
    constellation: Constellation,
    stations: Vec<Station>,
    cables: Vec<(Cable, Span)>,
    check_every: Span,
    /// Time of day at the start of the run.
    clock: Span,
    checked: Instant,
    /// The last check that the interval asked for; others are made where slots of time begin.
    regular: Instant,
    next: Instant,
    isls: Isls,
    antennas: Vec<Antennas>,
    graph: Graph,
    /// The time for which `positions` and `sights` hold.
    located: Instant,
    /// The time for which the costs of `graph` hold; `None` when they do for none.
    priced: Option<Instant>,
    positions: Vec<Vector>,
    sights: Vec<Sight>,
}

impl Network {
    /// A network at its first check, [`Instant::ZERO`].
    ///
    /// # Errors
    /// When the check interval or a slot is shorter than 1 ms, a station has no antenna or stands where no satellite ever
    /// comes above its mask, a cable has an end that is no station, or a satellite is not in orbit.
    pub fn new(
        constellation: Constellation,
        stations: Vec<Station>,
        cables: &[Cable],
        check_every: Span,
    ) -> Result<Self, OrbitError> {
        if check_every < LEAST_INTERVAL {
            let message = format!("{check_every} is too short: 1 ms or more, such as 10 s");
            return Err(OrbitError::invalid("update_interval", message));
        }
        for station in &stations {
            station.check(&constellation)?;
        }
        let cables = cables
            .iter()
            .map(|cable| Ok((*cable, cable.time(constellation.earth(), &stations)?)))
            .collect::<Result<_, OrbitError>>()?;
        let mut positions = Vec::new();
        constellation.positions(Instant::ZERO, &mut positions)?;
        let antennas = (0..).zip(&stations);
        let antennas = antennas.map(|(n, s)| Antennas::new(n, s, &constellation)).collect();
        let clock = constellation.start().map_or(Span::ZERO, Epoch::time_of_day);
        let isls = Isls::new(&constellation, &positions);
        let mut network = Self {
            constellation,
            stations,
            cables,
            check_every,
            clock,
            checked: Instant::ZERO,
            regular: Instant::ZERO,
            next: Instant::ZERO,
            isls,
            antennas,
            graph: Graph::default(),
            located: Instant::ZERO,
            priced: None,
            positions,
            sights: Vec::new(),
        };
        network.check(Instant::ZERO, &mut |_, _| {})?;
        network.connect();
        Ok(network)
    }

    /// The constellation.
    pub const fn constellation(&self) -> &Constellation {
        &self.constellation
    }

    /// The delays of the cables, in the order in which they were given.
    pub fn cable_delays(&self) -> impl Iterator<Item = Span> + '_ {
        self.cables.iter().map(|(_, delay)| *delay)
    }

    /// The stations.
    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    /// The time of the last check.
    pub const fn checked_at(&self) -> Instant {
        self.checked
    }

    /// The time of the next check: before it no link comes up and none goes down.
    pub const fn next_check(&self) -> Instant {
        self.next
    }

    /// Makes all checks up to and including `to` and tells `see` what they changed, and when. Checks
    /// that have been made are not made again.
    ///
    /// # Errors
    /// When a satellite is no longer in orbit.
    pub fn advance(
        &mut self,
        to: Instant,
        mut see: impl FnMut(Instant, Change),
    ) -> Result<(), OrbitError> {
        let mut changed = false;
        while self.next_check() <= to {
            let at = self.next_check();
            changed |= self.check(at, &mut see)?;
        }
        if changed {
            self.connect();
        }
        Ok(())
    }

    /// Makes checks until one changes something, at most up to and including `until`, and returns
    /// its time.
    ///
    /// # Errors
    /// When a satellite is no longer in orbit.
    pub fn advance_to_change(
        &mut self,
        until: Instant,
        mut see: impl FnMut(Instant, Change),
    ) -> Result<Option<Instant>, OrbitError> {
        while self.next_check() <= until {
            let at = self.next_check();
            if self.check(at, &mut see)? {
                self.connect();
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// The links that are up, each once.
    pub fn links(&self) -> impl Iterator<Item = (Node, Node)> + '_ {
        self.graph.links().iter().map(|(a, b)| (self.node(*a), self.node(*b)))
    }

    /// The satellites that a station uses.
    pub fn satellites_of(&self, station: u32) -> impl Iterator<Item = u32> + '_ {
        self.antennas.get(station as usize).into_iter().flat_map(Antennas::satellites)
    }

    /// The delay of the link between two nodes, if there is one and it is up.
    ///
    /// # Errors
    /// When a satellite is not in orbit at that time.
    pub fn delay(&mut self, a: Node, b: Node, at: Instant) -> Result<Option<Span>, OrbitError> {
        self.locate(at)?;
        let (Some(from), Some(to)) = (self.index(a), self.index(b)) else { return Ok(None) };
        Ok(self.graph.cost_between(from, to).map(Span::from_nanos))
    }

    /// The time that light takes from one node to another, linked or not, at any time; `None` when
    /// one of them does not exist.
    ///
    /// # Errors
    /// When a satellite is not in orbit at that time.
    pub fn light_time(&self, a: Node, b: Node, at: Instant) -> Result<Option<Span>, OrbitError> {
        let earth = self.constellation.earth();
        let position = |node| match node {
            Node::Satellite(number) => self.constellation.position(number, at),
            Node::Station(number) => {
                let station = self.stations.get(number as usize);
                Ok(station.map(|station| station.sight(earth, at).position))
            }
        };
        let (Some(a), Some(b)) = (position(a)?, position(b)?) else { return Ok(None) };
        Ok(Some(earth.delay(Km(a.distance(b)))))
    }

    /// The time of a hop at any time: that of the cable between two stations if there is one, or else
    /// [`Network::light_time`].
    ///
    /// # Errors
    /// When a satellite is not in orbit at that time.
    pub fn hop_delay(&self, a: Node, b: Node, at: Instant) -> Result<Option<Span>, OrbitError> {
        let cable = match (a, b) {
            (Node::Station(a), Node::Station(b)) => cable_time(&self.cables, a, b),
            _ => None,
        };
        cable.map_or_else(|| self.light_time(a, b, at), |time| Ok(Some(time)))
    }

    /// The shortest paths from everywhere to one node.
    ///
    /// # Errors
    /// When a satellite is not in orbit at that time.
    pub fn routes_to(&mut self, to: Node, at: Instant) -> Result<Routes, OrbitError> {
        let tree = self.tree(to, None, at)?;
        Ok(Routes { to, satellites: self.positions.len() as u32, tree })
    }

    /// The shortest path from one node to another, if there is one.
    ///
    /// # Errors
    /// When a satellite is not in orbit at that time.
    pub fn route(
        &mut self,
        from: Node,
        to: Node,
        at: Instant,
    ) -> Result<Option<Route>, OrbitError> {
        let tree = self.tree(to, Some(from), at)?;
        Ok(Routes { to, satellites: self.positions.len() as u32, tree }.route(from))
    }

    /// Where a node is above the ground.
    ///
    /// # Errors
    /// When a satellite is not in orbit at that time.
    pub fn place(&mut self, node: Node, at: Instant) -> Result<Option<Place>, OrbitError> {
        self.locate(at)?;
        Ok(match node {
            Node::Satellite(number) => self
                .positions
                .get(number as usize)
                .map(|satellite| self.constellation.earth().below(*satellite, at)),
            Node::Station(number) => {
                self.stations.get(number as usize).map(|station| station.place_at(at))
            }
        })
    }

    /// The places below the straight way between two nodes, in so many equal pieces.
    ///
    /// # Errors
    /// When a satellite is not in orbit at that time.
    pub fn track(
        &mut self,
        a: Node,
        b: Node,
        pieces: u16,
        at: Instant,
    ) -> Result<Vec<Place>, OrbitError> {
        self.locate(at)?;
        let (Some(from), Some(to)) = (self.position(a), self.position(b)) else {
            return Ok(Vec::new());
        };
        let below = |piece: u16| {
            let share = f64::from(piece) / f64::from(pieces.max(1));
            self.constellation.earth().below(from + (to - from) * share, at)
        };
        Ok((0..=pieces.max(1)).map(below).collect())
    }

    fn position(&self, node: Node) -> Option<Vector> {
        match node {
            Node::Satellite(number) => self.positions.get(number as usize).copied(),
            Node::Station(number) => self.sights.get(number as usize).map(|s| s.position),
        }
    }

    fn tree(&mut self, to: Node, from: Option<Node>, at: Instant) -> Result<Tree, OrbitError> {
        self.locate(at)?;
        let satellites = self.positions.len() as u32;
        let index = |node| self.index(node).unwrap_or(NOBODY);
        let (root, until) = (index(to), from.map(index));
        let forwards = |node: u32| match node.checked_sub(satellites) {
            None => true,
            Some(station) => self.stations[station as usize].role == Role::Gateway,
        };
        Ok(self.graph.paths_to(root, until, forwards))
    }

    /// The number of a node in the graph: satellites first, then stations.
    fn index(&self, node: Node) -> Option<u32> {
        let satellites = self.positions.len() as u32;
        match node {
            Node::Satellite(number) => Some(number).filter(|number| *number < satellites),
            Node::Station(number) => {
                Some(satellites + number).filter(|_| (number as usize) < self.stations.len())
            }
        }
    }

    fn node(&self, index: u32) -> Node {
        node(index, self.positions.len() as u32)
    }

    /// Makes one check and says whether it changed anything.
    fn check(
        &mut self,
        at: Instant,
        see: &mut impl FnMut(Instant, Change),
    ) -> Result<bool, OrbitError> {
        self.move_to(at)?;
        let mut changed = false;
        let mut tell = |change| {
            changed = true;
            see(at, change);
        };
        self.isls.check(&self.positions, &mut tell);
        let (constellation, positions) = (&self.constellation, &self.positions);
        let sky = Sky { at, clock: self.clock, constellation, positions };
        let stations = self.stations.iter().zip(&self.sights);
        for ((antennas, (station, sight)), number) in
            self.antennas.iter_mut().zip(stations).zip(0..)
        {
            antennas.check(station, sight, &sky, &mut |from, to| {
                tell(Change::Handover { station: number, from, to });
            })?;
        }
        if at >= self.regular + self.check_every {
            self.regular = at;
        }
        self.checked = at;
        let slots = self.antennas.iter().filter_map(|antennas| antennas.next_slot(at, self.clock));
        self.next = slots.fold(self.regular + self.check_every, Instant::min);
        Ok(changed)
    }

    /// Builds the graph of the links that are up.
    fn connect(&mut self) {
        let satellites = self.positions.len() as u32;
        let mut links: Vec<(u32, u32)> = self.isls.up().collect();
        for (station, antennas) in (satellites..).zip(&self.antennas) {
            links.extend(antennas.satellites().map(|satellite| (satellite, station)));
        }
        links.extend(self.cables.iter().map(|(c, _)| (satellites + c.a, satellites + c.b)));
        self.graph = Graph::new(self.positions.len() + self.stations.len(), links);
        self.priced = None;
    }

    /// Puts satellites and stations where they are at a time.
    fn move_to(&mut self, at: Instant) -> Result<(), OrbitError> {
        // Should a satellite be lost, the costs hold for no time.
        self.priced = None;
        self.constellation.positions(at, &mut self.positions)?;
        let earth = self.constellation.earth();
        self.sights.clear();
        self.sights.extend(self.stations.iter().map(|station| station.sight(earth, at)));
        self.located = at;
        Ok(())
    }

    fn locate(&mut self, at: Instant) -> Result<(), OrbitError> {
        if self.priced != Some(at) {
            if self.located != at {
                self.move_to(at)?;
            }
            self.price();
            self.priced = Some(at);
        }
        Ok(())
    }

    /// Sets the delays of the links to those of the present places.
    fn price(&mut self) {
        let satellites = self.positions.len() as u32;
        let earth = self.constellation.earth();
        let place = |index: u32| match index.checked_sub(satellites) {
            None => self.positions[index as usize],
            Some(station) => self.sights[station as usize].position,
        };
        let cost = |a: u32, b: u32| {
            let cable = a.checked_sub(satellites).zip(b.checked_sub(satellites));
            let cable = cable.and_then(|(a, b)| cable_time(&self.cables, a, b));
            let time = cable.unwrap_or_else(|| earth.delay(Km(place(a).distance(place(b)))));
            time.as_nanos()
        };
        self.graph.price(cost);
    }
}

/// The time of the cable between two stations, if there is one.
fn cable_time(cables: &[(Cable, Span)], a: u32, b: u32) -> Option<Span> {
    let joins = |cable: &Cable| [(a, b), (b, a)].contains(&(cable.a, cable.b));
    cables.iter().find(|(cable, _)| joins(cable)).map(|(_, time)| *time)
}
