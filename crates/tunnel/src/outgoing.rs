//! The sender's part: datagrams are packed, protected, and retransmitted once.

use std::collections::VecDeque;

use bentpipe_units::{Instant, Seq32, Span};
use bytes::{BufMut as _, Bytes, BytesMut};

use crate::backlog::Backlog;
use crate::block::{LENGTH, encode, shard_len};
use crate::bounds::Bounds;
use crate::message::{Message, PACKET_HEADER, PARITY_HEADER, Packet, Parity, Report};
use crate::protection::Protection;
use crate::record::{Datagram, RECORD_HEADER, Record};
use crate::tunnel::Counters;
use crate::under_way::{Terms, UnderWay};
use crate::window::Window;

/// Most packets of a block.
const MOST_OF: usize = 128;
/// A packet that is not full waits for more datagrams for so long.
const LINGER: Span = Span::from_millis(2);
/// A block lasts this part of a round trip, but neither less nor more than the next two.
const BLOCK_PART: u64 = 6;
const BLOCK_MIN: Span = Span::from_millis(5);
const BLOCK_MAX: Span = Span::from_millis(100);
/// A round trip before one was measured.
const UNKNOWN: Span = Span::from_secs(1);
/// A report may come so much later than a round trip after the last packet.
const REPORT_WAIT: Span = Span::from_millis(50);
/// Bytes of a body before what belongs to a datagram that began earlier.
const HEAD: usize = 3;
/// With less room than this no datagram is begun.
const LEAST: usize = RECORD_HEADER + 1;

/// What is sent.
#[derive(Debug)]
pub(crate) struct Outgoing {
    run: u16,
    backlog: Backlog,
    protection: Protection,
    /// Longest time for which a lost datagram is worth retransmitting; after the round trip where it is none.
    useful: Option<Span>,
    srtt: Option<Span>,
    /// What does not fit into the packet before, of a datagram that was begun there, and one that is begun next.
    rest: Bytes,
    /// Whose label is in what is begun, and the packet in which it begins.
    telling: Option<(u16, Seq32)>,
    stash: Option<Record>,
    /// Since when something waits to be packed.
    waits_since: Option<Instant>,
    /// The number of the packet before.
    last: Seq32,
    /// The block that is filled: its first number, bodies, and when it began.
    first: Seq32,
    bodies: Vec<Bytes>,
    began: Instant,
    parity: VecDeque<Parity>,
    retransmit: VecDeque<Seq32>,
    under_way: UnderWay,
    /// When the newest packet is retransmitted if nobody has heard of it.
    tail_due: Option<Instant>,
    window: Window,
    counters: Counters,
}

impl Outgoing {
    pub(crate) fn new(useful: Option<Span>, bounds: &Bounds, seed: u64) -> Self {
        Self {
            run: seed as u16,
            backlog: Backlog::new(bounds.waiting, seed),
            protection: Protection::default(),
            useful,
            srtt: None,
            rest: Bytes::new(),
            telling: None,
            stash: None,
            waits_since: None,
            last: Seq32::default(),
            first: Seq32::default(),
            bodies: Vec::new(),
            began: Instant::ZERO,
            parity: VecDeque::new(),
            retransmit: VecDeque::new(),
            under_way: UnderWay::new(bounds.under_way),
            tail_due: None,
            window: Window::default(),
            counters: Counters::default(),
        }
    }

    pub(crate) fn set_protection(&mut self, protection: Protection) {
        self.protection = protection;
    }

    pub(crate) const fn window(&mut self) -> &mut Window {
        &mut self.window
    }

    pub(crate) fn counters(&self) -> Counters {
        let (dropped, marked) = self.backlog.hits();
        Counters { dropped, marked, ..self.counters }
    }

    /// A datagram waits.
    pub(crate) fn push(&mut self, now: Instant, datagram: Datagram) {
        self.backlog.push(now, datagram);
        if !self.backlog.is_empty() {
            self.waits_since.get_or_insert(now);
        }
        self.window.set_hungry(now, true);
    }

    /// How long a lost datagram is worth waiting for.
    fn hold(&self) -> Span {
        let round_trip = self.srtt.unwrap_or(UNKNOWN);
        self.useful.unwrap_or(round_trip + round_trip / 2)
    }

    /// What leaves next, in a datagram with room for so many bytes.
    pub(crate) fn poll(&mut self, now: Instant, room: usize) -> Option<Message> {
        if let Some(message) = self.poll_repair(now) {
            return Some(message);
        }
        if self.block_due().is_some_and(|due| due <= now) {
            self.close_block();
            if let Some(message) = self.poll_repair(now) {
                return Some(message);
            }
        }
        let most = (room - PACKET_HEADER).min(room - PARITY_HEADER - LENGTH) & !1;
        if !self.may_pack(now, most) || !self.window.is_open(now, room as u64, self.has_sparse()) {
            return None;
        }
        let Some(body) = self.pack(now, most) else {
            // The queue has dropped all that waited.
            self.waits_since = None;
            self.window.set_hungry(now, false);
            return None;
        };
        self.waits_since = self.has_more().then_some(now);
        if self.bodies.is_empty() {
            (self.first, self.began) = (self.under_way.next(), now);
        }
        let bytes = (PACKET_HEADER + body.len()) as u64;
        let seq = self.number(now, body.clone(), bytes);
        self.last = seq;
        self.bodies.push(body.clone());
        if self.bodies.len() == MOST_OF {
            self.close_block();
        }
        self.counters.packets += 1;
        let hungry = self.has_more();
        self.window.set_hungry(now, hungry);
        Some(Message::Packet(Packet { run: self.run, seq, hold: self.hold_millis(), body }))
    }

    /// Retransmissions and parity: they do not wait for the window.
    fn poll_repair(&mut self, now: Instant) -> Option<Message> {
        while let Some(seq) = self.retransmit.pop_front() {
            if let Some(body) = self.under_way.body(seq) {
                self.window.sent(now, (PACKET_HEADER + body.len()) as u64, false);
                self.counters.retransmitted += 1;
                return Some(Message::Packet(Packet {
                    run: self.run,
                    seq,
                    hold: self.hold_millis(),
                    body,
                }));
            }
        }
        let mut parity = self.parity.pop_front()?;
        let bytes = (PARITY_HEADER + parity.shard.len()) as u64;
        parity.seq = self.number(now, Bytes::new(), bytes);
        self.counters.parity += 1;
        Some(Message::Parity(parity))
    }

    /// Something of so many bytes is sent under the next number.
    fn number(&mut self, now: Instant, body: Bytes, bytes: u64) -> Seq32 {
        let seq = self.under_way.next();
        let forgotten = self.under_way.sent(now, body, bytes);
        self.give_up(forgotten);
        self.window.sent(now, bytes, true);
        self.tail_due = Some(now + self.report_wait());
        seq
    }

    fn hold_millis(&self) -> u16 {
        (self.hold().as_nanos() / 1_000_000).min(u64::from(u16::MAX)) as u16
    }

    /// Whether something is to be packed that the next packet of another time has not.
    fn has_more(&self) -> bool {
        !self.rest.is_empty() || self.stash.is_some() || !self.backlog.is_empty()
    }

    /// Whether a packet leaves now: it is full, or has waited for long enough, or brings what waits for nobody.
    fn may_pack(&self, now: Instant, most: usize) -> bool {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let waiting =
            self.rest.len() + self.stash.as_ref().map_or(0, Record::len) + self.backlog.bytes();
        waiting >= most
            || self.has_sparse()
            || due(self.linger_due())
            || due(self.backlog.repeat_due())
    }

    /// When the newest packet is retransmitted, or what is under way forgotten.
    pub(crate) const fn tail_due(&self) -> Option<Instant> {
        self.tail_due
    }

    /// Flows of which something waits.
    pub(crate) fn flows_waiting(&self) -> usize {
        self.backlog.flows_waiting()
    }

    pub(crate) fn has_sparse(&self) -> bool {
        self.backlog.has_sparse() || self.stash.as_ref().is_some_and(|record| record.is_sparse)
    }

    fn linger_due(&self) -> Option<Instant> {
        self.waits_since.filter(|_| self.has_more()).map(|since| since + LINGER)
    }

    /// The next body, of so many bytes at most.
    fn pack(&mut self, now: Instant, most: usize) -> Option<Bytes> {
        let mut body = BytesMut::with_capacity(most);
        let head = self.rest.len().min(most - HEAD);
        let back = self.under_way.next().distance_from(self.last);
        body.put_u8(u8::try_from(back).unwrap_or(1));
        body.put_u16(head as u16);
        body.extend_from_slice(&self.rest.split_to(head));
        let seq = self.under_way.next();
        // One whose rest does not fit now, as the path carries less, tells nothing.
        if let Some((flow, first)) = self.telling.take().filter(|_| self.rest.is_empty()) {
            self.backlog.labels().left(flow, [first, seq]);
        }
        while self.rest.is_empty() && body.len() + LEAST <= most {
            let record = match self.stash.take() {
                Some(record) => record,
                None => match self.backlog.pop(now, self.protection.repeats()) {
                    Some(record) => record,
                    None => break,
                },
            };
            let room = most - body.len();
            let flow = record.datagram.flow;
            if record.len() <= room {
                record.put(&mut body);
                if record.digest.is_none() {
                    self.backlog.labels().left(flow, [seq; 2]);
                }
            } else if record.is_sparse && body.len() > HEAD {
                // In one packet it is lost less often than in two.
                self.stash = Some(record);
                break;
            } else {
                let mut whole = BytesMut::with_capacity(record.len());
                record.put(&mut whole);
                let mut whole = whole.freeze();
                body.extend_from_slice(&whole.split_to(room));
                // One that takes more than two packets tells nothing.
                let goes_on = whole.len() <= most - HEAD;
                self.telling = (record.digest.is_none() && goes_on).then_some((flow, seq));
                self.rest = whole;
            }
        }
        (body.len() > HEAD).then(|| body.freeze())
    }

    /// When the block that is filled ends.
    fn block_due(&self) -> Option<Instant> {
        let span = (self.srtt.unwrap_or(UNKNOWN) / BLOCK_PART).clamp(BLOCK_MIN, BLOCK_MAX);
        (!self.bodies.is_empty()).then_some(self.began + span)
    }

    fn close_block(&mut self) {
        let bodies = std::mem::take(&mut self.bodies);
        let shards = encode(&bodies, self.protection.count(bodies.len()));
        let (of, count) = (bodies.len() as u8, shards.len() as u8);
        debug_assert!(
            bodies
                .iter()
                .all(|body| shards.iter().all(|shard| shard_len(body.len()) <= shard.len()))
        );
        self.under_way.closed(self.first, of, count);
        for (index, shard) in (0..).zip(shards) {
            self.parity.push_back(Parity {
                run: self.run,
                seq: Seq32::default(),
                of,
                count,
                index,
                shard,
            });
        }
    }

    /// The peer tells what arrived.
    pub(crate) fn handle_report(&mut self, now: Instant, report: &Report) {
        if report.run != self.run {
            return;
        }
        let terms = Terms {
            not_before: now.before(self.hold()),
            round_trip: self.srtt.unwrap_or(UNKNOWN),
            protection: self.protection,
        };
        let news = self.under_way.report(now, report, &terms);
        if let Some(round_trip) = news.round_trip {
            let srtt = self.srtt.map_or(round_trip, |srtt| (srtt * 7 + round_trip) / 8);
            self.srtt = Some(srtt);
            self.backlog.set_round_trip(srtt);
        }
        if let Some(member) = self.window.member() {
            if let Some(round_trip) = news.round_trip {
                member.measured(now, round_trip);
            }
            if let Some(oldest) = news.oldest {
                member.lost(now, news.lost.bytes, news.lost.packets, oldest);
            }
            if let Some(newest) = news.newest {
                member.arrived(now, news.arrived.bytes, news.arrived.packets, newest);
            }
        }
        let under_way = &self.under_way;
        self.backlog.labels().reported(|packet| under_way.has_arrived(packet));
        self.retransmit.extend(news.retransmit);
        self.forget(now);
        // The round trip may be another one by now.
        let wait = self.report_wait();
        self.tail_due = self.under_way.last_sent().map(|at| at + wait);
    }

    /// Forgets what is too old to be repaired.
    fn forget(&mut self, now: Instant) {
        let unknown = self.under_way.forget(now.before(self.hold() + self.report_wait() * 2));
        self.give_up(unknown);
    }

    fn give_up(&mut self, bytes: u64) {
        if let Some(member) = self.window.member() {
            member.given_up(bytes);
        }
    }

    /// When something leaves if nothing more comes. `room` is that of a packet.
    pub(crate) fn due(&self, room: usize) -> Option<Instant> {
        if !self.retransmit.is_empty() || !self.parity.is_empty() {
            return Some(Instant::ZERO);
        }
        let full = self.backlog.bytes() + self.rest.len() >= room || self.stash.is_some();
        let pack = if full || self.has_sparse() {
            Some(Instant::ZERO)
        } else {
            Instant::earliest(self.linger_due(), self.backlog.repeat_due())
        };
        // Where the window is closed a report opens it.
        let open = self.window.due(room as u64, self.has_sparse());
        let pack = pack.and_then(|at| Some(at.max(open?)));
        Instant::earliest(pack, self.block_due())
    }

    /// The time passes.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.tail_due.is_none_or(|due| due > now) {
            return;
        }
        // Nothing that follows is held up by it: a round trip later than others is in time where no deadline was given.
        let late = if self.useful.is_none() { self.report_wait() * 2 } else { Span::ZERO };
        let picked = self.under_way.tail(now.before(self.hold() + late));
        let repairs = !picked.is_empty();
        self.retransmit.extend(picked);
        self.forget(now);
        // Where nobody answers what is under way ends some time.
        let wait = if repairs { self.report_wait() } else { self.hold() };
        self.tail_due = self.under_way.is_open().then_some(now + wait);
    }

    /// A report of what was sent last has come after so long.
    fn report_wait(&self) -> Span {
        let round_trip = self.srtt.unwrap_or(UNKNOWN);
        round_trip + round_trip / 8 + REPORT_WAIT
    }
}
