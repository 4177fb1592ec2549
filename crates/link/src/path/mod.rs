//! A path of links between two nodes: it holds packets until they leave at the other end.

mod agent;
mod carried;
mod counters;
mod moving;
mod stations;
#[cfg(test)]
mod tests;
mod way;

pub use agent::{Emission, PathAgent, Side};
pub use carried::{Carried, Description};
pub use counters::Counters;

use std::collections::{BinaryHeap, VecDeque};
use std::mem;

use bentpipe_units::Instant;

use self::moving::Moving;
use self::stations::{Departure, Stations};
use self::way::{Part, Place, Step};
use crate::mac::MacSpec;
use crate::{Direction, Fate, LossCause, Model as _, ModelSpec, Series, Streams};

/// Models may forget their history after so many packets.
const FORGET_EVERY: u64 = 1024;

/// One link of a path.
#[derive(Clone, Debug)]
pub struct Hop {
    /// Its name, which names its random streams.
    pub name: String,
    /// What happens on the forward link, from the side where packets enter.
    pub forward_link: Vec<ModelSpec>,
    /// What happens on the return link.
    pub return_link: Vec<ModelSpec>,
}

/// A line of a station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StationLine {
    /// Its name, which names its random streams.
    pub name: String,
    /// The link of the path, counted in the forward direction, and the direction in which the line feeds it. None when the
    /// line is another's, which has nothing to send.
    pub feeds: Option<(usize, Direction)>,
}

/// A path: packets of type `P` enter on one side and leave on the other, later or never.
///
/// On its links there may be [stations](Path::add_station), whose queues hold packets, and at its nodes
/// [agents](Path::add_agent). Both are told the time by whoever calls [`Path::leave`].
#[derive(Debug)]
pub struct Path<P> {
    ways: [Vec<Step>; 2],
    stations: Stations<P>,
    agents: Vec<Box<dyn PathAgent<P>>>,
    counters: [Counters; 2],
    moving: BinaryHeap<Moving<P>>,
    /// What has arrived and was not taken yet, and when.
    arrived: VecDeque<(Instant, Direction, P)>,
    /// What leaves stations, to be sent on when they have been left alone.
    departures: Vec<Departure<P>>,
    streams: Streams,
    serial: u64,
    /// What lies before has happened.
    reached: Instant,
}

impl<P: Carried> Path<P> {
    /// The path over these links. The same seed loses the same packets again.
    pub fn new(hops: &[Hop], seed: u64) -> Self {
        let streams = Streams::new(seed);
        let build = |specs, hop: &Hop, direction: Direction| {
            ModelSpec::build_series(specs, &streams, &hop.name, direction.stream())
        };
        let forward =
            hops.iter().map(|hop| build(&hop.forward_link, hop, Direction::Forward)).collect();
        let returning =
            hops.iter().rev().map(|hop| build(&hop.return_link, hop, Direction::Return)).collect();
        Self::of([forward, returning], seed)
    }

    /// The path over what packets pass one after the other, from the first node to the last and the other way.
    pub fn of(series: [Vec<Series>; 2], seed: u64) -> Self {
        Self {
            ways: series.map(|way| way.into_iter().map(Step::of).collect()),
            stations: Stations::new(),
            agents: Vec::new(),
            counters: [Counters::default(); 2],
            moving: BinaryHeap::new(),
            arrived: VecDeque::new(),
            departures: Vec::new(),
            streams: Streams::new(seed),
            serial: 0,
            reached: Instant::ZERO,
        }
    }

    /// Puts a station before the links that its lines feed, whose models then begin behind the transmitter. A direction
    /// of a link has one station at most: the last one that was put there.
    pub fn add_station(&mut self, mac: &MacSpec, lines: &[StationLine]) {
        let names: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
        let station = self.stations.len();
        let behind = lines.iter().enumerate().map(|(n, line)| {
            let (hop, direction) = line.feeds?;
            let step = self.step(hop, direction);
            self.ways[direction as usize].get_mut(step)?.station = Some((station, n as u16));
            Some(Place { direction, step, part: Part::Series })
        });
        let behind = behind.collect();
        self.stations.add(mac.build(&self.streams, &names), behind);
    }

    /// Puts an agent at node `node`, counted from the one where the forward direction begins, which is 0. Its link is
    /// the one by which packets of the direction `out` leave the node. Packets that begin or end at the node do not pass it.
    pub fn add_agent(&mut self, node: usize, out: Direction, agent: Box<dyn PathAgent<P>>) {
        let number = self.agents.len();
        self.agents.push(agent);
        for direction in Direction::BOTH {
            let side = if direction == out { Side::Out } else { Side::In };
            let step = self.step_from(node, direction);
            if step > 0
                && let Some(step) = self.ways[direction as usize].get_mut(step)
            {
                // One agent at a node sees a packet: the first that was put there.
                step.agent.get_or_insert((number, side));
            }
        }
    }

    /// The step of a direction that is this link.
    fn step(&self, hop: usize, direction: Direction) -> usize {
        match direction {
            Direction::Forward => hop,
            Direction::Return => self.ways[1].len().saturating_sub(hop + 1),
        }
    }

    /// The step of a direction that begins at this node.
    fn step_from(&self, node: usize, direction: Direction) -> usize {
        match direction {
            Direction::Forward => node,
            Direction::Return => self.ways[1].len().saturating_sub(node),
        }
    }

    /// A packet enters.
    pub fn enter(&mut self, now: Instant, direction: Direction, packet: P) {
        self.advance(now);
        let shown = packet.describe();
        let counters = &mut self.counters[direction as usize];
        if counters.packets.is_multiple_of(FORGET_EVERY) {
            let way = &mut self.ways[direction as usize];
            way.iter_mut().for_each(|step| step.series.forget_before(now));
        }
        counters.packets += 1;
        counters.bytes += shown.bytes.get();
        let place = Place { direction, step: 0, part: Part::Agent };
        self.travel(now, now, place, (packet, shown), false);
    }

    /// Lets the links go on with the time, also while no packets come. Called often enough, no packet
    /// waits for what it could have done before.
    pub fn pass_time(&mut self, now: Instant) {
        self.advance(now);
        let steps = self.ways.iter_mut().flatten();
        steps.for_each(|step| step.series.forget_before(now));
    }

    /// When something happens next: [`Path::leave`] is to be called then.
    pub fn next(&self) -> Option<Instant> {
        if let Some((at, ..)) = self.arrived.front() {
            return Some(*at);
        }
        let moving = self.moving.peek().map(Moving::at);
        moving.into_iter().chain(self.deadline()).min()
    }

    /// Takes a packet that has to leave by now.
    pub fn leave(&mut self, now: Instant) -> Option<(Direction, P)> {
        if self.arrived.is_empty() {
            self.advance(now);
        }
        self.arrived.pop_front().map(|(_, direction, packet)| (direction, packet))
    }

    /// What became of the packets that went one way.
    pub const fn counters(&self, direction: Direction) -> &Counters {
        &self.counters[direction as usize]
    }

    /// The next deadline of a station or an agent.
    fn deadline(&self) -> Option<Instant> {
        let stations = self.stations.deadline().map(|(at, _)| at);
        let agents = self.agents.iter().filter_map(|agent| agent.poll_timeout());
        stations.into_iter().chain(agents).min()
    }

    /// Everything happens that is due by now, in its order.
    fn advance(&mut self, now: Instant) {
        loop {
            let moves_at = self.moving.peek().map_or(Instant::MAX, Moving::at);
            if let Some(at) = self.deadline()
                && at <= now
                && at <= moves_at
            {
                self.reached = at.max(self.reached);
                self.handle_timeout(self.reached);
                continue;
            }
            if moves_at > now {
                self.reached = now.max(self.reached);
                return;
            }
            self.reached = moves_at.max(self.reached);
            let Some(Moving { place, shown, packet, .. }) = self.moving.pop() else { return };
            if place.step < self.ways[place.direction as usize].len() {
                self.travel(moves_at, moves_at, place, (packet, shown), false);
            } else {
                let counters = &mut self.counters[place.direction as usize];
                counters.delivered += 1;
                counters.delivered_bytes += shown.bytes.get();
                self.arrived.push_back((moves_at, place.direction, packet));
            }
        }
    }

    /// The deadlines of stations and agents that are due.
    fn handle_timeout(&mut self, now: Instant) {
        if let Some((at, station)) = self.stations.deadline()
            && at <= now
        {
            let (counters, out) = (&mut self.counters, &mut self.departures);
            self.stations.handle_timeout(now, station, counters, out);
            self.depart(now);
        }
        for agent in 0..self.agents.len() {
            if self.agents[agent].poll_timeout().is_some_and(|at| at <= now) {
                self.agents[agent].handle_timeout(now);
                self.send_emissions(now, agent);
            }
        }
    }

    /// Packets leave their stations.
    fn depart(&mut self, now: Instant) {
        let mut departures = mem::take(&mut self.departures);
        for Departure { at, place, packet, shown } in departures.drain(..) {
            self.travel(now, at, place, (packet, shown), false);
        }
        self.departures = departures;
    }

    /// A packet goes on at `place` at `at`, as far as is known at once what becomes of it. Gives it back when the queue before
    /// the first link turned it away.
    fn travel(
        &mut self,
        now: Instant,
        mut at: Instant,
        mut place: Place,
        (packet, shown): (P, Description),
        first: bool,
    ) -> Option<P> {
        let begins = place.step;
        let direction = place.direction;
        while let Some(step) = self.ways[direction as usize].get_mut(place.step) {
            match (place.part, step.agent, step.station) {
                (Part::Agent, Some(_), _) | (Part::Station, _, Some(_)) if at > now => break,
                (Part::Agent, Some((agent, side)), _) => {
                    self.show(now, agent, side, place, packet);
                    return None;
                }
                (Part::Agent, None, _) => place = place.at(Part::Station),
                (Part::Station, _, Some(line)) => {
                    let (counters, out) = (&mut self.counters, &mut self.departures);
                    let (way, packet) = ((direction, first), (packet, shown));
                    let back = self.stations.enqueue(now, line, way, packet, counters, out);
                    self.depart(now);
                    return back.filter(|_| place.step == begins);
                }
                (Part::Station, _, None) => place = place.at(Part::Series),
                (Part::Series, ..) => match step.series.pass(at, &shown.passing()) {
                    Fate::Leaves(leaves) => {
                        at = leaves;
                        place = place.next_step();
                    }
                    // A checksum on the way would find damage.
                    Fate::LeavesCorrupt(_) => {
                        self.counters[direction as usize].lost += 1;
                        return None;
                    }
                    Fate::Lost(cause) => {
                        self.counters[direction as usize].count_loss(cause);
                        let queue = matches!(cause, LossCause::QueueFull | LossCause::Early);
                        return (queue && place.step == begins).then_some(packet);
                    }
                },
            }
        }
        self.serial += 1;
        self.moving.push(Moving::new(at, self.serial, place, packet, shown));
        None
    }

    /// A packet passes an agent.
    fn show(&mut self, now: Instant, agent: usize, side: Side, place: Place, mut packet: P) {
        if self.agents[agent].handle_packet(now, side, &mut packet) {
            let shown = packet.describe();
            let behind = place.at(Part::Station);
            let back = self.travel(now, now, behind, (packet, shown), false);
            if let Some(packet) = back
                && side == Side::Out
            {
                self.agents[agent].handle_drop(now, &packet);
            }
        } else {
            self.counters[place.direction as usize].suppressed += 1;
        }
        self.send_emissions(now, agent);
    }

    /// Sends what an agent wants to send.
    fn send_emissions(&mut self, now: Instant, agent: usize) {
        while let Some(Emission { side, packet, first }) = self.agents[agent].poll_emission() {
            let Some(place) = self.behind(agent, side) else { return };
            self.counters[place.direction as usize].sent_by_agents += 1;
            let shown = packet.describe();
            self.travel(now, now, place, (packet, shown), first);
        }
    }

    /// Where packets go on that leave an agent on this way.
    fn behind(&self, agent: usize, side: Side) -> Option<Place> {
        Direction::BOTH.into_iter().find_map(|direction| {
            let way = &self.ways[direction as usize];
            let step = way.iter().position(|step| step.agent == Some((agent, side)))?;
            Some(Place { direction, step, part: Part::Station })
        })
    }
}
