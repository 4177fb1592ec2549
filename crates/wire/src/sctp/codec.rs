//! SCTP packets to bytes and back.
//!
//! A packet has one encoding. Bytes that decode may have other flags that are reserved, other bytes
//! as padding and padding of a last parameter counted or not.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::packet::COMMON_HEADER;
use super::read::read_chunk;
use super::write::put_chunk;
use super::{Chunk, Chunks, DecodeError, Packet};

/// IP protocol number of SCTP.
pub const PROTOCOL: u8 = 132;
/// UDP port at which packets in UDP are expected. The packet is the whole payload of the datagram
/// (RFC 6951, section 5).
pub const UDP_PORT: u16 = 9899;
/// Where the checksum stands.
const CHECKSUM_AT: usize = 8;

/// Appends the bytes of a packet, [`Packet::wire_len`] of them, to `out`.
///
/// Gap blocks and duplicates of a SACK are cut to what its length can count. Nothing else is checked:
/// whoever builds a packet keeps each chunk below 65,536 bytes and the whole below the path's MTU.
pub fn encode(packet: &Packet, out: &mut BytesMut) {
    let start = out.len();
    out.reserve(packet.wire_len());
    out.put_u16(packet.source_port);
    out.put_u16(packet.destination_port);
    out.put_u32(packet.tag);
    out.put_u32(0); // the checksum, below
    for chunk in &packet.chunks {
        put_chunk(chunk, out);
    }
    let sum = crc32c::crc32c(&out[start..]);
    // RFC 9260, appendix A: the bytes of the CRC are sent lowest first.
    out[start + CHECKSUM_AT..][..4].copy_from_slice(&sum.to_le_bytes());
}

/// The bytes of chunks as they stand in a packet, padding included.
pub fn bytes_of(chunks: &[Chunk]) -> Bytes {
    let mut out = BytesMut::new();
    chunks.iter().for_each(|chunk| put_chunk(chunk, &mut out));
    out.freeze()
}

/// Reads a packet. The checksum comes first, so that a syntax error is never mere damage. Values and
/// user bytes share the memory of `bytes`. The ECN field is that of the IP header, which is not
/// here: it is left at its default.
///
/// # Errors
///
/// See [`DecodeError`].
pub fn decode(mut bytes: Bytes) -> Result<Packet, DecodeError> {
    let Some(fixed) = bytes.first_chunk::<COMMON_HEADER>() else {
        return Err(DecodeError::TooShort { length: bytes.len() });
    };
    let mut fields = &fixed[..];
    let (source_port, destination_port) = (fields.get_u16(), fields.get_u16());
    let tag = fields.get_u32();
    let (found, computed) = (fields.get_u32_le(), checksum(&bytes));
    if found != computed {
        return Err(DecodeError::Checksum { found, computed });
    }
    bytes.advance(COMMON_HEADER);
    let mut chunks = Chunks::new();
    while !bytes.is_empty() {
        let kind = bytes[0];
        let chunk = read_chunk(&mut bytes)?;
        let alone = chunks.is_empty() && bytes.is_empty();
        if chunk.is_alone() && !alone {
            return Err(DecodeError::NotAlone { kind });
        }
        chunks.push(chunk);
    }
    if chunks.is_empty() {
        return Err(DecodeError::NoChunk);
    }
    Ok(Packet { source_port, destination_port, tag, chunks, ..Packet::default() })
}

/// The CRC32c of a packet with zeros for its checksum.
fn checksum(bytes: &[u8]) -> u32 {
    let sum = crc32c::crc32c(&bytes[..CHECKSUM_AT]);
    let sum = crc32c::crc32c_append(sum, &[0; 4]);
    crc32c::crc32c_append(sum, &bytes[CHECKSUM_AT + 4..])
}
