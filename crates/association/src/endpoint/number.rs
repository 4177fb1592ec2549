//! The number that everything inside a datagram begins with: that of a connection, or of none.

use bytes::{BufMut, BytesMut};

/// Most connections' numbers fit into one byte, all into four.
pub(super) const MOST_NUMBER: u32 = 1 << 28;
/// Number of no connection: a message follows.
pub(super) const CONTROL: u32 = 0;

/// Whether a datagram carries something of a connection.
pub(super) fn has_content(plain: &[u8]) -> bool {
    plain.first().is_some_and(|&first| u32::from(first) != CONTROL)
}

/// Appends the number of a connection: seven bits a byte, the lowest first.
pub(super) fn put_number(mut number: u32, out: &mut BytesMut) {
    while number > 0x7f {
        out.put_u8(number as u8 | 0x80);
        number >>= 7;
    }
    out.put_u8(number as u8);
}

/// Bytes that the number of a connection takes.
pub(super) fn number_len(number: u32) -> usize {
    number.checked_ilog2().unwrap_or(0) as usize / 7 + 1
}

/// Reads the number of a connection, and how many bytes it took.
pub(super) fn take_number(bytes: &[u8]) -> Option<(u32, usize)> {
    let mut number = 0u32;
    for (index, &byte) in bytes.iter().take(4).enumerate() {
        number |= u32::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return (number < MOST_NUMBER).then_some((number, index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_connections_take_as_many_bytes_as_they_need() {
        for (number, len) in [(0, 1), (127, 1), (128, 2), (20_000, 3), (MOST_NUMBER - 1, 4)] {
            let mut bytes = BytesMut::new();
            put_number(number, &mut bytes);
            assert_eq!((bytes.len(), number_len(number)), (len, len));
            bytes.put_u8(0xff);
            assert_eq!(take_number(&bytes), Some((number, len)));
        }
        assert_eq!(take_number(&[0x80; 8]), None);
        assert_eq!(take_number(&[]), None);
    }
}
