//! The Internet checksum (RFC 1071): the complement of the one's complement sum of 16-bit words.

/// An Internet checksum in the making.
///
/// The slices given to [`Checksum::add`] count as one run of bytes, whatever their lengths; only
/// the end of the run is padded with a zero byte to a whole 16-bit word.
///
/// ```
/// use bentpipe_wire::checksum::Checksum;
///
/// let mut sum = Checksum::new();
/// sum.add(&[0x00, 0x01, 0xf2]);
/// sum.add(&[0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
/// assert_eq!(sum.finish(), !0xddf2);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum {
    /// Sum of the folded sums of the slices. Each adds less than 2^16, so it cannot overflow.
    sum: u64,
    /// The bytes so far end in the middle of a word.
    odd: bool,
}

impl Checksum {
    /// The checksum of no bytes yet.
    pub const fn new() -> Self {
        Self { sum: 0, odd: false }
    }

    /// The checksum of one slice.
    pub fn of(bytes: &[u8]) -> u16 {
        let mut sum = Self::new();
        sum.add(bytes);
        sum.finish()
    }

    /// Appends these bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        let folded = folded_sum(bytes);
        // A slice that starts in the middle of a word has its bytes in each other's places, and so
        // has its sum (RFC 1071, section 2 B).
        let folded = if self.odd { folded.swap_bytes() } else { folded };
        self.sum += u64::from(folded);
        self.odd ^= bytes.len() % 2 == 1;
    }

    /// The checksum of everything added, as it stands in a header in network order.
    ///
    /// It is 0xffff only if every byte was zero: one's complement has two zeros, and a sum of
    /// anything else folds to the other one.
    pub const fn finish(self) -> u16 {
        !fold(self.sum)
    }
}

/// The one's complement sum of a slice that starts at a word and is padded with zeros.
///
/// The order of the bytes in a word does not matter to the sum but for a final swap, so words are
/// loaded as the machine has them; the halves are summed apart so that no carry is lost and the
/// compiler can use vectors. 2^32 steps would overflow the accumulators, more than a slice has.
fn folded_sum(bytes: &[u8]) -> u16 {
    let (words, tail) = bytes.as_chunks::<8>();
    let (mut left, mut right) = (0_u64, 0_u64);
    for word in words {
        let word = u64::from_ne_bytes(*word);
        left += word >> 32;
        right += word & 0xffff_ffff;
    }
    let mut last = [0; 8];
    last[..tail.len()].copy_from_slice(tail);
    let last = u64::from_ne_bytes(last);
    let tail = (last >> 32) + (last & 0xffff_ffff);
    let sum = u64::from(fold(left)) + u64::from(fold(right)) + u64::from(fold(tail));
    u16::from_be(fold(sum))
}

/// Adds the carries back in until 16 bits are left. Zero only for zero.
const fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Word by word, as RFC 1071 states it.
    fn plain(bytes: &[u8]) -> u16 {
        let mut sum = 0_u64;
        for pair in bytes.chunks(2) {
            sum += u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
        }
        while sum >> 16 != 0 {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn the_example_of_rfc_1071_sums_to_ddf2() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Checksum::of(&bytes), !0xddf2);
    }

    #[test]
    fn an_ipv4_header_gives_its_known_checksum() {
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(Checksum::of(&header), 0xb861);
    }

    #[test]
    fn only_zeros_have_the_checksum_ffff() {
        assert_eq!(Checksum::of(&[]), 0xffff);
        assert_eq!(Checksum::of(&[0; 33]), 0xffff);
        assert_eq!(Checksum::of(&[0xff; 2]), 0);
        assert_eq!(Checksum::of(&[0xff; 64]), 0);
    }

    #[test]
    fn an_odd_last_byte_is_the_high_half_of_a_word() {
        assert_eq!(Checksum::of(&[0xab]), !0xab00);
    }

    #[test]
    fn the_largest_carries_are_not_lost() {
        let bytes = vec![0xff; 1 << 20];
        assert_eq!(Checksum::of(&bytes), plain(&bytes));
    }

    proptest! {
        #[test]
        fn eight_bytes_at_a_time_gives_the_sum_word_by_word(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            prop_assert_eq!(Checksum::of(&bytes), plain(&bytes));
        }

        #[test]
        fn it_does_not_matter_where_the_bytes_are_cut(
            slices in proptest::collection::vec(
                proptest::collection::vec(any::<u8>(), 0..20), 0..12),
        ) {
            let mut sum = Checksum::new();
            for slice in &slices {
                sum.add(slice);
            }
            prop_assert_eq!(sum.finish(), plain(&slices.concat()));
        }
    }
}
