//! What a node is told.

use bentpipe_units::Span;
use bp7::EndpointID;

use super::held::Queue;
use crate::eid::{NodeId, Pattern};

/// What a node is told about itself and its neighbours.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its own endpoint ID.
    pub node: NodeId,
    /// Nodes that bundles are forwarded to, by their endpoint IDs.
    pub neighbours: Vec<NodeId>,
    /// Which neighbour is for whom: the first one that matches. A neighbour's own endpoints need no route.
    pub routes: Vec<Route>,
    /// What it may hold.
    pub limits: Limits,
    /// Time until a bundle is offered again that could not be taken for the moment.
    pub retry: Span,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// For these endpoint IDs.
    pub to: Pattern,
    /// By this neighbour, its place in [`Config::neighbours`].
    pub via: usize,
}

/// What a node may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all bundles.
    pub bytes: u64,
    /// Number of bundles.
    pub bundles: usize,
    /// Bytes of bundles that strangers have given. They may be the same share of the number.
    pub strangers: u64,
    /// Bytes of one bundle.
    pub largest: u64,
    /// Names of bundles that were here, by which those are told apart that come again.
    pub seen: usize,
    /// How long a bundle is held at most, whatever its own lifetime is.
    pub lifetime: Option<Span>,
    /// Whether a primary block without a checksum is refused.
    pub requires_crc: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 1_000_000_000,
            bundles: 10_000,
            strangers: 500_000_000,
            largest: 16_000_000,
            seen: 100_000,
            lifetime: None,
            requires_crc: true,
        }
    }
}

impl Limits {
    /// Number and bytes of bundles of strangers.
    pub(super) fn of_strangers(&self) -> (usize, u64) {
        let share =
            u128::from(self.strangers) * self.bundles as u128 / u128::from(self.bytes.max(1));
        let least = usize::from(self.strangers > 0);
        let share = usize::try_from(share).unwrap_or(usize::MAX);
        (share.max(least).min(self.bundles), self.strangers)
    }
}

impl Config {
    /// For whom a bundle waits that goes there.
    pub(super) fn queue(&self, to: &EndpointID) -> Queue {
        if self.node.has(to) {
            return Queue::Endpoint(to.to_string());
        }
        let route = self.routes.iter().find(|route| route.to.matches(to)).map(|route| route.via);
        let neighbour = || self.neighbours.iter().position(|neighbour| neighbour.has(to));
        route.or_else(neighbour).map_or(Queue::Nowhere, Queue::Neighbour)
    }
}
