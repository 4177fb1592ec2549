//! Datagrams of applications: a tunnel carries them, and those that have come wait for the application.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bentpipe_transport::xstp::Config;
use bentpipe_tunnel::{Datagram, Tunnel};
use bentpipe_units::{ByteCount, Span};
use bytes::Bytes;

use crate::key::PublicKey;

/// Bytes that datagrams of one peer may take where nobody says how many.
const MEMORY: ByteCount = ByteCount::new(44 << 20);
/// The part of them that wait for this host's application; the rest is the tunnel's.
const UNREAD_PART: u64 = 11;
/// What a datagram costs besides its bytes.
const AROUND: usize = 64;

/// How datagrams of applications are carried, in associations to come.
#[derive(Clone, Debug, Default)]
pub struct Datagrams {
    /// How long a lost one is worth waiting for; none for one and a half round trips of the path, zero for not at all.
    pub deadline: Option<Span>,
    /// Where the rate of a path is not known they share its window with connections of these settings. Without such settings
    /// they leave as they come.
    pub window: Option<Arc<Config>>,
    /// Bytes that those of one peer may take: sent, come and unread; 44 MiB where none are given. What is too much is lost.
    pub memory: Option<ByteCount>,
}

impl Datagrams {
    /// What may wait for this host's application.
    fn unread(&self) -> ByteCount {
        ByteCount::new(self.memory.unwrap_or(MEMORY).get() / UNREAD_PART)
    }

    /// What the tunnel may hold.
    pub(super) fn tunnel(&self) -> ByteCount {
        self.memory.unwrap_or(MEMORY) - self.unread()
    }
}

/// Datagrams that have come. Peers are read round robin, so that none keeps another's waiting.
#[derive(Debug)]
pub(super) struct Inbox {
    peers: BTreeMap<PublicKey, Unread>,
    /// Who was read last.
    last: Option<PublicKey>,
    waiting: Option<Waker>,
    /// Most bytes of one peer.
    most: usize,
}

#[derive(Debug, Default)]
struct Unread {
    datagrams: VecDeque<Datagram>,
    bytes: usize,
}

impl Default for Inbox {
    fn default() -> Self {
        let mut inbox = Self { peers: BTreeMap::new(), last: None, waiting: None, most: 0 };
        inbox.limit(&Datagrams::default());
        inbox
    }
}

impl Inbox {
    /// From now on so much of each peer may wait.
    pub(super) fn limit(&mut self, datagrams: &Datagrams) {
        self.most = usize::try_from(datagrams.unread().get()).unwrap_or(usize::MAX);
    }

    /// What has come through the tunnel of a peer; what is too much to wait is lost.
    pub(super) fn take(&mut self, from: PublicKey, tunnel: &mut Tunnel) {
        while let Some(datagram) = tunnel.poll_datagram() {
            self.push(from, datagram);
        }
    }

    fn push(&mut self, from: PublicKey, mut datagram: Datagram) {
        let unread = self.peers.entry(from).or_default();
        let bytes = size(&datagram);
        if unread.bytes + bytes <= self.most {
            // It does not hold what arrived beside it as well.
            datagram.bytes = Bytes::copy_from_slice(&datagram.bytes);
            unread.bytes += bytes;
            unread.datagrams.push_back(datagram);
            if let Some(waker) = self.waiting.take() {
                waker.wake();
            }
        }
    }

    /// The next one, and whose it is. Wakes the task when there is one.
    pub(super) fn poll(&mut self, cx: &Context<'_>) -> Poll<(PublicKey, Datagram)> {
        if let Some(datagram) = self.pop() {
            return Poll::Ready(datagram);
        }
        self.waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    fn pop(&mut self) -> Option<(PublicKey, Datagram)> {
        let after = self.last.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.peers.range((after, Bound::Unbounded)).next().map(|(peer, _)| *peer);
        let peer = next.or_else(|| self.peers.keys().next().copied())?;
        let unread = self.peers.get_mut(&peer)?;
        let datagram = unread.datagrams.pop_front()?;
        unread.bytes -= size(&datagram);
        if unread.datagrams.is_empty() {
            self.peers.remove(&peer);
        }
        self.last = Some(peer);
        Some((peer, datagram))
    }
}

/// Bytes that a datagram takes.
fn size(datagram: &Datagram) -> usize {
    datagram.label.len() + datagram.bytes.len() + AROUND
}

#[cfg(test)]
mod tests {
    use bentpipe_wire::Ecn;

    use super::*;

    fn datagram(bytes: &[u8]) -> Datagram {
        let bytes = Bytes::copy_from_slice(bytes);
        Datagram { flow: 1, ecn: Ecn::NotCapable, label: Bytes::new(), bytes }
    }

    #[test]
    fn what_nobody_reads_is_lost_and_takes_no_memory_and_no_place_of_others() {
        let mut inbox = Inbox::default();
        inbox
            .limit(&Datagrams { memory: Some(ByteCount::new(11_000_000)), ..Datagrams::default() });
        let most = 1_000_000;
        let [loud, quiet] = [1, 2].map(|n| crate::key::SecretKey::from_bytes([n; 32]).public());
        let each = 1_000 + AROUND;
        for _ in 0..2 * most / each {
            inbox.push(loud, datagram(&[7; 1_000]));
        }
        inbox.push(quiet, datagram(b"y"));
        let first = [inbox.pop(), inbox.pop()].map(|found| found.map(|(peer, _)| peer));
        assert!(first.contains(&Some(quiet)) && first.contains(&Some(loud)));
        let rest = std::iter::from_fn(|| inbox.pop()).count();
        assert_eq!(rest, most / each - 1);
        assert!(inbox.peers.is_empty());
    }
}
