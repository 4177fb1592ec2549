//! The receiving side: the stream in order, the window, and when to acknowledge.

mod ack_schedule;
mod advertised_window;
mod right_sizing;

use std::sync::Arc;

use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::tcp::{SackBlock, Snack};
use bytes::Bytes;

use self::ack_schedule::AckSchedule;
use self::advertised_window::AdvertisedWindow;
use self::right_sizing::RightSizing;
use super::Config;
use super::reassembly::{Arrival, Reassembly};

/// The receiving side of a connection.
#[derive(Debug)]
pub(super) struct Receiver {
    config: Arc<Config>,
    /// The peer's initial sequence number.
    irs: Seq32,
    data: Reassembly,
    window: AdvertisedWindow,
    sizing: Option<RightSizing>,
    acks: AckSchedule,
    /// The last so many bytes in order are not to be acknowledged yet.
    deferred: u64,
    has_deferred: bool,
    /// Offset of the peer's FIN.
    fin_at: Option<u64>,
    fin_taken: bool,
    /// The offset that was last acknowledged.
    last_acked: u64,
    /// What came twice, to be reported.
    twice: Option<(u64, u64)>,
    readable: bool,
}

impl Receiver {
    /// A receiver for a peer whose SYN has the number `irs`; windows will count by `unit` bytes.
    pub(super) fn new(config: Arc<Config>, irs: Seq32, unit: u64) -> Self {
        let room = config.rcv_buf.get();
        Self {
            irs,
            data: Reassembly::new(1, room as usize),
            window: AdvertisedWindow::new(config.first_rcv_buf(), config.mss, unit),
            sizing: config
                .rcv_buf_initial
                .map(|_| RightSizing::new(config.first_rcv_buf(), room, config.mss)),
            acks: AckSchedule::new(&config),
            deferred: 0,
            has_deferred: false,
            fin_at: None,
            fin_taken: false,
            last_acked: 1,
            twice: None,
            readable: false,
            config,
        }
    }

    /// A round trip takes so long: what is acknowledged several times in one follows it.
    pub(super) fn know_rtt(&mut self, rtt: Span) {
        self.acks.know_rtt(rtt, self.config.acks_per_rtt);
    }

    /// Data echo what left so long ago.
    #[inline]
    pub(super) fn hear_echo(&mut self, echo: impl FnOnce() -> Option<Span>) {
        if let Some(sizing) = &mut self.sizing
            && let Some(measured) = echo()
        {
            sizing.sample(measured);
        }
    }

    /// How far what came goes beyond what is missing.
    fn out_of_order(&self) -> u64 {
        self.data.stretches().next_back().map_or(0, |(_, end)| end - self.data.next())
    }

    /// The buffer grows with what arrives in order. A wider window is told at once.
    #[inline]
    fn follow_size(&mut self, now: Instant) {
        if self.sizing.is_none() {
            return;
        }
        let (next, waiting) = (self.data.next(), self.out_of_order());
        if let Some(size) = self.sizing.as_mut().and_then(|it| it.follow(now, next, waiting)) {
            self.window.grow(size);
            self.acks.ask(true);
        }
    }

    /// The offset of a sequence number, relative to what is expected next.
    pub(super) fn offset(&self, seq: Seq32) -> i64 {
        let next = self.next();
        next as i64 + i64::from(seq.distance_from(self.wire(next)) as i32)
    }

    /// The sequence number of an offset.
    pub(super) const fn wire(&self, offset: u64) -> Seq32 {
        self.irs.plus(offset as u32)
    }

    /// The offset that is expected next, with the FIN if it is here.
    pub(super) const fn next(&self) -> u64 {
        self.data.next() + self.fin_taken as u64
    }

    /// Whether a segment of `len` numbers at `offset` has something of the window (RFC 9293,
    /// section 3.10.7.4).
    pub(super) fn accepts(&self, offset: i64, len: u32) -> bool {
        let (next, edge) = (self.next() as i64, self.window.edge().max(self.next()) as i64);
        match (len, edge - next) {
            (0, 0) => offset == next,
            (0, _) => (next..edge).contains(&offset),
            // What acknowledges is heard even where there is no room.
            (_, 0) => offset == next,
            _ => offset < edge && offset + i64::from(len) > next,
        }
    }

    /// Whether a segment of `len` bytes is the next one, within the window and with nothing missing.
    #[inline]
    pub(super) fn is_next(&self, seq: Seq32, len: usize) -> bool {
        let next = self.next();
        seq == self.wire(next)
            && next + len as u64 <= self.window.edge()
            && self.data.is_complete()
            && self.fin_at.is_none()
    }

    /// A segment came twice that lies before the window.
    pub(super) fn note_twice(&mut self, seq: Seq32, len: usize) {
        let end = self.offset(seq) + len as i64;
        if (1..=self.next() as i64).contains(&end) {
            self.twice = Some(((end - len as i64).max(1) as u64, end as u64));
        }
    }

    /// An acknowledgement is due, or reading may make one due.
    pub(super) fn wants_attention(&self) -> bool {
        self.acks.is_due() || self.window.is_nearly_closed(self.data.next())
    }

    /// An acknowledgement is due, or something new that must be read first: then it says more than any other
    /// segment would.
    #[inline]
    pub(super) fn wants_to_speak(&self) -> bool {
        self.acks.is_due() || self.readable || self.has_report()
    }

    /// Whether an offset is one that the peer acknowledged up to, so that its timestamp may count
    /// (RFC 7323, section 4.3).
    pub(super) const fn is_up_to_acked(&self, offset: i64) -> bool {
        offset <= self.last_acked as i64
    }

    /// Whether what was acknowledged last ends at an offset.
    pub(super) const fn is_acked_last(&self, offset: i64) -> bool {
        offset == self.last_acked as i64
    }

    /// Takes the acceptable segment whose first byte is at `offset`.
    #[inline]
    pub(super) fn handle_data(
        &mut self,
        now: Instant,
        offset: i64,
        mut payload: Bytes,
        fin: bool,
    ) -> Arrival {
        let before = (1 - offset).max(0).min(payload.len() as i64) as usize;
        let _ = payload.split_to(before);
        let start = offset.max(1) as u64;
        let whole = payload.len() as u64;
        let edge = self.window.edge();
        let most = self.fin_at.map_or(edge, |fin| edge.min(fin));
        payload.truncate(most.saturating_sub(start) as usize);
        let end = start + payload.len() as u64;
        if fin && payload.len() as u64 == whole {
            self.fin_at = self.fin_at.or(Some(end));
        }
        let arrival = if payload.is_empty() {
            if whole > 0 { Arrival::Dropped } else { Arrival::InOrder }
        } else {
            let next = self.data.next();
            let arrival = self.data.insert(start, payload);
            if arrival == Arrival::Duplicate {
                self.twice = Some((start, end));
            } else if start < next {
                self.twice = Some((start, next));
            }
            self.readable |= self.data.next() > next;
            arrival
        };
        if self.fin_at == Some(self.data.next()) && !self.fin_taken {
            self.fin_taken = true;
        }
        self.acknowledge(now, arrival, fin);
        arrival
    }

    /// Takes the segment that [`Receiver::is_next`] knows as the next one.
    #[inline]
    pub(super) fn take_next(&mut self, now: Instant, payload: Bytes) -> Arrival {
        let arrival = self.data.append(payload);
        self.readable |= arrival == Arrival::InOrder;
        self.acknowledge(now, arrival, false);
        arrival
    }

    /// The application has read all that came.
    #[inline]
    pub(super) fn is_read_up(&self) -> bool {
        !self.readable && self.data.ready_bytes() == 0
    }

    /// Takes so many bytes that [`Receiver::is_next`] knows as the next ones, where the application has read all
    /// before and reads these at once.
    #[inline(always)]
    pub(super) fn count_next(&mut self, now: Instant, len: usize) {
        self.data.pass(len);
        self.acks.count(now);
        self.follow_size(now);
    }

    /// When what arrived is to be acknowledged.
    fn acknowledge(&mut self, now: Instant, arrival: Arrival, fin: bool) {
        let in_order = arrival == Arrival::InOrder;
        if fin || arrival == Arrival::Dropped {
            self.acks.ask(true);
        } else if !in_order && self.config.ack_disorder_at_once {
            let behind_hole = arrival == Arrival::OutOfOrder;
            self.acks.report(now, self.data.next(), behind_hole);
        } else {
            self.acks.count(now);
        }
        self.follow_size(now);
    }

    /// A segment more that is to be acknowledged with others, or late.
    pub(super) fn count_segment(&mut self, now: Instant) {
        self.acks.count(now);
    }

    /// An acknowledgement is to be sent at once.
    pub(super) const fn acknowledge_now(&mut self) {
        self.acks.ask(true);
    }

    /// The delay of an acknowledgement may be over.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.acks.handle_timeout(now);
    }

    /// When [`Receiver::handle_timeout`] must be called.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.acks.deadline()
    }

    /// An acknowledgement is due. Data that the application does not know of yet comes first: its
    /// reading opens the window that the acknowledgement states.
    #[inline(always)]
    pub(super) fn is_due(&self) -> bool {
        self.acks.is_due() && !self.readable && !(self.deferred > 0 && self.has_said_all())
    }

    /// An acknowledgement now would be a duplicate of the last one and no sign of a loss.
    fn has_said_all(&self) -> bool {
        let same_edge = self.window.is_stated(self.next(), self.unread());
        self.ack_offset() == self.last_acked && same_edge && !self.has_report()
    }

    /// The offset up to which everything may be acknowledged.
    #[inline(always)]
    fn ack_offset(&self) -> u64 {
        if self.deferred > 0 { self.data.next().saturating_sub(self.deferred) } else { self.next() }
    }

    /// The last so many bytes that were read are not to be acknowledged yet.
    pub(super) fn defer(&mut self, bytes: u64) {
        let advances = bytes < self.deferred;
        self.deferred = bytes;
        self.has_deferred |= bytes > 0;
        let more = advances && self.last_acked < self.ack_offset();
        self.acks.ask(more);
    }

    /// Something was acknowledged later than it came.
    pub(super) const fn has_deferred(&self) -> bool {
        self.has_deferred
    }

    /// Something is not to be acknowledged yet.
    pub(super) const fn is_deferring(&self) -> bool {
        self.deferred > 0
    }

    /// Something is missing, so that an acknowledgement has more to say than its number.
    #[inline]
    pub(super) fn has_report(&self) -> bool {
        !self.data.is_complete() || self.reported_twice().is_some()
    }

    /// What came twice, if it can be told: above the acknowledgement, which may wait, it would read as what came
    /// out of order, and the peer would not send again what it must when the acknowledgement is lost.
    #[inline]
    fn reported_twice(&self) -> Option<(u64, u64)> {
        let next = self.next();
        self.twice.filter(|(start, end)| *end <= self.ack_offset() || *start > next)
    }

    /// The most bytes that waited out of order at a time.
    pub(super) const fn most_out_of_order(&self) -> u64 {
        self.data.most_kept()
    }

    /// The peer ended and everything it sent is here.
    pub(super) const fn has_ended(&self) -> bool {
        self.fin_taken
    }

    /// An acknowledgement leaves: gives its number and the window field.
    #[inline(always)]
    pub(super) fn take_ack(&mut self) -> (Seq32, u16) {
        let (next, acked) = (self.next(), self.ack_offset().max(self.last_acked));
        self.acks.sent();
        self.last_acked = acked;
        (self.wire(acked), self.window.take(next, acked, self.unread()))
    }

    /// The offset up to which what came could be acknowledged and is not yet.
    pub(super) fn unacknowledged(&self) -> Option<u64> {
        let offset = self.ack_offset();
        (self.acks.is_pending() && offset > self.last_acked).then_some(offset)
    }

    /// An acknowledgement of less than all that came leaves: gives its number and the window field.
    pub(super) fn take_ack_of(&mut self, offset: u64) -> (Seq32, u16) {
        let acked = offset.max(self.last_acked);
        self.last_acked = acked;
        (self.wire(acked), self.window.take(self.next(), acked, self.unread()))
    }

    /// Bytes of the buffer that are taken.
    #[inline(always)]
    fn unread(&self) -> u64 {
        let unread = self.data.ready_bytes() as u64;
        match &self.sizing {
            Some(sizing) if !self.data.is_complete() => {
                unread + sizing.narrowed_by(self.data.kept())
            }
            _ => unread,
        }
    }

    /// So many bytes that were read count as unread.
    pub(super) fn reserve(&mut self, bytes: u64) {
        let (next, unread) = (self.next(), self.unread());
        let tells = self.window.reserve(bytes, next, unread);
        self.acks.ask(tells && !self.fin_taken);
    }

    /// The window field of a SYN, which is not shifted.
    pub(super) fn syn_window(&self) -> u16 {
        self.config.first_rcv_buf().min(u64::from(u16::MAX)) as u16
    }

    /// What an acknowledgement reports: what came twice first, then what came out of order.
    pub(super) fn take_blocks(&mut self) -> impl Iterator<Item = SackBlock> {
        let twice = self.reported_twice().filter(|_| self.config.dsack);
        self.twice = None;
        let (irs, fin_at) = (self.irs, self.fin_at);
        twice.into_iter().chain(self.data.latest()).map(move |(start, end)| {
            // A FIN behind what came has come with it.
            let end = end + u64::from(fin_at == Some(end));
            SackBlock { first: irs.plus(start as u32), end: irs.plus(end as u32) }
        })
    }

    /// What is missing, in segments of `unit` bytes: the first hole, and what follows it in as many whole bytes of
    /// the vector as there are, so that every bit says something; at most so many.
    pub(super) fn take_snack(&mut self, unit: u64, most: usize) -> Option<Snack> {
        self.twice = None;
        let (first, _) = self.data.stretches().next()?;
        let (_, highest) = self.data.stretches().last()?;
        let offset = self.data.next().saturating_sub(self.last_acked) / unit;
        let hole = self.last_acked + offset * unit;
        let size = first.saturating_sub(hole).div_ceil(unit);
        let behind = hole + size * unit;
        let bytes = (highest.saturating_sub(behind) / unit / 8).min(most as u64);
        let missing = |n: u64| {
            let (start, end) = (behind + n * unit, behind + (n + 1) * unit);
            !self.data.stretches().any(|(from, to)| from <= start && end <= to)
        };
        let byte = |n: u64| (0..8).fold(0, |bits, bit| bits << 1 | u8::from(missing(8 * n + bit)));
        Some(Snack {
            hole_offset: offset.min(u64::from(u16::MAX)) as u16,
            hole_size: size.min(u64::from(u16::MAX)) as u16,
            vector: (0..bytes).map(byte).collect(),
        })
    }

    /// The next bytes in order. A window that was nearly closed and opened by this is told.
    pub(super) fn read(&mut self) -> Option<Bytes> {
        let bytes = self.data.read()?;
        self.follow_reading();
        Some(bytes)
    }

    /// Something was read.
    #[inline(always)]
    pub(super) fn follow_reading(&mut self) {
        let opens = self.window.opens(self.next(), self.unread());
        self.acks.ask(opens && !self.fin_taken);
    }

    /// There is something new to read.
    pub(super) const fn is_readable(&self) -> bool {
        self.readable
    }

    /// There is something new to read; true once.
    pub(super) fn take_readable(&mut self) -> bool {
        std::mem::take(&mut self.readable)
    }

    /// The connection is gone. What was delivered can still be read.
    pub(super) fn drop_all(&mut self) {
        self.data.clear();
        self.acks.stop();
    }
}
