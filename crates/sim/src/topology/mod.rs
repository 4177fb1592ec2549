//! A network that moves: satellites, stations, and links that come and go between them.
//!
//! Links change at the checks of [`bentpipe_orbit::Network`] only, and routes are those of the last
//! check. Between checks the delay of a link is that of the moment at which a packet leaves its
//! transmitter. What has not left a link whole when that goes down is lost; what is on its way
//! arrives.

mod downlinks;
mod link;
mod log;
mod tables;

use std::collections::BTreeMap;

use bentpipe_link::{LossCause, ModelSpec, Passing, Streams};
use bentpipe_orbit::{Change, Node, OrbitError};
use bentpipe_record::{ConstellationSummary, LinkSummary};
use bentpipe_units::{ByteCount, Instant, Span};

use self::downlinks::Downlinks;
use self::link::MovingLink;
use self::log::Log;
use self::tables::Tables;
use crate::channel::Channel;
use crate::events::{EventQueue, Slot};
use crate::packet::{Arena, Label};
use crate::{RunSpec, SatelliteNetworkSpec};

/// The satellites, the links to and between them, and the ways over them.
pub(crate) struct Topology {
    sky: SatelliteNetworkSpec,
    streams: Streams,
    tables: Tables,
    /// The component of each direction of a link, by its ends.
    by_ends: BTreeMap<(u16, u16), Slot>,
    /// Those that move; they are the components from `first_slot` on.
    pub(crate) links: Vec<MovingLink>,
    first_slot: Slot,
    /// Transmitters of satellites, where stations share them.
    downlinks: Downlinks,
    /// Summaries of links before those of the classes of moving links.
    first_class: usize,
    log: Log,
}

impl Topology {
    /// The network of a run at its first check. `cables` are the components of links that stay, by their
    /// ends; those that move are the components from the end of the queue on.
    pub(crate) fn new(
        sky: &SatelliteNetworkSpec,
        spec: &RunSpec,
        cables: impl Iterator<Item = (u16, u16)>,
        queue: &mut EventQueue,
        arena: &mut Arena,
    ) -> Self {
        let network = &sky.network;
        let stations = network.stations().len();
        let mut by_ends = BTreeMap::new();
        for (slot, ends) in (0..).zip(cables) {
            by_ends.entry(ends).or_insert(slot);
        }
        let mut topology = Self {
            streams: Streams::new(spec.seed),
            tables: Tables::new(stations, network.constellation().satellites()),
            by_ends,
            links: Vec::new(),
            first_slot: queue.components() as Slot,
            downlinks: match sky.shared_downlinks {
                true => Downlinks::new(&sky.ground),
                false => Downlinks::default(),
            },
            first_class: 2 * spec.links.len(),
            log: Log::new(network, &spec.flows),
            sky: sky.clone(),
        };
        let moving = |(a, b): &(Node, Node)| {
            matches!(a, Node::Satellite(_)) || matches!(b, Node::Satellite(_))
        };
        let links: Vec<_> = network.links().filter(moving).collect();
        for (a, b) in links {
            topology.set(Instant::ZERO, a, b, true, queue, arena);
        }
        topology.look(Instant::ZERO);
        topology
    }

    /// Time of the next check.
    pub(crate) fn next_check(&self) -> Instant {
        self.sky.network.next_check()
    }

    /// Makes the checks that are due.
    pub(crate) fn check(
        &mut self,
        now: Instant,
        queue: &mut EventQueue,
        arena: &mut Arena,
    ) -> Result<(), OrbitError> {
        let mut changes = Vec::new();
        self.sky.network.advance(now, |at, change| changes.push((at, change)))?;
        for (at, change) in changes {
            self.log.changed(at, &self.sky.network, change);
            let satellite = Node::Satellite;
            match change {
                Change::IslUp { a, b } => {
                    self.set(at, satellite(a), satellite(b), true, queue, arena);
                }
                Change::IslDown { a, b } => {
                    self.set(at, satellite(a), satellite(b), false, queue, arena);
                }
                Change::Handover { station, from, to } => {
                    for (number, up) in [(from, false), (to, true)] {
                        if let Some(number) = number {
                            let station = Node::Station(station);
                            self.set(at, station, satellite(number), up, queue, arena);
                        }
                    }
                }
            }
        }
        self.tables.clear();
        self.look(now);
        Ok(())
    }

    /// Notes the routes of the flows.
    fn look(&mut self, now: Instant) {
        let (tables, network) = (&mut self.tables, &mut self.sky.network);
        self.log.checked(now, |from, to| tables.route(from, to, network));
    }

    /// A link comes up or goes down, in both directions.
    fn set(
        &mut self,
        at: Instant,
        a: Node,
        b: Node,
        up: bool,
        queue: &mut EventQueue,
        arena: &mut Arena,
    ) {
        for ends in [[a, b], [b, a]] {
            let index = self.link(ends, queue);
            if up {
                self.come_up(at, index, ends);
            } else {
                self.go_down(at, index, queue, arena);
            }
        }
    }

    /// The number of one direction of a link, which is made when there was none.
    fn link(&mut self, ends: [Node; 2], queue: &mut EventQueue) -> usize {
        let numbers = ends.map(|end| self.tables.number(end));
        let next = self.first_slot + self.links.len() as Slot;
        let slot = *self.by_ends.entry((numbers[0], numbers[1])).or_insert(next);
        if slot == next {
            queue.add_component();
            let flips = self.streams.stream(&format!("sky/{}/flips", self.name(ends)));
            let channel =
                Channel::new(numbers[1], Default::default(), flips, LinkSummary::default());
            self.links.push(MovingLink::new(channel, self.class(ends), ends));
        }
        (slot - self.first_slot) as usize
    }

    fn come_up(&mut self, at: Instant, index: usize, ends: [Node; 2]) {
        let models = match ends {
            [Node::Station(number), _] => &self.sky.ground[number as usize].up,
            [_, Node::Station(number)] => &self.sky.ground[number as usize].down,
            _ => &self.sky.isl,
        };
        let shared = match ends {
            [Node::Satellite(satellite), Node::Station(station)] => {
                self.downlinks.split(satellite, station, models, &self.streams)
            }
            _ => None,
        };
        let models = shared.map_or(models.as_slice(), |(_, behind)| behind);
        // Each time that it comes up it has draws of its own.
        let visits = self.links[index].visits;
        let name = format!("sky/{}/{visits}", self.name(ends));
        let shaken = self.handed_over(at, ends).map(|[station, satellite]| {
            // Both directions draw the same.
            let name = format!("handover/{}/{visits}", self.name([station, satellite]));
            self.sky.handover.models(models, at, &mut self.streams.stream(&name))
        });
        let models = shaken.as_deref().unwrap_or(models);
        let link = &mut self.links[index];
        link.shared = shared.map(|(number, _)| number);
        link.come_up(ModelSpec::build_series(models, &self.streams, &name, "forth"));
    }

    /// The station and the satellite of a link that came up because the station's traffic was handed over.
    fn handed_over(&self, at: Instant, ends: [Node; 2]) -> Option<[Node; 2]> {
        let ends = match ends {
            [station @ Node::Station(_), satellite] | [satellite, station @ Node::Station(_)] => {
                [station, satellite]
            }
            _ => return None,
        };
        let Node::Station(number) = ends[0] else { return None };
        let station = self.sky.network.stations().get(number as usize)?;
        (at > Instant::ZERO && station.policy.holds()).then_some(ends)
    }

    fn go_down(&mut self, at: Instant, index: usize, queue: &mut EventQueue, arena: &mut Arena) {
        let link = &mut self.links[index];
        link.go_down(at, &self.sky.network, |channel, lost| {
            channel.count_loss(at, LossCause::Blackout, lost.label.kind);
            arena.release(lost.label.packet);
        });
        if link.channel.next().is_none() {
            queue.clear(self.first_slot + index as Slot);
        }
    }

    /// What a direction of a link is called in the names of its random streams.
    fn name(&self, ends: [Node; 2]) -> String {
        let [from, to] = ends.map(|end| match end {
            Node::Station(number) => self.sky.network.stations()[number as usize].name.clone(),
            Node::Satellite(number) => number.to_string(),
        });
        format!("{from}/{to}")
    }

    /// The summary that a direction of a link counts for, as [`RunSpec::directions`] has them.
    fn class(&self, ends: [Node; 2]) -> usize {
        self.first_class
            + match ends {
                [Node::Station(number), _] => 2 * number as usize,
                [_, Node::Station(number)] => 2 * number as usize + 1,
                _ => 2 * self.sky.network.stations().len(),
            }
    }

    /// The component that leads from a node towards a station.
    #[inline]
    pub(crate) fn next(&mut self, from: u16, to: u16) -> Option<Slot> {
        self.tables.next(from, to, &mut self.sky.network, &self.by_ends)
    }

    /// A packet found no way on.
    #[cold]
    pub(crate) fn count_no_route(&mut self) {
        self.log.summary.lost_no_route += 1;
    }

    /// The link that is this component, if it moves.
    #[inline]
    pub(crate) fn index(&self, slot: Slot) -> Option<usize> {
        slot.checked_sub(self.first_slot).map(|index| index as usize)
    }

    /// The moving link that is this component, if it moves.
    #[inline]
    pub(crate) fn link_of(&mut self, slot: Slot) -> Option<&mut MovingLink> {
        let index = self.index(slot)?;
        self.links.get_mut(index)
    }

    /// A packet enters a moving link. Returns when it arrives, if it does, and whether it is damaged.
    #[inline]
    pub(crate) fn pass(
        &mut self,
        now: Instant,
        index: usize,
        passing: &Passing,
    ) -> Option<(Instant, bool)> {
        let link = &mut self.links[index];
        let shared = link.shared.and_then(|number| self.downlinks.get(number));
        link.pass(now, passing, &self.sky.network, shared)
    }

    /// The bytes that stand before the transmitters of each direction, as [`RunSpec::directions`] numbers them. What waits in one
    /// that several stations share stands before each of them.
    pub(crate) fn standing(&mut self, now: Instant) -> BTreeMap<usize, ByteCount> {
        let mut standing = BTreeMap::new();
        for link in &mut self.links {
            let waiting = match link.shared.and_then(|number| self.downlinks.get(number)) {
                Some(line) => line.standing(now).filter(|_| link.is_up()),
                None => link.channel.standing(now),
            };
            if let Some(waiting) = waiting {
                *standing.entry(link.class).or_insert(ByteCount::new(0)) += waiting;
            }
        }
        standing
    }

    /// The next packet of a moving link arrives: which one it is, and at which node.
    #[inline]
    pub(crate) fn arrive(&mut self, index: usize, queue: &mut EventQueue) -> Option<(Label, u16)> {
        let link = &mut self.links[index];
        let arrived = link.arrive()?;
        let slot = self.first_slot + index as Slot;
        match link.channel.next() {
            Some(next) => queue.set_arrival(slot, next.at, next.serial),
            None => queue.clear(slot),
        }
        Some((arrived.label, link.channel.to))
    }

    /// The delay of a flow's route at the last check.
    pub(crate) fn route_delay(&self, flow: usize) -> Option<Span> {
        self.log.delay(flow)
    }

    /// What the constellation did.
    pub(crate) fn summary(&self) -> ConstellationSummary {
        self.log.finish()
    }
}
