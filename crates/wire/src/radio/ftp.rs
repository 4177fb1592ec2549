//! The file transfer of the XSTP paper's packet radio (section 7): messages with a header of five bytes, over a connection.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | kind: 1 GET, 2 DATA, 3 EOF, 4 ERROR, 5 OK |
//! | 2 | length of what follows the header |
//! | 2 | number of the message, from 0 and again after 65,535 |
//!
//! A client sends GET with the name of a file. The server answers with DATA messages and EOF, or with ERROR and the reason;
//! the client acknowledges EOF with OK. The paper gives the length of the header; its fields are ours.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Bytes of the header.
pub const HEADER: usize = 5;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Asks for the file whose name it carries.
    Get,
    /// Carries the next bytes of the file.
    Data,
    /// The file is complete.
    Eof,
    /// There will be no file; carries the reason as text.
    Error,
    /// The file has arrived.
    Ok,
}

impl Kind {
    const fn number(self) -> u8 {
        match self {
            Self::Get => 1,
            Self::Data => 2,
            Self::Eof => 3,
            Self::Error => 4,
            Self::Ok => 5,
        }
    }

    const fn of(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Get,
            2 => Self::Data,
            3 => Self::Eof,
            4 => Self::Error,
            5 => Self::Ok,
            _ => return None,
        })
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it is.
    pub kind: Kind,
    /// Its number.
    pub sequence: u16,
    /// What follows its header.
    pub body: Bytes,
}

/// A body that no length field can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a message of {length} bytes: its body has at most 65535")]
pub struct TooLong {
    /// Bytes there are.
    pub length: usize,
}

/// A kind without a meaning: from there on the stream cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message of kind {0}, not 1 to 5")]
pub struct UnknownKind(pub u8);

/// Appends the bytes of a message to `out`.
///
/// # Errors
///
/// When the body is too long; `out` is unchanged then.
pub fn encode(message: &Message, out: &mut BytesMut) -> Result<(), TooLong> {
    let length = message.body.len();
    let stated = u16::try_from(length).map_err(|_| TooLong { length })?;
    out.put_u8(message.kind.number());
    out.put_u16(stated);
    out.put_u16(message.sequence);
    out.put_slice(&message.body);
    Ok(())
}

/// Takes the first message off a stream; `None`, and nothing is taken, while it is not complete. No message needs more
/// than 65,540 bytes.
///
/// # Errors
///
/// When the first byte is no kind of message.
pub fn take(stream: &mut BytesMut) -> Result<Option<Message>, UnknownKind> {
    let Some([number, a, b, c, d]) = stream.first_chunk() else { return Ok(None) };
    let kind = Kind::of(*number).ok_or(UnknownKind(*number))?;
    let length = usize::from(u16::from_be_bytes([*a, *b]));
    let sequence = u16::from_be_bytes([*c, *d]);
    if stream.len() < HEADER + length {
        return Ok(None);
    }
    stream.advance(HEADER);
    Ok(Some(Message { kind, sequence, body: stream.split_to(length).freeze() }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_header_is_kind_length_and_number() {
        let get = Message { kind: Kind::Get, sequence: 258, body: Bytes::from_static(b"name") };
        let mut bytes = BytesMut::new();
        assert_eq!(encode(&get, &mut bytes), Ok(()));
        assert_eq!(&bytes[..], b"\x01\x00\x04\x01\x02name");
    }

    #[test]
    fn a_stream_that_is_none_ends_where_it_makes_no_sense() {
        let mut stream = BytesMut::from(&b"\x05\0\0\0\0\x06\0\0\0\0"[..]);
        let ok = Message { kind: Kind::Ok, sequence: 0, body: Bytes::new() };
        assert_eq!(take(&mut stream), Ok(Some(ok)));
        assert_eq!(take(&mut stream), Err(UnknownKind(6)));
    }

    #[test]
    fn a_body_that_is_too_long_leaves_nothing_behind() {
        let message = Message { kind: Kind::Data, sequence: 0, body: vec![0; 65_536].into() };
        let mut bytes = BytesMut::new();
        assert_eq!(encode(&message, &mut bytes), Err(TooLong { length: 65_536 }));
        assert!(bytes.is_empty());
    }

    proptest! {
        #[test]
        fn messages_survive_a_stream_that_comes_in_pieces(
            messages in prop::collection::vec(
                (1u8..=5, any::<u16>(), prop::collection::vec(any::<u8>(), 0..200)), 0..8),
            piece in 1usize..50,
        ) {
            let mut bytes = BytesMut::new();
            let mut sent = Vec::new();
            for (kind, sequence, body) in messages {
                let kind = Kind::of(kind).expect("a kind");
                let message = Message { kind, sequence, body: body.into() };
                prop_assert_eq!(encode(&message, &mut bytes), Ok(()));
                sent.push(message);
            }
            let (mut stream, mut read) = (BytesMut::new(), Vec::new());
            for piece in bytes.chunks(piece) {
                stream.put_slice(piece);
                while let Some(message) = take(&mut stream).expect("messages") {
                    read.push(message);
                }
            }
            prop_assert_eq!(read, sent);
            prop_assert!(stream.is_empty());
        }
    }
}
