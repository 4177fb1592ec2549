//! The keys of an association at work: sealing and opening datagrams.

use bytes::BytesMut;

use super::Security;
use super::cipher::Cipher;
use super::datagram::{DATA, DATA_HEADER, Index, TAG};
use super::keyring::Sealed;
use super::replay::ReplayWindow;

/// Bytes that an association adds to what it carries.
pub const OVERHEAD: usize = DATA_HEADER + TAG;

/// Room in front of what a datagram carries.
pub const FRONT: usize = DATA_HEADER;

/// No more than so many datagrams are sealed or opened with one set of keys.
const MOST_NUMBER: u64 = 1 << 60;

/// Room for what several datagrams carry, in bytes.
const ROOM: usize = 16 * 1024;

/// One set of keys.
#[derive(Debug)]
pub struct Traffic {
    security: Security,
    sending: Cipher,
    receiving: Cipher,
    /// The peer's name for these keys.
    peer: Index,
    sent: u64,
    received: ReplayWindow,
}

impl Traffic {
    pub(super) const fn new(
        security: Security,
        sending: Cipher,
        receiving: Cipher,
        peer: Index,
    ) -> Self {
        Self { security, sending, receiving, peer, sent: 0, received: ReplayWindow::new() }
    }

    /// Makes a datagram of what begins at `start` of `out`: [`FRONT`] bytes of any value, then what it
    /// carries. Its number is never used again.
    ///
    /// # Panics
    ///
    /// When `out` is shorter than that, or after 2^60 datagrams.
    pub fn seal(&mut self, out: &mut BytesMut, start: usize) {
        let number = self.sent;
        assert!(number < MOST_NUMBER, "keys are renewed long before");
        self.sent += 1;
        let (front, text) = out[start..].split_at_mut(FRONT);
        front[0] = DATA + self.security.mark();
        front[1..4].copy_from_slice(&self.peer.to_bytes());
        front[4..].copy_from_slice(&number.to_be_bytes()[5..]);
        let tag = self.sending.seal(number, &[], text);
        out.extend_from_slice(&tag);
    }

    /// Opens a datagram: appends what it carries to `out` if it is authentic and new. Returns its number, and
    /// whether it is the newest one so far.
    pub fn open(&mut self, low: u32, sealed: &[u8], out: &mut BytesMut) -> Option<Arrival> {
        let number = expand(low, self.received.next());
        if number >= MOST_NUMBER || !self.received.is_new(number) {
            return None;
        }
        let start = out.len();
        if out.capacity() - start < sealed.len() {
            out.reserve(sealed.len().max(ROOM));
        }
        out.extend_from_slice(sealed);
        let Some(len) = self.receiving.open(number, &[], &mut out[start..]) else {
            out.truncate(start);
            return None;
        };
        out.truncate(start + len);
        let newest = number >= self.received.next();
        self.received.receive(number);
        Some(Arrival { number, newest })
    }
}

impl Sealed for Traffic {
    fn sealed(&self) -> u64 {
        self.sent
    }
}

/// An authentic datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number in full.
    pub number: u64,
    /// It is the newest of its association: only such a one may move it to another address.
    pub newest: bool,
}

/// The number nearest to `next` whose lower 24 bits are these (RFC 9000, appendix A.3).
const fn expand(low: u32, next: u64) -> u64 {
    const SPACE: u64 = Index::COUNT as u64;
    let candidate = next & !(SPACE - 1) | low as u64;
    if candidate + SPACE / 2 <= next {
        candidate + SPACE
    } else if candidate > next + SPACE / 2 && candidate >= SPACE {
        candidate - SPACE
    } else {
        candidate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_number_is_expanded_to_the_nearest() {
        assert_eq!(expand(5, 0), 5);
        assert_eq!(expand(0, (1 << 24) - 1), 1 << 24);
        assert_eq!(expand(0xff_ffff, 1 << 24), (1 << 24) - 1);
        assert_eq!(expand(7, (9 << 24) + 3), (9 << 24) + 7);
    }
}
