//! Packets on their way, in the order of their arrival.

use std::cmp::Reverse;

use bentpipe_units::Instant;

use super::carried::Description;
use super::way::Place;

/// A packet on its way to a place.
#[derive(Debug)]
pub(super) struct Moving<P> {
    order: Reverse<(Instant, u64)>,
    pub(super) place: Place,
    pub(super) shown: Description,
    pub(super) packet: P,
}

impl<P> Moving<P> {
    /// A packet that is at its place at `at`; of two at the same moment the one with the lower serial is first.
    pub(super) const fn new(
        at: Instant,
        serial: u64,
        place: Place,
        packet: P,
        shown: Description,
    ) -> Self {
        Self { order: Reverse((at, serial)), place, shown, packet }
    }

    /// When it is at its place.
    pub(super) const fn at(&self) -> Instant {
        self.order.0.0
    }
}

impl<P> PartialEq for Moving<P> {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl<P> Eq for Moving<P> {}

impl<P> PartialOrd for Moving<P> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Moving<P> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}
