//! Chunks to bytes.

use bytes::{BufMut, BytesMut};

use super::chunk::CHUNK_HEADER;
use super::{Chunk, Data, Init, Sack, tlv};

/// Types of chunks.
pub(super) mod kinds {
    pub(in super::super) const DATA: u8 = 0;
    pub(in super::super) const INIT: u8 = 1;
    pub(in super::super) const INIT_ACK: u8 = 2;
    pub(in super::super) const SACK: u8 = 3;
    pub(in super::super) const HEARTBEAT: u8 = 4;
    pub(in super::super) const HEARTBEAT_ACK: u8 = 5;
    pub(in super::super) const ABORT: u8 = 6;
    pub(in super::super) const SHUTDOWN: u8 = 7;
    pub(in super::super) const SHUTDOWN_ACK: u8 = 8;
    pub(in super::super) const ERROR: u8 = 9;
    pub(in super::super) const COOKIE_ECHO: u8 = 10;
    pub(in super::super) const COOKIE_ACK: u8 = 11;
    pub(in super::super) const ECNE: u8 = 12;
    pub(in super::super) const CWR: u8 = 13;
    pub(in super::super) const SHUTDOWN_COMPLETE: u8 = 14;
    pub(in super::super) const AUTH: u8 = 0x0f;
    pub(in super::super) const ASCONF_ACK: u8 = 0x80;
    pub(in super::super) const PAD: u8 = 0x84;
    pub(in super::super) const ASCONF: u8 = 0xc1;
}

/// The T bit of ABORT and SHUTDOWN COMPLETE.
pub(super) const REFLECTED: u8 = 1;
/// The type of the only parameter of HEARTBEAT.
pub(super) const HEARTBEAT_INFO: u16 = 1;

/// Appends a chunk with its padding.
pub(super) fn put_chunk(chunk: &Chunk, out: &mut BytesMut) {
    let (kind, flags) = kind_and_flags(chunk);
    let length = chunk.len();
    out.put_u8(kind);
    out.put_u8(flags);
    out.put_u16(length as u16); // the caller keeps chunks below 65,536 bytes
    match chunk {
        Chunk::Data(data) => put_data(data, out),
        Chunk::Sack(sack) => put_sack(sack, length, out),
        Chunk::Init(init) | Chunk::InitAck(init) => put_init(init, out),
        Chunk::Heartbeat(info) | Chunk::HeartbeatAck(info) => {
            out.put_u16(HEARTBEAT_INFO);
            out.put_u16((tlv::HEADER + info.len()) as u16); // less than the chunk
            out.put_slice(info);
        }
        Chunk::Abort { causes, .. } | Chunk::Error(causes) => tlv::put_list(causes, out),
        Chunk::CookieEcho(cookie) => out.put_slice(cookie),
        Chunk::Shutdown(tsn) | Chunk::Ecne(tsn) | Chunk::Cwr(tsn) => out.put_u32(tsn.get()),
        Chunk::ShutdownAck | Chunk::CookieAck | Chunk::ShutdownComplete { .. } => {}
        Chunk::Pad(length) => out.put_bytes(0, usize::from(*length)),
        Chunk::Auth(auth) => auth.put_value(out),
        Chunk::Asconf(asconf) => asconf.put_value(out),
        Chunk::AsconfAck(ack) => ack.put_value(out),
        Chunk::Unknown(unknown) => out.put_slice(&unknown.value),
    }
    out.put_bytes(0, length.next_multiple_of(4) - length);
}

fn kind_and_flags(chunk: &Chunk) -> (u8, u8) {
    let t_bit = |reflected: &bool| if *reflected { REFLECTED } else { 0 };
    match chunk {
        Chunk::Data(data) => (kinds::DATA, data.flags.bits()),
        Chunk::Init(_) => (kinds::INIT, 0),
        Chunk::InitAck(_) => (kinds::INIT_ACK, 0),
        Chunk::Sack(_) => (kinds::SACK, 0),
        Chunk::Heartbeat(_) => (kinds::HEARTBEAT, 0),
        Chunk::HeartbeatAck(_) => (kinds::HEARTBEAT_ACK, 0),
        Chunk::Abort { reflected, .. } => (kinds::ABORT, t_bit(reflected)),
        Chunk::Shutdown(_) => (kinds::SHUTDOWN, 0),
        Chunk::ShutdownAck => (kinds::SHUTDOWN_ACK, 0),
        Chunk::Error(_) => (kinds::ERROR, 0),
        Chunk::CookieEcho(_) => (kinds::COOKIE_ECHO, 0),
        Chunk::CookieAck => (kinds::COOKIE_ACK, 0),
        Chunk::Ecne(_) => (kinds::ECNE, 0),
        Chunk::Cwr(_) => (kinds::CWR, 0),
        Chunk::ShutdownComplete { reflected } => (kinds::SHUTDOWN_COMPLETE, t_bit(reflected)),
        Chunk::Pad(_) => (kinds::PAD, 0),
        Chunk::Auth(_) => (kinds::AUTH, 0),
        Chunk::Asconf(_) => (kinds::ASCONF, 0),
        Chunk::AsconfAck(_) => (kinds::ASCONF_ACK, 0),
        Chunk::Unknown(unknown) => (unknown.kind, unknown.flags),
    }
}

fn put_data(data: &Data, out: &mut BytesMut) {
    out.put_u32(data.tsn.get());
    out.put_u16(data.stream);
    out.put_u16(data.ssn);
    out.put_u32(data.ppid);
    out.put_slice(&data.payload);
}

/// Writes a SACK whose length, with what had to be cut, is known.
fn put_sack(sack: &Sack, length: usize, out: &mut BytesMut) {
    let room = (length - Sack::FIXED) / 4;
    let gaps = &sack.gaps[..sack.gaps.len().min(room)];
    let duplicates = &sack.duplicates[..sack.duplicates.len().min(room - gaps.len())];
    debug_assert_eq!(Sack::FIXED, CHUNK_HEADER + 12);
    out.put_u32(sack.cumulative.get());
    out.put_u32(sack.window);
    out.put_u16(gaps.len() as u16); // at most MOST_GAPS together
    out.put_u16(duplicates.len() as u16);
    for gap in gaps {
        out.put_u16(gap.start);
        out.put_u16(gap.end);
    }
    for tsn in duplicates {
        out.put_u32(*tsn);
    }
}

fn put_init(init: &Init, out: &mut BytesMut) {
    out.put_u32(init.tag);
    out.put_u32(init.window);
    out.put_u16(init.outbound_streams);
    out.put_u16(init.inbound_streams);
    out.put_u32(init.initial_tsn.get());
    tlv::put_list(&init.parameters, out);
}
