//! XSTP segments with compressed headers, as they travel inside a secure association.
//!
//! The paper asks for header compression in its conclusion. Inside an association the connection is
//! known by a short number, so that ports and N(SQ) need not be repeated; the datagram is
//! authenticated, so that a checksum would add nothing; and N(S) is close to the last one, so that
//! its lower three bytes say it all. A plain data segment has a header of four bytes.
//!
//! ```text
//! flags           1  DATA POLL STAT USTAT WHOLE MORE END ENDAK, from bit 0; STAT and USTAT together: a STAT
//!                       that says when its POLL came
//! N(S) mod 2^24   3
//! poll            4  with POLL
//! report             with STAT or USTAT:
//!   credit        2
//!   ts_echo       4  STAT only
//!   received_at   3  STAT with USTAT
//!   N(R)          4
//!   count         1..3, and for each gap its distance from the end of the one before it and its
//!                       length, 1..3 bytes each: seven bits a byte, the lowest first, bit 7 says
//!                       that another follows
//! end_ack         4  with ENDAK
//! payload            with DATA
//! ```
//!
//! BGN, BGNAK and RST set WHOLE alone; the segment follows in its usual form ([`encode`]).

use bentpipe_units::Seq32;
use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::error::DecodeError;
use super::segment::{Body, Flow, Gap, GapList, Report, ReportKind, Segment};
use super::{ReceiveTimestamp, decode, encode};

const DATA: u8 = 0x01;
const POLL: u8 = 0x02;
const STAT: u8 = 0x04;
const USTAT: u8 = 0x08;
/// A STAT that says when its POLL came.
const TIMED: u8 = STAT | USTAT;
const WHOLE: u8 = 0x10;
const MORE: u8 = 0x20;
const END: u8 = 0x40;
const ENDAK: u8 = 0x80;

/// What both ends of a connection know and therefore need not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// Port of the end that sends.
    pub source_port: u16,
    /// Port of the end that receives.
    pub destination_port: u16,
    /// Session sequence N(SQ).
    pub sq: u8,
    /// A number within 2^23 of N(S): the last one that was received.
    pub near: Seq32,
}

/// Bytes of a plain data segment's header.
pub const PLAIN_HEADER: usize = 4;

/// Appends a segment to `out`. Gaps that find no room in `most` bytes of report are cut and MORE is
/// set; a receiver reports the oldest ones first, and the newest are left for the next report.
///
/// The credit travels only with a report, the only place where it counts.
pub fn encode_compact(segment: &Segment, most: usize, out: &mut BytesMut) {
    let Body::Flow(flow) = &segment.body else {
        out.put_u8(WHOLE);
        return encode(segment, None, out);
    };
    let flags_at = out.len();
    out.put_u8(0);
    let mut flags = 0;
    out.put_slice(&segment.seq.get().to_be_bytes()[1..]);
    if let Some(ts) = flow.poll {
        flags |= POLL;
        out.put_u32(ts);
    }
    if let Some(report) = &flow.report {
        flags |= put_report(report, segment.window, most, out);
    }
    if let Some(seq) = flow.end_ack {
        flags |= ENDAK;
        out.put_u32(seq.get());
    }
    if flow.end {
        flags |= END;
    }
    if !flow.payload.is_empty() {
        flags |= DATA;
        out.put_slice(&flow.payload);
    }
    out[flags_at] = flags;
}

/// Bytes that [`encode_compact`] appends for a segment whose report has room for all of its gaps.
pub fn compact_len(segment: &Segment) -> usize {
    let Body::Flow(flow) = &segment.body else { return 1 + segment.wire_len() };
    let report = flow.report.as_ref().map_or(0, |report| {
        let echo = match (report.kind, report.received_at) {
            (ReportKind::Stat, None) => 4,
            (ReportKind::Stat, Some(_)) => 7,
            (ReportKind::Ustat, _) => 0,
        };
        let (mut end, mut gaps) = (0, 0);
        for gap in &report.gaps {
            gaps += number_len(gap.lower.saturating_sub(end));
            gaps += number_len(gap.upper.saturating_sub(gap.lower));
            end = gap.upper;
        }
        2 + echo + 4 + number_len(report.gaps.len() as u16) + gaps
    });
    let word = |present: bool| if present { 4 } else { 0 };
    PLAIN_HEADER
        + word(flow.poll.is_some())
        + report
        + word(flow.end_ack.is_some())
        + flow.payload.len()
}

fn put_report(report: &Report, window: u16, most: usize, out: &mut BytesMut) -> u8 {
    let mut flags = if report.more { MORE } else { 0 };
    out.put_u16(window);
    match report.kind {
        ReportKind::Stat => {
            flags |= if report.received_at.is_some() { TIMED } else { STAT };
            out.put_u32(report.ts_echo);
            if let Some(clock) = report.received_at {
                clock.put(out);
            }
        }
        ReportKind::Ustat => flags |= USTAT,
    }
    out.put_u32(report.next.get());
    let fitting = fitting(&report.gaps, most);
    if fitting < report.gaps.len() {
        flags |= MORE;
    }
    put_number(fitting as u16, out);
    let mut end = 0;
    for gap in &report.gaps[..fitting] {
        put_number(gap.lower.saturating_sub(end), out);
        put_number(gap.upper.saturating_sub(gap.lower), out);
        end = gap.upper;
    }
    flags
}

/// How many gaps fit into so many bytes.
fn fitting(gaps: &[Gap], most: usize) -> usize {
    let (mut end, mut bytes) = (0, 0);
    for (index, gap) in gaps.iter().enumerate() {
        bytes += number_len(gap.lower.saturating_sub(end));
        bytes += number_len(gap.upper.saturating_sub(gap.lower));
        if bytes > most {
            return index;
        }
        end = gap.upper;
    }
    gaps.len()
}

const fn number_len(n: u16) -> usize {
    match n {
        0..=0x7f => 1,
        0x80..=0x3fff => 2,
        _ => 3,
    }
}

fn put_number(mut n: u16, out: &mut BytesMut) {
    while n > 0x7f {
        out.put_u8(n as u8 | 0x80);
        n >>= 7;
    }
    out.put_u8(n as u8);
}

/// Reads a segment. The payload shares the memory of `bytes`.
///
/// # Errors
///
/// Bytes that [`encode_compact`] does not produce: see [`DecodeError`].
pub fn decode_compact(mut bytes: Bytes, context: &Context) -> Result<Segment, DecodeError> {
    let length = bytes.len();
    let flags = bytes.try_get_u8().map_err(|_| DecodeError::TooShort { length })?;
    if flags == WHOLE {
        let segment = decode(bytes, None)?;
        // What has a compressed form has no other.
        let compressible = matches!(segment.body, Body::Flow(_));
        return if compressible { Err(DecodeError::CompactFlags(flags)) } else { Ok(segment) };
    }
    if flags & (WHOLE | DATA | POLL | STAT | USTAT | END | ENDAK) == 0
        || flags & WHOLE != 0
        || flags & (DATA | END) == DATA | END
        || flags & MORE != 0 && flags & (STAT | USTAT) == 0
    {
        return Err(DecodeError::CompactFlags(flags));
    }
    let mut read = Reader { bytes, length };
    let seq = expand(read.seq24()?, context.near);
    let poll = if flags & POLL != 0 { Some(read.u32()?) } else { None };
    let (window, report) =
        if flags & (STAT | USTAT) != 0 { read.report(flags)? } else { (0, None) };
    let end_ack = if flags & ENDAK != 0 { Some(Seq32::new(read.u32()?)) } else { None };
    let payload = read.bytes;
    match (flags & DATA != 0, payload.is_empty()) {
        (true, true) => return Err(DecodeError::DataWithoutPayload),
        (false, false) => return Err(DecodeError::PayloadWithoutData { length: payload.len() }),
        _ => {}
    }
    let Context { source_port, destination_port, sq, .. } = *context;
    let body = Body::Flow(Flow { payload, poll, report, end_ack, end: flags & END != 0 });
    Ok(Segment { source_port, destination_port, sq, window, seq, body })
}

/// The number nearest to `near` whose lower 24 bits are these.
fn expand(low: u32, near: Seq32) -> Seq32 {
    let ahead = low.wrapping_sub(near.get()) & 0x00ff_ffff;
    let distance = if ahead < 1 << 23 { ahead } else { ahead.wrapping_sub(1 << 24) };
    near.plus(distance)
}

struct Reader {
    bytes: Bytes,
    length: usize,
}

impl Reader {
    fn short(&self) -> DecodeError {
        DecodeError::TooShort { length: self.length }
    }

    fn seq24(&mut self) -> Result<u32, DecodeError> {
        if self.bytes.len() < 3 {
            return Err(self.short());
        }
        Ok(self.bytes.get_uint(3) as u32)
    }

    fn u16(&mut self) -> Result<u16, DecodeError> {
        self.bytes.try_get_u16().map_err(|_| self.short())
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        self.bytes.try_get_u32().map_err(|_| self.short())
    }

    fn clock(&mut self) -> Result<ReceiveTimestamp, DecodeError> {
        ReceiveTimestamp::take(&mut self.bytes).ok_or(self.short())
    }

    /// A number of at most 16 bits in its shortest form.
    fn number(&mut self) -> Result<u16, DecodeError> {
        let mut n = 0u32;
        for shift in [0, 7, 14] {
            let byte = self.bytes.try_get_u8().map_err(|_| self.short())?;
            n |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let shortest = shift == 0 || byte != 0;
                return u16::try_from(n).ok().filter(|_| shortest).ok_or(DecodeError::Number);
            }
        }
        Err(DecodeError::Number)
    }

    fn report(&mut self, flags: u8) -> Result<(u16, Option<Report>), DecodeError> {
        let window = self.u16()?;
        let (kind, ts_echo) = if flags & STAT != 0 {
            (ReportKind::Stat, self.u32()?)
        } else {
            (ReportKind::Ustat, 0)
        };
        let received_at = if flags & TIMED == TIMED { Some(self.clock()?) } else { None };
        let next = Seq32::new(self.u32()?);
        let count = self.number()?;
        let (mut gaps, mut end) = (GapList::new(), 0u16);
        for _ in 0..count {
            let (distance, len) = (self.number()?, self.number()?);
            let first = gaps.is_empty();
            let lower = end.checked_add(distance).ok_or(DecodeError::Number)?;
            let upper = lower.checked_add(len).ok_or(DecodeError::Number)?;
            if len == 0 {
                return Err(DecodeError::EmptyGap { lower, upper });
            }
            if first && kind == ReportKind::Stat && lower != 0 {
                return Err(DecodeError::FirstGap { lower });
            }
            if !first && distance == 0 {
                return Err(DecodeError::GapOrder { previous: end, lower });
            }
            gaps.push(Gap { lower, upper });
            end = upper;
        }
        let more = flags & MORE != 0;
        Ok((window, Some(Report { kind, ts_echo, received_at, next, more, gaps })))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::xstp::{Begin, ResetReason};

    const CONTEXT: Context =
        Context { source_port: 7, destination_port: 9, sq: 3, near: Seq32::new(0x0100_0010) };

    fn segment(seq: Seq32, window: u16, body: Body) -> Segment {
        Segment { source_port: 7, destination_port: 9, sq: 3, window, seq, body }
    }

    fn bytes_of(segment: &Segment) -> Bytes {
        let mut out = BytesMut::new();
        encode_compact(segment, 1000, &mut out);
        assert_eq!(out.len(), compact_len(segment));
        out.freeze()
    }

    #[test]
    fn a_plain_data_segment_has_a_header_of_four_bytes() {
        let flow = Flow { payload: Bytes::from_static(b"data"), ..Flow::default() };
        let bytes = bytes_of(&segment(Seq32::new(0x0100_0011), 0, Body::Flow(flow)));
        assert_eq!(&bytes[..], b"\x01\x00\x00\x11data");
    }

    #[test]
    fn begin_and_reset_travel_whole() {
        let begin = Begin { mss: 1400, many_gaps: true, ts: 5, ts_echo: 6 };
        for body in [Body::Begin(begin), Body::BeginAck(begin), Body::Reset(ResetReason::UserAbort)]
        {
            let segment = segment(Seq32::new(77), 99, body);
            assert_eq!(decode_compact(bytes_of(&segment), &CONTEXT), Ok(segment));
        }
    }

    #[test]
    fn a_number_is_expanded_to_the_one_nearest_to_the_last() {
        for near in [0u32, 5, 0x00ff_ffff, 0x8000_0000, u32::MAX] {
            for distance in [0i64, 1, -1, 1000, -1000, (1 << 23) - 1, -(1 << 23)] {
                let seq = (i64::from(near) + distance) as u32;
                assert_eq!(expand(seq & 0x00ff_ffff, Seq32::new(near)), Seq32::new(seq));
            }
        }
    }

    #[test]
    fn gaps_without_room_are_cut_and_said_to_be_more() {
        let gaps = (0..100).map(|n| Gap { lower: n * 10, upper: n * 10 + 3 }).collect();
        let next = Seq32::new(5);
        let (kind, received_at) = (ReportKind::Stat, Some(ReceiveTimestamp::from_ticks(7)));
        let report = Report { kind, ts_echo: 1, received_at, next, more: false, gaps };
        let flow = Flow { report: Some(report), ..Flow::default() };
        let segment = segment(Seq32::new(0x0100_0000), 50, Body::Flow(flow));
        let mut out = BytesMut::new();
        encode_compact(&segment, 20, &mut out);
        let decoded = decode_compact(out.freeze(), &CONTEXT).expect("a segment");
        let Body::Flow(Flow { report: Some(report), .. }) = decoded.body else {
            panic!("a report")
        };
        assert_eq!((report.gaps.len(), report.more), (10, true));
    }

    #[test]
    fn what_nobody_writes_is_refused() {
        let refused = |bytes: &'static [u8]| decode_compact(Bytes::from_static(bytes), &CONTEXT);
        assert_eq!(refused(b""), Err(DecodeError::TooShort { length: 0 }));
        assert_eq!(refused(b"\x00\0\0\x01"), Err(DecodeError::CompactFlags(0)));
        assert_eq!(refused(b"\x0c\0\0\x01"), Err(DecodeError::TooShort { length: 4 }));
        assert_eq!(refused(b"\x1c\0\0\x01"), Err(DecodeError::CompactFlags(0x1c)));
        assert_eq!(refused(b"\x21\0\0\x01x"), Err(DecodeError::CompactFlags(0x21)));
        assert_eq!(refused(b"\x01\0\0\x01"), Err(DecodeError::DataWithoutPayload));
        assert_eq!(
            refused(b"\x02\0\0\x01\0\0\0\x01x"),
            Err(DecodeError::PayloadWithoutData { length: 1 })
        );
        // A USTAT with a number that is not in its shortest form, and one with an empty gap.
        let ustat = b"\x08\0\0\x01\0\x01\0\0\0\x01\x81\x00";
        assert_eq!(refused(ustat), Err(DecodeError::Number));
        let empty = b"\x08\0\0\x01\0\x01\0\0\0\x01\x01\x05\x00";
        assert_eq!(refused(empty), Err(DecodeError::EmptyGap { lower: 5, upper: 5 }));
    }

    fn reports() -> impl Strategy<Value = Report> {
        let gaps = prop::collection::vec((1..400u16, 1..400u16), 0..60);
        let received_at = prop::option::of(any::<u32>().prop_map(ReceiveTimestamp::from_ticks));
        (any::<bool>(), any::<u32>(), received_at, any::<u32>(), any::<bool>(), gaps).prop_map(
            |(stat, ts_echo, received_at, next, more, lengths)| {
                let (mut gaps, mut at) = (GapList::new(), 0);
                for (hole, cached) in lengths {
                    gaps.push(Gap { lower: at, upper: at + hole });
                    at += hole + cached;
                }
                let next = Seq32::new(next);
                if stat {
                    Report { kind: ReportKind::Stat, ts_echo, received_at, next, more, gaps }
                } else {
                    let kind = ReportKind::Ustat;
                    Report { kind, ts_echo: 0, received_at: None, next, more, gaps }
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            near in any::<u32>(),
            distance in -8_000_000i64..8_000_000,
            poll in prop::option::of(any::<u32>()),
            report in prop::option::of(reports()),
            end_ack in prop::option::of(any::<u32>()),
            payload in prop::collection::vec(any::<u8>(), 1..50),
        ) {
            let flow = Flow {
                payload: payload.into(),
                poll,
                report,
                end_ack: end_ack.map(Seq32::new),
                end: false,
            };
            let window = if flow.report.is_some() { 500 } else { 0 };
            let seq = Seq32::new((i64::from(near) + distance) as u32);
            let segment = segment(seq, window, Body::Flow(flow));
            let context = Context { near: Seq32::new(near), ..CONTEXT };
            prop_assert_eq!(decode_compact(bytes_of(&segment), &context), Ok(segment));
        }

        #[test]
        fn what_is_read_is_what_was_written(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let bytes = Bytes::from(bytes);
            if let Ok(segment) = decode_compact(bytes.clone(), &CONTEXT) {
                prop_assert_eq!(bytes_of(&segment), bytes);
            }
        }
    }
}
