//! The bytes that bulk transfers carry: known at every place of the stream, without memory.

/// Length after which the pattern repeats. Prime, so that no chunk size hides a shift.
const PERIOD: usize = 65_537;
/// Longest piece that lies in one place: the longest payload of a segment.
pub const LONGEST: usize = 65_535;

static PATTERN: [u8; PERIOD + LONGEST] = pattern();

const fn pattern() -> [u8; PERIOD + LONGEST] {
    let mut bytes = [0; PERIOD + LONGEST];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut i = 0;
    while i < bytes.len() {
        if i < PERIOD {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes[i] = (state >> 32) as u8;
        } else {
            bytes[i] = bytes[i - PERIOD];
        }
        i += 1;
    }
    bytes
}

/// The `len` bytes (at most [`LONGEST`]) at `offset` of the stream.
pub fn slice(offset: u64, len: usize) -> &'static [u8] {
    let start = (offset % PERIOD as u64) as usize;
    &PATTERN[start..start + len.min(LONGEST)]
}

/// The first place where `bytes` are not what the stream has at `offset`.
#[inline]
pub fn first_difference(offset: u64, bytes: &[u8]) -> Option<u64> {
    // The very same memory needs no comparison. Most of the pattern is there twice.
    let start = (offset % PERIOD as u64) as usize;
    let is_at = |start: usize| {
        PATTERN.get(start..start + bytes.len()).is_some_and(|part| std::ptr::eq(part, bytes))
    };
    if is_at(start) || is_at(start + PERIOD) { None } else { compare(offset, bytes) }
}

#[cold]
#[inline(never)]
fn compare(offset: u64, bytes: &[u8]) -> Option<u64> {
    let mut offset = offset;
    for part in bytes.chunks(LONGEST) {
        let expected = slice(offset, part.len());
        if expected != part {
            let place = expected.iter().zip(part).position(|(a, b)| a != b)?;
            return Some(offset + place as u64);
        }
        offset += part.len() as u64;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_continues_across_the_period() {
        let long: Vec<u8> = (0..200).flat_map(|n| slice(n * 1000, 1000).to_vec()).collect();
        assert_eq!(first_difference(0, &long), None);
        assert_eq!(first_difference(PERIOD as u64, &long), None);
    }

    #[test]
    fn a_wrong_or_shifted_byte_is_found_where_it_is() {
        let mut copy = slice(70_000, 1000).to_vec();
        copy[123] ^= 1;
        assert_eq!(first_difference(70_000, &copy), Some(70_123));
        assert!(first_difference(70_001, slice(70_000, 1000)).is_some());
    }
}
