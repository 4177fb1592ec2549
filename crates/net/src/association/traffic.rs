//! The keys of an association at work: sealing and opening datagrams.

use bytes::BytesMut;
use snow::StatelessTransportState;

use super::Security;
use super::datagram::{DATA, DATA_HEADER, Index, TAG};
use super::replay::ReplayWindow;

/// Bytes that an association adds to what it carries.
pub const OVERHEAD: usize = DATA_HEADER + TAG;

/// One set of keys.
#[derive(Debug)]
pub struct Traffic {
    security: Security,
    keys: StatelessTransportState,
    /// The peer's name for these keys.
    peer: Index,
    sent: u64,
    received: ReplayWindow,
}

impl Traffic {
    pub(super) const fn new(
        security: Security,
        keys: StatelessTransportState,
        peer: Index,
    ) -> Self {
        Self { security, keys, peer, sent: 0, received: ReplayWindow::new() }
    }

    /// Datagrams sealed so far.
    pub const fn sealed(&self) -> u64 {
        self.sent
    }

    /// Appends a datagram that carries `plain` to `out`. Its number is never used again.
    ///
    /// # Panics
    ///
    /// When `plain` is longer than a datagram can be.
    pub fn seal(&mut self, plain: &[u8], out: &mut BytesMut) {
        let start = out.len();
        let end = start + DATA_HEADER + plain.len() + TAG;
        out.resize(end, 0);
        let number = self.sent;
        self.sent += 1;
        out[start] = DATA + self.security.mark();
        out[start + 1..start + 4].copy_from_slice(&self.peer.to_bytes());
        out[start + 4..start + 7].copy_from_slice(&number.to_be_bytes()[5..]);
        let sealed = &mut out[start + DATA_HEADER..];
        let len = self.keys.write_message(number, plain, sealed).expect("a datagram fits");
        debug_assert_eq!(len, plain.len() + TAG);
    }

    /// Opens a datagram: appends what it carries to `out` and returns true if it is authentic and
    /// new. Returns its number, and whether it is the newest one so far.
    pub fn open(&mut self, low: u32, sealed: &[u8], out: &mut BytesMut) -> Option<Arrival> {
        let number = expand(low, self.received.next());
        if !self.received.is_new(number) {
            return None;
        }
        let start = out.len();
        // The cipher works in place and wants room for the tag.
        out.resize(start + sealed.len(), 0);
        match self.keys.read_message(number, sealed, &mut out[start..]) {
            Ok(len) => {
                out.truncate(start + len);
                let newest = number >= self.received.next();
                self.received.receive(number);
                Some(Arrival { number, newest })
            }
            Err(_) => {
                out.truncate(start);
                None
            }
        }
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
