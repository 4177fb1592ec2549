//! The congestion header of XCP, the Explicit Control Protocol (draft-falk-xcp-spec-03, section 3).
//!
//! It stands between the IP header and the transport's. Routers on the path reduce what the sender
//! asks for; the receiver sends back what is left.

use bentpipe_units::Span;
use bytes::{Buf, BufMut, BytesMut};

/// The IP protocol number that stands for a congestion header in captures: one for experiments (RFC 3692),
/// as IANA has given it none.
pub const PROTOCOL: u8 = 254;

/// Version in the upper four bits of the third byte.
const VERSION: u8 = 1;
/// Format of a header with a request.
const STANDARD: u8 = 1;
/// Format of a header that routers leave alone.
const MINIMAL: u8 = 2;
/// Format of a header that asks for the bandwidth itself. The draft has none: it is this project's.
const BANDWIDTH: u8 = 3;
/// Times are seconds with so many bits after the binary point.
const FRACTION_BITS: u32 = 28;
const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A congestion header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// IP protocol number of what follows.
    pub protocol: u8,
    /// What the sender asks of the routers; `None` in the minimal format, which pure
    /// acknowledgements use.
    pub request: Option<Request>,
    /// Reverse_Feedback: what the routers left of the peer's requests.
    pub reverse_feedback: RateChange,
}

/// What a sender wants of routers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// Another rate than it has (XCP). What comes back of several packets counts in sum.
    #[default]
    Change,
    /// To know the bandwidth that there is for it (BA-TCP). The latest that comes back counts.
    Bandwidth,
}

/// What a sender tells routers and asks of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The sender's round-trip time, in steps of 2^-28 s up to 16 s; `None` before it has measured
    /// one. With [`Wish::Bandwidth`] that of propagation alone.
    pub rtt: Option<Span>,
    /// X: the sender's round-trip time over its window in packets, in steps of 2^-28 s up to 16 s.
    pub packet_interval: Span,
    /// Delta_Throughput: the change that the sender wants, and what routers have left of it. With
    /// [`Wish::Bandwidth`] the least bandwidth that a router stated, and the most there can be before one did.
    pub delta_throughput: RateChange,
    /// What is asked for.
    pub wish: Wish,
}

/// A change of throughput, up or down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RateChange(i32);

impl RateChange {
    /// The most there can be: what a question for bandwidth leaves with.
    pub const MOST: Self = Self(i32::MAX);

    /// So many bytes per second more, or less.
    pub const fn from_bytes_per_sec(change: i32) -> Self {
        Self(change)
    }

    /// Bytes per second.
    pub const fn bytes_per_sec(self) -> i32 {
        self.0
    }
}

/// Why bytes are no congestion header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than a header has.
    #[error("{length} bytes are shorter than a congestion header of 20")]
    TooShort {
        /// Bytes there are.
        length: usize,
    },
    /// The header states another length than it has in this version.
    #[error("a congestion header of {0} bytes, not 20")]
    Length(u8),
    /// A version that this codec does not speak.
    #[error("version {0} of the congestion header, not 1")]
    Version(u8),
    /// A format without a meaning.
    #[error("format {0} of the congestion header, not 1 (standard), 2 (minimal) or 3 (bandwidth)")]
    Format(u8),
}

impl Header {
    /// Length in bytes.
    pub const LENGTH: usize = 20;

    /// The header as a peer reads it: with times in whole steps.
    #[must_use]
    pub fn in_steps(self) -> Self {
        let steps = |span| from_steps(to_steps(span).max(1));
        let request = self.request.map(|request| Request {
            rtt: request.rtt.map(steps),
            packet_interval: from_steps(to_steps(request.packet_interval)),
            ..request
        });
        Self { request, ..self }
    }

    /// Appends the bytes of the header, [`Header::LENGTH`] of them, to `out`. Times beyond 16 s are
    /// written as the longest there is.
    pub fn encode(&self, out: &mut BytesMut) {
        let format = match self.request.map(|request| request.wish) {
            Some(Wish::Change) => STANDARD,
            Some(Wish::Bandwidth) => BANDWIDTH,
            None => MINIMAL,
        };
        let request = self.request.unwrap_or_default();
        out.reserve(Self::LENGTH);
        out.put_u8(self.protocol);
        out.put_u8(Self::LENGTH as u8);
        out.put_u8(VERSION << 4 | format);
        out.put_u8(0);
        // Zero is an unknown time, so a known one is at least one step.
        out.put_u32(request.rtt.map_or(0, |rtt| to_steps(rtt).max(1)));
        out.put_u32(to_steps(request.packet_interval));
        out.put_i32(request.delta_throughput.0);
        out.put_i32(self.reverse_feedback.0);
    }

    /// Reads the header that `bytes` begin with; more may follow. The reserved byte is ignored, as
    /// are the fields of a request in the minimal format.
    ///
    /// # Errors
    ///
    /// See [`DecodeError`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let Some(mut fields) = bytes.get(..Self::LENGTH) else {
            return Err(DecodeError::TooShort { length: bytes.len() });
        };
        let protocol = fields.get_u8();
        let length = fields.get_u8();
        let version_and_format = fields.get_u8();
        fields.advance(1);
        if usize::from(length) != Self::LENGTH {
            return Err(DecodeError::Length(length));
        }
        if version_and_format >> 4 != VERSION {
            return Err(DecodeError::Version(version_and_format >> 4));
        }
        let (rtt, packet_interval) = (fields.get_u32(), from_steps(fields.get_u32()));
        let delta_throughput = RateChange(fields.get_i32());
        let request = match version_and_format & 0x0f {
            format @ (STANDARD | BANDWIDTH) => Some(Request {
                rtt: (rtt != 0).then(|| from_steps(rtt)),
                packet_interval,
                delta_throughput,
                wish: if format == STANDARD { Wish::Change } else { Wish::Bandwidth },
            }),
            MINIMAL => None,
            other => return Err(DecodeError::Format(other)),
        };
        Ok(Self { protocol, request, reverse_feedback: RateChange(fields.get_i32()) })
    }
}

/// The nearest number of steps of 2^-28 s, at most the largest there is.
fn to_steps(span: Span) -> u32 {
    let scaled = u128::from(span.as_nanos()) << FRACTION_BITS;
    let steps = (scaled + u128::from(NANOS_PER_SEC / 2)) / u128::from(NANOS_PER_SEC);
    u32::try_from(steps).unwrap_or(u32::MAX)
}

/// The nearest number of nanoseconds. A step is almost four of them, so the way back is exact.
const fn from_steps(steps: u32) -> Span {
    let half = 1 << (FRACTION_BITS - 1);
    Span::from_nanos((steps as u64 * NANOS_PER_SEC + half) >> FRACTION_BITS)
}

#[cfg(test)]
mod tests {
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    fn encoded(header: &Header) -> Vec<u8> {
        let mut out = BytesMut::new();
        header.encode(&mut out);
        out.to_vec()
    }

    fn asking() -> Header {
        Header {
            protocol: 6,
            request: Some(Request {
                rtt: Some(Span::from_millis(500)),
                packet_interval: Span::from_micros(31_250),
                delta_throughput: RateChange::from_bytes_per_sec(-2),
                wish: Wish::Change,
            }),
            reverse_feedback: RateChange::from_bytes_per_sec(0x1234),
        }
    }

    #[test]
    fn a_request_has_its_known_bytes() {
        // 31.25 ms are 2^-5 s, half a second is 2^-1 s.
        let bytes = [
            6, 20, 0x11, 0, 0x08, 0, 0, 0, 0x00, 0x80, 0, 0, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0x12,
            0x34,
        ];
        assert_eq!(encoded(&asking()), bytes);
        assert_eq!(Header::decode(&bytes), Ok(asking()));
    }

    #[test]
    fn a_question_for_the_bandwidth_has_a_format_of_its_own_and_the_same_fields() {
        let mut header = asking();
        let change = encoded(&header);
        header.request.as_mut().expect("a request").wish = Wish::Bandwidth;
        let bytes = encoded(&header);
        assert_eq!((bytes[2], &bytes[3..]), (0x13, &change[3..]));
        assert_eq!(Header::decode(&bytes), Ok(header));
    }

    #[test]
    fn the_minimal_format_asks_for_nothing() {
        let minimal = Header { request: None, ..asking() };
        let mut bytes = encoded(&minimal);
        assert_eq!(bytes[2], 0x12);
        assert_eq!(bytes[4..16], [0; 12]);
        bytes[3..16].fill(0xaa);
        assert_eq!(Header::decode(&bytes), Ok(minimal));
    }

    #[test]
    fn a_time_that_is_known_is_not_zero_and_a_long_one_is_cut() {
        let with =
            |rtt| Header { request: Some(Request { rtt, ..Request::default() }), ..asking() };
        assert_eq!(encoded(&with(None))[4..8], [0; 4]);
        assert_eq!(encoded(&with(Some(Span::from_nanos(1))))[4..8], [0, 0, 0, 1]);
        assert_eq!(encoded(&with(Some(Span::from_secs(17))))[4..8], [0xff; 4]);
    }

    #[test]
    fn what_is_wrong_with_a_header_is_named() {
        let with = |at: usize, byte: u8| {
            let mut bytes = encoded(&asking());
            bytes[at] = byte;
            Header::decode(&bytes)
        };
        assert_eq!(with(1, 24), Err(DecodeError::Length(24)));
        assert_eq!(with(2, 0x21), Err(DecodeError::Version(2)));
        assert_eq!(with(2, 0x14), Err(DecodeError::Format(4)));
        let short = &encoded(&asking())[..19];
        assert_eq!(Header::decode(short), Err(DecodeError::TooShort { length: 19 }));
    }

    proptest! {
        #[test]
        fn every_header_survives_encoding_and_decoding(
            protocol in any::<u8>(),
            request in option::of((option::of(1..=u32::MAX), any::<u32>(), any::<i32>(), any::<bool>())),
            reverse in any::<i32>(),
        ) {
            let request = request.map(|(rtt, x, delta, change)| Request {
                rtt: rtt.map(from_steps),
                packet_interval: from_steps(x),
                delta_throughput: RateChange(delta),
                wish: if change { Wish::Change } else { Wish::Bandwidth },
            });
            let header = Header { protocol, request, reverse_feedback: RateChange(reverse) };
            prop_assert_eq!(Header::decode(&encoded(&header)), Ok(header));
        }

        #[test]
        fn what_decodes_encodes_to_an_equal_header(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..30),
            format in prop_oneof![Just(0x11_u8), Just(0x12), Just(0x13), any::<u8>()],
        ) {
            for (at, byte) in [(1, 20), (2, format)] {
                if let Some(place) = bytes.get_mut(at) {
                    *place = byte;
                }
            }
            if let Ok(header) = Header::decode(&bytes) {
                prop_assert_eq!(Header::decode(&encoded(&header)), Ok(header));
            }
        }
    }
}
