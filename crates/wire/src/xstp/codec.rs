//! XSTP segments to bytes and back.
//!
//! Every segment has exactly one encoding, and decoding accepts nothing else.

use bentpipe_units::Seq32;
use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::error::DecodeError;
use super::segment::{
    Begin, Body, FIXED_HEADER, Flow, Gap, GapList, Report, ReportKind, ResetReason, Segment,
};
use crate::{Kind, PseudoHeader};

/// IP protocol number of XSTP: one of the two for experiments (RFC 3692).
pub const PROTOCOL: u8 = 253;
/// Version in the upper four bits of the type field.
const VERSION: u8 = 1;
/// Where the checksum stands.
const CHECKSUM_AT: usize = 12;
/// Type bits without a meaning.
const RESERVED_TYPE_BITS: u16 = 0x0e00;
/// Flag of BGN and BGNAK: [`Begin::many_gaps`].
const MANY_GAPS: u8 = 1;
/// Flag of STAT and USTAT: [`Report::more`].
const MORE: u16 = 1;

/// Appends the bytes of a segment, [`Segment::wire_len`] of them, to `out`.
///
/// The checksum covers a pseudo header when the segment is carried directly over IP. Over UDP and in
/// the simulator there is none, because address translation would break it.
///
/// A report of more than [`Report::MOST_GAPS`] gaps loses those after them and says MORE. Nothing
/// else is checked: what the types allow but the protocol forbids (a [`Flow`] without parts or with
/// DATA and END, an MSS of 0, gaps out of order) is written as it is and refused by [`decode`].
pub fn encode(segment: &Segment, pseudo: Option<&PseudoHeader>, out: &mut BytesMut) {
    let start = out.len();
    out.reserve(segment.wire_len());
    out.put_u16(segment.source_port);
    out.put_u16(segment.destination_port);
    out.put_u16(u16::from(VERSION) << 12 | segment.kind().bits());
    out.put_u16(segment.window);
    out.put_u32(segment.seq.get());
    out.put_u16(0); // the checksum, below
    out.put_u8((segment.header_len() / 4) as u8); // at most LONGEST_HEADER
    out.put_u8(segment.sq);
    match &segment.body {
        Body::Begin(begin) | Body::BeginAck(begin) => {
            out.put_u16(begin.mss);
            out.put_u8(if begin.many_gaps { MANY_GAPS } else { 0 });
            out.put_u8(0);
            out.put_u32(begin.ts);
            out.put_u32(begin.ts_echo);
        }
        Body::Reset(reason) => out.put_u32(reason.code()),
        Body::Flow(flow) => encode_flow(flow, out),
    }
    let sum = PseudoHeader::checksum(pseudo, PROTOCOL, &out[start..], CHECKSUM_AT);
    out[start + CHECKSUM_AT..start + CHECKSUM_AT + 2].copy_from_slice(&sum.to_be_bytes());
}

fn encode_flow(flow: &Flow, out: &mut BytesMut) {
    if let Some(ts) = flow.poll {
        out.put_u32(ts);
    }
    if let Some(report) = &flow.report {
        let listed = report.listed();
        let more = report.more || listed.len() < report.gaps.len();
        out.put_u32(report.ts_echo);
        out.put_u32(report.next.get());
        out.put_u16(listed.len() as u16); // at most MOST_GAPS
        out.put_u16(if more { MORE } else { 0 });
        for gap in listed {
            out.put_u16(gap.lower);
            out.put_u16(gap.upper);
        }
    }
    if let Some(seq) = flow.end_ack {
        out.put_u32(seq.get());
    }
    out.put_slice(&flow.payload);
}

/// Reads a segment. The checksum comes first, so that a syntax error is never mere damage. The
/// payload shares the memory of `bytes`.
///
/// # Errors
///
/// Anything that [`encode`] does not produce from a legal segment: see [`DecodeError`].
pub fn decode(mut bytes: Bytes, pseudo: Option<&PseudoHeader>) -> Result<Segment, DecodeError> {
    let length = bytes.len();
    let Some((mut fixed, rest)) = bytes.split_at_checked(FIXED_HEADER) else {
        return Err(DecodeError::TooShort { length });
    };
    let source_port = fixed.get_u16();
    let destination_port = fixed.get_u16();
    let version_and_types = fixed.get_u16();
    let window = fixed.get_u16();
    let seq = Seq32::new(fixed.get_u32());
    let found = fixed.get_u16();
    let header = 4 * usize::from(fixed.get_u8());
    let sq = fixed.get_u8();

    let computed = PseudoHeader::checksum(pseudo, PROTOCOL, &bytes, CHECKSUM_AT);
    if found != computed {
        return Err(DecodeError::Checksum { found, computed });
    }
    let version = (version_and_types >> 12) as u8;
    if version != VERSION {
        return Err(DecodeError::Version(version));
    }
    let kind = decode_types(version_and_types & 0x0fff)?;
    if header > length {
        return Err(DecodeError::HeaderPastEnd { header, length });
    }
    let mut body = header
        .checked_sub(FIXED_HEADER)
        .and_then(|length| rest.get(..length))
        .ok_or(DecodeError::HeaderLength { header })
        .and_then(|left| Blocks { left, header }.decode(kind))?;

    bytes.advance(header);
    match (kind.contains(Kind::DATA), bytes.is_empty()) {
        (true, true) => return Err(DecodeError::DataWithoutPayload),
        (false, false) => return Err(DecodeError::PayloadWithoutData { length: bytes.len() }),
        (true, false) => {
            if let Body::Flow(flow) = &mut body {
                flow.payload = bytes;
            }
        }
        (false, true) => {}
    }
    Ok(Segment { source_port, destination_port, sq, window, seq, body })
}

/// The types of a segment, if they go together.
fn decode_types(bits: u16) -> Result<Kind, DecodeError> {
    if bits & RESERVED_TYPE_BITS != 0 {
        return Err(DecodeError::ReservedTypeBits(bits & RESERVED_TYPE_BITS));
    }
    let kind = Kind::from_bits(bits);
    let legal = if kind.intersects(Kind::BGN.with(Kind::BGNAK).with(Kind::RST)) {
        bits.is_power_of_two()
    } else {
        !kind.is_empty()
            && !kind.contains(Kind::STAT.with(Kind::USTAT))
            && !kind.contains(Kind::DATA.with(Kind::END))
    };
    if legal { Ok(kind) } else { Err(DecodeError::IllegalTypes(kind)) }
}

/// The extension blocks of a header, read from the front.
struct Blocks<'a> {
    /// What has not been read.
    left: &'a [u8],
    /// Stated length of the whole header in bytes, for the error.
    header: usize,
}

impl Blocks<'_> {
    /// The body with these types, without its payload. All blocks must be used up by it.
    fn decode(mut self, kind: Kind) -> Result<Body, DecodeError> {
        let body = if kind.contains(Kind::BGN) {
            Body::Begin(self.begin()?)
        } else if kind.contains(Kind::BGNAK) {
            Body::BeginAck(self.begin()?)
        } else if kind.contains(Kind::RST) {
            Body::Reset(ResetReason::from_code(self.u32()?))
        } else {
            Body::Flow(self.flow(kind)?)
        };
        if self.left.is_empty() { Ok(body) } else { Err(self.wrong_length()) }
    }

    fn begin(&mut self) -> Result<Begin, DecodeError> {
        let mss = self.u16()?;
        let [flags, reserved] = self.u16()?.to_be_bytes();
        let (ts, ts_echo) = (self.u32()?, self.u32()?);
        if mss == 0 {
            return Err(DecodeError::ZeroMss);
        }
        if flags & !MANY_GAPS != 0 {
            return Err(DecodeError::BeginFlags(flags));
        }
        if reserved != 0 {
            return Err(DecodeError::BeginReserved(reserved));
        }
        Ok(Begin { mss, many_gaps: flags & MANY_GAPS != 0, ts, ts_echo })
    }

    fn flow(&mut self, kind: Kind) -> Result<Flow, DecodeError> {
        let poll = if kind.contains(Kind::POLL) { Some(self.u32()?) } else { None };
        let report = if kind.contains(Kind::STAT) {
            Some(self.report(ReportKind::Stat)?)
        } else if kind.contains(Kind::USTAT) {
            Some(self.report(ReportKind::Ustat)?)
        } else {
            None
        };
        let end_ack = if kind.contains(Kind::ENDAK) { Some(Seq32::new(self.u32()?)) } else { None };
        Ok(Flow { payload: Bytes::new(), poll, report, end_ack, end: kind.contains(Kind::END) })
    }

    fn report(&mut self, kind: ReportKind) -> Result<Report, DecodeError> {
        let ts_echo = self.u32()?;
        let next = Seq32::new(self.u32()?);
        let count = self.u16()?;
        let flags = self.u16()?;
        if flags & !MORE != 0 {
            return Err(DecodeError::ReportFlags(flags));
        }
        if usize::from(count) > Report::MOST_GAPS {
            return Err(DecodeError::TooManyGaps(count));
        }
        let mut gaps = GapList::new();
        for _ in 0..count {
            let gap = Gap { lower: self.u16()?, upper: self.u16()? };
            check_gap(kind, gaps.last(), gap)?;
            gaps.push(gap);
        }
        let (received_at, more) = (None, flags & MORE != 0);
        Ok(Report { kind, ts_echo, received_at, next, more, gaps })
    }

    fn u16(&mut self) -> Result<u16, DecodeError> {
        self.left.try_get_u16().map_err(|_| self.wrong_length())
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        self.left.try_get_u32().map_err(|_| self.wrong_length())
    }

    const fn wrong_length(&self) -> DecodeError {
        DecodeError::HeaderLength { header: self.header }
    }
}

/// Whether a gap may follow the one before it.
const fn check_gap(kind: ReportKind, before: Option<&Gap>, gap: Gap) -> Result<(), DecodeError> {
    let Gap { lower, upper } = gap;
    if lower >= upper {
        return Err(DecodeError::EmptyGap { lower, upper });
    }
    match before {
        Some(before) if lower <= before.upper => {
            Err(DecodeError::GapOrder { previous: before.upper, lower })
        }
        None if lower != 0 && matches!(kind, ReportKind::Stat) => {
            Err(DecodeError::FirstGap { lower })
        }
        _ => Ok(()),
    }
}
