//! The chunks of a packet.

use bentpipe_units::Seq32;
use bytes::Bytes;
use smallvec::SmallVec;

use super::{Asconf, AsconfAck, Auth, Cause, Parameter, tlv};
use crate::Kind;

/// Length of the header of every chunk in bytes.
pub(super) const CHUNK_HEADER: usize = 4;
/// Length of the fixed part of INIT and INIT ACK without the chunk's header.
pub(super) const INIT_FIXED: usize = 16;

/// One chunk (RFC 9260, section 3.3). Chunks that are rare and large lie behind a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// User data.
    Data(Data),
    /// A request to open an association.
    Init(Box<Init>),
    /// The answer to INIT, with the state cookie.
    InitAck(Box<Init>),
    /// What arrived.
    Sack(Sack),
    /// A question whether a path works; its information comes back as it is.
    Heartbeat(Bytes),
    /// The answer to HEARTBEAT.
    HeartbeatAck(Bytes),
    /// The end of the association, at once.
    Abort {
        /// The verification tag is the sender's own, because it knows no other (T bit).
        reflected: bool,
        /// Why.
        causes: Vec<Cause>,
    },
    /// No more data will come; everything up to this TSN arrived.
    Shutdown(Seq32),
    /// The answer to SHUTDOWN when nothing is outstanding.
    ShutdownAck,
    /// Something about the peer's packets is wrong.
    Error(Vec<Cause>),
    /// The state cookie comes back.
    CookieEcho(Bytes),
    /// The association is open.
    CookieAck,
    /// A packet with this TSN as its lowest was marked by a router.
    Ecne(Seq32),
    /// The window was reduced for the mark with this TSN.
    Cwr(Seq32),
    /// The association is closed.
    ShutdownComplete {
        /// The verification tag is the sender's own, because it knows no other (T bit).
        reflected: bool,
    },
    /// So many bytes that mean nothing, which make a packet longer (RFC 4820).
    Pad(u16),
    /// The chunks behind it are genuine (RFC 4895).
    Auth(Box<Auth>),
    /// Addresses of the sender change (RFC 5061).
    Asconf(Box<Asconf>),
    /// The answer to ASCONF.
    AsconfAck(Box<AsconfAck>),
    /// A chunk that this version does not know.
    Unknown(UnknownChunk),
}

/// DATA (RFC 9260, section 3.3.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Transmission sequence number: one for each chunk of an association.
    pub tsn: Seq32,
    /// Stream that the message belongs to.
    pub stream: u16,
    /// Number of the message in its stream, without meaning for unordered ones.
    pub ssn: u16,
    /// What the application says the bytes are, as it is on the wire.
    pub ppid: u32,
    /// Place in the message and how it is delivered.
    pub flags: DataFlags,
    /// The user bytes, never none in a legal chunk.
    pub payload: Bytes,
}

/// Flags of a DATA chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataFlags(u8);

impl DataFlags {
    /// The last fragment of a message.
    pub const END: Self = Self(1);
    /// The first fragment of a message.
    pub const BEGIN: Self = Self(2);
    /// The message is delivered as soon as it is whole.
    pub const UNORDERED: Self = Self(4);
    /// The receiver shall acknowledge without delay.
    pub const IMMEDIATE: Self = Self(8);
    /// A message in one chunk.
    pub const WHOLE: Self = Self(3);

    /// The flags with these bits; reserved ones are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 0x0f)
    }

    /// The bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The flags of either.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True when all of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// INIT and INIT ACK (RFC 9260, sections 3.3.2 and 3.3.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Init {
    /// Tag that packets to the sender of this chunk shall carry, never 0 in a legal chunk.
    pub tag: u32,
    /// Bytes of user data that the sender has room for.
    pub window: u32,
    /// Streams that the sender wants to send on, at least 1.
    pub outbound_streams: u16,
    /// Most streams that the sender takes, at least 1.
    pub inbound_streams: u16,
    /// TSN of the sender's first DATA.
    pub initial_tsn: Seq32,
    /// Parameters in their order.
    pub parameters: Vec<Parameter>,
}

/// SACK (RFC 9260, section 3.3.4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    /// Everything up to this TSN arrived.
    pub cumulative: Seq32,
    /// Bytes of user data that there is room for.
    pub window: u32,
    /// What arrived after a gap, in ascending order in a sensible chunk.
    pub gaps: SmallVec<[GapBlock; 4]>,
    /// TSNs that arrived again since the last SACK.
    pub duplicates: SmallVec<[u32; 4]>,
}

impl Sack {
    /// Most gap blocks of one chunk without duplicates.
    pub const MOST_GAPS: usize = (u16::MAX as usize - Self::FIXED) / 4;
    /// Length of a chunk without gaps and duplicates in bytes.
    pub const FIXED: usize = 16;
}

/// TSNs that arrived, as offsets from the cumulative TSN, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GapBlock {
    /// Offset of the first.
    pub start: u16,
    /// Offset of the last.
    pub end: u16,
}

/// A chunk that this version does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownChunk {
    /// Its type.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its value.
    pub value: Bytes,
}

/// What the two highest bits of an unknown type ask for (RFC 9260, sections 3.2 and 3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownAction {
    /// The rest is not processed.
    pub stop: bool,
    /// The peer is told.
    pub report: bool,
}

impl UnknownAction {
    /// The action for a chunk of this type.
    pub const fn of_chunk(kind: u8) -> Self {
        Self { stop: kind & 0x80 == 0, report: kind & 0x40 != 0 }
    }

    /// The action for a parameter of this type.
    pub const fn of_parameter(kind: u16) -> Self {
        Self::of_chunk((kind >> 8) as u8)
    }
}

impl Data {
    /// Length of a chunk without its user bytes.
    pub const HEADER: usize = 16;

    /// Length of a chunk with so many user bytes and its padding, in bytes.
    pub const fn padded_len(payload: usize) -> usize {
        (Self::HEADER + payload).next_multiple_of(4)
    }
}

impl Chunk {
    /// Length with padding in bytes.
    #[inline]
    pub fn padded_len(&self) -> usize {
        self.len().next_multiple_of(4)
    }

    /// Length as it stands in the chunk's header, in bytes.
    pub(super) fn len(&self) -> usize {
        CHUNK_HEADER
            + match self {
                Self::Data(data) => Data::HEADER - CHUNK_HEADER + data.payload.len(),
                Self::Sack(sack) => {
                    let blocks = sack.gaps.len().min(Sack::MOST_GAPS);
                    let duplicates = sack.duplicates.len().min(Sack::MOST_GAPS - blocks);
                    Sack::FIXED - CHUNK_HEADER + 4 * (blocks + duplicates)
                }
                Self::Init(init) | Self::InitAck(init) => {
                    INIT_FIXED + tlv::list_len(&init.parameters)
                }
                Self::Heartbeat(info) | Self::HeartbeatAck(info) => tlv::HEADER + info.len(),
                Self::Abort { causes, .. } | Self::Error(causes) => tlv::list_len(causes),
                Self::CookieEcho(cookie) => cookie.len(),
                Self::Shutdown(_) | Self::Ecne(_) | Self::Cwr(_) => 4,
                Self::ShutdownAck | Self::CookieAck | Self::ShutdownComplete { .. } => 0,
                Self::Pad(length) => usize::from(*length),
                Self::Auth(auth) => auth.value_len(),
                Self::Asconf(asconf) => asconf.value_len(),
                Self::AsconfAck(ack) => ack.value_len(),
                Self::Unknown(unknown) => unknown.value.len(),
            }
    }

    /// True for a chunk that no other may accompany (RFC 9260, section 6.10).
    pub const fn is_alone(&self) -> bool {
        matches!(self, Self::Init(_) | Self::InitAck(_) | Self::ShutdownComplete { .. })
    }

    /// What the chunk is for link models and counters.
    #[inline]
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Data(_) => Kind::DATA,
            Self::Sack(_) => Kind::ACK,
            Self::Init(_) => Kind::BGN,
            Self::InitAck(_) => Kind::BGNAK,
            Self::CookieEcho(_) | Self::CookieAck => Kind::COOKIE,
            Self::Heartbeat(_) | Self::HeartbeatAck(_) => Kind::HEARTBEAT,
            Self::Shutdown(_) => Kind::END,
            Self::ShutdownAck | Self::ShutdownComplete { .. } => Kind::ENDAK,
            Self::Abort { .. } => Kind::RST,
            Self::Error(_)
            | Self::Ecne(_)
            | Self::Cwr(_)
            | Self::Pad(_)
            | Self::Auth(_)
            | Self::Asconf(_)
            | Self::AsconfAck(_)
            | Self::Unknown(_) => Kind::NONE,
        }
    }
}
