//! Datagrams of applications: they may be lost, and nobody sends them again.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use bentpipe_units::{BitRate, ByteCount, Instant, Span};
use bytes::Bytes;

use super::association::Association;
use super::control::Control;
use super::outbox::Outbox;
use super::{AssociationId, Hub};
use crate::association::{MAC_LEN, OVERHEAD};
use crate::key::PublicKey;

/// Longest one: with what surrounds it, it fits into two datagrams on every path.
pub const MOST_DATAGRAM: usize = 2 * (super::path_mtu::BASE as usize - OVERHEAD - MAC_LEN);
/// How long one may wait for its turn on a link of a known rate.
const WAIT: Span = Span::from_millis(200);
/// Bytes that may wait in any case.
const LEAST: ByteCount = ByteCount::new(3_000);
/// Datagrams that wait for this host's application.
const UNREAD: usize = 1_024;

/// Datagrams that have come.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    datagrams: VecDeque<(PublicKey, Bytes)>,
    waiting: Option<Waker>,
}

impl Inbox {
    /// One has come; it is lost if too many wait.
    pub(super) fn push(&mut self, from: PublicKey, datagram: Bytes) {
        if self.datagrams.len() < UNREAD {
            self.datagrams.push_back((from, datagram));
            if let Some(waker) = self.waiting.take() {
                waker.wake();
            }
        }
    }
}

/// Datagrams that wait for their turn on a line.
#[derive(Debug, Default)]
pub(super) struct Queue {
    datagrams: VecDeque<Bytes>,
    bytes: ByteCount,
}

impl Queue {
    /// One more, on a line of this rate; false if it would wait for too long.
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

impl Association {
    /// Sends a datagram of an application.
    pub(super) fn send_datagram(&mut self, now: Instant, datagram: Bytes, outbox: &mut Outbox) {
        self.ways.used(now);
        let message = Control::Datagram(datagram);
        self.send(now, self.ways.main(), false, outbox, |out| message.put(out));
    }
}

impl Hub {
    /// Sends a datagram of at most [`MOST_DATAGRAM`] bytes to a peer. False if it is lost already: it is too
    /// long, there is no association, or the link has no room.
    pub fn send_datagram(&mut self, now: Instant, peer: PublicKey, datagram: Bytes) -> bool {
        let Some(&id) = self.by_peer.get(&peer) else { return false };
        let association = &mut self.associations[id];
        if datagram.len() > MOST_DATAGRAM || !association.is_up() {
            return false;
        }
        let link = association.ways.get(association.ways.main()).link;
        let Some(own) = &mut association.lines[link] else {
            association.send_datagram(now, datagram, &mut self.outbox);
            return true;
        };
        let fits = own.offer(datagram);
        self.lines[link].wake(own.member);
        fits
    }

    /// The next datagram that has come, and from whom.
    pub fn poll_datagram(&mut self, cx: &Context<'_>) -> Poll<(PublicKey, Bytes)> {
        if let Some(datagram) = self.inbox.datagrams.pop_front() {
            return Poll::Ready(datagram);
        }
        self.inbox.waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Sends the next datagram that waits for its turn; false when there is none.
    pub(super) fn send_queued(&mut self, now: Instant, link: usize, id: AssociationId) -> bool {
        let association = &mut self.associations[id];
        let next = association.lines[link].as_mut().and_then(|own| own.datagrams.pop());
        let sends = next.is_some();
        if let Some(datagram) = next {
            association.send_datagram(now, datagram, &mut self.outbox);
        }
        sends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_waits_than_the_line_carries_in_a_fifth_of_a_second() {
        let mut queue = Queue::default();
        let rate = BitRate::from_bps(1_000_000);
        let taken = (0..100).filter(|_| queue.push(Bytes::from_static(&[0; 1000]), rate)).count();
        assert_eq!(taken, 25);
        assert!(queue.pop().is_some() && queue.push(Bytes::from_static(&[0; 1000]), rate));
        let slow = BitRate::from_bps(1_000);
        assert!(Queue::default().push(Bytes::from_static(&[0; 1400]), slow));
    }

    #[test]
    fn what_nobody_reads_is_lost_and_takes_no_memory() {
        let mut inbox = Inbox::default();
        let peer = crate::key::SecretKey::from_bytes([1; 32]).public();
        for _ in 0..2 * UNREAD {
            inbox.push(peer, Bytes::from_static(b"x"));
        }
        assert_eq!(inbox.datagrams.len(), UNREAD);
    }
}
