//! What the connections of one association may hold: bytes that wait to be sent or acknowledged, and bytes
//! that wait for a reader or for a missing segment.
//!
//! What an allocator takes for each connection and segment counts too. Half of it is split evenly, so that each
//! connection is sure of its part and goes on whatever the others do; the other half is for whoever needs more. A
//! little more of each is for what is sent alone: who has to answer before he reads on could not, once what came had taken
//! everything. What does not fit waits with the writer. What arrives and does not fit is lost, and from then on the peer
//! gets no more credit than there is room, so that it retransmits only what fits; nothing that was acknowledged is
//! given up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bentpipe_units::ByteCount;

/// Most connections in one association; a peer that opens more is told that there is no such session.
const MOST_CONNECTIONS: usize = 65_536;
/// Room for which one more writer is woken.
const WRITE: usize = 64 * 1024;
/// Above this share of the common half what is kept is copied: it would otherwise hold what arrived beside it
/// as well, for others.
const TIGHT: usize = 32;

/// Connections that may be closing beside a quarter as many as there may be.
const CLOSING: usize = 8;
/// Most bytes that a connection may always send: some replies.
const REPLIES: usize = 4_096;
/// Bytes that a connection takes whatever it does; a test measures them.
pub(super) const CONNECTION: usize = 4_096;
/// Payloads that are shorter are copied when they arrive: each would otherwise hold a piece of memory that has room
/// for many.
pub(super) const SHORT: usize = 1_024;

/// What the connections of one peer may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowance {
    /// Of the common half.
    common: usize,
    /// What each is sure of.
    each: usize,
    /// What each is sure of besides, for what it sends.
    replies: usize,
    /// How many connections the peer may open.
    connections: usize,
    /// Of what came while parity is expected.
    parity: usize,
}

impl Allowance {
    /// No bound.
    pub(super) const UNLIMITED: Self = Self {
        common: usize::MAX,
        each: 0,
        replies: 0,
        connections: MOST_CONNECTIONS,
        parity: usize::MAX,
    };

    /// So many bytes for so many connections.
    pub(super) fn new(bytes: ByteCount, connections: usize) -> Self {
        let of_32 = |parts| usize::try_from(bytes.get() / 32 * parts).unwrap_or(usize::MAX);
        // What is taken is cut into segments later, each of which takes a little more.
        let (half, parity) = (of_32(13), of_32(2));
        // Those that are closing are there for a while beside those that follow them.
        let connections =
            connections.saturating_add(connections / 4 + CLOSING).min(MOST_CONNECTIONS);
        let (each, replies) = (half / connections, REPLIES.min(of_32(2) / connections));
        Self { common: half, each, replies, connections, parity }
    }
}

/// What the connections of one association hold.
#[derive(Debug)]
pub(super) struct Memory {
    allowance: Allowance,
    held: usize,
    /// Connections whose writers wait for room, each once.
    waiting: VecDeque<usize>,
    /// How many associations are tight.
    tight: Arc<AtomicUsize>,
}

impl Memory {
    pub(super) const fn new(allowance: Allowance, tight: Arc<AtomicUsize>) -> Self {
        Self { allowance, held: 0, waiting: VecDeque::new(), tight }
    }

    /// What all of them hold.
    pub(super) const fn held(&self) -> usize {
        self.held
    }

    /// Most bytes of what came that are kept while parity is expected.
    pub(super) const fn for_parity(&self) -> usize {
        self.allowance.parity
    }

    /// Whether the peer may open one more connection, if so many that it opened exist.
    pub(super) const fn has_place(&self, opened: usize) -> bool {
        opened < self.allowance.connections
    }

    /// How much more a connection may hold that holds so much.
    #[inline]
    pub(super) fn room(&self, holds: usize) -> usize {
        let common = self.allowance.common.saturating_sub(self.held);
        common.max(self.allowance.each.saturating_sub(holds))
    }

    /// The same for what it sends, of which it holds `unacknowledged` already.
    #[inline]
    pub(super) fn room_to_send(&self, holds: usize, unacknowledged: usize) -> usize {
        self.room(holds).max(self.allowance.replies.saturating_sub(unacknowledged))
    }

    /// Whether what arrives is to be copied if it is kept.
    #[inline]
    pub(super) const fn is_tight(&self) -> bool {
        self.held > self.allowance.common / TIGHT
    }

    /// A connection that held `before` holds `after` now.
    #[inline]
    pub(super) fn change(&mut self, before: usize, after: usize) {
        let was_tight = self.is_tight();
        self.held = self.held.saturating_sub(before).saturating_add(after);
        match (was_tight, self.is_tight()) {
            (false, true) => self.tight.fetch_add(1, Ordering::Relaxed),
            (true, false) => self.tight.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
    }

    /// Whether writers wait.
    #[inline]
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The writer of this connection waits.
    pub(super) fn wait(&mut self, connection: usize) {
        self.waiting.push_back(connection);
    }

    /// A connection that waited is gone.
    pub(super) fn forget(&mut self, connection: usize) {
        self.waiting.retain(|waiting| *waiting != connection);
    }

    /// Connections whose writers may go on, those that have waited longest.
    pub(super) fn take_waiting(&mut self) -> impl Iterator<Item = usize> + '_ {
        let places = self.allowance.common.saturating_sub(self.held) / WRITE;
        self.waiting.drain(..places.min(self.waiting.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_sure_of_its_part_and_all_of_them_hold_no_more_than_is_allowed() {
        let (bytes, connections) = (1_600_000, 10);
        let tight = Arc::new(AtomicUsize::new(0));
        let mut memory =
            Memory::new(Allowance::new(ByteCount::new(bytes), connections), tight.clone());
        let mut holds = vec![0; connections];
        // The first takes whatever it gets.
        while memory.room(holds[0]) >= 1_000 {
            memory.change(holds[0], holds[0] + 1_000);
            holds[0] += 1_000;
        }
        assert_eq!(holds[0], 650_000);
        for held in &mut holds[1..] {
            while memory.room(*held) >= 1_000 {
                memory.change(*held, *held + 1_000);
                *held += 1_000;
            }
            assert_eq!(*held, 32_000);
        }
        // Whoever has taken all of it can still answer.
        assert_eq!(memory.room(holds[0]), 0);
        assert_eq!(
            [0, 4_000, 4_096].map(|sent| memory.room_to_send(holds[0], sent)),
            [4_096, 96, 0]
        );
        assert_eq!(memory.held(), holds.iter().sum::<usize>());
        assert!(memory.held() <= bytes as usize && tight.load(Ordering::Relaxed) == 1);
        memory.change(holds[0], 0);
        assert_eq!(memory.room(holds[1]), 650_000 - 9 * 32_000);
        holds[1..].iter().for_each(|held| memory.change(*held, 0));
        assert_eq!(tight.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn writers_are_woken_in_turn_and_no_more_than_there_is_room_for() {
        let allowance =
            Allowance { common: 10 * WRITE, each: WRITE, replies: 0, connections: 10, parity: 0 };
        let mut memory = Memory::new(allowance, Arc::default());
        memory.change(0, 10 * WRITE);
        (0..5).for_each(|connection| memory.wait(connection));
        assert_eq!(memory.take_waiting().count(), 0);
        memory.change(2 * WRITE + 1, 1);
        assert!(memory.take_waiting().eq([0, 1]));
        memory.change(8 * WRITE, 0);
        assert!(memory.take_waiting().eq([2, 3, 4]));
    }

    #[test]
    fn without_a_bound_everything_fits_and_nothing_is_copied() {
        let mut memory = Memory::new(Allowance::UNLIMITED, Arc::default());
        memory.change(0, 1 << 40);
        assert!(memory.room(1 << 40) > 1 << 40 && !memory.is_tight());
    }
}
