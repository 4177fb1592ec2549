//! Messages that wait to be sent, in the order in which they were handed over.

use std::collections::VecDeque;

use bentpipe_wire::sctp::DataFlags;
use bytes::Bytes;

/// A piece of a message, all but its TSN.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    pub(super) stream: u16,
    pub(super) ssn: u16,
    pub(super) ppid: u32,
    pub(super) flags: DataFlags,
    pub(super) payload: Bytes,
}

/// A message of which some bytes are not sent yet.
#[derive(Debug)]
struct Waiting {
    stream: u16,
    ppid: u32,
    unordered: bool,
    /// Its first piece has left and gave it this number.
    begun: Option<u16>,
    rest: Bytes,
}

/// Messages that wait to be sent. Streams take turns as the application gave them.
#[derive(Debug, Default)]
pub(super) struct SendQueue {
    messages: VecDeque<Waiting>,
    bytes: usize,
    /// The next number of each stream that was used.
    next_ssn: Vec<u16>,
}

impl SendQueue {
    /// Bytes that wait.
    pub(super) const fn len(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, stream: u16, ppid: u32, unordered: bool, rest: Bytes) {
        self.bytes += rest.len();
        self.messages.push_back(Waiting { stream, ppid, unordered, begun: None, rest });
    }

    /// Length of the next piece where the longest is `most`; 0 when nothing waits.
    pub(super) fn next_len(&self, most: usize) -> usize {
        self.messages.front().map_or(0, |message| message.rest.len().min(most))
    }

    /// Takes the next piece, of at most `most` bytes.
    pub(super) fn take(&mut self, most: usize) -> Option<Fragment> {
        let message = self.messages.front_mut()?;
        let mut flags = DataFlags::default();
        let ssn = match message.begun {
            Some(ssn) => ssn,
            None => {
                flags = flags.with(DataFlags::BEGIN);
                let ssn = number(&mut self.next_ssn, message.stream, message.unordered);
                message.begun = Some(ssn);
                ssn
            }
        };
        let payload = message.rest.split_to(message.rest.len().min(most));
        self.bytes -= payload.len();
        if message.unordered {
            flags = flags.with(DataFlags::UNORDERED);
        }
        let (stream, ppid) = (message.stream, message.ppid);
        if message.rest.is_empty() {
            flags = flags.with(DataFlags::END);
            self.messages.pop_front();
        }
        Some(Fragment { stream, ssn, ppid, flags, payload })
    }

    /// Forgets everything, the numbers of streams included.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Forgets messages on streams from `count` on, which the peer does not take.
    pub(super) fn limit_streams(&mut self, count: u16) {
        self.messages.retain(|message| message.stream < count);
        self.bytes = self.messages.iter().map(|message| message.rest.len()).sum();
    }
}

/// The number of the next message of a stream; unordered ones have none.
fn number(next: &mut Vec<u16>, stream: u16, unordered: bool) -> u16 {
    if unordered {
        return 0;
    }
    let stream = usize::from(stream);
    if next.len() <= stream {
        next.resize(stream + 1, 0);
    }
    let ssn = next[stream];
    next[stream] = ssn.wrapping_add(1);
    ssn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_leaves_in_pieces_of_one_number() {
        let mut queue = SendQueue::default();
        queue.push(3, 9, false, Bytes::from_static(b"abcdefgh"));
        queue.push(3, 9, false, Bytes::from_static(b"ij"));
        queue.push(4, 9, true, Bytes::from_static(b"k"));
        let mut pieces = Vec::new();
        while let Some(piece) = queue.take(3) {
            pieces.push((piece.stream, piece.ssn, piece.flags.bits(), piece.payload.len()));
        }
        assert_eq!(pieces, [(3, 0, 2, 3), (3, 0, 0, 3), (3, 0, 1, 2), (3, 1, 3, 2), (4, 0, 7, 1)]);
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn numbers_of_a_stream_wrap() {
        let mut next = vec![0, u16::MAX];
        assert_eq!((number(&mut next, 1, false), number(&mut next, 1, false)), (u16::MAX, 0));
        assert_eq!(number(&mut next, 0, true), 0);
        assert_eq!(number(&mut next, 0, false), 0);
    }
}
