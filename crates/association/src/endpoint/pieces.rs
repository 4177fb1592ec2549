//! Datagrams that have become too long for the path: segments cut when it carried more, or a report that
//! found its way into a full segment. They go as two.

use bytes::{Bytes, BytesMut};

/// Halves that wait for the other one. More wait only if many got lost, and then the oldest give way.
const WAITING: usize = 16;

/// Longest half. A datagram is cut in two where it is longer than the path carries.
const MOST: usize = 1_500;

/// The halves of one association.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// Number of the next datagram that is cut.
    next: u32,
    waiting: Vec<Piece>,
}

/// Half of what was too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The same for both halves, below 2^31. Halves whose other one was lost wait for long: a number that comes
    /// again would join what does not belong together.
    pub(super) id: u32,
    /// It is the second one.
    pub(super) second: bool,
    /// Its bytes.
    pub(super) bytes: Bytes,
}

impl Pieces {
    /// The number of the next datagram that is cut.
    pub(super) fn number(&mut self) -> u32 {
        self.next = (self.next + 1) & (u32::MAX >> 1);
        self.next
    }

    /// The halves that wait are nobody's any more.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
    }

    /// A half arrived. Returns the whole once both are here.
    pub(super) fn join(&mut self, mut piece: Piece) -> Option<Bytes> {
        if piece.bytes.len() > MOST {
            return None;
        }
        let fits = |other: &Piece| other.id == piece.id && other.second != piece.second;
        let Some(at) = self.waiting.iter().position(fits) else {
            if self.waiting.len() == WAITING {
                self.waiting.remove(0);
            }
            // It does not hold what arrived beside it as well.
            piece.bytes = Bytes::copy_from_slice(&piece.bytes);
            self.waiting.push(piece);
            return None;
        };
        let other = self.waiting.remove(at);
        let (first, second) = if piece.second { (other, piece) } else { (piece, other) };
        let mut whole = BytesMut::from(first.bytes);
        whole.extend_from_slice(&second.bytes);
        Some(whole.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(id: u32, second: bool, bytes: &'static [u8]) -> Piece {
        Piece { id, second, bytes: Bytes::from_static(bytes) }
    }

    #[test]
    fn two_halves_make_a_whole_in_any_order() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.join(piece(1, false, b"one ")), None);
        assert_eq!(pieces.join(piece(2, true, b"four")), None);
        assert_eq!(pieces.join(piece(2, false, b"three ")).as_deref(), Some(&b"three four"[..]));
        assert_eq!(pieces.join(piece(1, true, b"two")).as_deref(), Some(&b"one two"[..]));
        assert!(pieces.waiting.is_empty());
    }

    #[test]
    fn lost_halves_do_not_pile_up() {
        let mut pieces = Pieces::default();
        for id in 0..100 {
            assert_eq!(pieces.join(piece(id, false, b"half")), None);
        }
        assert_eq!(pieces.waiting.len(), WAITING);
        assert_eq!(pieces.join(piece(99, true, b"s")).as_deref(), Some(&b"halfs"[..]));
    }

    #[test]
    fn a_half_whose_other_one_was_lost_is_joined_with_none_of_thousands() {
        let (mut sender, mut receiver) = (Pieces::default(), Pieces::default());
        assert_eq!(receiver.join(piece(sender.number(), false, b"lost")), None);
        for _ in 0..5_000 {
            let id = sender.number();
            assert_eq!(receiver.join(piece(id, true, b"b")), None);
            assert_eq!(receiver.join(piece(id, false, b"a")).as_deref(), Some(&b"ab"[..]));
        }
    }
}
