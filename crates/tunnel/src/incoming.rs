//! The receiver's part: what came is put together, what was lost is made of parity, and the sender is told.

use std::collections::BTreeMap;

use bentpipe_units::{Instant, Seq32, Span};
use bytes::Bytes;

use crate::block::{decode, work};
use crate::bounds::Bounds;
use crate::labels::Heard;
use crate::message::{Packet, Parity, RANGES, Range, Report};
use crate::order::Order;
use crate::record::Datagram;
use crate::slots::{Slots, WINDOW};

/// Blocks whose parity is kept.
const BLOCKS: usize = 16;
/// All is forgotten after so much silence.
const SILENCE: Span = Span::from_secs(10);
/// Reports while packets come, in the time for which a datagram is waited for; and where something is missing anew.
const REPORTS: u64 = 12;
const URGENT: u64 = 48;
const REPORT_MIN: Span = Span::from_millis(2);
/// Bytes of arithmetic that each byte of the peer is worth, and most that were done and are not made good.
const WORTH: usize = 4;
const MOST_DEBT: usize = 4 << 20;

#[derive(Debug)]
struct Block {
    of: u8,
    count: u8,
    parity: Vec<(u8, Bytes)>,
}

/// What has arrived.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// The run of the peer that is heard and the one before; none before anything came.
    run: Option<u16>,
    before: Option<u16>,
    /// Numbers are counted on beyond 32 bits.
    slots: Slots,
    blocks: BTreeMap<u64, Block>,
    order: Order,
    labels: Heard,
    hold: Span,
    /// When the highest number came, and anything.
    newest_at: Instant,
    heard_at: Instant,
    /// Since when there is something to tell, and whether something is missing anew.
    news: bool,
    urgent: bool,
    reported_at: Instant,
    debt: usize,
    recovered: u64,
}

impl Incoming {
    /// Nothing came.
    pub(crate) fn new(bounds: &Bounds) -> Self {
        Self {
            run: None,
            before: None,
            slots: Slots::new(0, bounds.came),
            blocks: BTreeMap::new(),
            order: Order::new(bounds.unordered),
            labels: Heard::default(),
            hold: Span::ZERO,
            newest_at: Instant::ZERO,
            heard_at: Instant::ZERO,
            news: false,
            urgent: false,
            reported_at: Instant::ZERO,
            debt: 0,
            recovered: 0,
        }
    }

    /// A packet came.
    pub(crate) fn handle_packet(&mut self, now: Instant, packet: &Packet, marked: bool) {
        self.hold = Span::from_millis(u64::from(packet.hold));
        let Some(number) = self.came(now, packet.run, packet.seq, packet.body.len()) else {
            return;
        };
        // What came beside it in one piece of memory is not held with it.
        self.accept(now, number, Bytes::copy_from_slice(&packet.body), marked);
        let block = self.blocks.range(..=number).next_back();
        if let Some((first, block)) = block
            && number < first + u64::from(block.of)
        {
            self.recover(now, *first);
        }
        self.trim();
    }

    /// Parity came.
    pub(crate) fn handle_parity(&mut self, now: Instant, parity: Parity) {
        let Some(number) = self.came(now, parity.run, parity.seq, parity.shard.len()) else {
            return;
        };
        self.slots.settle(number);
        let Parity { of, count, index, shard, .. } = parity;
        let Some(first) = number.checked_sub(u64::from(index) + u64::from(of)) else { return };
        if self.slots.first() > first {
            return;
        }
        let block = self.blocks.entry(first).or_insert(Block { of, count, parity: Vec::new() });
        let fits = (block.of, block.count) == (of, count)
            && block
                .parity
                .iter()
                .all(|(known, other)| *known != index && other.len() == shard.len());
        if fits {
            block.parity.push((index, Bytes::copy_from_slice(&shard)));
        }
        while self.blocks.len() > BLOCKS {
            self.blocks.pop_first();
        }
        self.recover(now, first);
        self.trim();
    }

    /// Something came under this number; what it is counted on to, if it is of use.
    fn came(&mut self, now: Instant, run: u16, seq: Seq32, bytes: usize) -> Option<u64> {
        self.debt = self.debt.saturating_sub(WORTH * bytes);
        if self.run != Some(run) {
            if self.before == Some(run) {
                return None;
            }
            // The peer begins anew, and at zero.
            (self.before, self.run) = (self.run, Some(run));
            self.forget(0);
            self.order.begin_anew();
            self.labels = Heard::default();
        }
        (self.heard_at, self.news) = (now, true);
        let next = self.slots.next();
        let ahead = seq.distance_from(Seq32::new(next as u32));
        if ahead > u32::MAX / 2 {
            let behind = Seq32::new(next as u32).distance_from(seq);
            return next
                .checked_sub(u64::from(behind))
                .filter(|number| *number >= self.slots.first());
        }
        let number = next + u64::from(ahead);
        self.newest_at = now;
        self.urgent |= ahead > 0;
        if ahead as usize > WINDOW {
            self.forget(number);
        }
        self.slots.extend_to(number);
        Some(number)
    }

    /// Nothing before this number is known any more.
    fn forget(&mut self, first: u64) {
        self.slots.begin_anew(first);
        self.blocks.clear();
    }

    /// A body came or was made of parity.
    fn accept(&mut self, now: Instant, number: u64, bytes: Bytes, marked: bool) {
        for mut record in self.slots.accept(number, bytes, marked) {
            let Datagram { flow, label, .. } = &mut record.datagram;
            *label = match record.digest {
                None => self.labels.hear(*flow, label),
                Some(digest) => self.labels.of(*flow, digest),
            };
            self.order.arrived(now, self.hold, record);
        }
    }

    /// Nothing is kept that exceeds its bounds.
    fn trim(&mut self) {
        self.slots.trim();
        let first = self.slots.first();
        while self.blocks.first_key_value().is_some_and(|(block, _)| *block < first) {
            self.blocks.pop_first();
        }
    }

    /// Makes what a block lacks, if there is enough parity.
    fn recover(&mut self, now: Instant, first: u64) {
        let Some(block) = self.blocks.get(&first) else { return };
        let (of, count) = (usize::from(block.of), usize::from(block.count));
        let end = first + of as u64;
        let bodies: Vec<Option<&Bytes>> =
            (first..end).map(|number| self.slots.body(number)).collect();
        let missing = bodies.iter().filter(|body| body.is_none()).count();
        if missing > block.parity.len() {
            return;
        }
        let cost = if missing == 0 { 0 } else { work(of, count, block.parity[0].1.len()) };
        if self.debt + cost > MOST_DEBT {
            return;
        }
        let made =
            if missing == 0 { Vec::new() } else { decode(&bodies, block.count, &block.parity) };
        self.debt += cost;
        self.blocks.remove(&first);
        for (place, bytes) in made {
            self.recovered += 1;
            self.accept(now, first + place as u64, bytes, false);
        }
        // Nobody needs the rest of its parity.
        for number in end..end + count as u64 {
            if self.slots.is_missing(number) {
                self.slots.settle(number);
            }
        }
    }

    /// The next datagram for the application.
    pub(crate) fn pop(&mut self) -> Option<Datagram> {
        self.order.pop()
    }

    /// Packets that were made of parity.
    pub(crate) const fn recovered(&self) -> u64 {
        self.recovered
    }

    fn report_due(&self) -> Option<Instant> {
        let part = if self.urgent { URGENT } else { REPORTS };
        self.news.then_some(self.reported_at + (self.hold / part).max(REPORT_MIN))
    }

    /// What to tell the sender now.
    pub(crate) fn report(&mut self, now: Instant) -> Option<Report> {
        let (run, first, next) = (self.run?, self.slots.first(), self.slots.next());
        if self.report_due()? > now {
            return None;
        }
        (self.news, self.urgent, self.reported_at) = (false, false, now);
        let (mut missing, mut named) = (Vec::<Range>::new(), 0);
        // The last ones, for what is older is too late; ranges are as long as two bytes say.
        for number in (first..next).rev() {
            if !self.slots.is_missing(number) {
                continue;
            }
            let before = (next - number) as u16;
            match missing.last_mut() {
                Some(range) if range.before + 1 == before => {
                    *range = Range { before, count: range.count + 1 };
                }
                full if full.is_some() && named == RANGES => break,
                _ => {
                    named += 1;
                    missing.push(Range { before, count: 1 });
                }
            }
        }
        let held = now.since(self.newest_at).as_nanos() / 1_000;
        let held = u32::try_from(held).unwrap_or(u32::MAX);
        Some(Report { run, next: Seq32::new(next as u32), held, missing })
    }

    /// When there is something to do without anything that comes.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let due = Instant::earliest(self.order.due(), self.report_due());
        let silent = (!self.slots.is_empty()).then_some(self.heard_at + SILENCE);
        Instant::earliest(due, silent)
    }

    /// The time passes.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.order.handle_timeout(now);
        if !self.slots.is_empty() && self.heard_at + SILENCE <= now {
            self.forget(self.slots.next());
        }
    }
}
