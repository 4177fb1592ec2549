//! Datagrams of a flow are handed over in order, unless one comes too late.

use std::collections::VecDeque;
use std::collections::btree_map::{BTreeMap, Entry};

use bentpipe_units::{Instant, Span};
use rustc_hash::FxHashMap;

use crate::record::{Datagram, Record};

/// Most flows that are known; the one that was silent for longest gives way.
const FLOWS: usize = 4_096;
/// Numbers further apart are those of a flow that began anew.
const LEAP: u16 = 16_384;
/// Datagrams behind the newest one of which is known whether they came.
const SEEN: u64 = 64;
/// Numbers begin here, so that there are such before the first.
const FIRST: u64 = 1 << 16;

/// What a datagram costs besides its bytes.
const AROUND: usize = 128;

/// Bytes that a datagram takes.
fn size(datagram: &Datagram) -> usize {
    datagram.label.len() + datagram.bytes.len() + AROUND
}

/// The order of all flows.
#[derive(Debug, Default)]
pub(crate) struct Order {
    flows: FxHashMap<u16, Flow>,
    ready: VecDeque<Datagram>,
    /// Bytes that wait, and the most of them.
    waiting: usize,
    most: usize,
    /// When the first of those that wait is handed over in any case.
    due: Option<Instant>,
}

#[derive(Debug)]
struct Flow {
    /// Number of the one that is handed over next; the lowest 16 bits of it travel.
    next: u64,
    /// Which of those right before it were handed over, the last one in the lowest bit.
    seen: u64,
    /// What waits, and until when.
    waiting: BTreeMap<u64, (Instant, Datagram)>,
    /// Bytes of that.
    held: usize,
    heard_at: Instant,
}

impl Flow {
    /// This one is handed over, and nothing before it is waited for.
    const fn advance(&mut self, number: u64) {
        let by = number + 1 - self.next;
        self.next = number + 1;
        self.seen = if by < SEEN { self.seen << by | 1 } else { 1 };
    }

    /// When the first one that waits is handed over in any case.
    fn due(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|(_, (until, _))| *until)
    }
}

impl Order {
    /// No flows; so many bytes may wait.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// A datagram came. One that has to wait does so for `hold` at most.
    pub(crate) fn arrived(&mut self, now: Instant, hold: Span, record: Record) {
        let Record { datagram, order, is_ordered, is_repeated, .. } = record;
        let id = datagram.flow;
        if !self.flows.contains_key(&id) {
            self.make_room();
            // The first ones of a flow may be overtaken.
            let next = if u64::from(order) < SEEN { FIRST } else { FIRST + u64::from(order) };
            let flow = Flow { next, seen: 0, waiting: BTreeMap::new(), held: 0, heard_at: now };
            self.flows.insert(id, flow);
        }
        let Some(flow) = self.flows.get_mut(&id) else { return };
        flow.heard_at = now;
        let ahead = order.wrapping_sub(flow.next as u16);
        let behind = u64::from((flow.next as u16).wrapping_sub(order));
        if ahead < LEAP {
            let number = flow.next + u64::from(ahead);
            if ahead == 0 || !is_ordered && flow.waiting.is_empty() {
                flow.advance(number);
                self.ready.push_back(datagram);
                self.release(id, now);
            } else if let Entry::Vacant(place) = flow.waiting.entry(number) {
                self.waiting += size(&datagram);
                flow.held += size(&datagram);
                place.insert((now + hold, datagram));
                self.due = Instant::earliest(self.due, Some(now + hold));
                if self.waiting > self.most
                    && let Some(most) = self.greediest()
                {
                    self.give_up(most, now);
                }
            }
        } else if behind <= SEEN {
            // Late, or a second time.
            let bit = 1 << (behind - 1);
            if flow.seen & bit == 0 {
                flow.seen |= bit;
                self.ready.push_back(datagram);
            }
        } else if behind >= u64::from(LEAP) {
            self.give_up(id, now);
            if let Some(flow) = self.flows.get_mut(&id) {
                (flow.next, flow.seen) = (FIRST + u64::from(order) + 1, 1);
            }
            self.ready.push_back(datagram);
        } else if !is_repeated {
            // However long it took it does not come twice: its packet did not.
            self.ready.push_back(datagram);
        }
    }

    /// The peer numbers all flows anew: nothing that comes has to do with what waits.
    pub(crate) fn begin_anew(&mut self) {
        let mut flows: Vec<(u16, Flow)> = std::mem::take(&mut self.flows).into_iter().collect();
        flows.sort_unstable_by_key(|(id, _)| *id);
        let waiting = flows.into_iter().flat_map(|(_, flow)| flow.waiting.into_values());
        self.ready.extend(waiting.map(|(_, datagram)| datagram));
        (self.waiting, self.due) = (0, None);
    }

    /// The next one.
    pub(crate) fn pop(&mut self) -> Option<Datagram> {
        self.ready.pop_front()
    }

    /// When somebody has waited for long enough.
    pub(crate) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whoever has waited for long enough waits no more.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        let over = |flow: &Flow| flow.due().is_some_and(|due| due <= now);
        let mut late: Vec<u16> =
            self.flows.iter().filter(|(_, flow)| over(flow)).map(|(id, _)| *id).collect();
        // The order in which a hash map has them decides nothing.
        late.sort_unstable();
        for id in late {
            self.release(id, now);
        }
        self.due = self.flows.values().fold(None, |due, flow| Instant::earliest(due, flow.due()));
    }

    /// Hands over what follows, and what has waited for long enough with all before it.
    fn release(&mut self, id: u16, now: Instant) {
        let Some(flow) = self.flows.get_mut(&id) else { return };
        loop {
            let Some(first) = flow.waiting.first_entry() else { return };
            if *first.key() != flow.next && first.get().0 > now {
                return;
            }
            let (number, (_, datagram)) = first.remove_entry();
            self.waiting -= size(&datagram);
            flow.held -= size(&datagram);
            flow.advance(number);
            self.ready.push_back(datagram);
        }
    }

    /// The flow of which most waits: its order is not paid for by others.
    fn greediest(&self) -> Option<u16> {
        self.flows.iter().max_by_key(|(id, flow)| (flow.held, **id)).map(|(id, _)| *id)
    }

    /// What waits of a flow waits no more.
    fn give_up(&mut self, id: u16, now: Instant) {
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.waiting.values_mut().for_each(|(until, _)| *until = now);
        }
        self.release(id, now);
    }

    /// Room for one flow more.
    fn make_room(&mut self) {
        if self.flows.len() < FLOWS {
            return;
        }
        let silent =
            self.flows.iter().min_by_key(|(id, flow)| (flow.heard_at, **id)).map(|(id, _)| *id);
        if let Some(id) = silent {
            self.give_up(id, Instant::ZERO);
            self.flows.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_wire::Ecn;
    use bytes::Bytes;

    use super::*;

    const HOLD: Span = Span::from_millis(900);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn record(flow: u16, order: u16, is_ordered: bool) -> Record {
        let bytes = Bytes::copy_from_slice(&order.to_be_bytes());
        let datagram = Datagram { flow, ecn: Ecn::NotCapable, label: Bytes::new(), bytes };
        let (is_sparse, is_repeated) = (false, false);
        Record { datagram, order, is_sparse, is_ordered, is_repeated, digest: None }
    }

    fn out(order: &mut Order) -> Vec<u16> {
        let number =
            |datagram: Datagram| u16::from_be_bytes([datagram.bytes[0], datagram.bytes[1]]);
        std::iter::from_fn(|| order.pop()).map(number).collect()
    }

    fn come(
        order: &mut Order,
        millis: u64,
        numbers: impl IntoIterator<Item = u16>,
        is_ordered: bool,
    ) -> Vec<u16> {
        for number in numbers {
            order.arrived(at(millis), HOLD, record(1, number, is_ordered));
        }
        out(order)
    }

    #[test]
    fn what_follows_a_lost_one_waits_for_it_and_not_for_ever() {
        let mut order = Order::new(8 << 20);
        assert_eq!(come(&mut order, 0, [65_534, 65_535], true), [65_534, 65_535]);
        assert_eq!(come(&mut order, 10, [1, 2, 4], true), []);
        assert_eq!(come(&mut order, 500, [0], true), [0, 1, 2]);
        assert_eq!(order.due(), Some(at(910)));
        order.handle_timeout(at(909));
        assert_eq!(out(&mut order), []);
        order.handle_timeout(at(910));
        assert_eq!((out(&mut order), order.due(), order.waiting), (vec![4], None, 0));
        assert_eq!(come(&mut order, 950, [3], true), [3], "late is better than lost");
        assert_eq!(come(&mut order, 951, [3, 4, 65_535], true), [], "and once is enough");
    }

    #[test]
    fn what_is_not_in_order_waits_for_nobody_and_each_datagram_is_handed_over_once() {
        let mut order = Order::new(8 << 20);
        assert_eq!(come(&mut order, 0, [0, 2, 2, 0], false), [0, 2]);
        assert_eq!(come(&mut order, 1, [1, 1], false), [1]);
        assert_eq!(come(&mut order, 2, [3], false), [3]);
    }

    #[test]
    fn what_is_late_is_handed_over_however_late_it_comes_but_for_what_may_come_twice() {
        for (is_ordered, is_repeated, late) in
            [(false, false, vec![3]), (true, false, vec![3]), (false, true, Vec::new())]
        {
            let mut order = Order::new(8 << 20);
            come(&mut order, 0, (0..3).chain(4..500), false);
            let record = Record { is_repeated, ..record(1, 3, is_ordered) };
            order.arrived(at(900), HOLD, record);
            assert_eq!(out(&mut order), late);
        }
    }

    #[test]
    fn what_goes_twice_is_handed_over_once_beside_thousands_of_other_flows() {
        let mut order = Order::new(8 << 20);
        for _ in 0..2 {
            for flow in 0..3_000 {
                let record = Record { is_repeated: true, ..record(flow, 7, false) };
                order.arrived(at(0), HOLD, record);
            }
        }
        assert_eq!(out(&mut order).len(), 3_000);
    }

    #[test]
    fn a_flow_that_begins_anew_is_heard() {
        let mut order = Order::new(8 << 20);
        assert_eq!(come(&mut order, 0, [40_000, 40_002], true), [40_000]);
        assert_eq!(come(&mut order, 0, [0, 1], true), [40_002, 0, 1]);
    }

    #[test]
    fn other_flows_do_not_wait() {
        let mut order = Order::new(8 << 20);
        order.arrived(at(0), HOLD, record(1, 0, true));
        order.arrived(at(0), HOLD, record(1, 2, true));
        order.arrived(at(0), HOLD, record(2, 70, true));
        order.arrived(at(0), HOLD, record(2, 71, true));
        assert_eq!(out(&mut order), [0, 70, 71]);
    }

    #[test]
    fn a_flow_of_which_much_waits_costs_no_other_one_its_order() {
        let mut order = Order::new(8 << 20);
        order.arrived(at(0), HOLD, record(1, 0, true));
        order.arrived(at(0), HOLD, record(2, 0, true));
        for number in 2..141 {
            let mut hoarded = record(1, number, true);
            hoarded.datagram.bytes = vec![0; 60_000].into();
            order.arrived(at(0), HOLD, hoarded);
        }
        out(&mut order);
        let mut last = record(2, 2, true);
        last.datagram.bytes = vec![2; 60_000].into();
        order.arrived(at(0), HOLD, last);
        let given_up: Vec<u16> = std::iter::from_fn(|| order.pop()).map(|d| d.flow).collect();
        assert!(given_up.len() > 100 && !given_up.contains(&2), "{given_up:?}");
    }

    #[test]
    fn neither_flows_nor_what_waits_grow_without_bound() {
        let mut order = Order::new(8 << 20);
        for flow in 0..=u16::MAX {
            order.arrived(at(0), HOLD, record(flow, 0, true));
            let mut far = record(flow, 2, true);
            far.datagram.bytes = vec![0; 60_000].into();
            order.arrived(at(0), HOLD, far);
        }
        assert!(order.flows.len() <= FLOWS && order.waiting <= 8 << 20);
    }
}
