//! The event queue: one pending event for each component, ordered by (time, tie).
//!
//! Components (a direction of a link, an endpoint, the sampler) keep their own backlog and have only
//! their next event here. They lie in [heaps](Heap), arrivals in one and timers in another: there are few links, each
//! of which is busy, and timers are mostly put off. Where links move there are many, and the events of the near future
//! lie in a [wheel](Wheel). Nothing is allocated after the start.

mod event;
mod heap;
mod wheel;

use bentpipe_units::Instant;

use self::event::Event;
pub(crate) use self::event::Slot;
use self::heap::Heap;
use self::wheel::Wheel;

/// Set in ties of timers: at equal times arrivals come first (rule P7 of XSTP-probing).
const TIMER: u64 = 1 << 63;

/// The pending events. Each is in one of the three.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// Arrivals, as long as there is no wheel.
    arrivals: Heap,
    /// Everything else.
    heap: Heap,
    wheel: Option<Box<Wheel>>,
    serial: u64,
}

impl EventQueue {
    /// A queue for components 0..`slots`, all without an event.
    pub(crate) fn new(slots: usize) -> Self {
        Self { arrivals: Heap::new(slots), heap: Heap::new(slots), wheel: None, serial: 0 }
    }

    /// Number of components.
    pub(crate) fn components(&self) -> usize {
        self.heap.components()
    }

    /// There is one more component, without an event: a link that moves.
    pub(crate) fn add_component(&mut self) {
        let before = self.components();
        self.wheel.get_or_insert_with(|| Box::new(Wheel::new(before))).add_component();
        self.heap.add_component();
        self.arrivals.add_component();
    }

    /// Whether component `slot` is there and has an event.
    pub(crate) fn has(&self, slot: Slot) -> bool {
        self.get(slot).is_some()
    }

    /// The next serial number: events at the same time happen in the order of their numbers.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// The next event. Time comes to it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<(Instant, Slot)> {
        let (mut event, mut slot) = match (self.arrivals.first(), self.heap.first()) {
            (Some(arrival), Some(timer)) if timer.0.order() < arrival.0.order() => timer,
            (Some(arrival), _) => arrival,
            (None, Some(timer)) => timer,
            (None, None) => (Event::NEVER, Slot::MAX),
        };
        if let Some(wheel) = &mut self.wheel {
            if let Some(near) = wheel.first().filter(|near| near.0.order() < event.order()) {
                (event, slot) = near;
            }
            wheel.advance(event, |slot, event| self.heap.set(slot, event));
        }
        (slot != Slot::MAX).then_some((event.at, slot))
    }

    /// Sets the arrival that component `slot` waits for, with the serial of the packet.
    #[inline]
    pub(crate) fn set_arrival(&mut self, slot: Slot, at: Instant, serial: u64) {
        let event = Event { at, tie: serial };
        if self.wheel.is_none() {
            self.arrivals.set_next(slot, event);
        } else {
            self.set(slot, event);
        }
    }

    /// Sets the timer of component `slot`. A timer that is due earlier already stays: when it fires,
    /// the component says when it really wants to be called.
    #[inline]
    pub(crate) fn set_timer(&mut self, slot: Slot, at: Instant) {
        if self.get(slot).is_none_or(|pending| pending.at > at) {
            let tie = self.next_serial() | TIMER;
            self.set(slot, Event { at, tie });
        }
    }

    /// Removes the event of component `slot`.
    pub(crate) fn clear(&mut self, slot: Slot) {
        let near = self.wheel.as_mut().is_some_and(|wheel| wheel.clear(slot));
        if !near && !self.arrivals.clear(slot) {
            self.heap.clear(slot);
        }
    }

    /// Number of components with an event.
    pub(crate) fn len(&self) -> usize {
        self.arrivals.len() + self.heap.len() + self.wheel.as_ref().map_or(0, |wheel| wheel.len())
    }

    #[inline]
    fn get(&self, slot: Slot) -> Option<Event> {
        let far = self.heap.get(slot).or_else(|| self.arrivals.get(slot));
        far.or_else(|| self.wheel.as_ref()?.get(slot))
    }

    fn set(&mut self, slot: Slot, event: Event) {
        if self.wheel.is_none() {
            return self.heap.set(slot, event);
        }
        self.clear(slot);
        if !self.wheel.as_mut().is_some_and(|wheel| wheel.set(slot, event)) {
            self.heap.set(slot, event);
        }
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
    fn many_components_are_served_in_order_however_dense_and_however_far_ahead() {
        for step in [1, 1 << 10, 1 << 20, 1 << 34] {
            let mut queue = EventQueue::new(1);
            (1..500).for_each(|_| queue.add_component());
            let mut state = 1u64;
            let mut expected = vec![u64::MAX; 500];
            let mut draw = |most: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % most
            };
            let mut set = |queue: &mut EventQueue, slot: u64, now: u64| {
                let time = now + draw(1_000) * step + draw(step);
                queue.set_arrival(slot as Slot, at(time), slot);
                time
            };
            for slot in 0..500 {
                expected[slot as usize] = set(&mut queue, slot, 0);
            }
            for turn in 0..60_000u64 {
                let (time, slot) = queue.peek().expect("an event");
                let first = expected.iter().enumerate().min_by_key(|(slot, time)| (**time, *slot));
                let (at, now) = (slot as usize, time.as_nanos());
                assert_eq!(first, Some((at, &now)), "step {step}");
                if turn % 7 == 0 && expected.iter().filter(|time| **time != u64::MAX).count() > 300
                {
                    queue.clear(slot);
                    expected[at] = u64::MAX;
                } else {
                    expected[at] = set(&mut queue, slot.into(), now);
                    let other = (turn * 31 % 500) as usize;
                    expected[other] = set(&mut queue, other as u64, now);
                }
                assert_eq!(queue.has(slot), expected[at] != u64::MAX);
            }
            assert_eq!(queue.len(), expected.iter().filter(|time| **time != u64::MAX).count());
        }
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
