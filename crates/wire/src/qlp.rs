//! The Queue Link Protocol: frames between the nodes of a network on one machine.
//!
//! Elaasar et al., SSC03-XI-3, 2003, section 5, names the protocol and its static forwarding table; the
//! header is this project's own, since the paper gives none. All fields are big-endian:
//!
//! | bytes | field |
//! |---|---|
//! | 0, 1 | node that the frame is for |
//! | 2, 3 | node that it comes from |
//! | 4, 5 | length of the payload |
//! | 6, 7 | what the payload is: 1 XSTP, 2 IP |

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Length of the header in bytes.
pub const HEADER: usize = 8;

/// A node of the network, 0 to 65535.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for NodeId {
    type Err = BadNode;

    fn from_str(text: &str) -> Result<Self, BadNode> {
        let parsed = text.parse().map(Self);
        parsed.map_err(|error| BadNode { text: text.to_owned(), error })
    }
}

/// A text that names no node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no node ({error}): write a number from 0 to 65535")]
pub struct BadNode {
    text: String,
    error: ParseIntError,
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// An XSTP segment, its checksum without a pseudo-header.
    Xstp,
    /// An IP packet.
    Ip,
}

impl Protocol {
    const fn number(self) -> u16 {
        match self {
            Self::Xstp => 1,
            Self::Ip => 2,
        }
    }
}

/// The header of a frame, without the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Node that the frame is for.
    pub destination: NodeId,
    /// Node that it comes from.
    pub source: NodeId,
    /// What the payload is.
    pub protocol: Protocol,
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its header.
    pub header: Header,
    /// What it carries, at most 65,535 bytes.
    pub payload: Bytes,
}

/// A payload that no length field can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a payload of {length} bytes: a frame carries at most 65535")]
pub struct TooLong {
    /// Bytes there are.
    pub length: usize,
}

/// Why bytes are no frame. Tests are made in the order of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the header has.
    #[error("{length} bytes are shorter than the header of 8")]
    TooShort {
        /// Bytes there are.
        length: usize,
    },
    /// The payload is longer or shorter than the header says.
    #[error("a payload of {found} bytes where the header says {stated}")]
    Length {
        /// What the header says.
        stated: u16,
        /// Bytes after the header.
        found: usize,
    },
    /// A protocol without a meaning here.
    #[error("protocol {0}, neither 1 (XSTP) nor 2 (IP)")]
    Protocol(u16),
}

/// Appends the bytes of a frame to `out`.
///
/// # Errors
///
/// When the payload is too long; `out` is unchanged then.
pub fn encode(frame: &Frame, out: &mut BytesMut) -> Result<(), TooLong> {
    let length = frame.payload.len();
    let stated = u16::try_from(length).map_err(|_| TooLong { length })?;
    out.reserve(HEADER + length);
    out.put_u16(frame.header.destination.0);
    out.put_u16(frame.header.source.0);
    out.put_u16(stated);
    out.put_u16(frame.header.protocol.number());
    out.put_slice(&frame.payload);
    Ok(())
}

/// Reads a frame. The payload shares the memory of `bytes`.
///
/// # Errors
///
/// Anything that [`encode`] does not produce: see [`DecodeError`].
pub fn decode(mut bytes: Bytes) -> Result<Frame, DecodeError> {
    if bytes.len() < HEADER {
        return Err(DecodeError::TooShort { length: bytes.len() });
    }
    let destination = NodeId(bytes.get_u16());
    let source = NodeId(bytes.get_u16());
    let stated = bytes.get_u16();
    let protocol = bytes.get_u16();
    if usize::from(stated) != bytes.len() {
        return Err(DecodeError::Length { stated, found: bytes.len() });
    }
    let protocol = match protocol {
        1 => Protocol::Xstp,
        2 => Protocol::Ip,
        other => return Err(DecodeError::Protocol(other)),
    };
    Ok(Frame { header: Header { destination, source, protocol }, payload: bytes })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEADER_3_1: Header =
        Header { destination: NodeId(3), source: NodeId(1), protocol: Protocol::Xstp };

    fn decoded(bytes: &'static [u8]) -> Result<Frame, DecodeError> {
        decode(Bytes::from_static(bytes))
    }

    #[test]
    fn the_header_is_destination_source_length_and_protocol() {
        let frame = Frame { header: HEADER_3_1, payload: Bytes::from_static(b"hi") };
        let mut bytes = BytesMut::new();
        assert_eq!(encode(&frame, &mut bytes), Ok(()));
        assert_eq!(&bytes[..], b"\x00\x03\x00\x01\x00\x02\x00\x01hi");
        assert_eq!(decode(bytes.freeze()), Ok(frame));
        let ip = decoded(b"\x01\x00\xff\xff\x00\x00\x00\x02").expect("a frame").header;
        let expected =
            Header { destination: NodeId(256), source: NodeId(65_535), protocol: Protocol::Ip };
        assert_eq!(ip, expected);
    }

    #[test]
    fn what_is_no_frame_is_refused_for_what_is_wrong_with_it() {
        assert_eq!(decoded(b"\0\0\0\0\0\0\0"), Err(DecodeError::TooShort { length: 7 }));
        for (bytes, found) in
            [(&b"\0\x03\0\x01\0\x02\0\x01h"[..], 1), (b"\0\x03\0\x01\0\x02\0\x01hi!", 3)]
        {
            assert_eq!(decoded(bytes), Err(DecodeError::Length { stated: 2, found }));
        }
        assert_eq!(decoded(b"\0\x03\0\x01\0\0\0\0"), Err(DecodeError::Protocol(0)));
        assert_eq!(decoded(b"\0\x03\0\x01\0\0\x01\x01"), Err(DecodeError::Protocol(257)));
    }

    #[test]
    fn a_payload_that_is_too_long_leaves_nothing_behind() {
        let payload = |length| Frame { header: HEADER_3_1, payload: vec![0; length].into() };
        let mut bytes = BytesMut::new();
        assert_eq!(encode(&payload(65_536), &mut bytes), Err(TooLong { length: 65_536 }));
        assert!(bytes.is_empty());
        assert_eq!(encode(&payload(65_535), &mut bytes), Ok(()));
    }

    #[test]
    fn nodes_are_numbers_of_16_bits() {
        assert_eq!("65535".parse(), Ok(NodeId(65_535)));
        for text in ["65536", "-1", "", "two"] {
            let error = text.parse::<NodeId>().expect_err("refused").to_string();
            assert!(error.contains(text) && error.contains("0 to 65535"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn every_frame_survives_its_encoding(
            destination: u16,
            source: u16,
            is_ip: bool,
            payload in prop::collection::vec(any::<u8>(), 0..2000),
        ) {
            let protocol = if is_ip { Protocol::Ip } else { Protocol::Xstp };
            let (destination, source) = (NodeId(destination), NodeId(source));
            let header = Header { destination, source, protocol };
            let frame = Frame { header, payload: payload.into() };
            let mut bytes = BytesMut::new();
            prop_assert_eq!(encode(&frame, &mut bytes), Ok(()));
            prop_assert_eq!(bytes.len(), HEADER + frame.payload.len());
            prop_assert_eq!(decode(bytes.freeze()), Ok(frame));
        }

        #[test]
        fn bytes_have_at_most_one_meaning(
            mut bytes in prop::collection::vec(any::<u8>(), 0..40),
            honest: bool,
        ) {
            if honest && bytes.len() >= HEADER {
                let length = (bytes.len() - HEADER) as u8;
                bytes[4..HEADER].copy_from_slice(&[0, length, 0, 1 + length % 2]);
            }
            let bytes = Bytes::from(bytes);
            if let Ok(frame) = decode(bytes.clone()) {
                let mut again = BytesMut::new();
                prop_assert_eq!(encode(&frame, &mut again), Ok(()));
                prop_assert_eq!(again, bytes);
            } else {
                prop_assert!(!honest || bytes.len() < HEADER);
            }
        }
    }
}
