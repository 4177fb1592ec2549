//! The typed form of an XSTP segment.
//!
//! Parts that never combine cannot be written down together, with one exception: a [`Flow`] can be
//! empty or hold END with DATA, which the codec refuses to read.

use bentpipe_units::Seq32;
use bytes::Bytes;
use smallvec::SmallVec;

use super::ReceiveTimestamp;
use crate::Kind;

/// Length of the fixed header in bytes (paper, section 7).
pub(super) const FIXED_HEADER: usize = 16;
/// Longest header: `HdrLen` is an 8-bit number of 32-bit words.
pub(super) const LONGEST_HEADER: usize = 255 * 4;

/// One XSTP segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Port of the session that sent it.
    pub source_port: u16,
    /// Port of the session it is meant for.
    pub destination_port: u16,
    /// Session sequence N(SQ): chosen by the client for each BGN, carried by every segment of the
    /// session in both directions.
    pub sq: u8,
    /// Receive credit of the issuer in segments of the negotiated MSS, from its own N(R) on. No
    /// meaning in a reset.
    pub window: u16,
    /// N(S): number of the DATA segment; initial number in BGN and BGNAK; one past the last DATA
    /// in END; the next new number VT(S) in everything else.
    pub seq: Seq32,
    /// What the segment says.
    pub body: Body,
}

/// What a segment says: one of the three that never combine, or a composite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// BGN: open a session.
    Begin(Begin),
    /// BGNAK: the session is open.
    BeginAck(Begin),
    /// RST: the session is gone.
    Reset(ResetReason),
    /// Everything of an established session.
    Flow(Flow),
}

/// Parameters of BGN and BGNAK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// Largest payload that the issuer can take, in bytes.
    pub mss: u16,
    /// The issuer's USTATs may list more than one gap.
    pub many_gaps: bool,
    /// The issuer's clock in units of 100 µs.
    pub ts: u32,
    /// In BGNAK the `ts` of the BGN it answers; 0 in BGN.
    pub ts_echo: u32,
}

/// A composite of DATA, POLL, STAT or USTAT, ENDAK, END. END never comes with DATA, and at least
/// one part is present.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// DATA: user bytes, empty when the segment carries none.
    pub payload: Bytes,
    /// POLL: the sender's clock in units of 100 µs, never the same twice in a session.
    pub poll: Option<u32>,
    /// STAT or USTAT.
    pub report: Option<Report>,
    /// ENDAK: N(S) of the END that is acknowledged.
    pub end_ack: Option<Seq32>,
    /// END: the issuer sends no more DATA.
    pub end: bool,
}

/// A receiver's report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Whether a POLL asked for it.
    pub kind: ReportKind,
    /// Timestamp of the POLL that it answers; 0 in a USTAT.
    pub ts_echo: u32,
    /// When that POLL came. Only STATs in their [compressed form](super::encode_compact) have it.
    pub received_at: Option<ReceiveTimestamp>,
    /// N(R): everything before this number has arrived.
    pub next: Seq32,
    /// The list was cut: nothing is said about numbers after the last gap.
    pub more: bool,
    /// What is missing: sorted, disjoint and not touching. The first gap of a STAT begins at 0.
    pub gaps: GapList,
}

/// Whether a report was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// STAT, the answer to a POLL.
    Stat,
    /// USTAT, sent when a gap is found.
    Ustat,
}

/// Missing segments `next + lower .. next + upper`, half open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Offset of the first missing number from N(R).
    pub lower: u16,
    /// Offset of the first number after the gap from N(R).
    pub upper: u16,
}

/// The gaps of a report. Up to four cost no allocation.
pub type GapList = SmallVec<[Gap; 4]>;

/// Why a session was reset. Codes that this version does not know are kept as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetReason {
    /// 1: there is no such session.
    NoSession,
    /// 2: the user aborted.
    UserAbort,
    /// 3: the peer broke the protocol.
    ProtocolError,
    /// 4: the peer does not answer.
    NoResponse,
    /// 5: the session was refused.
    Refused,
    /// Any other code.
    Other(u32),
}

impl ResetReason {
    /// The code on the wire.
    pub const fn code(self) -> u32 {
        match self {
            Self::NoSession => 1,
            Self::UserAbort => 2,
            Self::ProtocolError => 3,
            Self::NoResponse => 4,
            Self::Refused => 5,
            Self::Other(code) => code,
        }
    }

    /// The reason with this code.
    pub const fn from_code(code: u32) -> Self {
        match code {
            1 => Self::NoSession,
            2 => Self::UserAbort,
            3 => Self::ProtocolError,
            4 => Self::NoResponse,
            5 => Self::Refused,
            other => Self::Other(other),
        }
    }
}

impl Default for Segment {
    /// An empty composite: a place to write a segment into.
    fn default() -> Self {
        Self {
            source_port: 0,
            destination_port: 0,
            sq: 0,
            window: 0,
            seq: Seq32::default(),
            body: Body::Flow(Flow::default()),
        }
    }
}

impl Segment {
    /// Length of the header of a segment that carries data and nothing else, in bytes.
    pub const PLAIN_HEADER: usize = FIXED_HEADER;

    /// The composite in its place: the one that is there, or an empty one.
    #[inline]
    pub fn flow_mut(&mut self) -> &mut Flow {
        if !matches!(self.body, Body::Flow(_)) {
            self.body = Body::Flow(Flow::default());
        }
        match &mut self.body {
            Body::Flow(flow) => flow,
            _ => unreachable!("it was just made one"),
        }
    }

    /// The parts that the segment carries.
    #[inline]
    pub const fn kind(&self) -> Kind {
        match &self.body {
            Body::Begin(_) => Kind::BGN,
            Body::BeginAck(_) => Kind::BGNAK,
            Body::Reset(_) => Kind::RST,
            Body::Flow(flow) => flow.kind(),
        }
    }

    /// Length of the whole segment in bytes, and the parts that it carries.
    #[inline]
    pub fn measure(&self) -> (usize, Kind) {
        match &self.body {
            Body::Flow(flow) if flow.is_plain_data() => {
                (FIXED_HEADER + flow.payload.len(), Kind::DATA)
            }
            _ => (self.wire_len(), self.kind()),
        }
    }

    /// Length of header and extension blocks in bytes.
    #[inline]
    pub fn header_len(&self) -> usize {
        FIXED_HEADER
            + match &self.body {
                Body::Begin(_) | Body::BeginAck(_) => 12,
                Body::Reset(_) => 4,
                Body::Flow(flow) => flow.extension_len(),
            }
    }

    /// The user bytes; empty when there are none.
    #[inline]
    pub const fn payload_len(&self) -> usize {
        match &self.body {
            Body::Flow(flow) => flow.payload.len(),
            _ => 0,
        }
    }

    /// Length of the whole segment in bytes.
    #[inline]
    pub fn wire_len(&self) -> usize {
        self.header_len() + self.payload_len()
    }
}

impl Flow {
    /// Data and nothing else.
    #[inline]
    pub const fn is_plain_data(&self) -> bool {
        let alone = self.poll.is_none() && self.report.is_none() && self.end_ack.is_none();
        alone && !self.end && !self.payload.is_empty()
    }

    /// The parts that are present.
    #[inline]
    pub const fn kind(&self) -> Kind {
        let mut kind = Kind::NONE;
        if !self.payload.is_empty() {
            kind = kind.with(Kind::DATA);
        }
        if self.poll.is_some() {
            kind = kind.with(Kind::POLL);
        }
        if let Some(report) = &self.report {
            kind = kind.with(match report.kind {
                ReportKind::Stat => Kind::STAT,
                ReportKind::Ustat => Kind::USTAT,
            });
        }
        if self.end_ack.is_some() {
            kind = kind.with(Kind::ENDAK);
        }
        if self.end {
            kind = kind.with(Kind::END);
        }
        kind
    }

    /// Length of the extension blocks in bytes.
    #[inline]
    fn extension_len(&self) -> usize {
        let poll = if self.poll.is_some() { 4 } else { 0 };
        let report = self.report.as_ref().map_or(0, |r| 12 + 4 * r.listed().len());
        let end_ack = if self.end_ack.is_some() { 4 } else { 0 };
        poll + report + end_ack
    }
}

impl Report {
    /// Most gaps that fit into one header beside a POLL and an ENDAK block.
    pub const MOST_GAPS: usize = (LONGEST_HEADER - FIXED_HEADER - 4 - 12 - 4) / 4;

    /// The gaps that go onto the wire, where a longer list is cut.
    pub(super) fn listed(&self) -> &[Gap] {
        &self.gaps[..self.gaps.len().min(Self::MOST_GAPS)]
    }

    /// First number and end of a gap.
    pub const fn range(&self, gap: Gap) -> (Seq32, Seq32) {
        (self.next.plus(gap.lower as u32), self.next.plus(gap.upper as u32))
    }
}
