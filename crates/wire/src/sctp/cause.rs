//! Error causes of ABORT and ERROR.

use bentpipe_units::Seq32;
use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::tlv::Item;

/// Codes of causes.
mod codes {
    pub(super) const INVALID_STREAM: u16 = 1;
    pub(super) const MISSING_PARAMETERS: u16 = 2;
    pub(super) const STALE_COOKIE: u16 = 3;
    pub(super) const OUT_OF_RESOURCE: u16 = 4;
    pub(super) const UNRESOLVABLE_ADDRESS: u16 = 5;
    pub(super) const UNRECOGNIZED_CHUNK: u16 = 6;
    pub(super) const INVALID_PARAMETER: u16 = 7;
    pub(super) const UNRECOGNIZED_PARAMETERS: u16 = 8;
    pub(super) const NO_USER_DATA: u16 = 9;
    pub(super) const COOKIE_WHILE_SHUTTING_DOWN: u16 = 10;
    pub(super) const RESTART_WITH_NEW_ADDRESSES: u16 = 11;
    pub(super) const USER_ABORT: u16 = 12;
    pub(super) const PROTOCOL_VIOLATION: u16 = 13;
}

/// An error cause (RFC 9260, section 3.3.10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// DATA came on a stream that was not agreed on.
    InvalidStream(u16),
    /// Parameters of these types should have been there.
    MissingParameters(Vec<u16>),
    /// The cookie is older than it may be, by so many microseconds.
    StaleCookie(u32),
    /// There is no memory for an association.
    OutOfResource,
    /// An address parameter of no use, whole.
    UnresolvableAddress(Bytes),
    /// A chunk that the peer does not know, whole.
    UnrecognizedChunk(Bytes),
    /// A field of INIT or INIT ACK has an illegal value.
    InvalidParameter,
    /// Parameters of the INIT ACK that the peer does not know, whole.
    UnrecognizedParameters(Bytes),
    /// DATA without user bytes came, with this TSN.
    NoUserData(Seq32),
    /// COOKIE ECHO came while the association was shutting down.
    CookieWhileShuttingDown,
    /// An INIT for an existing association named new addresses; these are their parameters.
    RestartWithNewAddresses(Bytes),
    /// The application aborted, with what it says about it.
    UserAbort(Bytes),
    /// The peer broke a rule.
    ProtocolViolation(Bytes),
    /// A cause that this version does not know.
    Other {
        /// Its code.
        code: u16,
        /// Its value.
        value: Bytes,
    },
}

impl Cause {
    /// The cause's code.
    pub const fn code(&self) -> u16 {
        match self {
            Self::InvalidStream(_) => codes::INVALID_STREAM,
            Self::MissingParameters(_) => codes::MISSING_PARAMETERS,
            Self::StaleCookie(_) => codes::STALE_COOKIE,
            Self::OutOfResource => codes::OUT_OF_RESOURCE,
            Self::UnresolvableAddress(_) => codes::UNRESOLVABLE_ADDRESS,
            Self::UnrecognizedChunk(_) => codes::UNRECOGNIZED_CHUNK,
            Self::InvalidParameter => codes::INVALID_PARAMETER,
            Self::UnrecognizedParameters(_) => codes::UNRECOGNIZED_PARAMETERS,
            Self::NoUserData(_) => codes::NO_USER_DATA,
            Self::CookieWhileShuttingDown => codes::COOKIE_WHILE_SHUTTING_DOWN,
            Self::RestartWithNewAddresses(_) => codes::RESTART_WITH_NEW_ADDRESSES,
            Self::UserAbort(_) => codes::USER_ABORT,
            Self::ProtocolViolation(_) => codes::PROTOCOL_VIOLATION,
            Self::Other { code, .. } => *code,
        }
    }
}

impl Item for Cause {
    fn kind(&self) -> u16 {
        self.code()
    }

    fn value_len(&self) -> usize {
        match self {
            Self::InvalidStream(_) | Self::StaleCookie(_) | Self::NoUserData(_) => 4,
            Self::MissingParameters(kinds) => 4 + 2 * kinds.len(),
            Self::OutOfResource | Self::InvalidParameter | Self::CookieWhileShuttingDown => 0,
            Self::UnresolvableAddress(value)
            | Self::UnrecognizedChunk(value)
            | Self::UnrecognizedParameters(value)
            | Self::RestartWithNewAddresses(value)
            | Self::UserAbort(value)
            | Self::ProtocolViolation(value)
            | Self::Other { value, .. } => value.len(),
        }
    }

    fn put_value(&self, out: &mut BytesMut) {
        match self {
            Self::InvalidStream(stream) => {
                out.put_u16(*stream);
                out.put_u16(0);
            }
            Self::MissingParameters(kinds) => {
                out.put_u32(kinds.len() as u32);
                kinds.iter().for_each(|kind| out.put_u16(*kind));
            }
            Self::StaleCookie(micros) => out.put_u32(*micros),
            Self::NoUserData(tsn) => out.put_u32(tsn.get()),
            Self::OutOfResource | Self::InvalidParameter | Self::CookieWhileShuttingDown => {}
            Self::UnresolvableAddress(value)
            | Self::UnrecognizedChunk(value)
            | Self::UnrecognizedParameters(value)
            | Self::RestartWithNewAddresses(value)
            | Self::UserAbort(value)
            | Self::ProtocolViolation(value)
            | Self::Other { value, .. } => out.put_slice(value),
        }
    }

    fn read(code: u16, mut value: Bytes) -> Option<Self> {
        let cause = match code {
            codes::INVALID_STREAM => {
                let stream = value.try_get_u16().ok()?;
                value.try_get_u16().ok()?;
                Self::InvalidStream(stream)
            }
            codes::MISSING_PARAMETERS => {
                let count = value.try_get_u32().ok()? as usize;
                let (kinds, cut) = value.as_chunks::<2>();
                let exact = cut.is_empty() && kinds.len() == count;
                let kinds = kinds.iter().map(|kind| u16::from_be_bytes(*kind)).collect();
                return exact.then_some(Self::MissingParameters(kinds));
            }
            codes::STALE_COOKIE => Self::StaleCookie(value.try_get_u32().ok()?),
            codes::NO_USER_DATA => Self::NoUserData(Seq32::new(value.try_get_u32().ok()?)),
            codes::OUT_OF_RESOURCE => Self::OutOfResource,
            codes::INVALID_PARAMETER => Self::InvalidParameter,
            codes::COOKIE_WHILE_SHUTTING_DOWN => Self::CookieWhileShuttingDown,
            codes::UNRESOLVABLE_ADDRESS => return Some(Self::UnresolvableAddress(value)),
            codes::UNRECOGNIZED_CHUNK => return Some(Self::UnrecognizedChunk(value)),
            codes::UNRECOGNIZED_PARAMETERS => return Some(Self::UnrecognizedParameters(value)),
            codes::RESTART_WITH_NEW_ADDRESSES => {
                return Some(Self::RestartWithNewAddresses(value));
            }
            codes::USER_ABORT => return Some(Self::UserAbort(value)),
            codes::PROTOCOL_VIOLATION => return Some(Self::ProtocolViolation(value)),
            _ => return Some(Self::Other { code, value }),
        };
        value.is_empty().then_some(cause)
    }
}
