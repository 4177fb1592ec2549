//! Which link to take, from everywhere to every station.

use std::collections::BTreeMap;

use bentpipe_orbit::{Network, Node, Route, Routes};

use crate::events::Slot;

/// Not looked up since the last check.
const UNKNOWN: Slot = Slot::MAX;
/// There is no way.
const NOWHERE: Slot = Slot::MAX - 1;

/// The links to take, looked up in the shortest ways when they are first asked for after a check.
#[derive(Debug)]
pub(crate) struct Tables {
    stations: usize,
    nodes: usize,
    /// The shortest ways to each station, once they are known.
    ways: Vec<Option<Routes>>,
    next: Vec<Slot>,
}

impl Tables {
    /// Tables of a network of so many stations, which come first, and satellites.
    pub(crate) fn new(stations: usize, satellites: usize) -> Self {
        let nodes = stations + satellites;
        let ways = (0..stations).map(|_| None).collect();
        Self { stations, nodes, ways, next: vec![UNKNOWN; stations * nodes] }
    }

    /// Nothing holds any more.
    pub(crate) fn clear(&mut self) {
        self.ways.fill(None);
        self.next.fill(UNKNOWN);
    }

    /// The component that leads from a node towards a station, if there is a way; `links` says which one
    /// joins two nodes.
    #[inline]
    pub(crate) fn next(
        &mut self,
        from: u16,
        to: u16,
        network: &mut Network,
        links: &BTreeMap<(u16, u16), Slot>,
    ) -> Option<Slot> {
        let place = usize::from(to) * self.nodes + usize::from(from);
        let slot = match self.next[place] {
            UNKNOWN => {
                let slot = self.look_up(from, to, network, links).unwrap_or(NOWHERE);
                self.next[place] = slot;
                slot
            }
            slot => slot,
        };
        (slot != NOWHERE).then_some(slot)
    }

    #[inline(never)]
    fn look_up(
        &mut self,
        from: u16,
        to: u16,
        network: &mut Network,
        links: &BTreeMap<(u16, u16), Slot>,
    ) -> Option<Slot> {
        let node = self.node(from);
        let next = self.ways(to, network)?.next_hop(node)?;
        links.get(&(from, self.number(next))).copied()
    }

    /// The route between two stations at the last check.
    pub(crate) fn route(&mut self, from: u16, to: u16, network: &mut Network) -> Option<Route> {
        let from = self.node(from);
        self.ways(to, network)?.route(from)
    }

    /// The shortest ways to a station as they were at the last check.
    fn ways(&mut self, to: u16, network: &mut Network) -> Option<&Routes> {
        let ways = &mut self.ways[usize::from(to)];
        if ways.is_none() {
            // At the check all satellites were in orbit.
            *ways = network.routes_to(Node::Station(u32::from(to)), network.checked_at()).ok();
        }
        ways.as_ref()
    }

    /// The node of a number in the simulator: stations first, then satellites.
    pub(crate) fn node(&self, number: u16) -> Node {
        match usize::from(number).checked_sub(self.stations) {
            None => Node::Station(u32::from(number)),
            Some(satellite) => Node::Satellite(satellite as u32),
        }
    }

    /// The number of a node in the simulator.
    pub(crate) fn number(&self, node: Node) -> u16 {
        match node {
            Node::Station(station) => station as u16,
            Node::Satellite(satellite) => (self.stations + satellite as usize) as u16,
        }
    }
}
