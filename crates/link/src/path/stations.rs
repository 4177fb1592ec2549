//! The stations of a path: where its packets wait in queues that hold them.

use bentpipe_units::{Instant, Seq32};
use bentpipe_wire::xcp::{RateChange, Request};
use slab::Slab;

use super::carried::{Carried, Description};
use super::counters::Counters;
use super::way::Place;
use crate::mac::Mac;
use crate::queue::{Cumulative, Held, Packets};
use crate::{Direction, LossCause};

/// A packet that waits.
#[derive(Debug)]
pub(super) struct Waiting<P> {
    pub(super) packet: P,
    pub(super) shown: Description,
    direction: Direction,
}

/// A packet that leaves its station at `at`, to go on at `place`.
#[derive(Debug)]
pub(super) struct Departure<P> {
    pub(super) at: Instant,
    pub(super) place: Place,
    pub(super) packet: P,
    pub(super) shown: Description,
}

/// A station and where the packets of its lines go on; nowhere for the lines of others, which never send.
#[derive(Debug)]
struct Station {
    mac: Box<dyn Mac>,
    behind: Vec<Option<Place>>,
}

/// All stations of a path and what waits in them.
#[derive(Debug)]
pub(super) struct Stations<P> {
    all: Vec<Station>,
    waiting: Slab<Waiting<P>>,
}

impl<P: Carried> Stations<P> {
    pub(super) const fn new() -> Self {
        Self { all: Vec::new(), waiting: Slab::new() }
    }

    /// Number of the next station.
    pub(super) const fn len(&self) -> usize {
        self.all.len()
    }

    /// Adds a station, with where the packets of its lines go on.
    pub(super) fn add(&mut self, mac: Box<dyn Mac>, behind: Vec<Option<Place>>) {
        self.all.push(Station { mac, behind });
    }

    /// The next deadline, and whose it is.
    pub(super) fn deadline(&self) -> Option<(Instant, usize)> {
        let deadlines = self.all.iter().enumerate();
        deadlines.filter_map(|(n, station)| Some((station.mac.poll_timeout()?, n))).min()
    }

    /// A packet comes to a line of a station. Gives it back when the queue turns it away.
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        (station, line): (usize, u16),
        (direction, first): (Direction, bool),
        (packet, shown): (P, Description),
        counters: &mut [Counters; 2],
        out: &mut Vec<Departure<P>>,
    ) -> Option<P> {
        let id = self.waiting.insert(Waiting { packet, shown, direction });
        let held = shown.held(id as u32, line, first);
        self.with(station, held.id, counters, out, |mac, packets| mac.enqueue(now, held, packets))
    }

    /// The deadline of a station has come.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        station: usize,
        counters: &mut [Counters; 2],
        out: &mut Vec<Departure<P>>,
    ) {
        self.with(station, u32::MAX, counters, out, |mac, packets| {
            mac.handle_timeout(now, packets);
        });
    }

    fn with(
        &mut self,
        station: usize,
        newcomer: u32,
        counters: &mut [Counters; 2],
        out: &mut Vec<Departure<P>>,
        change: impl FnOnce(&mut dyn Mac, &mut dyn Packets),
    ) -> Option<P> {
        let Station { mac, behind } = &mut self.all[station];
        let waiting = &mut self.waiting;
        let mut hands = Hands { waiting, behind, counters, out, newcomer, turned_away: None };
        change(&mut **mac, &mut hands);
        hands.turned_away
    }
}

/// The packets of a path in the hands of one station.
struct Hands<'a, P> {
    waiting: &'a mut Slab<Waiting<P>>,
    behind: &'a [Option<Place>],
    counters: &'a mut [Counters; 2],
    out: &'a mut Vec<Departure<P>>,
    /// The packet that has just come.
    newcomer: u32,
    turned_away: Option<P>,
}

impl<P> Hands<'_, P> {
    fn counters(&mut self, packet: &Held) -> Option<&mut Counters> {
        let direction = self.waiting.get(packet.id as usize)?.direction;
        Some(&mut self.counters[direction as usize])
    }
}

impl<P: Carried> Packets for Hands<'_, P> {
    fn departs(&mut self, packet: &Held, at: Instant) {
        let waiting = self.waiting.try_remove(packet.id as usize);
        let place = self.behind.get(usize::from(packet.line)).copied().flatten();
        if let (Some(Waiting { packet, shown, .. }), Some(place)) = (waiting, place) {
            self.out.push(Departure { at, place, packet, shown });
        }
    }

    fn lost(&mut self, packet: &Held, cause: LossCause) {
        if let Some(counters) = self.counters(packet) {
            counters.count_loss(cause);
        }
        let lost = self.waiting.try_remove(packet.id as usize);
        if packet.id == self.newcomer && matches!(cause, LossCause::QueueFull | LossCause::Early) {
            self.turned_away = lost.map(|waiting| waiting.packet);
        }
    }

    fn mark(&mut self, packet: &Held) {
        if let Some(waiting) = self.waiting.get_mut(packet.id as usize) {
            waiting.packet.mark();
            waiting.shown.ecn = bentpipe_wire::Ecn::Congestion;
        }
        if let Some(counters) = self.counters(packet) {
            counters.marked += 1;
        }
    }

    /// Real packets have no congestion header.
    fn request(&self, _packet: &Held) -> Option<Request> {
        None
    }

    fn grant(&mut self, _packet: &Held, _change: RateChange) {}

    fn copy_of_ack(&mut self, packet: &Held, next: Seq32) -> Option<Held> {
        let Waiting { packet: original, shown, direction } =
            self.waiting.get(packet.id as usize)?;
        let (direction, ack) = (*direction, Some(Cumulative { next, plain: true }));
        let (copy, shown) = (original.copy_of_ack(next)?, Description { ack, ..*shown });
        let id = self.waiting.insert(Waiting { packet: copy, shown, direction }) as u32;
        self.counters[direction as usize].acks_added += 1;
        Some(Held { id, ack, ..*packet })
    }
}
