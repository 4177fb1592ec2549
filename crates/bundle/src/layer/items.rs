//! Heads of CBOR items (RFC 8949, section 3), one after the other in a stream.

use bytes::Bytes;
use ciborium_ll::{Decoder, Encoder, Error, Header};

use super::ProtocolError;

/// The head at the beginning of these bytes and its length; `None` if not all of it has come.
pub(super) fn head(bytes: &[u8]) -> Result<Option<(Header, usize)>, ProtocolError> {
    let mut decoder = Decoder::from(bytes);
    match decoder.pull() {
        Ok(header) => Ok(Some((header, decoder.offset()))),
        Err(Error::Io(_)) => Ok(None),
        Err(Error::Syntax(_)) => Err(ProtocolError::new("what came is no CBOR")),
    }
}

/// Appends a head.
pub(super) fn push(to: &mut Vec<u8>, header: Header) {
    let mut head = [0; 9];
    let mut rest = &mut head[..];
    // No head is longer.
    let _ = Encoder::from(&mut rest).push(header);
    let len = 9 - rest.len();
    to.extend_from_slice(&head[..len]);
}

/// Appends a text.
pub(super) fn push_text(to: &mut Vec<u8>, text: &str) {
    push(to, Header::Text(Some(text.len())));
    to.extend_from_slice(text.as_bytes());
}

/// The head of a byte string of this length.
pub(super) fn bytes_head(len: usize) -> Bytes {
    let mut head = Vec::with_capacity(9);
    push(&mut head, Header::Bytes(Some(len)));
    head.into()
}
