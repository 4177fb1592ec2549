//! The receiving side: what arrives, what there is room for, and when a SACK says so.

use std::collections::VecDeque;
use std::sync::Arc;

use bentpipe_units::{Instant, Seq32};
use bentpipe_wire::sctp::{Data, Sack};
use bytes::Bytes;

use super::inbound::Inbound;
use super::tsn_map::TsnMap;
use super::{Config, Message, View};

/// What memory a chunk takes at least, whatever its length: many small ones must not take many times
/// the receive buffer.
const CHUNK_COST: usize = 64;
/// Most duplicates that a SACK tells.
const MOST_DUPLICATES: usize = 16;

/// What became of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It came for the first time.
    New,
    /// It came before.
    Duplicate,
    /// There is no room for it, or it is too far ahead.
    Refused,
}

/// The receiving side of an association.
#[derive(Debug)]
pub(super) struct Receiver {
    config: Arc<Config>,
    map: TsnMap,
    /// Number of the cumulative TSN, without its wrap.
    arrived: u64,
    inbound: Inbound,
    /// Messages of each stripe that wait for their turn in the plain view.
    stripes: Vec<VecDeque<Message>>,
    /// The stripe in turn.
    turn: usize,
    /// The rest of the message that the plain view is reading.
    rest: VecDeque<Bytes>,
    /// User bytes in `stripes` and `rest`.
    unread: usize,
    /// Bytes that were read and still count as unread.
    reserved: usize,
    duplicates: Vec<u32>,
    /// Packets with DATA since the last SACK.
    packets: u8,
    /// No packet with DATA has come yet.
    is_first: bool,
    /// A SACK is due at once.
    due: bool,
    /// A SACK is due then.
    deadline: Option<Instant>,
    /// No SACK leaves any more.
    stopped: bool,
    /// The window in the last SACK.
    told_window: u32,
    /// A gap was there when the last SACK was made.
    had_gaps: bool,
    readable: bool,
}

impl Receiver {
    /// A receiver for a peer whose first TSN is `first`.
    pub(super) fn new(config: Arc<Config>, first: Seq32) -> Self {
        let stripes = match config.view {
            View::Bytes { stripes } => (0..stripes).map(|_| VecDeque::new()).collect(),
            View::Messages => Vec::new(),
        };
        let told_window = config.rcv_buf.get() as u32; // at most 2 GiB
        Self {
            map: TsnMap::new(first),
            arrived: 1 << 32,
            inbound: Inbound::default(),
            stripes,
            turn: 0,
            rest: VecDeque::new(),
            unread: 0,
            reserved: 0,
            duplicates: Vec::new(),
            packets: 0,
            is_first: true,
            due: false,
            deadline: None,
            stopped: false,
            told_window,
            had_gaps: false,
            readable: false,
            config,
        }
    }

    /// Everything up to this TSN arrived.
    pub(super) const fn cumulative(&self) -> Seq32 {
        self.map.cumulative()
    }

    /// Unread bytes that take room in the receive buffer.
    fn charged(&self) -> usize {
        let exempt = if self.stripes.len() > 1 { self.config.stripe_buf.get() as usize } else { 0 };
        self.inbound.unread() + self.unread.saturating_sub(exempt) + self.reserved
    }

    /// Free bytes of the receive buffer.
    fn free(&self) -> usize {
        let size = self.config.rcv_buf.get() as usize;
        size.saturating_sub(self.charged() + self.inbound.held())
    }

    /// Whether there is room for a chunk. The one that everything waits for may go beyond the room that
    /// what waits for it has taken, or nothing would ever leave.
    fn has_room(&self, tsn: Seq32, length: usize) -> bool {
        let size = self.config.rcv_buf.get() as usize;
        if self.map.offset(tsn) == Some(1) && self.inbound.held_count() > 0 {
            return self.charged() + length <= size;
        }
        let cost = self.inbound.held_count() * CHUNK_COST;
        length <= self.free() && cost <= size.max(64 * CHUNK_COST)
    }

    /// A chunk arrived.
    pub(super) fn handle_data(&mut self, data: &mut Data) -> Arrival {
        let tsn = data.tsn;
        if self.map.contains(tsn) {
            if self.duplicates.len() < MOST_DUPLICATES {
                self.duplicates.push(tsn.get());
            }
            self.due = true;
            return Arrival::Duplicate;
        }
        if self.map.is_beyond(tsn) || !self.has_room(tsn, data.payload.len()) {
            self.due = true;
            return Arrival::Refused;
        }
        let before = self.map.cumulative();
        self.map.insert(tsn);
        let number = self.arrived + u64::from(tsn.distance_from(before));
        self.arrived += u64::from(self.map.cumulative().distance_from(before));
        self.readable |= self.inbound.take(number, std::mem::take(data));
        if self.inbound.held() * 2 > self.config.rcv_buf.get() as usize {
            self.readable |= self.inbound.deliver_in_parts(self.arrived);
        }
        self.sort_out();
        Arrival::New
    }

    /// Chunks that are counted as arrived although nobody takes them, on streams that are not there.
    pub(super) fn discard(&mut self, tsn: Seq32) {
        if !self.map.contains(tsn) && !self.map.is_beyond(tsn) {
            let before = self.map.cumulative();
            self.map.insert(tsn);
            self.arrived += u64::from(self.map.cumulative().distance_from(before));
        }
    }

    /// In the plain view, messages wait in their stripes for their turn.
    fn sort_out(&mut self) {
        if self.stripes.is_empty() {
            return;
        }
        while let Some(message) = self.inbound.pop() {
            self.unread += message.len();
            if message.unordered {
                self.rest.extend(message.pieces);
            } else if let Some(stripe) = self.stripes.get_mut(usize::from(message.stream)) {
                stripe.push_back(message);
            }
        }
    }

    /// A packet with DATA was processed: decides when the next SACK leaves (RFC 9260, section 6.2). The first one may be
    /// acknowledged at once (section 5.1).
    pub(super) fn packet_ended(&mut self, now: Instant, immediately: bool) {
        self.packets = self.packets.saturating_add(1);
        let gaps = self.map.has_gaps();
        let first = std::mem::take(&mut self.is_first) && self.config.sack_first;
        let enough = first || self.packets >= self.config.sack_every;
        if immediately || gaps || self.had_gaps || enough {
            self.due = true;
        }
        self.deadline.get_or_insert(now + self.config.sack_delay);
    }

    /// Lets the time pass.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_some_and(|at| at <= now) {
            self.due = true;
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline.filter(|_| !self.due && !self.stopped)
    }

    /// A SACK must leave now.
    pub(super) const fn is_due(&self) -> bool {
        self.due && !self.stopped
    }

    /// A SACK may leave, with DATA that leaves anyway.
    pub(super) const fn is_pending(&self) -> bool {
        !self.stopped && (self.due || self.deadline.is_some())
    }

    /// A SACK leaves at once.
    pub(super) const fn sack_now(&mut self) {
        self.due = true;
    }

    /// Length of a SACK that tells every gap.
    pub(super) fn report_len(&self) -> usize {
        Sack::FIXED + 4 * self.map.gap_count()
    }

    /// The SACK, in at most so many bytes: gaps first, then duplicates.
    pub(super) fn sack(&mut self, most_bytes: usize) -> Sack {
        let words = most_bytes.saturating_sub(Sack::FIXED) / 4;
        let gaps: smallvec::SmallVec<_> = self.map.gaps(words).collect();
        let duplicates = std::mem::take(&mut self.duplicates);
        let duplicates = duplicates.into_iter().take(words - gaps.len()).collect();
        self.told_window = self.window();
        self.had_gaps = self.map.has_gaps();
        (self.due, self.deadline, self.packets) = (false, None, 0);
        Sack { cumulative: self.map.cumulative(), window: self.told_window, gaps, duplicates }
    }

    /// The window to tell: nothing as long as it is too small to be of use (RFC 1122, section 4.2.3.3;
    /// RFC 9260, section 6.2).
    fn window(&self) -> u32 {
        let free = self.free();
        let step = self.step();
        if free < step && self.charged() > 0 { 0 } else { free as u32 }
    }

    /// The smallest enlargement of the window that is worth telling.
    fn step(&self) -> usize {
        let half = self.config.rcv_buf.get() as usize / 2;
        half.min(self.config.payload(self.config.mtu))
    }

    /// The next message.
    pub(super) fn receive(&mut self) -> Option<Message> {
        if !self.stripes.is_empty() {
            return None;
        }
        let message = self.inbound.pop()?;
        self.was_read();
        Some(message)
    }

    /// The next bytes of the plain view.
    pub(super) fn read(&mut self) -> Option<Bytes> {
        while self.rest.is_empty() {
            let message = self.stripes.get_mut(self.turn)?.pop_front()?;
            if message.complete {
                self.turn = (self.turn + 1) % self.stripes.len();
            }
            self.rest.extend(message.pieces);
        }
        let bytes = self.rest.pop_front()?;
        self.unread -= bytes.len();
        self.was_read();
        Some(bytes)
    }

    /// So many bytes that were read count as unread.
    pub(super) fn reserve(&mut self, bytes: usize) {
        let opens = bytes < self.reserved;
        self.reserved = bytes;
        if opens {
            self.was_read();
        }
    }

    /// Room was made: a sender that waits for it is told.
    fn was_read(&mut self) {
        if (self.told_window as usize) < self.step() && self.free() >= self.step() {
            self.due = true;
        }
    }

    /// Something arrived that the application was not told of.
    pub(super) const fn is_readable(&self) -> bool {
        self.readable
    }

    /// Something can be read; true once for each time.
    pub(super) const fn take_readable(&mut self) -> bool {
        std::mem::replace(&mut self.readable, false)
    }

    /// The peer sends no more, or is gone: no SACK leaves any more.
    pub(super) const fn stop(&mut self) {
        self.stopped = true;
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;
    use bentpipe_wire::sctp::DataFlags;

    use super::*;

    fn arrive(receiver: &mut Receiver, tsn: u32) -> Arrival {
        let mut data = Data {
            tsn: Seq32::new(tsn),
            ssn: tsn as u16,
            flags: DataFlags::WHOLE,
            payload: Bytes::from_static(&[7; 1452]),
            ..Data::default()
        };
        receiver.handle_data(&mut data)
    }

    #[test]
    fn there_is_room_for_the_chunk_that_all_others_wait_for() {
        let config = Config { rcv_buf: ByteCount::new(3_000), ..Config::default() };
        let mut receiver = Receiver::new(Arc::new(config), Seq32::new(0));
        assert_eq!([1, 2].map(|tsn| arrive(&mut receiver, tsn)), [Arrival::New; 2]);
        assert_eq!(arrive(&mut receiver, 3), Arrival::Refused, "the buffer is full");
        assert_eq!(arrive(&mut receiver, 0), Arrival::New);
        assert_eq!(arrive(&mut receiver, 3), Arrival::Refused, "nothing was read yet");
        assert_eq!(receiver.sack(500).window, 0);
        assert_eq!(std::iter::from_fn(|| receiver.read()).count(), 3);
        assert!(receiver.is_due(), "there is room again");
        assert_eq!(receiver.sack(500).window, 3_000);
    }
}
