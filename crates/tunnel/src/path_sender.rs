//! What is sent by one path: packets with numbers of their own, their parity, and what is retransmitted of them.

use std::collections::VecDeque;

use bentpipe_transport::payload_size::PayloadSize;
use bentpipe_transport::xstp::Received;
use bentpipe_units::{Instant, Seq32, Span};
use bytes::Bytes;

use crate::backlog::Backlog;
use crate::block::{LENGTH, encode, shard_len};
use crate::message::{PACKET_HEADER, PARITY_HEADER, Packet, Parity, Report};
use crate::packing::{Packing, Source};
use crate::path_receiver::REPORTS;
use crate::protection::Protection;
use crate::schedule::UNKNOWN;
use crate::tunnel::Counters;
use crate::under_way::{Terms, UnderWay};
use crate::window::Window;

/// Most packets of a block.
const MOST_OF: usize = 224;
/// No block is shorter, unless it is full.
const BLOCK_MIN: Span = Span::from_millis(5);
/// A report may come so much later than a round trip after the last packet.
const REPORT_WAIT: Span = Span::from_millis(50);
/// A path stalls where no report came of so many that were sent by it, and is tried anew after so long: whoever watches the
/// path knows by then whether it works.
const STALLED: u32 = 4;
const STALL: Span = Span::from_secs(3);

/// Room for what is left of a datagram when the path is gone by which it began.
const ROOM_LEFT: usize = 1_200;

/// Bytes that travel with a body: headers of IPv4 and UDP, of the association, and of the packet.
const OVERHEAD: u16 = 28 + 24 + PACKET_HEADER as u16;

/// A datagram of which more than so many short bodies are left goes in long ones: receivers put together 64 packets at most.
const LONG: usize = 6;

/// Bytes of a body in a message of so many.
fn body_room(room: usize) -> usize {
    (room - PACKET_HEADER).min(room - PARITY_HEADER - LENGTH) & !1
}

/// What is sent by one path.
#[derive(Debug)]
pub(crate) struct PathSender {
    /// The run of the sender, its lowest bits the path.
    run: u16,
    /// It works, as far as is known.
    is_open: bool,
    srtt: Option<Span>,
    /// The round trip before one was measured.
    expected: Option<Span>,
    /// How long receivers were told to wait since something arrived, at most, and last: they report in parts of it.
    told: [Span; 2],
    /// What was begun.
    packing: Packing,
    /// The body of a full packet.
    size: PayloadSize,
    /// The block that is filled: its first number, bodies, and when it began.
    first: Seq32,
    bodies: Vec<Bytes>,
    began: Instant,
    parity: VecDeque<Parity>,
    retransmit: VecDeque<Seq32>,
    under_way: UnderWay,
    /// When the newest packet is retransmitted if nobody has heard of it.
    tail_due: Option<Instant>,
    /// When something arrived by this path, or was sent with nothing under way, and what was sent since.
    progress_at: Instant,
    unanswered: u32,
    /// Since when nothing has arrived although it should have.
    stalled_since: Option<Instant>,
    window: Window,
    counters: Counters,
}

impl PathSender {
    pub(crate) fn new(run: u16, under_way: usize) -> Self {
        Self {
            run,
            is_open: false,
            srtt: None,
            expected: None,
            told: [Span::ZERO; 2],
            packing: Packing::default(),
            size: PayloadSize::new(u16::MAX, OVERHEAD, true, Seq32::default()),
            first: Seq32::default(),
            bodies: Vec::new(),
            began: Instant::ZERO,
            parity: VecDeque::new(),
            retransmit: VecDeque::new(),
            under_way: UnderWay::new(under_way),
            tail_due: None,
            progress_at: Instant::ZERO,
            unanswered: 0,
            stalled_since: None,
            window: Window::default(),
            counters: Counters::default(),
        }
    }

    pub(crate) const fn window(&mut self) -> &mut Window {
        &mut self.window
    }

    pub(crate) fn window_due(&self, room: usize, is_sparse: bool) -> Option<Instant> {
        self.window.due(room as u64, is_sparse)
    }

    pub(crate) const fn counters(&self) -> Counters {
        self.counters
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.is_open
    }

    pub(crate) const fn is_stalled(&self) -> bool {
        self.stalled_since.is_some()
    }

    pub(crate) const fn srtt(&self) -> Option<Span> {
        self.srtt
    }

    /// What was begun.
    pub(crate) const fn packing(&self) -> &Packing {
        &self.packing
    }

    pub(crate) const fn run(&self) -> u16 {
        self.run
    }

    /// It may remember so many bytes from now on.
    pub(crate) fn limit(&mut self, now: Instant, under_way: usize) {
        let forgotten = self.under_way.limit(under_way);
        self.give_up(now, forgotten);
    }

    /// It works, or works again.
    pub(crate) fn open(&mut self, now: Instant) {
        if !std::mem::replace(&mut self.is_open, true) {
            (self.progress_at, self.unanswered, self.stalled_since) = (now, 0, None);
        }
    }

    /// The round trip as others have measured it.
    pub(crate) const fn expect(&mut self, round_trip: Option<Span>) {
        self.expected = round_trip;
    }

    fn round_trip(&self) -> Span {
        self.srtt.or(self.expected).unwrap_or(UNKNOWN)
    }

    /// It works no more.
    pub(crate) fn close(&mut self, now: Instant, not_before: Instant) {
        if std::mem::replace(&mut self.is_open, false) {
            self.leave(now, not_before);
            self.window.set(None);
        }
    }

    /// What has not arrived goes by another path, if it was sent since then, and so does what was begun.
    fn leave(&mut self, now: Instant, not_before: Instant) {
        let hold = self.told[1];
        // Its numbers would not follow those of its block any more.
        self.parity.clear();
        while self.pack(now, body_room(ROOM_LEFT), hold, None).is_some() {}
        self.close_block(Protection::Off, false);
        self.retransmit.extend(self.under_way.leave(not_before));
    }

    /// How long a lost datagram is worth waiting for where nobody says how long it is `useful`.
    pub(crate) fn hold(&self, useful: Option<Span>) -> Span {
        let round_trip = self.round_trip();
        useful.unwrap_or(round_trip + round_trip / 2)
    }

    /// A packet of which the receiver is told to wait so long for what was sent before it.
    fn packet(&mut self, seq: Seq32, hold: Span, body: Bytes) -> Packet {
        self.told = [self.told[0].max(hold), hold];
        let hold = (hold.as_nanos() / 1_000_000).min(u64::from(u16::MAX)) as u16;
        Packet { run: self.run, seq, hold, body }
    }

    /// A packet that is to be retransmitted, by whatever path, if that is worth it for so long after it was sent.
    pub(crate) fn poll_retransmit(
        &mut self,
        now: Instant,
        worth: Span,
        late: bool,
        hold: Span,
    ) -> Option<Packet> {
        let not_before = now.before(worth + self.late(late) * 2);
        while let Some(seq) = self.retransmit.pop_front() {
            if let Some(body) = self.under_way.body(seq, not_before) {
                self.counters.retransmitted += 1;
                return Some(self.packet(seq, hold, body));
            }
        }
        None
    }

    /// Parity: it does not wait for the window. It takes the place of what is not begun where `more` of that waits.
    pub(crate) fn poll_parity(
        &mut self,
        now: Instant,
        protection: Protection,
        more: bool,
    ) -> Option<Parity> {
        if self.block_due(protection, more).is_some_and(|due| due <= now) {
            self.close_block(protection, more);
        }
        let mut parity = self.parity.pop_front()?;
        let bytes = (PARITY_HEADER + parity.shard.len()) as u64;
        parity.seq = self.number(now, Bytes::new(), bytes);
        self.counters.parity += 1;
        Some(parity)
    }

    /// The longest body in a message of so many bytes. Where bit errors damage long packets more often than short ones it is shorter
    /// than there is room for, but under a protection that asks for no losses, and for a datagram that would lie in many.
    pub(crate) fn body(&self, room: usize, protection: Protection) -> usize {
        let most = body_room(room);
        let best = usize::from(self.size.get());
        let asks = !matches!(protection, Protection::Ratio(_));
        if asks && self.packing.begun() <= best * LONG { best.min(most) & !1 } else { most }
    }

    /// Messages have so many bytes from now on.
    pub(crate) fn set_room(&mut self, room: usize) {
        let most = u16::try_from(body_room(room)).unwrap_or(u16::MAX);
        if most != self.size.most() {
            self.size.limit(most, self.under_way.next());
        }
    }

    /// The next packet with the rest of what was begun and what waits in the source, if there is one; its body has at most
    /// `most` bytes, and its receiver waits for `hold`.
    pub(crate) fn pack(
        &mut self,
        now: Instant,
        most: usize,
        hold: Span,
        from: Option<Source<'_>>,
    ) -> Option<Packet> {
        let next = (self.run, self.under_way.next());
        let body = self.packing.next(now, next, most, from)?;
        if self.bodies.is_empty() {
            (self.first, self.began) = (self.under_way.next(), now);
        }
        let bytes = (PACKET_HEADER + body.len()) as u64;
        let seq = self.number(now, body.clone(), bytes);
        self.bodies.push(body.clone());
        self.counters.packets += 1;
        Some(self.packet(seq, hold, body))
    }

    /// Something of so many bytes is sent under the next number.
    fn number(&mut self, now: Instant, body: Bytes, bytes: u64) -> Seq32 {
        if self.unanswered == 0 || !self.under_way.is_open() {
            (self.progress_at, self.unanswered) = (now, 0);
        }
        self.unanswered += 1;
        let seq = self.under_way.next();
        let forgotten = self.under_way.sent(now, body, bytes);
        self.give_up(now, forgotten);
        self.window.sent(now, bytes, true);
        self.tail_due = Some(now + self.report_wait());
        seq
    }

    pub(crate) fn has_parity(&self) -> bool {
        !self.parity.is_empty()
    }

    pub(crate) fn has_retransmissions(&self) -> bool {
        !self.retransmit.is_empty()
    }

    /// Where nothing arrives one packet may go now and then to see whether it does again.
    pub(crate) fn trial_due(&self) -> Option<Instant> {
        let since = self.stalled_since?;
        let sent = self.under_way.newest().unwrap_or(since).max(since);
        Some(sent + self.report_wait())
    }

    /// When the newest packet is retransmitted, or what is under way forgotten.
    pub(crate) const fn tail_due(&self) -> Option<Instant> {
        self.tail_due
    }

    /// When the block that is filled ends, where `more` waits or not.
    pub(crate) fn block_due(&self, protection: Protection, more: bool) -> Option<Instant> {
        if self.bodies.len() == MOST_OF {
            return Some(Instant::ZERO);
        }
        let (parts, longest) = protection.block(more);
        let span = (self.round_trip() / parts).clamp(BLOCK_MIN, longest);
        (!self.bodies.is_empty()).then_some(self.began + span)
    }

    fn close_block(&mut self, protection: Protection, more: bool) {
        let shards = encode(&self.bodies, protection.count(self.bodies.len(), more));
        let (of, count) = (self.bodies.len() as u8, shards.len() as u8);
        debug_assert!(
            self.bodies
                .iter()
                .all(|body| shards.iter().all(|shard| shard_len(body.len()) <= shard.len()))
        );
        self.under_way.closed(self.first, of, count);
        self.bodies.clear();
        let run = self.run;
        self.parity.extend((0..).zip(shards).map(|(index, shard)| Parity {
            run,
            seq: Seq32::default(),
            of,
            count,
            index,
            shard,
        }));
    }

    /// The peer tells what arrived, in the run of this path. A lost packet is worth retransmitting for `hold`.
    pub(crate) fn handle_report(
        &mut self,
        now: Instant,
        report: &Report,
        hold: Span,
        (backlog, protection): (&mut Backlog, Protection),
    ) {
        let round_trip = self.round_trip();
        let full = PACKET_HEADER as u64 + u64::from(self.size.get() & !1);
        let terms = Terms { not_before: now.before(hold), round_trip, protection, full };
        let news = self.under_way.report(now, report, &terms);
        if let Some(first) = news.first_full {
            self.size.judged(first, news.outcome, self.under_way.next());
        }
        if let Some(round_trip) = news.round_trip {
            let srtt = self.srtt.map_or(round_trip, |srtt| (srtt * 7 + round_trip) / 8);
            self.srtt = Some(srtt);
        }
        if let Some(member) = self.window.member() {
            if let Some(round_trip) = news.round_trip {
                let received = Received { at: report.received_at, held: report.held() };
                member.measured(now, round_trip, received);
            }
            if let Some(oldest) = news.oldest {
                member.lost(now, news.lost.bytes, news.lost.packets, oldest);
            }
            if let Some(newest) = news.newest {
                member.arrived(now, news.arrived.bytes, news.arrived.packets, newest);
            }
        }
        if news.is_direct {
            (self.progress_at, self.unanswered, self.stalled_since) = (now, 0, None);
            self.told[0] = self.told[1];
        }
        let under_way = &self.under_way;
        backlog.labels().reported(self.run, |packet| under_way.has_arrived(packet));
        self.retransmit.extend(news.retransmit);
        self.forget(now, hold);
        // The round trip may be another one by now.
        let wait = self.report_wait();
        self.tail_due = self.under_way.last_sent().map(|at| at + wait);
    }

    /// Forgets what is too old to be repaired.
    fn forget(&mut self, now: Instant, hold: Span) {
        let unknown = self.under_way.forget(now.before(hold + self.report_wait() * 2));
        self.give_up(now, unknown);
    }

    fn give_up(&mut self, now: Instant, bytes: u64) {
        if let Some(member) = self.window.member() {
            member.given_up(now, bytes);
        }
    }

    /// When it is clear that nothing arrives any more, or that long ago that it may be tried anew.
    pub(crate) fn stall_due(&self) -> Option<Instant> {
        match self.stalled_since {
            Some(since) => Some(since + STALL),
            None if !self.is_open || self.unanswered < STALLED => None,
            None => {
                let wait = self.report_wait() + self.told[0] / REPORTS;
                self.under_way.is_open().then(|| self.progress_at + wait)
            }
        }
    }

    /// Nothing has arrived for too long, perhaps: what is under way then goes by another path as well.
    pub(crate) fn look_for_stall(&mut self, now: Instant, hold: Span, late: bool) {
        if self.stall_due().is_none_or(|due| due > now) {
            return;
        }
        self.stalled_since = self.stalled_since.is_none().then_some(now);
        (self.progress_at, self.unanswered) = (now, 0);
        if self.is_stalled() {
            self.leave(now, now.before(hold + self.late(late)));
        }
    }

    /// What is held up by nobody may come a round trip later than others where no deadline was given.
    fn late(&self, late: bool) -> Span {
        if late { self.report_wait() * 2 } else { Span::ZERO }
    }

    /// The time passes. A lost packet is worth retransmitting for `hold`, and longer where it may be `late`.
    pub(crate) fn handle_timeout(&mut self, now: Instant, hold: Span, late: bool) {
        if self.tail_due.is_none_or(|due| due > now) {
            return;
        }
        let picked = self.under_way.tail(now.before(hold + self.late(late)));
        let repairs = !picked.is_empty();
        self.retransmit.extend(picked);
        self.forget(now, hold);
        // Where nobody answers what is under way ends some time.
        let wait = if repairs { self.report_wait() } else { hold.max(REPORT_WAIT) };
        self.tail_due = self.under_way.is_open().then_some(now + wait);
    }

    /// A report of what was sent last has come after so long.
    fn report_wait(&self) -> Span {
        let round_trip = self.round_trip();
        round_trip + round_trip / 8 + REPORT_WAIT
    }
}
