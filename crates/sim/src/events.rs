//! The event queue: one pending event for each component, ordered by (time, tie).
//!
//! Components (a direction of a link, an endpoint, the sampler) keep their own backlog and have only
//! their next event here. Moving an event is one sift in a heap that is as long as there are busy
//! components, and nothing is ever allocated after the start. The heap has four branches at each fork: half as many
//! levels as with two, and the four lie side by side.

use bentpipe_units::Instant;

/// Number of a component.
pub(crate) type Slot = u32;

/// Branches at each fork of the heap.
const BRANCHES: usize = 4;
/// Not in the heap.
const ABSENT: u32 = u32::MAX;
/// Set in ties of timers: at equal times arrivals come first (rule P7 of XSTP-probing).
const TIMER: u64 = 1 << 63;

/// The pending events.
#[derive(Debug)]
pub(crate) struct EventQueue {
    heap: Vec<Entry>,
    places: Vec<u32>,
    serial: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    at: Instant,
    tie: u64,
    slot: Slot,
}

impl Entry {
    /// What events are ordered by, as one number: which of two is first is as good as random, and a comparison of
    /// numbers needs no branch.
    #[inline]
    const fn order(&self) -> u128 {
        (self.at.as_nanos() as u128) << 64 | self.tie as u128
    }
}

impl EventQueue {
    /// A queue for components 0..`slots`, all without an event.
    pub(crate) fn new(slots: usize) -> Self {
        Self { heap: Vec::with_capacity(slots), places: vec![ABSENT; slots], serial: 0 }
    }

    /// Number of components.
    pub(crate) fn components(&self) -> usize {
        self.places.len()
    }

    /// There is one more component, without an event.
    pub(crate) fn add_component(&mut self) {
        self.places.push(ABSENT);
    }

    /// Whether component `slot` is there and has an event.
    pub(crate) fn has(&self, slot: Slot) -> bool {
        self.places.get(slot as usize).is_some_and(|place| *place != ABSENT)
    }

    /// The next serial number: events at the same time happen in the order of their numbers.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// The next event.
    #[inline]
    pub(crate) fn peek(&self) -> Option<(Instant, Slot)> {
        self.heap.first().map(|e| (e.at, e.slot))
    }

    /// Sets the arrival that component `slot` waits for, with the serial of the packet.
    #[inline]
    pub(crate) fn set_arrival(&mut self, slot: Slot, at: Instant, serial: u64) {
        let entry = Entry { at, tie: serial, slot };
        match &mut self.heap[..] {
            // Among few busy components the next arrival of one is mostly the next event of all.
            [first, others @ ..]
                if first.slot == slot
                    && others.len() <= BRANCHES
                    && others.iter().all(|other| at < other.at) =>
            {
                *first = entry;
            }
            _ => self.set(entry),
        }
    }

    /// Sets the timer of component `slot`. A timer that is due earlier already stays: when it fires,
    /// the component says when it really wants to be called.
    #[inline]
    pub(crate) fn set_timer(&mut self, slot: Slot, at: Instant) {
        let place = self.places[slot as usize];
        if place == ABSENT || self.heap[place as usize].at > at {
            let tie = self.next_serial() | TIMER;
            self.set(Entry { at, tie, slot });
        }
    }

    /// Removes the event of component `slot`.
    pub(crate) fn clear(&mut self, slot: Slot) {
        let place = self.places[slot as usize];
        if place == ABSENT {
            return;
        }
        self.places[slot as usize] = ABSENT;
        let Some(last) = self.heap.pop() else { return };
        if (place as usize) < self.heap.len() {
            self.replace(place as usize, last);
        }
    }

    /// Number of components with an event.
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    #[inline(never)]
    fn set(&mut self, entry: Entry) {
        let place = self.places[entry.slot as usize];
        if place == ABSENT {
            self.heap.push(entry);
            self.sift_up(self.heap.len() - 1, entry);
        } else {
            self.replace(place as usize, entry);
        }
    }

    /// Puts an entry where another one was.
    fn replace(&mut self, place: usize, entry: Entry) {
        if entry.order() < self.heap[place].order() {
            self.sift_up(place, entry);
        } else {
            self.sift_down(place, entry);
        }
    }

    /// Moves the hole at `place` up until `entry` fits into it.
    fn sift_up(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / BRANCHES;
            let above = self.heap[parent];
            if above.order() < entry.order() {
                break;
            }
            self.put(place, above);
            place = parent;
        }
        self.put(place, entry);
    }

    /// Moves the hole at `place` down until `entry` fits into it.
    #[inline]
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
        let below = self.heap.get(start..)?;
        let index = match below {
            [a, b, c, d, ..] => {
                let near = usize::from(b.order() < a.order());
                let far = 2 + usize::from(d.order() < c.order());
                if below[far].order() < below[near].order() { far } else { near }
            }
            [] => return None,
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
        self.heap[place] = entry;
        self.places[entry.slot as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(n: u64) -> Instant {
        Instant::from_nanos(n)
    }

    fn drain(queue: &mut EventQueue) -> Vec<(u64, Slot)> {
        let mut order = Vec::new();
        while let Some((time, slot)) = queue.peek() {
            order.push((time.as_nanos(), slot));
            queue.clear(slot);
        }
        order
    }

    #[test]
    fn events_come_by_time_then_arrivals_before_timers_then_by_serial() {
        let mut queue = EventQueue::new(5);
        queue.set_timer(0, at(5));
        queue.set_arrival(1, at(5), 100);
        queue.set_arrival(2, at(5), 99);
        queue.set_timer(3, at(4));
        assert_eq!(drain(&mut queue), [(4, 3), (5, 2), (5, 1), (5, 0)]);
    }

    #[test]
    fn a_timer_moves_forward_only() {
        let mut queue = EventQueue::new(1);
        queue.set_timer(0, at(10));
        queue.set_timer(0, at(20));
        assert_eq!(queue.peek(), Some((at(10), 0)));
        queue.set_timer(0, at(3));
        assert_eq!(queue.peek(), Some((at(3), 0)));
    }

    #[test]
    fn any_order_of_changes_leaves_the_heap_in_order() {
        let mut queue = EventQueue::new(50);
        let mut state = 1u64;
        let mut expected = [None::<u64>; 50];
        for _ in 0..10_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let slot = (state >> 40) as usize % 50;
            if state >> 33 & 7 == 0 {
                queue.clear(slot as Slot);
                expected[slot] = None;
            } else {
                let time = state >> 50;
                queue.set_arrival(slot as Slot, at(time), 0);
                expected[slot] = Some(time);
            }
            let first = expected.iter().flatten().min().copied();
            assert_eq!(queue.peek().map(|(t, _)| t.as_nanos()), first);
        }
    }
}
