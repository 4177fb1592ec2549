//! TCP segments to bytes and back.
//!
//! A segment has one encoding, but many bytes decode to it: options come in any order and with any
//! padding, and those that this version does not know are skipped.

use bentpipe_units::Seq32;
use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::error::DecodeError;
use super::options::{SackBlock, ScpsCapabilities, Snack};
use super::segment::FIXED_HEADER;
use super::{Flags, Options, Scps, Segment, SynOptions, Timestamps, kinds, layout};
use crate::PseudoHeader;

/// IP protocol number of TCP.
pub const PROTOCOL: u8 = 6;
/// Where the checksum stands.
const CHECKSUM_AT: usize = 16;

/// Appends the bytes of a segment, [`Segment::wire_len`] of them, to `out`.
///
/// A list of SACK blocks or a SNACK vector is cut to the room there is, and a window shift to
/// [`SynOptions::LARGEST_SHIFT`]. Nothing else is checked: options that do not belong to a segment
/// with its flags are written as they are and ignored by [`decode`].
pub fn encode(segment: &Segment, pseudo: &PseudoHeader, out: &mut BytesMut) {
    let start = out.len();
    let laid = layout::lay_out(segment);
    let options = laid.padded();
    out.reserve(FIXED_HEADER + options.len() + segment.payload.len());
    out.put_u16(segment.source_port);
    out.put_u16(segment.destination_port);
    out.put_u32(segment.seq.get());
    out.put_u32(segment.ack.get());
    out.put_u8(((FIXED_HEADER + options.len()) / 4) as u8 * 16); // at most 15 words
    out.put_u8(segment.flags.bits());
    out.put_u16(segment.window);
    out.put_u16(0); // the checksum, below
    out.put_u16(segment.urgent);
    out.put_slice(options);
    out.put_slice(&segment.payload);
    let sum = PseudoHeader::checksum(Some(pseudo), PROTOCOL, &out[start..], CHECKSUM_AT);
    out[start + CHECKSUM_AT..start + CHECKSUM_AT + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Reads a segment. The checksum comes first, so that a syntax error is never mere damage. The
/// payload shares the memory of `bytes`. The ECN field is that of the IP header, which is not here:
/// it is left at its default.
///
/// Reserved bits are ignored (RFC 9293, section 3.1), as are options where they mean nothing: those
/// of [`SynOptions`] without SYN, SACK and SNACK with it. Of an option that comes twice, and of SACK
/// and SNACK together, the last counts.
///
/// # Errors
///
/// See [`DecodeError`].
pub fn decode(mut bytes: Bytes, pseudo: &PseudoHeader) -> Result<Segment, DecodeError> {
    let length = bytes.len();
    let Some((mut fixed, rest)) = bytes.split_at_checked(FIXED_HEADER) else {
        return Err(DecodeError::TooShort { length });
    };
    let source_port = fixed.get_u16();
    let destination_port = fixed.get_u16();
    let seq = Seq32::new(fixed.get_u32());
    let ack = Seq32::new(fixed.get_u32());
    let header = usize::from(fixed.get_u8() >> 4) * 4;
    let flags = Flags::from_bits(fixed.get_u8());
    let window = fixed.get_u16();
    let found = fixed.get_u16();
    let urgent = fixed.get_u16();

    let computed = PseudoHeader::checksum(Some(pseudo), PROTOCOL, &bytes, CHECKSUM_AT);
    // Both zeros of one's complement are a sum of zero (RFC 1071, section 1).
    if found != computed && (found, computed) != (0xffff, 0) {
        return Err(DecodeError::Checksum { found, computed });
    }
    let options = header.checked_sub(FIXED_HEADER).ok_or(DecodeError::HeaderLength { header })?;
    let options = rest.get(..options).ok_or(DecodeError::HeaderPastEnd { header, length })?;

    let mut segment = Segment {
        source_port,
        destination_port,
        seq,
        ack,
        flags,
        window,
        urgent,
        ..Segment::default()
    };
    read_options(options, &mut segment)?;
    bytes.advance(header);
    segment.payload = bytes;
    Ok(segment)
}

fn read_options(mut left: &[u8], segment: &mut Segment) -> Result<(), DecodeError> {
    let mut syn = SynOptions::default();
    while let [kind, rest @ ..] = left {
        let kind = *kind;
        match kind {
            kinds::END_OF_LIST => break,
            kinds::NOP => left = rest,
            _ => {
                let length = rest.first().copied().unwrap_or(0);
                let wrong = DecodeError::OptionLength { kind, length };
                let whole = left.split_at_checked(length.into()).ok_or(wrong)?;
                let body = whole.0.get(2..).ok_or(wrong)?;
                read_option(kind, body, segment, &mut syn).ok_or(wrong)?;
                left = whole.1;
            }
        }
    }
    if segment.flags.contains(Flags::SYN) {
        segment.options = if syn.is_empty() { Options::None } else { Options::Syn(syn) };
    }
    Ok(())
}

/// Reads one option; `None` when it has not the length of its kind.
fn read_option(
    kind: u8,
    mut body: &[u8],
    segment: &mut Segment,
    syn: &mut SynOptions,
) -> Option<()> {
    match kind {
        kinds::MSS => syn.mss = Some(body.try_get_u16().ok()?),
        kinds::WINDOW_SHIFT => {
            syn.window_shift = Some(body.try_get_u8().ok()?.min(SynOptions::LARGEST_SHIFT));
        }
        kinds::SACK_PERMITTED => syn.sack_permitted = true,
        kinds::SACK => {
            let (blocks, cut) = body.as_chunks::<8>();
            if blocks.is_empty() || !cut.is_empty() {
                return None;
            }
            segment.options = Options::Sack(blocks.iter().map(read_block).collect());
            return Some(());
        }
        kinds::TIMESTAMPS => {
            let (value, echo) = (body.try_get_u32().ok()?, body.try_get_u32().ok()?);
            segment.timestamps = Some(Timestamps { value, echo });
        }
        kinds::SCPS_CAPABILITIES => {
            let (bits, connection_id) = (body.try_get_u8().ok()?, body.try_get_u8().ok()?);
            syn.scps = Some(ScpsCapabilities { bits, connection_id });
        }
        kinds::SNACK => {
            let (hole_offset, hole_size) = (body.try_get_u16().ok()?, body.try_get_u16().ok()?);
            let vector = body.iter().copied().collect();
            segment.options = Options::Snack(Snack { hole_offset, hole_size, vector });
            return Some(());
        }
        kinds::RECORD_BOUNDARY => segment.scps = segment.scps.with(Scps::RECORD_BOUNDARY),
        kinds::CORRUPTION_EXPERIENCED => {
            segment.scps = segment.scps.with(Scps::CORRUPTION_EXPERIENCED);
        }
        _ => return Some(()),
    }
    body.is_empty().then_some(())
}

fn read_block(bytes: &[u8; 8]) -> SackBlock {
    let both = u64::from_be_bytes(*bytes);
    SackBlock { first: Seq32::new((both >> 32) as u32), end: Seq32::new(both as u32) }
}
