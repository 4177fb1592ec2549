//! The events of the near future, sorted by slices of time: for many components that are busy at the same
//! time, where a heap is deep.
//!
//! A slice holds about one event; its width follows how many there are. What is set or removed touches the slice and
//! the component and nothing else.

use super::event::{Event, Slot};

/// Slices, the last of which ends where the near future does.
const SLICES: u64 = 4096;
/// No component, and no slice.
const NONE: u32 = u32::MAX;
/// The width of a slice is judged each time that so many events were looked for.
const JUDGE_EVERY: u32 = 8192;
/// Slices may hold so many events on average.
const MOST_EVENTS: u32 = 3;
/// One of so many events may lie behind the near future.
const FAR_SHARE: u32 = 4;
/// The narrowest slice is 16 ns wide, the widest a second: powers of two.
const WIDTHS: std::ops::RangeInclusive<u32> = 4..=30;

/// The near future.
#[derive(Debug)]
pub(super) struct Wheel {
    /// A slice is two to this power nanoseconds wide.
    shift: u32,
    /// The first component of each slice.
    heads: Vec<Slot>,
    /// A bit for each slice that has one.
    busy: [u64; SLICES as usize / 64],
    nodes: Vec<Node>,
    /// The slice of the present, counted from the start of the run. Nothing lies before it.
    from: u64,
    count: usize,
    /// Since the width was judged: events looked for, steps that it took, events behind the near future.
    looks: u32,
    steps: u32,
    far: u32,
}

/// A component, linked to the next one of its slice.
#[derive(Clone, Copy, Debug)]
struct Node {
    event: Event,
    next: Slot,
    slice: u32,
}

impl Node {
    const ABSENT: Self = Self { event: Event::NEVER, next: NONE, slice: NONE };
}

impl Wheel {
    /// An empty wheel for so many components, with slices of 4 us.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            shift: 12,
            heads: vec![NONE; SLICES as usize],
            busy: [0; SLICES as usize / 64],
            nodes: vec![Node::ABSENT; slots],
            from: 0,
            count: 0,
            looks: 0,
            steps: 0,
            far: 0,
        }
    }

    /// There is one more component, without an event.
    pub(super) fn add_component(&mut self) {
        self.nodes.push(Node::ABSENT);
    }

    /// Number of events.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// The event of component `slot`.
    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Option<Event> {
        let node = self.nodes.get(slot as usize)?;
        (node.slice != NONE).then_some(node.event)
    }

    /// Sets the event of a component that has none. False when it lies behind the near future.
    #[inline]
    pub(super) fn set(&mut self, slot: Slot, event: Event) -> bool {
        let slice = (event.at.as_nanos() >> self.shift).max(self.from);
        if slice - self.from >= SLICES {
            self.far += 1;
            return false;
        }
        let index = (slice % SLICES) as usize;
        let next = std::mem::replace(&mut self.heads[index], slot);
        self.nodes[slot as usize] = Node { event, next, slice: index as u32 };
        self.busy[index / 64] |= 1 << (index % 64);
        self.count += 1;
        true
    }

    /// Removes the event of component `slot`. False when it has none here.
    #[inline]
    pub(super) fn clear(&mut self, slot: Slot) -> bool {
        let Node { next, slice, .. } = self.nodes[slot as usize];
        if slice == NONE {
            return false;
        }
        self.nodes[slot as usize].slice = NONE;
        self.count -= 1;
        let index = slice as usize;
        let mut other = self.heads[index];
        if other == slot {
            self.heads[index] = next;
            if next == NONE {
                self.busy[index / 64] &= !(1 << (index % 64));
            }
            return true;
        }
        while other != NONE && self.nodes[other as usize].next != slot {
            other = self.nodes[other as usize].next;
        }
        self.nodes[other as usize].next = next;
        true
    }

    /// The first event.
    #[inline]
    pub(super) fn first(&mut self) -> Option<(Event, Slot)> {
        if self.count == 0 {
            return None;
        }
        let mut slot = self.heads[self.first_slice()?];
        let mut first = (self.nodes[slot as usize].event, slot);
        self.looks += 1;
        loop {
            self.steps += 1;
            slot = self.nodes[slot as usize].next;
            if slot == NONE {
                return Some(first);
            }
            let event = self.nodes[slot as usize].event;
            if event.order() < first.0.order() {
                first = (event, slot);
            }
        }
    }

    /// The first slice from the present on that has an event.
    #[inline]
    fn first_slice(&self) -> Option<usize> {
        let from = (self.from % SLICES) as usize;
        let (word, words) = (from / 64, self.busy.len());
        let here = self.busy[word] >> (from % 64) << (from % 64);
        if here != 0 {
            return Some(word * 64 + here.trailing_zeros() as usize);
        }
        // Once around; the slices before the present in its own word are the last ones.
        let busy = (1..=words).map(|n| (word + n) % words).find(|n| self.busy[*n] != 0)?;
        Some(busy * 64 + self.busy[busy].trailing_zeros() as usize)
    }

    /// Time has come to `event`. Now and then the slices get another width, for which what does not fit any
    /// more is handed to `far`.
    #[inline]
    pub(super) fn advance(&mut self, event: Event, far: impl FnMut(Slot, Event)) {
        self.from = self.from.max(event.at.as_nanos() >> self.shift);
        if self.looks >= JUDGE_EVERY {
            self.judge(event, far);
        }
    }

    #[inline(never)]
    fn judge(&mut self, now: Event, mut far: impl FnMut(Slot, Event)) {
        let wanted = if self.steps > MOST_EVENTS * self.looks {
            self.shift - 1
        } else if self.far > self.looks / FAR_SHARE {
            self.shift + 1
        } else {
            self.shift
        };
        (self.looks, self.steps, self.far) = (0, 0, 0);
        if wanted == self.shift || !WIDTHS.contains(&wanted) {
            return;
        }
        let shown = |(slot, node): (usize, &Node)| {
            (node.slice != NONE).then_some((slot as Slot, node.event))
        };
        let events: Vec<_> = self.nodes.iter().enumerate().filter_map(shown).collect();
        *self = Self { shift: wanted, ..Self::new(self.nodes.len()) };
        self.from = now.at.as_nanos() >> wanted;
        for (slot, event) in events {
            if !self.set(slot, event) {
                far(slot, event);
            }
        }
    }
}
