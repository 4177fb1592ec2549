//! The receiver's part: what came is put together, what was lost is made of parity, and the sender is told.

use std::collections::{BTreeMap, VecDeque};

use bentpipe_units::{Instant, Seq32, Span};
use bytes::{Bytes, BytesMut};

use crate::block::{decode, work};
use crate::message::{Packet, Parity, RANGES, Range, Report};
use crate::order::Order;
use crate::record::{Datagram, Header, RECORD_HEADER};

/// Most numbers that are remembered, and bytes of bodies.
const WINDOW: usize = 8_192;
const MOST_BYTES: usize = 8 << 20;
/// A datagram lies in no more packets than this.
const SPANS: usize = 64;
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

/// A number.
#[derive(Debug)]
enum Slot {
    Missing,
    Came(Body),
    /// Parity, or what nobody needs any more.
    Done,
}

#[derive(Debug)]
struct Body {
    bytes: Bytes,
    marked: bool,
    /// Where a datagram begins that goes on in the next packet.
    open_from: Option<usize>,
}

impl Body {
    /// The part that belongs to a datagram of before, and the rest.
    fn split(&self) -> (&[u8], &[u8]) {
        let Some(([_, high, low], rest)) = self.bytes.split_first_chunk() else {
            return (&[], &[]);
        };
        rest.split_at(usize::from(u16::from_be_bytes([*high, *low])).min(rest.len()))
    }

    /// How far back the packet before it lies: there may be parity between them.
    fn back(&self) -> u64 {
        self.bytes.first().map_or(1, |back| u64::from(*back).max(1))
    }
}

#[derive(Debug)]
struct Block {
    of: u8,
    count: u8,
    parity: Vec<(u8, Bytes)>,
}

/// What has arrived.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// The run of the peer that is heard and the one before; none before anything came.
    run: Option<u16>,
    before: Option<u16>,
    /// The number of the first slot, counted on beyond 32 bits.
    first: u64,
    slots: VecDeque<Slot>,
    held: usize,
    blocks: BTreeMap<u64, Block>,
    order: Order,
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
        self.set(number, Slot::Done);
        let Parity { of, count, index, shard, .. } = parity;
        let Some(first) = number.checked_sub(u64::from(index) + u64::from(of)) else { return };
        if self.first > first {
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
        }
        (self.heard_at, self.news) = (now, true);
        let next = self.next();
        let ahead = seq.distance_from(Seq32::new(next as u32));
        if ahead > u32::MAX / 2 {
            let behind = Seq32::new(next as u32).distance_from(seq);
            return next.checked_sub(u64::from(behind)).filter(|number| *number >= self.first);
        }
        let number = next + u64::from(ahead);
        self.newest_at = now;
        self.urgent |= ahead > 0;
        if ahead as usize > WINDOW {
            self.forget(number);
        } else {
            self.slots.extend((0..ahead).map(|_| Slot::Missing));
        }
        self.slots.push_back(Slot::Missing);
        Some(number)
    }

    /// Nothing before this number is known any more.
    fn forget(&mut self, first: u64) {
        (self.first, self.slots, self.held) = (first, VecDeque::new(), 0);
        self.blocks.clear();
    }

    /// One more than the highest number.
    fn next(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    fn get(&self, number: u64) -> Option<&Slot> {
        self.slots.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn body(&self, number: u64) -> Option<&Body> {
        match self.get(number)? {
            Slot::Came(body) => Some(body),
            Slot::Missing | Slot::Done => None,
        }
    }

    fn set(&mut self, number: u64, slot: Slot) {
        let Some(offset) = number.checked_sub(self.first) else { return };
        if let Some(place) = self.slots.get_mut(offset as usize) {
            self.held += if let Slot::Came(body) = &slot { body.bytes.len() } else { 0 };
            let before = std::mem::replace(place, slot);
            self.held -= if let Slot::Came(body) = before { body.bytes.len() } else { 0 };
        }
    }

    /// Nothing is kept that exceeds its bounds.
    fn trim(&mut self) {
        while self.slots.len() > WINDOW || self.held > MOST_BYTES {
            let Some(slot) = self.slots.pop_front() else { return };
            self.held -= if let Slot::Came(body) = slot { body.bytes.len() } else { 0 };
            self.first += 1;
        }
        let first = self.first;
        while self.blocks.first_key_value().is_some_and(|(block, _)| *block < first) {
            self.blocks.pop_first();
        }
    }

    /// A body came or was made of parity.
    fn accept(&mut self, now: Instant, number: u64, bytes: Bytes, marked: bool) {
        if !matches!(self.get(number), Some(Slot::Missing)) {
            return;
        }
        let mut body = Body { bytes, marked, open_from: None };
        let (head, rest) = body.split();
        let start = body.bytes.len() - rest.len();
        let (continues, mut at) = (!head.is_empty(), start);
        let mut records = Vec::new();
        while at < body.bytes.len() {
            let whole = Header::read(&body.bytes[at..]).map(Header::whole);
            match whole.filter(|whole| at + whole <= body.bytes.len()) {
                Some(whole) => records.push((at, at + whole)),
                None => {
                    body.open_from = Some(at);
                    break;
                }
            }
            at += whole.unwrap_or(usize::MAX);
        }
        let (bytes, goes_on) = (body.bytes.clone(), body.open_from.is_some());
        self.set(number, Slot::Came(body));
        if continues {
            self.join(now, number);
        }
        for (from, to) in records {
            self.hand_over(now, &bytes.slice(from..to), marked);
        }
        if goes_on {
            self.complete(now, number);
        }
    }

    /// The datagram is complete that begins in a packet before this one, perhaps.
    fn join(&mut self, now: Instant, mut number: u64) {
        for _ in 0..SPANS {
            let Some(before) = self.body(number).and_then(|body| number.checked_sub(body.back()))
            else {
                return;
            };
            let Some(body) = self.body(before) else { return };
            if body.open_from.is_some() {
                return self.complete(now, before);
            }
            if !body.split().1.is_empty() {
                return;
            }
            number = before;
        }
    }

    /// The packet after this one, if it came.
    fn following(&self, number: u64) -> Option<(u64, &Body)> {
        let after = number + 1..=number + u64::from(u8::MAX);
        let came = |number| self.body(number).map(|body| (number, body));
        after.clone().find_map(came).filter(|(next, body)| next - body.back() == number)
    }

    /// The datagram is complete that begins at the end of this packet, perhaps.
    fn complete(&mut self, now: Instant, number: u64) {
        let Some(body) = self.body(number) else { return };
        let Some(from) = body.open_from else { return };
        let (mut parts, mut marked) = (vec![body.bytes.slice(from..)], body.marked);
        let mut len = parts[0].len();
        let mut last = number;
        for _ in 0..SPANS {
            let Some((next, body)) = self.following(last) else { return };
            let (head, rest) = body.split();
            last = next;
            len += head.len();
            parts.push(body.bytes.slice_ref(head));
            marked |= body.marked;
            if !rest.is_empty() || Self::is_whole(&parts, len) {
                break;
            }
        }
        if let Some(offset) = number.checked_sub(self.first)
            && let Some(Slot::Came(body)) = self.slots.get_mut(offset as usize)
        {
            body.open_from = None;
        }
        let mut whole = BytesMut::with_capacity(len);
        parts.iter().for_each(|part| whole.extend_from_slice(part));
        self.hand_over(now, &whole.freeze(), marked);
    }

    /// Whether these are all bytes of a datagram.
    fn is_whole(parts: &[Bytes], len: usize) -> bool {
        let first: Vec<u8> = parts.iter().flatten().take(RECORD_HEADER).copied().collect();
        Header::read(&first).is_some_and(|header| header.whole() <= len)
    }

    /// A datagram with its header is here.
    fn hand_over(&mut self, now: Instant, whole: &Bytes, marked: bool) {
        // Anything else was written by nobody who knows how.
        if let Some(header) = Header::read(whole).filter(|header| header.whole() == whole.len()) {
            let record = header.record(whole.slice(RECORD_HEADER..), marked);
            self.order.arrived(now, self.hold, record);
        }
    }

    /// Makes what a block lacks, if there is enough parity.
    fn recover(&mut self, now: Instant, first: u64) {
        let Some(block) = self.blocks.get(&first) else { return };
        let (of, count) = (usize::from(block.of), usize::from(block.count));
        let end = first + of as u64;
        let bodies: Vec<Option<&Bytes>> =
            (first..end).map(|number| self.body(number).map(|body| &body.bytes)).collect();
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
            if matches!(self.get(number), Some(Slot::Missing)) {
                self.set(number, Slot::Done);
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
        let (run, first, next) = (self.run?, self.first, self.next());
        if self.report_due()? > now {
            return None;
        }
        (self.news, self.urgent, self.reported_at) = (false, false, now);
        let (mut missing, mut named) = (Vec::<Range>::new(), 0);
        // The last ones, for what is older is too late; ranges are as long as two bytes say.
        for number in (first..next).rev() {
            if !matches!(self.get(number), Some(Slot::Missing)) {
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
            self.forget(self.next());
        }
    }
}
