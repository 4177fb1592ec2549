//! Lists of items with a type and a length of sixteen bits each: parameters and error causes.

use bytes::{BufMut, Bytes, BytesMut};

use super::DecodeError;

/// Length of an item's type and length in bytes.
pub(super) const HEADER: usize = 4;

/// An item of such a list.
pub(super) trait Item: Sized {
    /// Its type.
    fn kind(&self) -> u16;
    /// Length of its value in bytes.
    fn value_len(&self) -> usize;
    /// Appends its value.
    fn put_value(&self, out: &mut BytesMut);
    /// Reads one; `None` when the value is not one of this type.
    fn read(kind: u16, value: Bytes) -> Option<Self>;
}

/// Length of a list in bytes. The padding of the last item is not part of it (RFC 9260, section 3.2).
pub(super) fn list_len<T: Item>(items: &[T]) -> usize {
    let mut length = 0_usize;
    for item in items {
        length = length.next_multiple_of(4) + HEADER + item.value_len();
    }
    length
}

/// Appends a list without the padding of the last item.
pub(super) fn put_list<T: Item>(items: &[T], out: &mut BytesMut) {
    for (n, item) in items.iter().enumerate() {
        let length = HEADER + item.value_len();
        out.put_u16(item.kind());
        out.put_u16(length as u16); // of a chunk, which is not longer
        item.put_value(out);
        if n + 1 < items.len() {
            out.put_bytes(0, length.next_multiple_of(4) - length);
        }
    }
}

/// Reads a list. The padding of the last item may be there or not.
pub(super) fn read_list<T: Item>(mut left: Bytes) -> Result<Vec<T>, DecodeError> {
    let mut items = Vec::new();
    while !left.is_empty() {
        let Some(&[a, b, c, d]) = left.first_chunk::<HEADER>() else {
            return Err(DecodeError::ItemHeader { left: left.len() });
        };
        let (kind, length) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let wrong = DecodeError::ItemLength { kind, length };
        let whole = usize::from(length);
        if whole < HEADER || whole > left.len() {
            return Err(wrong);
        }
        items.push(T::read(kind, left.slice(HEADER..whole)).ok_or(wrong)?);
        drop(left.split_to(whole.next_multiple_of(4).min(left.len())));
    }
    Ok(items)
}
