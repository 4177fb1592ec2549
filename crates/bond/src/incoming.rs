//! The receiver's part: chunks are put in order, and the sender is told how much may come.

use std::collections::{BTreeMap, VecDeque};

use bentpipe_units::{Instant, Span};
use bytes::{Buf as _, Bytes, BytesMut};

use crate::bond::BondError;

/// Pieces shorter than this are put together for the reader: each by itself costs more than it is long.
const SHORT: usize = 512;
/// What a piece that waits costs besides its bytes, and what some short ones may cost.
const AROUND: u64 = 64;
const FEW: u64 = 4 * 1024;
/// A piece for the reader is no longer than this and what came last.
const LONG: usize = 64 * 1024;
/// Most bytes that have come in order and of which the sender is not told; a part of the window where that is less.
const SILENT: u64 = 128 * 1024;
const PART: u64 = 8;
/// The same for longer than this.
const UNTOLD: u64 = 16 * 1024;
const UNTOLD_FOR: Span = Span::from_millis(100);
/// How much may come before the sender has been told anything.
pub(crate) const INITIAL: u64 = 64 * 1024;
/// So much more may come to a reader who has read everything, whatever room there is: two hosts whose memory is full of what
/// they have to send would wait for each other.
const LEAST: u64 = 512;
/// The window at first; it doubles when half of it was read.
const START: u64 = 1024 * 1024;

/// What came of a stream.
#[derive(Debug)]
pub(crate) struct Incoming {
    /// The largest window, the one of now, and what was read when that was changed.
    most: u64,
    window: u64,
    grown_at: u64,
    /// What more the host has memory for.
    room: u64,
    /// All before this has come in order, and all before that was read.
    next: u64,
    read: u64,
    /// Pieces behind `next`. They do not overlap.
    waiting: BTreeMap<u64, Bytes>,
    /// What they cost.
    cost: u64,
    /// What waits for the reader, and short pieces that come after it.
    ready: VecDeque<Bytes>,
    short: BytesMut,
    /// Nobody reads any more.
    is_refused: bool,
    /// What may come before the sender was told anything counts as held.
    is_counted: bool,
    total: Option<u64>,
    /// What the sender was told: delivered, and the limit.
    told: (u64, u64),
    told_at: Instant,
}

impl Incoming {
    pub(crate) fn new(most: u64) -> Self {
        Self {
            most,
            window: most.min(START),
            grown_at: 0,
            room: most,
            next: 0,
            read: 0,
            waiting: BTreeMap::new(),
            cost: 0,
            ready: VecDeque::new(),
            short: BytesMut::new(),
            is_refused: false,
            is_counted: false,
            total: None,
            told: (0, INITIAL),
            told_at: Instant::ZERO,
        }
    }

    /// A piece of the stream came. What came before is no news.
    pub(crate) fn handle_data(&mut self, offset: u64, bytes: Bytes) -> Result<(), BondError> {
        let end = offset + bytes.len() as u64;
        if end > self.told.1 || self.total.is_some_and(|total| end > total) {
            return Err(BondError::Window);
        }
        let (mut offset, mut bytes) = (offset, bytes);
        if offset < self.next {
            bytes.advance((self.next.min(end) - offset) as usize);
            offset = self.next;
        }
        if offset == self.next && self.waiting.is_empty() {
            if !bytes.is_empty() {
                self.arrived(bytes);
            }
            return Ok(());
        }
        self.insert(offset, bytes);
        // Each honest piece is at least a chunk's part of a segment long, but for a few.
        if self.cost > 2 * (self.told.1 - self.next) + FEW {
            return Err(BondError::Window);
        }
        while let Some(first) = self.waiting.first_entry().filter(|first| *first.key() == self.next)
        {
            let bytes = first.remove();
            self.cost -= bytes.len() as u64 + AROUND;
            self.arrived(bytes);
        }
        Ok(())
    }

    /// These bytes come next in the stream.
    fn arrived(&mut self, bytes: Bytes) {
        self.next += bytes.len() as u64;
        if self.is_refused {
            return;
        }
        let is_short = bytes.len() < SHORT;
        if !self.short.is_empty() && (!is_short || self.short.len() >= LONG) {
            self.ready.push_back(std::mem::take(&mut self.short).freeze());
        }
        if is_short {
            self.short.extend_from_slice(&bytes);
        } else {
            self.ready.push_back(bytes);
        }
    }

    /// Keeps of a piece what is not known yet.
    fn insert(&mut self, mut offset: u64, mut bytes: Bytes) {
        while !bytes.is_empty() {
            if let Some((known, piece)) = self.waiting.range(..=offset).next_back() {
                let behind = (known + piece.len() as u64).saturating_sub(offset);
                let cut = behind.min(bytes.len() as u64);
                bytes.advance(cut as usize);
                offset += cut;
            }
            let next = self.waiting.range(offset..).next().map_or(u64::MAX, |(next, _)| *next);
            let len = (next - offset).min(bytes.len() as u64);
            let piece = bytes.split_to(len as usize);
            if !piece.is_empty() {
                self.keep(offset, piece);
                offset += len;
            }
        }
    }

    /// Keeps a piece; a short one with the short one that it follows.
    fn keep(&mut self, offset: u64, piece: Bytes) {
        let len = piece.len() as u64;
        self.cost += len;
        if let Some((known, before)) = self.waiting.range_mut(..offset).next_back()
            && known + before.len() as u64 == offset
            && before.len().max(piece.len()) < SHORT
        {
            *before = [&before[..], &piece].concat().into();
            return;
        }
        self.cost += AROUND;
        self.waiting.insert(offset, piece);
    }

    /// The stream has this length.
    pub(crate) fn handle_end(&mut self, total: u64) -> Result<(), BondError> {
        let highest = self.waiting.last_key_value();
        let highest = highest.map_or(self.next, |(offset, piece)| offset + piece.len() as u64);
        if total < highest || self.total.is_some_and(|known| known != total) {
            return Err(BondError::End);
        }
        self.total = Some(total);
        Ok(())
    }

    /// The next bytes in order.
    pub(crate) fn read(&mut self) -> Option<Bytes> {
        let short =
            |short: &mut BytesMut| (!short.is_empty()).then(|| std::mem::take(short).freeze());
        let bytes = self.ready.pop_front().or_else(|| short(&mut self.short))?;
        self.read += bytes.len() as u64;
        if self.read - self.grown_at >= self.window / 2 {
            (self.window, self.grown_at) = ((2 * self.window).min(self.most), self.read);
        }
        Some(bytes)
    }

    /// What comes is dropped, and the sender is given no more room for it.
    pub(crate) fn refuse(&mut self) {
        self.is_refused = true;
        self.ready.clear();
        self.short.clear();
    }

    /// Whether all that may still come counts as held, from now on at least: what may come before the sender was told anything
    /// does not, and needs `room`.
    pub(crate) const fn makes_place(&mut self, room: u64) -> bool {
        self.is_counted |= room >= self.uncounted();
        self.has_place()
    }

    const fn has_place(&self) -> bool {
        self.is_counted || self.told.1 > INITIAL || self.next >= INITIAL
    }

    /// Whether everything has come.
    pub(crate) fn is_complete(&self) -> bool {
        self.total == Some(self.next)
    }

    /// Whether everything was read.
    pub(crate) fn has_ended(&self) -> bool {
        self.total == Some(self.read)
    }

    /// Bytes that came in order.
    pub(crate) const fn delivered(&self) -> u64 {
        self.next
    }

    /// Bytes that wait here, and those for which the sender was given room.
    pub(crate) fn held(&self) -> usize {
        let may_come = self.told.1.min(self.total.unwrap_or(u64::MAX));
        let given = if self.has_place() { may_come.saturating_sub(self.next) } else { 0 };
        let unread = if self.is_refused { 0 } else { self.next - self.read };
        (self.cost + unread + given) as usize
    }

    /// Whether something waits for the reader.
    pub(crate) fn is_readable(&self) -> bool {
        !self.ready.is_empty() || !self.short.is_empty()
    }

    /// The host has memory for so much more.
    pub(crate) const fn set_room(&mut self, room: u64) {
        self.room = room;
    }

    /// Delivered and limit, if the sender is to be told.
    pub(crate) fn status(&self, time: Instant) -> Option<(u64, u64)> {
        let window = if self.is_refused { 0 } else { self.window };
        let keeps_up = self.read == self.told.1;
        let room = self.room.saturating_sub(self.uncounted());
        let room = if keeps_up { room.max(LEAST) } else { room };
        let limit = self.read.saturating_add(window).min(self.told.1.saturating_add(room));
        let now = (self.next, limit.max(self.told.1));
        let step = (self.window / PART).clamp(1, SILENT);
        let is_news = match self.is_complete() {
            true => now.0 > self.told.0,
            false => {
                let is_blocked = self.told.1 == self.next && now.1 > self.told.1;
                let is_late = self.status_due().is_some_and(|due| due <= time);
                is_blocked || is_late || now.0 - self.told.0 >= step || now.1 - self.told.1 >= step
            }
        };
        is_news.then_some(now)
    }

    /// Bytes that may come and do not count as held before the sender was told anything.
    const fn uncounted(&self) -> u64 {
        if self.has_place() { 0 } else { INITIAL - self.next }
    }

    /// When the sender is to be told in any case, so that it keeps nothing for long.
    pub(crate) fn status_due(&self) -> Option<Instant> {
        (self.next - self.told.0 >= UNTOLD).then_some(self.told_at + UNTOLD_FOR)
    }

    /// The sender is told this.
    pub(crate) const fn tell(&mut self, now: Instant, status: (u64, u64)) {
        self.told_at = now;
        let given = status.1 - self.told.1;
        let first = if given > 0 { self.uncounted() } else { 0 };
        self.room = self.room.saturating_sub(given + first);
        self.told = status;
    }

    /// What the sender was told last may not reach it.
    pub(crate) const fn told(&self) -> (u64, u64) {
        self.told
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WINDOW: u64 = 1_000_000;
    const NOW: Instant = Instant::ZERO;

    fn all(incoming: &mut Incoming) -> Vec<u8> {
        std::iter::from_fn(|| incoming.read()).flatten().collect()
    }

    proptest! {
        #[test]
        fn pieces_that_overlap_and_come_in_any_order_make_the_stream(
            pieces in prop::collection::vec((0usize..300, 1usize..80), 1..60),
        ) {
            let stream: Vec<u8> = (0..300u32).map(|n| (n * 7) as u8).collect();
            let mut incoming = Incoming::new(WINDOW);
            let mut read = Vec::new();
            let whole = [(0, 150), (150, 150)];
            for (offset, len) in pieces.into_iter().chain(whole) {
                let piece = &stream[offset..(offset + len).min(300)];
                incoming.handle_data(offset as u64, Bytes::copy_from_slice(piece)).expect("room");
                read.extend(all(&mut incoming));
                prop_assert_eq!(&read[..], &stream[..read.len()]);
            }
            prop_assert_eq!(read, stream);
            prop_assert_eq!((incoming.held(), incoming.delivered()), (0, 300));
        }
    }

    #[test]
    fn what_exceeds_the_window_or_the_end_is_refused() {
        let mut incoming = Incoming::new(WINDOW);
        let piece = |len| Bytes::from(vec![0; len]);
        assert_eq!(incoming.handle_data(INITIAL - 10, piece(11)), Err(BondError::Window));
        assert_eq!(incoming.handle_data(INITIAL - 10, piece(10)), Ok(()));
        assert_eq!(incoming.handle_end(INITIAL - 1), Err(BondError::End));
        assert_eq!(incoming.handle_end(INITIAL), Ok(()));
        assert_eq!(incoming.handle_end(INITIAL + 1), Err(BondError::End));
        let mut incoming = Incoming::new(INITIAL);
        let single = (1..INITIAL).step_by(2).map(|at| incoming.handle_data(at, piece(1)));
        assert!(single.into_iter().any(|taken| taken.is_err()), "each costs more than a byte");
    }

    #[test]
    fn no_more_is_given_than_there_is_memory_for_and_it_counts_as_held() {
        let mut incoming = Incoming::new(8_000_000);
        incoming.set_room(250_000);
        assert_eq!(incoming.held(), 0, "it comes before anything was given");
        let given = incoming.status(NOW).expect("news");
        assert_eq!(given, (0, 250_000));
        incoming.tell(NOW, given);
        assert_eq!(incoming.held(), 250_000);
        incoming.set_room(0);
        assert_eq!(incoming.status(NOW), None);
        let mut incoming = Incoming::new(8_000_000);
        assert_eq!(incoming.status(NOW), Some((0, START)));
        incoming.tell(NOW, (0, START));
        incoming.handle_data(0, Bytes::from(vec![0; START as usize])).expect("room");
        all(&mut incoming);
        assert_eq!(incoming.status(NOW), Some((START, 3 * START)), "it has doubled");
    }

    #[test]
    fn what_was_given_is_given_once_and_a_reader_who_keeps_up_gets_a_little_more() {
        let mut incoming = Incoming::new(8_000_000);
        incoming.set_room(200_000);
        let given = INITIAL + 200_000;
        incoming.tell(NOW, (0, given));
        incoming.handle_data(0, Bytes::from(vec![0; INITIAL as usize])).expect("room");
        all(&mut incoming);
        assert_eq!(incoming.status(NOW), None, "there is no memory for more");
        incoming.handle_data(INITIAL, Bytes::from(vec![0; 200_000])).expect("room");
        assert_eq!(incoming.status(NOW), Some((given, given)), "nobody has read it");
        all(&mut incoming);
        assert_eq!(incoming.status(NOW), Some((given, given + LEAST)));
    }

    #[test]
    fn what_comes_before_the_sender_was_told_anything_counts_from_when_there_is_room_for_it() {
        let mut incoming = Incoming::new(WINDOW);
        incoming.handle_data(0, Bytes::from(vec![0; 10_000])).expect("room");
        assert!(!incoming.makes_place(INITIAL - 10_001));
        assert_eq!(incoming.held(), 10_000);
        assert!(incoming.makes_place(INITIAL - 10_000) && incoming.makes_place(0));
        assert_eq!(incoming.held(), INITIAL as usize);
    }

    #[test]
    fn pieces_behind_a_gap_cost_little_more_than_the_sender_was_given() {
        let mut incoming = Incoming::new(20_000_000);
        let every_other = (1..INITIAL).step_by(2);
        let taken = every_other.map(|at| incoming.handle_data(at, Bytes::from_static(b"x")));
        let taken = taken.take_while(Result::is_ok).count() as u64;
        assert!(taken < INITIAL / 4, "{taken} pieces of a byte");
        assert!(incoming.held() as u64 <= 2 * INITIAL + FEW + 2 * AROUND);
    }

    #[test]
    fn an_honest_sender_may_write_in_pieces_of_ten_bytes_behind_a_gap() {
        for room in [INITIAL, 2_000] {
            let mut incoming = Incoming::new(20_000_000);
            let from = INITIAL - room;
            incoming.handle_data(0, Bytes::from(vec![0; from as usize])).expect("room");
            let count = room / 10;
            for at in (1..count).map(|n| from + 10 * n) {
                incoming.handle_data(at, Bytes::from_static(b"ten bytes.")).expect("room");
            }
            incoming.handle_data(from, Bytes::from_static(b"ten bytes.")).expect("room");
            assert_eq!(incoming.delivered(), from + 10 * count);
            assert_eq!(all(&mut incoming)[from as usize..], b"ten bytes.".repeat(count as usize));
        }
    }

    #[test]
    fn short_pieces_are_put_together_and_no_longer_than_the_reader_can_pass_on() {
        let mut incoming = Incoming::new(WINDOW);
        incoming.tell(NOW, (0, WINDOW));
        for at in (0..500_000).step_by(500) {
            incoming.handle_data(at, Bytes::from(vec![0; 500])).expect("room");
        }
        let longest = std::iter::from_fn(|| incoming.read()).map(|piece| piece.len()).max();
        assert!(longest.is_some_and(|len| (LONG..LONG + SHORT).contains(&len)), "{longest:?}");
    }

    #[test]
    fn where_everything_has_come_no_memory_is_kept_for_more() {
        let mut incoming = Incoming::new(WINDOW);
        incoming.tell(NOW, (0, WINDOW));
        incoming.handle_data(0, Bytes::from(vec![0; 100_000])).expect("room");
        assert_eq!(incoming.held(), WINDOW as usize);
        incoming.handle_end(100_000).expect("an end");
        assert_eq!(incoming.held(), 100_000, "it was not read");
        all(&mut incoming);
        assert_eq!(incoming.held(), 0);
    }

    #[test]
    fn what_nobody_reads_any_more_is_not_kept_and_no_more_may_come_than_was_given() {
        let mut incoming = Incoming::new(WINDOW);
        incoming.tell(NOW, (0, WINDOW));
        incoming.handle_data(0, Bytes::from(vec![0; 200_000])).expect("room");
        assert_eq!(incoming.held(), WINDOW as usize);
        incoming.refuse();
        incoming.handle_data(200_000, Bytes::from(vec![0; 300_000])).expect("room");
        assert_eq!((incoming.read(), incoming.held()), (None, 500_000), "what may still come");
        assert_eq!(
            incoming.status(NOW),
            Some((500_000, WINDOW)),
            "how far it is, and no more room"
        );
        incoming.handle_end(500_000).expect("an end");
        assert!(incoming.is_complete());
    }

    #[test]
    fn the_sender_is_told_the_window_and_how_far_it_is_and_the_end() {
        let mut incoming = Incoming::new(WINDOW);
        assert_eq!(incoming.status(NOW), Some((0, WINDOW)));
        incoming.tell(NOW, (0, WINDOW));
        incoming.handle_data(0, Bytes::from(vec![0; 124_000])).expect("room");
        assert_eq!(incoming.status(Instant::ZERO + Span::from_millis(99)), None);
        let told = incoming.status(Instant::ZERO + Span::from_millis(100));
        assert_eq!(told, Some((124_000, WINDOW)));
        incoming.handle_end(124_001).expect("an end");
        incoming.handle_data(124_000, Bytes::from(vec![0; 1])).expect("room");
        assert_eq!(incoming.status(NOW), Some((124_001, WINDOW)));
        incoming.tell(NOW, (124_001, WINDOW));
        assert!(incoming.is_complete() && !incoming.has_ended());
        all(&mut incoming);
        assert!(incoming.has_ended());
        assert_eq!(incoming.status(NOW), None, "nothing more may come");
    }
}
