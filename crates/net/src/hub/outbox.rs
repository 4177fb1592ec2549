//! Datagrams that wait for the socket, one behind the other in one piece of memory.

use std::collections::VecDeque;
use std::net::SocketAddr;

use bytes::{Buf, BytesMut};

/// Where datagrams go, and whether they say that routers may mark them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct To {
    pub(super) address: SocketAddr,
    pub(super) ecn: bool,
}

/// Datagrams to be sent.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: BytesMut,
    datagrams: VecDeque<(To, usize)>,
}

/// Datagrams to one address, all as long as the first except that the last may be shorter: what a
/// socket with segmentation offload sends at once.
#[derive(Debug, PartialEq, Eq)]
pub struct Train<'a> {
    /// Where they go.
    pub address: SocketAddr,
    /// Whether they say that routers may mark them (ECT(0)).
    pub ecn: bool,
    /// All of them.
    pub bytes: &'a [u8],
    /// Length of each.
    pub each: usize,
}

/// Most bytes in a train.
const MOST_BYTES: usize = 60_000;

impl Outbox {
    /// Appends the datagram that `write` writes.
    pub(super) fn push(&mut self, to: To, write: impl FnOnce(&mut BytesMut)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        self.datagrams.push_back((to, self.bytes.len() - start));
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// The next train of at most `most` datagrams.
    pub fn front(&self, most: usize) -> Option<Train<'_>> {
        let &(first, each) = self.datagrams.front()?;
        let mut len = 0;
        for &(to, bytes) in self.datagrams.iter().take(most.max(1)) {
            if to != first || bytes > each || (len > 0 && len + bytes > MOST_BYTES) {
                break;
            }
            len += bytes;
            if bytes < each {
                break;
            }
        }
        let To { address, ecn } = first;
        Some(Train { address, ecn, bytes: &self.bytes[..len], each })
    }

    /// The train of so many bytes was sent, or can not be.
    pub fn pop(&mut self, mut bytes: usize) {
        self.bytes.advance(bytes);
        while bytes > 0
            && let Some((_, len)) = self.datagrams.pop_front()
        {
            bytes = bytes.saturating_sub(len);
        }
        if self.datagrams.is_empty() {
            self.bytes.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_train_ends_with_a_shorter_one_before_a_longer_one_another_address_or_mark() {
        let [here, there] = ["10.0.0.1:1", "10.0.0.2:1"].map(|a| a.parse().expect("an address"));
        let mut outbox = Outbox::default();
        let all = [(here, 5), (here, 5), (here, 3), (here, 3), (there, 3), (there, 4)];
        let all = all.map(|(to, len)| (to, true, len));
        for (address, ecn, len) in all.into_iter().chain([(there, false, 4)]) {
            outbox.push(To { address, ecn }, |out| out.resize(out.len() + len, len as u8));
        }
        let mut trains = Vec::new();
        while let Some(train) = outbox.front(64) {
            let len = train.bytes.len();
            trains.push((train.address, train.ecn, train.each, len));
            outbox.pop(len);
        }
        assert_eq!(
            trains,
            [
                (here, true, 5, 13),
                (here, true, 3, 3),
                (there, true, 3, 3),
                (there, true, 4, 4),
                (there, false, 4, 4),
            ]
        );
        assert!(outbox.is_empty());
    }
}
