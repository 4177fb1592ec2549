//! The packets on their way over a link, in the order in which they will arrive.
//!
//! A ring whose length is a power of two. An entry is put in where it is to lie: one that was put together
//! elsewhere, from narrow stores, and then copied by wide loads would stall each packet on each link.

use bentpipe_units::Instant;

use crate::packet::Label;

/// Places of a ring that has got its first packet.
const FIRST_PLACES: usize = 16;

/// A packet on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InTransit {
    /// When it arrives.
    pub(crate) at: Instant,
    /// Its place among packets that arrive at the same time.
    pub(crate) serial: u64,
    /// What is written on it.
    pub(crate) label: Label,
    /// It was damaged where links move, and is not counted yet.
    pub(crate) damaged: bool,
}

/// Packets on their way, the next to arrive first.
#[derive(Debug, Default)]
pub(crate) struct Transit {
    places: Vec<InTransit>,
    /// Counts those that arrived, and those that were put in: both wrap at the length of the ring.
    head: usize,
    tail: usize,
}

impl Transit {
    #[inline]
    fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// The place of the packet with this count.
    #[inline]
    fn place(&self, count: usize) -> Option<&InTransit> {
        self.places.get(count & self.places.len().wrapping_sub(1))
    }

    /// The next packet to arrive.
    #[inline]
    pub(crate) fn first(&self) -> Option<&InTransit> {
        self.place(self.head).filter(|_| self.head != self.tail)
    }

    /// The last packet to arrive.
    #[inline]
    pub(crate) fn last(&self) -> Option<&InTransit> {
        self.place(self.tail.wrapping_sub(1)).filter(|_| self.head != self.tail)
    }

    /// Takes the next packet.
    #[inline]
    pub(crate) fn take_first(&mut self) -> Option<InTransit> {
        let first = *self.first()?;
        self.head = self.head.wrapping_add(1);
        Some(first)
    }

    /// Takes the last packet.
    pub(crate) fn take_last(&mut self) -> Option<InTransit> {
        let last = *self.last()?;
        self.tail = self.tail.wrapping_sub(1);
        Some(last)
    }

    /// Puts a packet in, behind those that arrive at the same time. True when it is the next to arrive.
    #[inline(always)]
    pub(crate) fn put(&mut self, at: Instant, serial: u64, label: Label, damaged: bool) -> bool {
        if self.len() == self.places.len() {
            self.grow();
        }
        let (count, mask) = (self.tail, self.places.len().wrapping_sub(1));
        if self.last().is_some_and(|last| last.at > at) {
            return self.overtake(at, serial, label, damaged);
        }
        self.tail = count.wrapping_add(1);
        if let Some(place) = self.places.get_mut(count & mask) {
            (place.at, place.serial, place.damaged) = (at, serial, damaged);
            (place.label.packet, place.label.len) = (label.packet, label.len);
            (place.label.to, place.label.kind) = (label.to, label.kind);
        }
        self.head == count
    }

    /// A packet goes before others.
    #[cold]
    #[inline(never)]
    fn overtake(&mut self, at: Instant, serial: u64, label: Label, damaged: bool) -> bool {
        let mask = self.places.len().wrapping_sub(1);
        let mut count = self.tail;
        self.tail = count.wrapping_add(1);
        while count != self.head && self.places[count.wrapping_sub(1) & mask].at > at {
            self.places[count & mask] = self.places[count.wrapping_sub(1) & mask];
            count = count.wrapping_sub(1);
        }
        self.places[count & mask] = InTransit { at, serial, label, damaged };
        count == self.head
    }

    /// Makes room for twice as many.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let room = (2 * self.places.len()).max(FIRST_PLACES);
        let mut places = Vec::with_capacity(room);
        places.extend(std::iter::from_fn(|| self.take_first()));
        (self.head, self.tail) = (0, places.len());
        places.resize(room, InTransit::default());
        self.places = places;
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn packets_arrive_by_time_and_then_in_the_order_in_which_they_were_put_in() {
        let mut transit = Transit::default();
        let mut expected: Vec<(Instant, u64)> = Vec::new();
        let mut state = 1u64;
        for serial in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let time = at(serial / 3 + (state >> 33) % 40);
            match (state >> 50) % 8 {
                0..4 => {
                    let index = expected.partition_point(|(other, _)| *other <= time);
                    expected.insert(index, (time, serial));
                    assert_eq!(transit.put(time, serial, Label::default(), false), index == 0);
                }
                4 => {
                    let last = transit.take_last().map(|packet| (packet.at, packet.serial));
                    assert_eq!(last, expected.pop());
                }
                _ => {
                    let first = (!expected.is_empty()).then(|| expected.remove(0));
                    assert_eq!(transit.take_first().map(|p| (p.at, p.serial)), first);
                }
            }
            assert_eq!(transit.first().map(|packet| packet.serial), expected.first().map(|e| e.1));
            assert_eq!(transit.last().map(|packet| packet.serial), expected.last().map(|e| e.1));
        }
    }
}
