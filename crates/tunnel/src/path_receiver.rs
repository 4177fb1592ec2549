//! What came by one path: numbers, blocks, what was lost and is made of parity, and what the sender is told.

use std::collections::{BTreeMap, BTreeSet};

use bentpipe_transport::xstp::receive_timestamp;
use bentpipe_units::{Instant, Seq32, Span};
use bytes::Bytes;

use crate::block::{decode, work};
use crate::message::{Packet, Parity, RANGES, Range, Report};
use crate::record::Record;
use crate::slots::{Slots, WINDOW};

/// Blocks whose parity is kept.
const BLOCKS: usize = 16;
/// All is forgotten after so much silence.
const SILENCE: Span = Span::from_secs(10);
/// Reports while packets come, in the time for which a datagram is waited for; and where something is missing anew.
pub(crate) const REPORTS: u64 = 12;
const URGENT: u64 = 48;
const REPORT_MIN: Span = Span::from_millis(2);
/// Bytes of arithmetic that each packet of the peer is worth, however short, for the parity of a block is as long as the longest
/// one in it, and most that were done and are not made good.
const WORTH: usize = 4 * 1_500;
const MOST_DEBT: usize = 4 << 20;

#[derive(Debug)]
struct Block {
    of: u8,
    count: u8,
    parity: Vec<(u8, Bytes)>,
}

impl Block {
    /// Bytes of its parity, which all has one length.
    fn bytes(&self) -> usize {
        self.parity.len() * self.parity.first().map_or(0, |(_, shard)| shard.len())
    }
}

/// The arithmetic that was done for a peer and that it has not made good.
#[derive(Debug, Default)]
pub(crate) struct Debt(usize);

impl Debt {
    /// Something came.
    const fn came(&mut self) {
        self.0 = self.0.saturating_sub(WORTH);
    }

    /// Whether this may be done as well; if so it is counted.
    fn may_take(&mut self, cost: usize) -> bool {
        let may = self.0 + cost <= MOST_DEBT;
        self.0 += if may { cost } else { 0 };
        may
    }
}

/// What has arrived by one path.
#[derive(Debug)]
pub(crate) struct PathReceiver {
    /// The run of the sender, its lowest bits the path.
    run: u16,
    /// Numbers are counted on beyond 32 bits.
    slots: Slots,
    blocks: BTreeMap<u64, Block>,
    /// What was lost and is needed no more since the last report: the sender is to know what the path loses.
    made: BTreeSet<u64>,
    /// Most bytes of their parity.
    most: usize,
    hold: Span,
    /// When the highest number came, and anything.
    newest_at: Instant,
    heard_at: Instant,
    /// Since when there is something to tell, and whether something is missing anew.
    news: bool,
    urgent: bool,
    reported_at: Instant,
    recovered: u64,
}

impl PathReceiver {
    /// Nothing came; so many bytes are kept.
    pub(crate) const fn new(run: u16, most: usize) -> Self {
        Self {
            run,
            slots: Slots::new(0, most),
            blocks: BTreeMap::new(),
            made: BTreeSet::new(),
            most,
            hold: Span::ZERO,
            newest_at: Instant::ZERO,
            heard_at: Instant::ZERO,
            news: false,
            urgent: false,
            reported_at: Instant::ZERO,
            recovered: 0,
        }
    }

    pub(crate) const fn run(&self) -> u16 {
        self.run
    }

    /// So many bytes are kept from now on.
    pub(crate) fn limit(&mut self, most: usize) {
        self.slots.limit(most);
        self.most = most;
        self.trim();
    }

    /// How long datagrams by this path are waited for; none where nothing comes by it any more.
    pub(crate) fn hold(&self) -> Option<Span> {
        (!self.slots.is_empty()).then_some(self.hold)
    }

    /// A packet came, marked by a router perhaps. Returns the datagrams that are complete now.
    pub(crate) fn handle_packet(
        &mut self,
        now: Instant,
        packet: &Packet,
        marked: bool,
        debt: &mut Debt,
    ) -> Vec<Record> {
        self.hold = Span::from_millis(u64::from(packet.hold));
        debt.came();
        let Some(number) = self.came(now, packet.seq) else { return Vec::new() };
        // What came beside it in one piece of memory is not held with it.
        let mut complete = self.slots.accept(number, Bytes::copy_from_slice(&packet.body), marked);
        let block = self.blocks.range(..=number).next_back();
        if let Some((first, block)) = block
            && number < first + u64::from(block.of)
        {
            complete.extend(self.recover(*first, debt));
        }
        self.trim();
        complete
    }

    /// Parity came. Returns the datagrams that are complete now.
    pub(crate) fn handle_parity(
        &mut self,
        now: Instant,
        parity: Parity,
        debt: &mut Debt,
    ) -> Vec<Record> {
        debt.came();
        let Some(number) = self.came(now, parity.seq) else { return Vec::new() };
        self.slots.settle(number);
        let Parity { of, count, index, shard, .. } = parity;
        let first = number.checked_sub(u64::from(index) + u64::from(of));
        let Some(first) = first.filter(|first| self.slots.first() <= *first) else {
            return Vec::new();
        };
        let block = self.blocks.entry(first).or_insert(Block { of, count, parity: Vec::new() });
        let fits = (block.of, block.count) == (of, count)
            && block
                .parity
                .iter()
                .all(|(known, other)| *known != index && other.len() == shard.len());
        if fits {
            block.parity.push((index, Bytes::copy_from_slice(&shard)));
        }
        while self.blocks.len() > BLOCKS
            || self.blocks.values().map(Block::bytes).sum::<usize>() > self.most
        {
            self.blocks.pop_first();
        }
        let complete = self.recover(first, debt);
        self.trim();
        complete
    }

    /// Something came under this number; what it is counted on to, if it is of use.
    fn came(&mut self, now: Instant, seq: Seq32) -> Option<u64> {
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
        self.made.clear();
    }

    /// Nothing is kept that exceeds its bounds.
    fn trim(&mut self) {
        self.slots.trim();
        let first = self.slots.first();
        while self.blocks.first_key_value().is_some_and(|(block, _)| *block < first) {
            self.blocks.pop_first();
        }
        while self.made.first().is_some_and(|number| *number < first) {
            self.made.pop_first();
        }
    }

    /// Makes what a block lacks, if there is enough parity. Returns the datagrams that are complete now.
    fn recover(&mut self, first: u64, debt: &mut Debt) -> Vec<Record> {
        let mut complete = Vec::new();
        let Some(block) = self.blocks.get(&first) else { return complete };
        let (of, count) = (usize::from(block.of), usize::from(block.count));
        let end = first + of as u64;
        let bodies: Vec<Option<&Bytes>> =
            (first..end).map(|number| self.slots.body(number)).collect();
        let missing = bodies.iter().filter(|body| body.is_none()).count();
        if missing > block.parity.len() {
            return complete;
        }
        let last = block.parity.iter().map(|(index, _)| *index).max().unwrap_or_default();
        let cost = if missing == 0 { 0 } else { work(of, count, block.parity[0].1.len()) };
        if !debt.may_take(cost) {
            return complete;
        }
        let made =
            if missing == 0 { Vec::new() } else { decode(&bodies, block.count, &block.parity) };
        self.blocks.remove(&first);
        for (place, bytes) in made {
            self.recovered += 1;
            self.made.insert(first + place as u64);
            complete.extend(self.slots.accept(first + place as u64, bytes, false));
        }
        // Nobody needs the rest of its parity. Beyond what came of it there may be packets: a path that stalled has no more.
        for number in end..=end + u64::from(last) {
            if self.slots.is_missing(number) {
                self.slots.settle(number);
                self.made.insert(number);
            }
        }
        complete
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
        let (run, first, next) = (self.run, self.slots.first(), self.slots.next());
        if self.report_due()? > now {
            return None;
        }
        let made = std::mem::take(&mut self.made);
        // Nobody is to take that for missing for longer.
        (self.news, self.urgent) = (!made.is_empty(), !made.is_empty());
        self.reported_at = now;
        let (mut missing, mut named) = (Vec::<Range>::new(), 0);
        // The last ones, for what is older is too late; ranges are as long as two bytes say.
        for number in (first..next).rev() {
            if !self.slots.is_missing(number) && !made.contains(&number) {
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
        let (next, received_at) = (Seq32::new(next as u32), receive_timestamp(self.newest_at));
        Some(Report { run, next, held, received_at, missing })
    }

    /// When there is something to do without anything that comes.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let silent = (!self.slots.is_empty()).then_some(self.heard_at + SILENCE);
        Instant::earliest(self.report_due(), silent)
    }

    /// The time passes.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if !self.slots.is_empty() && self.heard_at + SILENCE <= now {
            self.forget(self.slots.next());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::encode;

    #[test]
    fn parity_of_blocks_that_nobody_can_complete_takes_no_more_than_its_part() {
        let mut receiver = PathReceiver::new(8, 100_000);
        for (first, index) in
            (0..16).flat_map(|block| (0..254).map(move |index| (block * 510, index)))
        {
            let seq = Seq32::new(first + 255 + u32::from(index));
            let shard = Bytes::from(vec![7; 1_400]);
            let parity = Parity { run: 8, seq, of: 255, count: 255, index, shard };
            receiver.handle_parity(Instant::ZERO, parity, &mut Debt::default());
            assert!(receiver.blocks.values().map(Block::bytes).sum::<usize>() <= 100_000);
        }
    }

    #[test]
    fn what_was_made_of_parity_is_told_as_missing_once() {
        let mut receiver = PathReceiver::new(8, 100_000);
        let bodies: Vec<Bytes> = (0..8).map(|n| Bytes::from(vec![n; 100])).collect();
        let parity = encode(&bodies, 2);
        for (number, body) in (0..).zip(&bodies).filter(|(number, _)| *number != 3) {
            let packet = Packet { run: 8, seq: Seq32::new(number), hold: 900, body: body.clone() };
            receiver.handle_packet(Instant::ZERO, &packet, false, &mut Debt::default());
        }
        let parity = |index: u8| Parity {
            run: 8,
            seq: Seq32::new(8 + u32::from(index)),
            of: 8,
            count: 2,
            index,
            shard: parity[usize::from(index)].clone(),
        };
        receiver.handle_parity(Instant::ZERO, parity(0), &mut Debt::default());
        assert_eq!(receiver.recovered(), 1);
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        let report = receiver.report(at(900)).expect("a report");
        assert_eq!((report.next.get(), report.missing), (9, vec![Range { before: 6, count: 1 }]));
        let report = receiver.report(at(1_800)).expect("another one, though nothing came");
        assert_eq!((report.next.get(), report.missing), (9, Vec::new()));
        assert_eq!(receiver.report(at(2_700)), None);
    }
}
