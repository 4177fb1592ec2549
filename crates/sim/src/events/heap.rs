//! The pending events as a heap, for a few components or for events that are far ahead.
//!
//! It has four branches at each fork: half as many levels as with two, and the four lie side by side.

use super::event::{Event, Slot};

/// Branches at each fork of the heap.
const BRANCHES: usize = 4;
/// Not in the heap.
const ABSENT: u32 = u32::MAX;

/// Events in a heap, at most one for each component.
#[derive(Debug)]
pub(super) struct Heap {
    entries: Vec<Entry>,
    /// Where the event of each component is.
    places: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    event: Event,
    slot: Slot,
}

impl Entry {
    #[inline]
    const fn order(&self) -> u128 {
        self.event.order()
    }
}

impl Heap {
    /// A heap for components 0..`slots`, all without an event.
    pub(super) fn new(slots: usize) -> Self {
        Self { entries: Vec::with_capacity(slots), places: vec![ABSENT; slots] }
    }

    /// Number of components.
    pub(super) fn components(&self) -> usize {
        self.places.len()
    }

    /// There is one more component, without an event.
    pub(super) fn add_component(&mut self) {
        self.places.push(ABSENT);
    }

    /// Number of events.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The first event.
    #[inline]
    pub(super) fn first(&self) -> Option<(Event, Slot)> {
        self.entries.first().map(|first| (first.event, first.slot))
    }

    /// The event of component `slot`.
    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Option<Event> {
        let place = *self.places.get(slot as usize)?;
        self.entries.get(place as usize).map(|entry| entry.event)
    }

    /// Sets an event of the component whose event mostly is the first one. With one other it may change places
    /// with that, and that is all.
    #[inline]
    pub(super) fn set_next(&mut self, slot: Slot, event: Event) {
        match &mut self.entries[..] {
            [first, other] if first.slot == slot => {
                if other.order() < event.order() {
                    (*first, *other) = (*other, Entry { event, slot });
                    let second = first.slot;
                    self.places[slot as usize] = 1;
                    self.places[second as usize] = 0;
                } else {
                    first.event = event;
                }
            }
            _ => self.set_among_few(slot, event),
        }
    }

    /// The same where the others lie right below the first one: the first of them may change places with it.
    #[inline(never)]
    fn set_among_few(&mut self, slot: Slot, event: Event) {
        match &self.entries[..] {
            [first, others @ ..] if first.slot == slot && others.len() <= BRANCHES => {
                let (mut place, mut soonest) = (0, event.order());
                for (other, place_of_other) in others.iter().zip(1..) {
                    let order = other.order();
                    place = if order < soonest { place_of_other } else { place };
                    soonest = soonest.min(order);
                }
                let soonest = self.entries[place];
                self.put(place, Entry { event, slot });
                if place > 0 {
                    self.put(0, soonest);
                }
            }
            _ => self.set(slot, event),
        }
    }

    /// Sets the event of component `slot`.
    #[inline(never)]
    pub(super) fn set(&mut self, slot: Slot, event: Event) {
        let entry = Entry { event, slot };
        let place = self.places[slot as usize];
        if place == ABSENT {
            self.entries.push(entry);
            self.sift_up(self.entries.len() - 1, entry);
        } else {
            self.replace(place as usize, entry);
        }
    }

    /// Removes the event of component `slot`. False when it has none.
    pub(super) fn clear(&mut self, slot: Slot) -> bool {
        let place = std::mem::replace(&mut self.places[slot as usize], ABSENT);
        if place == ABSENT {
            return false;
        }
        if let Some(last) = self.entries.pop()
            && (place as usize) < self.entries.len()
        {
            self.replace(place as usize, last);
        }
        true
    }

    /// Puts an entry where another one was.
    fn replace(&mut self, place: usize, entry: Entry) {
        if entry.order() < self.entries[place].order() {
            self.sift_up(place, entry);
        } else {
            self.sift_down(place, entry);
        }
    }

    /// Moves the hole at `place` up until `entry` fits into it.
    fn sift_up(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / BRANCHES;
            let above = self.entries[parent];
            if above.order() < entry.order() {
                break;
            }
            self.put(place, above);
            place = parent;
        }
        self.put(place, entry);
    }

    /// Moves the hole at `place` down until `entry` fits into it.
    fn sift_down(&mut self, mut place: usize, entry: Entry) {
        while let Some((child, below)) = self.first_below(place)
            && below.order() < entry.order()
        {
            self.put(place, below);
            place = child;
        }
        self.put(place, entry);
    }

    /// The first of the events right below `place`, and where it is.
    #[inline]
    fn first_below(&self, place: usize) -> Option<(usize, Entry)> {
        let start = BRANCHES * place + 1;
        let below = self.entries.get(start..)?;
        let index = match below {
            [] => return None,
            [a, b, c, d, ..] => {
                let near = usize::from(b.order() < a.order());
                let far = 2 + usize::from(d.order() < c.order());
                if below[far].order() < below[near].order() { far } else { near }
            }
            few => {
                let earlier =
                    |a: usize, b: usize| if few[b].order() < few[a].order() { b } else { a };
                (1..few.len()).fold(0, earlier)
            }
        };
        Some((start + index, below[index]))
    }

    #[inline]
    fn put(&mut self, place: usize, entry: Entry) {
        self.entries[place] = entry;
        self.places[entry.slot as usize] = place as u32;
    }
}
