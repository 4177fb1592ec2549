//! One connection inside an association, and the number that it has there.

use bentpipe_units::Seq32;
use bytes::{BufMut, BytesMut};

use super::AssociationId;
use super::object::Object;
use crate::stream::Stream;

/// Most connections' numbers fit into one byte, all into four.
pub(super) const MOST_NUMBER: u32 = 1 << 28;

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: Stream,
    pub(super) association: AssociationId,
    pub(super) number: u32,
    /// The last number that was received, for compressed headers.
    pub(super) near: Seq32,
    /// The peer opened it, and the application has not taken it yet.
    pub(super) unaccepted: bool,
    /// It has something to send.
    pub(super) busy: bool,
    /// Bytes that it held when they were counted last.
    pub(super) holds: usize,
    /// The highest number of those segments for which there was no room when they came.
    pub(super) lost: Option<Seq32>,
    /// Its writer waits for room in what the connections of the peer may hold.
    pub(super) waits: bool,
    /// It was changed and is to be drained.
    pub(super) stirred: bool,
    /// The way that it takes to the peer.
    pub(super) way: usize,
    /// Its number on the line of the association over the link of that way.
    pub(super) member: Option<u32>,
    /// It gets more of a shared window than others.
    pub(super) ahead: bool,
    pub(super) object: Object,
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
