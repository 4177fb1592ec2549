//! Bytes to chunks.

use bentpipe_units::Seq32;
use bytes::{Buf, Bytes};

use super::chunk::CHUNK_HEADER;
use super::write::{HEARTBEAT_INFO, REFLECTED, kinds};
use super::{
    Asconf, AsconfAck, Auth, Chunk, Data, DataFlags, DecodeError, GapBlock, Init, Sack,
    UnknownChunk, tlv,
};

/// Takes the next chunk with its padding off the front of `bytes`.
pub(super) fn read_chunk(bytes: &mut Bytes) -> Result<Chunk, DecodeError> {
    let Some(&[kind, flags, high, low]) = bytes.first_chunk::<CHUNK_HEADER>() else {
        return Err(DecodeError::ChunkHeader { left: bytes.len() });
    };
    let length = u16::from_be_bytes([high, low]);
    let wrong = DecodeError::ChunkLength { kind, length };
    let whole = usize::from(length);
    if whole < CHUNK_HEADER || whole.next_multiple_of(4) > bytes.len() {
        return Err(wrong);
    }
    let mut value = bytes.split_to(whole.next_multiple_of(4));
    value.truncate(whole);
    value.advance(CHUNK_HEADER);
    match kind {
        kinds::INIT => Ok(Chunk::Init(Box::new(read_init(value, wrong)?))),
        kinds::INIT_ACK => Ok(Chunk::InitAck(Box::new(read_init(value, wrong)?))),
        kinds::ABORT => {
            Ok(Chunk::Abort { reflected: flags & REFLECTED != 0, causes: tlv::read_list(value)? })
        }
        kinds::ERROR => Ok(Chunk::Error(tlv::read_list(value)?)),
        kinds::COOKIE_ECHO => Ok(Chunk::CookieEcho(value)),
        kinds::DATA => read_data(flags, value).ok_or(wrong),
        kinds::SACK => read_sack(value).ok_or(wrong),
        kinds::HEARTBEAT => read_heartbeat(value).map(Chunk::Heartbeat).ok_or(wrong),
        kinds::HEARTBEAT_ACK => read_heartbeat(value).map(Chunk::HeartbeatAck).ok_or(wrong),
        kinds::PAD => Ok(Chunk::Pad(value.len() as u16)), // less than the chunk, whose length has 16 bits
        kinds::AUTH => Auth::read(value, bytes.clone()).ok_or(wrong),
        kinds::ASCONF => Asconf::read(value, wrong),
        kinds::ASCONF_ACK => AsconfAck::read(value, wrong),
        _ if kind <= kinds::SHUTDOWN_COMPLETE => read_short(kind, flags, value).ok_or(wrong),
        _ => Ok(Chunk::Unknown(UnknownChunk { kind, flags, value })),
    }
}

/// Chunks of one number or none.
fn read_short(kind: u8, flags: u8, mut value: Bytes) -> Option<Chunk> {
    let mut tsn = || value.try_get_u32().ok().map(Seq32::new);
    let chunk = match kind {
        kinds::SHUTDOWN => Chunk::Shutdown(tsn()?),
        kinds::ECNE => Chunk::Ecne(tsn()?),
        kinds::CWR => Chunk::Cwr(tsn()?),
        kinds::SHUTDOWN_ACK => Chunk::ShutdownAck,
        kinds::COOKIE_ACK => Chunk::CookieAck,
        _ => Chunk::ShutdownComplete { reflected: flags & REFLECTED != 0 },
    };
    // An ECNE may count its marks as well (draft-stewart-tsvwg-sctpecn).
    let counted = matches!(chunk, Chunk::Ecne(_)) && value.len() == 4;
    (value.is_empty() || counted).then_some(chunk)
}

fn read_data(flags: u8, mut value: Bytes) -> Option<Chunk> {
    Some(Chunk::Data(Data {
        flags: DataFlags::from_bits(flags),
        tsn: Seq32::new(value.try_get_u32().ok()?),
        stream: value.try_get_u16().ok()?,
        ssn: value.try_get_u16().ok()?,
        ppid: value.try_get_u32().ok()?,
        payload: value,
    }))
}

fn read_sack(mut value: Bytes) -> Option<Chunk> {
    let cumulative = Seq32::new(value.try_get_u32().ok()?);
    let window = value.try_get_u32().ok()?;
    let gaps = usize::from(value.try_get_u16().ok()?);
    let duplicates = usize::from(value.try_get_u16().ok()?);
    if value.len() != 4 * (gaps + duplicates) {
        return None;
    }
    let words = value.as_chunks::<4>().0;
    let (gaps, duplicates) = words.split_at(gaps);
    let gap = |&[a, b, c, d]: &[u8; 4]| GapBlock {
        start: u16::from_be_bytes([a, b]),
        end: u16::from_be_bytes([c, d]),
    };
    Some(Chunk::Sack(Sack {
        cumulative,
        window,
        gaps: gaps.iter().map(gap).collect(),
        duplicates: duplicates.iter().map(|tsn| u32::from_be_bytes(*tsn)).collect(),
    }))
}

/// The information of a HEARTBEAT, its only parameter. Its padding may be counted in the chunk.
fn read_heartbeat(mut value: Bytes) -> Option<Bytes> {
    let kind = value.try_get_u16().ok()?;
    let length = usize::from(value.try_get_u16().ok()?).checked_sub(tlv::HEADER)?;
    let fits = length <= value.len() && value.len() <= length.next_multiple_of(4);
    value.truncate(length);
    (kind == HEARTBEAT_INFO && fits).then_some(value)
}

fn read_init(mut value: Bytes, wrong: DecodeError) -> Result<Init, DecodeError> {
    let mut fixed = || -> Option<Init> {
        Some(Init {
            tag: value.try_get_u32().ok()?,
            window: value.try_get_u32().ok()?,
            outbound_streams: value.try_get_u16().ok()?,
            inbound_streams: value.try_get_u16().ok()?,
            initial_tsn: Seq32::new(value.try_get_u32().ok()?),
            parameters: Vec::new(),
        })
    };
    let init = fixed().ok_or(wrong)?;
    Ok(Init { parameters: tlv::read_list(value)?, ..init })
}
