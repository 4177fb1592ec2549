//! Datagrams of applications: they may be lost, and nobody sends them again.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::task::{Context, Poll, Waker};

use bentpipe_units::{BitRate, ByteCount, Span};
use bytes::Bytes;

use crate::key::PublicKey;
use crate::secure::{MAC_LEN, OVERHEAD};

/// Longest one: with what surrounds it, it fits into two datagrams on every path.
pub const MOST_DATAGRAM: usize = 2 * (super::path_mtu::BASE as usize - OVERHEAD - MAC_LEN);
/// How long one may wait for its round on a link of a known rate.
const WAIT: Span = Span::from_millis(200);
/// Bytes that may wait in any case.
const LEAST: ByteCount = ByteCount::new(3_000);
/// Datagrams of one peer that wait for this host's application.
const UNREAD: usize = 256;

/// Datagrams that have come. Peers are read round robin, so that none keeps another's waiting.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    peers: BTreeMap<PublicKey, VecDeque<Bytes>>,
    /// Who was read last.
    last: Option<PublicKey>,
    waiting: Option<Waker>,
}

impl Inbox {
    /// One has come; it is lost if too many of its sender wait, or if it is longer than any that is sent.
    pub(super) fn push(&mut self, from: PublicKey, datagram: &Bytes) {
        let waiting = self.peers.entry(from).or_default();
        if waiting.len() < UNREAD && datagram.len() <= MOST_DATAGRAM {
            // It does not hold what arrived beside it as well.
            waiting.push_back(Bytes::copy_from_slice(datagram));
            if let Some(waker) = self.waiting.take() {
                waker.wake();
            }
        }
    }

    /// The next one, and whose it is. Wakes the task when there is one.
    pub(super) fn poll(&mut self, cx: &Context<'_>) -> Poll<(PublicKey, Bytes)> {
        if let Some(datagram) = self.pop() {
            return Poll::Ready(datagram);
        }
        self.waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    fn pop(&mut self) -> Option<(PublicKey, Bytes)> {
        let after = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.peers.range((after, Bound::Unbounded)).next().map(|(peer, _)| *peer);
        let peer = next.or_else(|| self.peers.keys().next().copied())?;
        let waiting = self.peers.get_mut(&peer)?;
        let datagram = waiting.pop_front()?;
        if waiting.is_empty() {
            self.peers.remove(&peer);
        }
        self.last = Some(peer);
        Some((peer, datagram))
    }
}

/// Datagrams that wait for their round on a shaper.
#[derive(Debug)]
pub(super) struct Queue {
    datagrams: VecDeque<Bytes>,
    bytes: ByteCount,
}

impl Queue {
    pub(super) const fn new() -> Self {
        Self { datagrams: VecDeque::new(), bytes: ByteCount::ZERO }
    }

    /// One more, on a shaper of this rate; false if it would wait for too long.
    pub(super) fn push(&mut self, datagram: Bytes, rate: BitRate) -> bool {
        let room = rate.bytes_in(WAIT).max(LEAST);
        let bytes = self.bytes + ByteCount::new(datagram.len() as u64);
        let fits = bytes <= room;
        if fits {
            self.bytes = bytes;
            self.datagrams.push_back(datagram);
        }
        fits
    }

    /// The next one.
    pub(super) fn pop(&mut self) -> Option<Bytes> {
        let datagram = self.datagrams.pop_front()?;
        self.bytes -= ByteCount::new(datagram.len() as u64);
        Some(datagram)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_waits_than_the_line_carries_in_a_fifth_of_a_second() {
        let mut queue = Queue::new();
        let rate = BitRate::from_bps(1_000_000);
        let taken = (0..100).filter(|_| queue.push(Bytes::from_static(&[0; 1000]), rate)).count();
        assert_eq!(taken, 25);
        assert!(queue.pop().is_some() && queue.push(Bytes::from_static(&[0; 1000]), rate));
        let slow = BitRate::from_bps(1_000);
        assert!(Queue::new().push(Bytes::from_static(&[0; 1400]), slow));
    }

    #[test]
    fn what_nobody_reads_is_lost_and_takes_no_memory_and_no_place_of_others() {
        let mut inbox = Inbox::default();
        let [loud, quiet] = [1, 2].map(|n| crate::key::SecretKey::from_bytes([n; 32]).public());
        for _ in 0..2 * UNREAD {
            inbox.push(loud, &Bytes::from_static(b"x"));
        }
        inbox.push(quiet, &Bytes::from_static(b"y"));
        let first = [inbox.pop(), inbox.pop()].map(|found| found.map(|(peer, _)| peer));
        assert!(first.contains(&Some(quiet)) && first.contains(&Some(loud)));
        let rest = std::iter::from_fn(|| inbox.pop()).count();
        assert_eq!(rest, UNREAD - 1);
        assert!(inbox.peers.is_empty());
    }
}
