//! The frames of a shared uplink: who may send when, as a grid of time.

use bentpipe_units::{Instant, Span};

/// Frames of equal length, one after another from time zero: first openings for requests, one for
/// each of some terminals, then slots for data. A place on the grid is passed when it begins.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    openings: usize,
    opening: Span,
    slots: usize,
    slot: Span,
    /// The frame in which the next place lies: its number and begin.
    number: u64,
    begin: Instant,
    /// The next place in the frame.
    place: usize,
}

/// A place on the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// For requests, numbered in the frame.
    Opening(usize),
    /// For data, numbered in the frame.
    Slot(usize),
}

impl Frames {
    /// A grid of so many openings and slots of these lengths; at least one slot of some length.
    pub(super) fn new(openings: usize, opening: Span, slots: usize, slot: Span) -> Self {
        Self {
            openings,
            opening,
            slots: slots.max(1),
            slot: slot.max(Span::from_nanos(1)),
            number: 0,
            begin: Instant::ZERO,
            place: 0,
        }
    }

    pub(super) const fn slots(&self) -> usize {
        self.slots
    }

    pub(super) const fn slot(&self) -> Span {
        self.slot
    }

    /// Number of the frame in which the next place lies.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// Length of a frame.
    pub(super) fn length(&self) -> Span {
        self.opening * self.openings as u64 + self.slot * self.slots as u64
    }

    /// When the next place begins.
    pub(super) fn next_at(&self) -> Instant {
        let openings = self.place.min(self.openings) as u64;
        self.begin + self.opening * openings + self.slot * (self.place as u64 - openings)
    }

    /// Passes the next place.
    pub(super) fn pass(&mut self) -> Place {
        let place = match self.place.checked_sub(self.openings) {
            None => Place::Opening(self.place),
            Some(slot) => Place::Slot(slot),
        };
        self.place += 1;
        if self.place == self.openings + self.slots {
            self.begin += self.length();
            self.number += 1;
            self.place = 0;
        }
        place
    }

    /// Passes as many whole frames as there are before `now`, and says how many.
    pub(super) fn skip_frames(&mut self, now: Instant) -> u64 {
        let length = self.length();
        let frames = now.since(self.next_at()).as_nanos() / length.as_nanos();
        self.begin += length * frames;
        self.number += frames;
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u64) -> Instant {
        Instant::from_nanos(n)
    }

    #[test]
    fn openings_come_before_slots_and_frames_follow_each_other_without_gaps() {
        let mut frames = Frames::new(2, Span::from_nanos(3), 2, Span::from_nanos(10));
        let mut seen = Vec::new();
        for _ in 0..6 {
            let (begin, number) = (frames.next_at().as_nanos(), frames.number());
            seen.push((number, begin, frames.pass()));
        }
        use Place::{Opening, Slot};
        let first = [(0, 0, Opening(0)), (0, 3, Opening(1)), (0, 6, Slot(0)), (0, 16, Slot(1))];
        assert_eq!(seen[..4], first);
        assert_eq!(seen[4..], [(1, 26, Opening(0)), (1, 29, Opening(1))]);
    }

    #[test]
    fn whole_frames_are_skipped_and_no_more() {
        let mut frames = Frames::new(2, Span::from_nanos(3), 2, Span::from_nanos(10));
        frames.pass();
        assert_eq!(frames.skip_frames(at(2)), 0);
        assert_eq!(frames.skip_frames(at(3 + 5 * 26 + 25)), 5);
        assert_eq!((frames.next_at(), frames.number()), (at(3 + 5 * 26), 5));
        assert_eq!(frames.pass(), Place::Opening(1));
    }
}
