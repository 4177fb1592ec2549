//! The outlines of a bundle, before anybody decodes it.
//!
//! The decoder of `bp7` makes of each block some hundred bytes, and of a block that is wrong a sentence besides. So that a
//! peer's bundle takes no more memory than a small multiple of itself, blocks are counted first.

use ciborium_ll::{Decoder, Header};

/// Most blocks of a bundle, its primary block and its payload among them.
pub const MOST_BLOCKS: usize = 64;
/// How deep arrays are nested: the bundle, a block, an endpoint ID, its two numbers.
const DEEPEST: usize = 4;
/// Most elements of an array within a block (RFC 9171: eleven in a primary block).
const MOST_ELEMENTS: usize = 16;

/// Whether these bytes are one CBOR array of few arrays, and nothing after it. What is in the blocks is nobody's business here.
pub(crate) fn is_like_a_bundle(bytes: &[u8]) -> bool {
    walk(bytes).is_some()
}

fn walk(mut rest: &[u8]) -> Option<()> {
    // Of each array that is open: the elements to come, if their number was said.
    let mut open: Vec<Option<usize>> = Vec::with_capacity(DEEPEST);
    let (mut blocks, mut elements) = (0, 0);
    loop {
        let header = next(&mut rest)?;
        let depth = open.len();
        if header == Header::Break {
            // Only where the number was not said.
            if open.pop()?.is_some() {
                return None;
            }
        } else {
            match open.last_mut() {
                Some(Some(left)) => *left = left.checked_sub(1)?,
                None if !matches!(header, Header::Array(_)) => return None,
                _ => {}
            }
            if depth == 1 {
                blocks += 1;
                elements = 0;
                if blocks > MOST_BLOCKS || !matches!(header, Header::Array(_)) {
                    return None;
                }
            }
            elements += 1;
            if elements > 2 * MOST_ELEMENTS {
                return None;
            }
            match header {
                Header::Positive(_) | Header::Negative(_) => {}
                Header::Bytes(Some(len)) | Header::Text(Some(len)) => rest = rest.get(len..)?,
                Header::Array(len) if depth < DEEPEST => open.push(len),
                _ => return None,
            }
        }
        while open.last() == Some(&Some(0)) {
            open.pop();
        }
        if open.is_empty() {
            return rest.is_empty().then_some(());
        }
    }
}

fn next(rest: &mut &[u8]) -> Option<Header> {
    let mut decoder = Decoder::from(*rest);
    let header = decoder.pull().ok()?;
    *rest = &rest[decoder.offset()..];
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_of_arrays_passes_and_nothing_else_does() {
        for good in [
            &[0x9f, 0x81, 0x01, 0x82, 0x01, 0x41, 0x00, 0xff][..],
            &[0x81, 0x9f, 0x82, 0x01, 0x82, 0x01, 0x02, 0xff],
        ] {
            assert!(is_like_a_bundle(good), "{good:02x?}");
        }
        for bad in [
            &[][..],
            &[0x01],
            &[0x9f],
            &[0x9f, 0x01, 0xff],
            &[0x81, 0xff],
            &[0x81, 0x81, 0x01, 0x00],
            &[0x9f, 0x81, 0xa0, 0xff],
            &[0x9f, 0x81, 0xc1, 0x01, 0xff],
            &[0x9f, 0x81, 0x5f, 0xff, 0xff],
            &[0x81, 0x81, 0x81, 0x81, 0x81, 0x01],
            &[0x81, 0x81, 0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert!(!is_like_a_bundle(bad), "{bad:02x?}");
        }
    }

    #[test]
    fn blocks_and_elements_are_counted() {
        let blocks = |n: usize| [&[0x9f][..], &[0x81, 0x01].repeat(n), &[0xff]].concat();
        assert!(is_like_a_bundle(&blocks(MOST_BLOCKS)));
        assert!(!is_like_a_bundle(&blocks(MOST_BLOCKS + 1)));
        let elements = |n: usize| [&[0x9f, 0x9f][..], &[0x01].repeat(n), &[0xff, 0xff]].concat();
        assert!(is_like_a_bundle(&elements(2 * MOST_ELEMENTS - 1)));
        assert!(!is_like_a_bundle(&elements(2 * MOST_ELEMENTS)));
    }
}
