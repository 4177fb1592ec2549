//! Datagrams that have become too long for the path: segments cut when it carried more, or a report that
//! found its way into a full segment. They go as two.

use bytes::{Bytes, BytesMut};

/// Fragments that wait for the other one. More wait only if many got lost, and then the oldest give way.
const WAITING: usize = 16;

/// Longest fragment. A datagram is cut in two where it is longer than the path carries.
const MOST: usize = 1_500;

/// The fragments of one association.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    /// Number of the next datagram that is cut.
    next: u32,
    waiting: Vec<Fragment>,
}

/// One of the two fragments of what was too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    /// The same for both fragments, below 2^31. Fragments whose other one was lost wait for long: a number that comes
    /// again would join what does not belong together.
    pub(super) id: u32,
    /// It is the second one.
    pub(super) second: bool,
    /// Its bytes.
    pub(super) bytes: Bytes,
}

impl Fragments {
    /// The number of the next datagram that is cut.
    pub(super) fn number(&mut self) -> u32 {
        self.next = (self.next + 1) & (u32::MAX >> 1);
        self.next
    }

    /// The fragments that wait are nobody's any more.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
    }

    /// A fragment arrived. Returns the whole once both are here.
    pub(super) fn join(&mut self, mut fragment: Fragment) -> Option<Bytes> {
        if fragment.bytes.len() > MOST {
            return None;
        }
        let fits = |other: &Fragment| other.id == fragment.id && other.second != fragment.second;
        let Some(at) = self.waiting.iter().position(fits) else {
            if self.waiting.len() == WAITING {
                self.waiting.remove(0);
            }
            // It does not hold what arrived beside it as well.
            fragment.bytes = Bytes::copy_from_slice(&fragment.bytes);
            self.waiting.push(fragment);
            return None;
        };
        let other = self.waiting.remove(at);
        let (first, second) = if fragment.second { (other, fragment) } else { (fragment, other) };
        let mut whole = BytesMut::from(first.bytes);
        whole.extend_from_slice(&second.bytes);
        Some(whole.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(id: u32, second: bool, bytes: &'static [u8]) -> Fragment {
        Fragment { id, second, bytes: Bytes::from_static(bytes) }
    }

    #[test]
    fn two_fragments_make_a_whole_in_any_order() {
        let mut fragments = Fragments::default();
        assert_eq!(fragments.join(fragment(1, false, b"one ")), None);
        assert_eq!(fragments.join(fragment(2, true, b"four")), None);
        assert_eq!(
            fragments.join(fragment(2, false, b"three ")).as_deref(),
            Some(&b"three four"[..])
        );
        assert_eq!(fragments.join(fragment(1, true, b"two")).as_deref(), Some(&b"one two"[..]));
        assert!(fragments.waiting.is_empty());
    }

    #[test]
    fn lost_fragments_do_not_pile_up() {
        let mut fragments = Fragments::default();
        for id in 0..100 {
            assert_eq!(fragments.join(fragment(id, false, b"half")), None);
        }
        assert_eq!(fragments.waiting.len(), WAITING);
        assert_eq!(fragments.join(fragment(99, true, b"s")).as_deref(), Some(&b"halfs"[..]));
    }

    #[test]
    fn a_fragment_whose_other_one_was_lost_is_joined_with_none_of_thousands() {
        let (mut sender, mut receiver) = (Fragments::default(), Fragments::default());
        assert_eq!(receiver.join(fragment(sender.number(), false, b"lost")), None);
        for _ in 0..5_000 {
            let id = sender.number();
            assert_eq!(receiver.join(fragment(id, true, b"b")), None);
            assert_eq!(receiver.join(fragment(id, false, b"a")).as_deref(), Some(&b"ab"[..]));
        }
    }
}
