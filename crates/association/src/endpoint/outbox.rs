//! Datagrams that wait for the socket, one behind the other in one piece of memory.

use std::collections::VecDeque;

use bentpipe_wire::Ecn;
use bytes::{Buf as _, Bytes, BytesMut};

use super::route::Route;

/// Datagrams to be sent.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: BytesMut,
    /// Where the datagrams begin, and where they end; what is behind them is a draft.
    sent: usize,
    waiting: usize,
    datagrams: VecDeque<Datagram>,
}

#[derive(Clone, Copy, Debug)]
struct Datagram {
    to: Route,
    ecn: Ecn,
    len: usize,
}

/// Datagrams of one route and of one mark, all as long as the first except that the last may be shorter: what a
/// socket with segmentation offload sends at once.
#[derive(Debug, PartialEq, Eq)]
pub struct Train<'a> {
    /// Where they go.
    pub route: Route,
    /// All of them.
    pub bytes: &'a [u8],
    /// Length of each.
    pub each: usize,
    /// ECN field of their IP headers.
    pub ecn: Ecn,
}

/// More bytes than a socket takes in a while.
const CROWDED: usize = 16_000_000;
/// Most bytes in a train.
const MOST_BYTES: usize = 60_000;

impl Outbox {
    /// Appends the datagram that `write` writes, with this ECN field in its IP header.
    pub fn push(&mut self, to: impl Into<Route>, ecn: Ecn, write: impl FnOnce(&mut BytesMut)) {
        self.draft(write);
        self.finish(to.into(), ecn, |_, _| {});
    }

    /// Writes what a datagram is to be made of behind those that wait. Then comes [`Outbox::finish`] or
    /// [`Outbox::withdraw`], before anything else.
    pub fn draft(&mut self, write: impl FnOnce(&mut BytesMut)) {
        if self.sent > 0 {
            // The socket was full before all was sent.
            self.bytes.advance(self.sent);
            self.waiting -= self.sent;
            self.sent = 0;
        }
        write(&mut self.bytes);
    }

    /// What was drafted.
    pub fn drafted(&self) -> &[u8] {
        &self.bytes[self.waiting..]
    }

    /// Takes the draft back.
    pub fn withdraw(&mut self) -> Bytes {
        let draft = Bytes::copy_from_slice(self.drafted());
        self.bytes.truncate(self.waiting);
        draft
    }

    /// Makes a datagram of the draft, which `finish` completes where it begins.
    pub fn finish(&mut self, to: Route, ecn: Ecn, finish: impl FnOnce(&mut BytesMut, usize)) {
        let start = self.waiting;
        finish(&mut self.bytes, start);
        self.waiting = self.bytes.len();
        self.datagrams.push_back(Datagram { to, ecn, len: self.waiting - start });
    }

    /// True when so much waits for a socket that is full that nobody gets an answer for which it need not be.
    pub fn is_crowded(&self) -> bool {
        self.bytes.len() - self.sent > CROWDED
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    /// The next train of at most `most` datagrams.
    pub fn front(&self, most: usize) -> Option<Train<'_>> {
        let &Datagram { to: route, ecn, len: each } = self.datagrams.front()?;
        let mut len = 0;
        for next in self.datagrams.iter().take(most.max(1)) {
            let fits = next.len <= each && (len == 0 || len + next.len <= MOST_BYTES);
            if (next.to, next.ecn) != (route, ecn) || !fits {
                break;
            }
            len += next.len;
            if next.len < each {
                break;
            }
        }
        Some(Train { route, bytes: &self.bytes[self.sent..self.sent + len], each, ecn })
    }

    /// The train of so many bytes was sent, or cannot be.
    pub fn pop(&mut self, mut bytes: usize) {
        self.sent += bytes;
        while bytes > 0
            && let Some(datagram) = self.datagrams.pop_front()
        {
            bytes = bytes.saturating_sub(datagram.len);
        }
        if self.datagrams.is_empty() {
            // The next ones are written where these were, in memory that is at hand.
            self.bytes.clear();
            (self.sent, self.waiting) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::BufMut as _;

    use super::*;

    #[test]
    fn a_train_has_one_mark() {
        let there: std::net::SocketAddr = "10.0.0.2:1".parse().expect("an address");
        let mut outbox = Outbox::default();
        for ecn in [Ecn::Capable0, Ecn::Capable0, Ecn::NotCapable] {
            outbox.push(there, ecn, |out| out.resize(out.len() + 5, 0));
        }
        let train = outbox.front(64).expect("a train");
        assert_eq!((train.bytes.len(), train.ecn), (10, Ecn::Capable0));
        outbox.pop(10);
        assert_eq!(outbox.front(64).map(|train| train.ecn), Some(Ecn::NotCapable));
    }

    #[test]
    fn a_train_ends_with_a_shorter_one_before_a_longer_one_or_another_address() {
        let [here, there]: [std::net::SocketAddr; 2] =
            ["10.0.0.1:1", "10.0.0.2:1"].map(|a| a.parse().expect("an address"));
        let mut outbox = Outbox::default();
        for (to, len) in [(here, 5), (here, 5), (here, 3), (here, 3), (there, 3), (there, 4)] {
            outbox.push(to, Ecn::Capable0, |out| out.resize(out.len() + len, len as u8));
        }
        let mut trains = Vec::new();
        while let Some(train) = outbox.front(64) {
            let len = train.bytes.len();
            trains.push((train.route.address, train.each, len));
            outbox.pop(len);
        }
        assert_eq!(trains, [(here, 5, 13), (here, 3, 3), (there, 3, 3), (there, 4, 4)]);
        assert!(outbox.is_empty());
    }

    #[test]
    fn drafts_follow_what_a_full_socket_has_left_and_leave_nothing_when_they_are_taken_back() {
        let there: std::net::SocketAddr = "10.0.0.2:1".parse().expect("an address");
        let mut outbox = Outbox::default();
        for byte in [b'a', b'b'] {
            outbox.push(there, Ecn::Capable0, |out| out.put_bytes(byte, 3));
        }
        outbox.pop(3);
        outbox.draft(|out| out.put_bytes(b'x', 5));
        assert_eq!(outbox.withdraw(), &b"xxxxx"[..]);
        outbox.draft(|out| out.put_bytes(b'c', 2));
        assert_eq!(outbox.drafted(), b"cc");
        assert_eq!(outbox.front(64).map(|train| train.bytes), Some(&b"bbb"[..]));
        outbox.finish(there.into(), Ecn::Capable0, |out, start| {
            out[start] = b'C';
            out.put_u8(b'!');
        });
        assert_eq!(outbox.front(64).map(|train| train.bytes), Some(&b"bbbCc!"[..]));
        outbox.pop(6);
        assert!(outbox.is_empty());
        outbox.push(there, Ecn::Capable0, |out| out.put_u8(b'd'));
        assert_eq!(outbox.front(64).map(|train| train.bytes), Some(&b"d"[..]));
    }
}
