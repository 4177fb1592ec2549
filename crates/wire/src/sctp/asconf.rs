//! Changes of addresses (RFC 5061) and the code that proves them genuine (RFC 4895).

use std::net::IpAddr;

use bentpipe_units::Seq32;
use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::parameter::Parameter;
use super::tlv::{self, Item};
use super::{Cause, Chunk, DecodeError};

/// Types of the parameters of ASCONF and ASCONF-ACK.
mod kinds {
    pub(super) const ADD: u16 = 0xc001;
    pub(super) const DELETE: u16 = 0xc002;
    pub(super) const ERROR: u16 = 0xc003;
    pub(super) const SET_PRIMARY: u16 = 0xc004;
    pub(super) const SUCCESS: u16 = 0xc005;
}

/// AUTH (RFC 4895, section 4.1): proves the chunks behind it genuine.
#[derive(Clone, Debug, Default)]
pub struct Auth {
    /// Number of the shared key; 0 is the one that both ends have without being told.
    pub key: u16,
    /// Which code it is: 1 for HMAC with SHA-1, 3 with SHA-256.
    pub algorithm: u16,
    /// The code.
    pub code: Bytes,
    /// The bytes behind the chunk as they came, which the code is over. Nothing of the chunk itself: they are the
    /// chunks that follow.
    pub covered: Bytes,
}

/// What is covered are other chunks, which are compared themselves.
impl PartialEq for Auth {
    fn eq(&self, other: &Self) -> bool {
        (self.key, self.algorithm, &self.code) == (other.key, other.algorithm, &other.code)
    }
}

impl Eq for Auth {}

/// ASCONF (RFC 5061, section 4.1.1): the sender's addresses change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asconf {
    /// One more with each ASCONF of an end.
    pub serial: Seq32,
    /// An address of the sender that the receiver knows, by which it finds the association where the packet comes from
    /// an address that is new.
    pub known: IpAddr,
    /// What is asked for, to be done in this order.
    pub requests: Vec<AsconfRequest>,
}

/// A request of an ASCONF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsconfRequest {
    /// Number that the answer names.
    pub correlation: u32,
    /// What is asked for.
    pub change: AddressChange,
}

/// A change of the sender's addresses (RFC 5061, section 4.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressChange {
    /// It has this one, too; an unspecified address stands for the one that the packet comes from.
    Add(IpAddr),
    /// It has this one no more; an unspecified address stands for all but the one that the packet comes from.
    Delete(IpAddr),
    /// Data for it shall go there first.
    SetPrimary(IpAddr),
    /// A request that this version does not know.
    Other {
        /// Its type.
        kind: u16,
        /// Its value without the number.
        value: Bytes,
    },
}

/// ASCONF-ACK (RFC 5061, section 4.1.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsconfAck {
    /// The number of the ASCONF.
    pub serial: Seq32,
    /// Answers to its requests; one that has none was done.
    pub answers: Vec<AsconfAnswer>,
}

/// The answer to a request of an ASCONF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsconfAnswer {
    /// Number of the request.
    pub correlation: u32,
    /// What became of it.
    pub outcome: AsconfOutcome,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AsconfOutcome {
    /// It was done.
    Success,
    /// It was not, for these reasons.
    Refused(Vec<Cause>),
    /// An answer that this version does not know.
    Other {
        /// Its type.
        kind: u16,
        /// Its value without the number.
        value: Bytes,
    },
}

/// Length of the number in front of the value of a request or an answer.
const CORRELATION: usize = 4;
/// Length of an AUTH without its code and the chunk's header.
const AUTH_FIXED: usize = 4;

const fn address_len(address: IpAddr) -> usize {
    match address {
        IpAddr::V4(_) => tlv::HEADER + 4,
        IpAddr::V6(_) => tlv::HEADER + 16,
    }
}

fn put_address(address: IpAddr, out: &mut BytesMut) {
    tlv::put_list(&[Parameter::from(address)], out);
}

/// The only address in a value.
fn read_address(value: Bytes) -> Option<IpAddr> {
    match tlv::read_list::<Parameter>(value).ok()?[..] {
        [Parameter::Ipv4(address)] => Some(address.into()),
        [Parameter::Ipv6(address)] => Some(address.into()),
        _ => None,
    }
}

impl Item for AsconfRequest {
    fn kind(&self) -> u16 {
        match self.change {
            AddressChange::Add(_) => kinds::ADD,
            AddressChange::Delete(_) => kinds::DELETE,
            AddressChange::SetPrimary(_) => kinds::SET_PRIMARY,
            AddressChange::Other { kind, .. } => kind,
        }
    }

    fn value_len(&self) -> usize {
        CORRELATION
            + match &self.change {
                AddressChange::Add(address)
                | AddressChange::Delete(address)
                | AddressChange::SetPrimary(address) => address_len(*address),
                AddressChange::Other { value, .. } => value.len(),
            }
    }

    fn put_value(&self, out: &mut BytesMut) {
        out.put_u32(self.correlation);
        match &self.change {
            AddressChange::Add(address)
            | AddressChange::Delete(address)
            | AddressChange::SetPrimary(address) => put_address(*address, out),
            AddressChange::Other { value, .. } => out.put_slice(value),
        }
    }

    fn read(kind: u16, mut value: Bytes) -> Option<Self> {
        let correlation = value.try_get_u32().ok()?;
        let change = match kind {
            kinds::ADD => AddressChange::Add(read_address(value)?),
            kinds::DELETE => AddressChange::Delete(read_address(value)?),
            kinds::SET_PRIMARY => AddressChange::SetPrimary(read_address(value)?),
            _ => AddressChange::Other { kind, value },
        };
        Some(Self { correlation, change })
    }
}

impl Item for AsconfAnswer {
    fn kind(&self) -> u16 {
        match self.outcome {
            AsconfOutcome::Success => kinds::SUCCESS,
            AsconfOutcome::Refused(_) => kinds::ERROR,
            AsconfOutcome::Other { kind, .. } => kind,
        }
    }

    fn value_len(&self) -> usize {
        CORRELATION
            + match &self.outcome {
                AsconfOutcome::Success => 0,
                AsconfOutcome::Refused(causes) => tlv::list_len(causes),
                AsconfOutcome::Other { value, .. } => value.len(),
            }
    }

    fn put_value(&self, out: &mut BytesMut) {
        out.put_u32(self.correlation);
        match &self.outcome {
            AsconfOutcome::Success => {}
            AsconfOutcome::Refused(causes) => tlv::put_list(causes, out),
            AsconfOutcome::Other { value, .. } => out.put_slice(value),
        }
    }

    fn read(kind: u16, mut value: Bytes) -> Option<Self> {
        let correlation = value.try_get_u32().ok()?;
        let outcome = match kind {
            kinds::SUCCESS if value.is_empty() => AsconfOutcome::Success,
            kinds::SUCCESS => return None,
            kinds::ERROR => AsconfOutcome::Refused(tlv::read_list(value).ok()?),
            _ => AsconfOutcome::Other { kind, value },
        };
        Some(Self { correlation, outcome })
    }
}

impl AsconfRequest {
    /// The request as bytes, with its type and length, as a cause holds it.
    pub fn to_bytes(&self) -> Bytes {
        let mut out = BytesMut::new();
        tlv::put_list(std::slice::from_ref(self), &mut out);
        out.freeze()
    }
}

impl Auth {
    /// Length of the value.
    pub(super) fn value_len(&self) -> usize {
        AUTH_FIXED + self.code.len()
    }

    pub(super) fn put_value(&self, out: &mut BytesMut) {
        out.put_u16(self.key);
        out.put_u16(self.algorithm);
        out.put_slice(&self.code);
    }

    /// Reads the value of a chunk; `covered` are the bytes behind it.
    pub(super) fn read(mut value: Bytes, covered: Bytes) -> Option<Chunk> {
        let (key, algorithm) = (value.try_get_u16().ok()?, value.try_get_u16().ok()?);
        Some(Chunk::Auth(Box::new(Self { key, algorithm, code: value, covered })))
    }
}

impl Asconf {
    /// Length of the value.
    pub(super) fn value_len(&self) -> usize {
        4 + address_len(self.known) + tlv::list_len(&self.requests)
    }

    pub(super) fn put_value(&self, out: &mut BytesMut) {
        out.put_u32(self.serial.get());
        put_address(self.known, out);
        tlv::put_list(&self.requests, out);
    }

    pub(super) fn read(mut value: Bytes, wrong: DecodeError) -> Result<Chunk, DecodeError> {
        let mut fixed = || {
            let serial = Seq32::new(value.try_get_u32().ok()?);
            let length = usize::from(u16::from_be_bytes([*value.get(2)?, *value.get(3)?]));
            let fits = length <= value.len();
            Some((serial, read_address(fits.then(|| value.split_to(length))?)?))
        };
        let (serial, known) = fixed().ok_or(wrong)?;
        let requests = tlv::read_list(value)?;
        Ok(Chunk::Asconf(Box::new(Self { serial, known, requests })))
    }
}

impl AsconfAck {
    /// Length of the value.
    pub(super) fn value_len(&self) -> usize {
        4 + tlv::list_len(&self.answers)
    }

    pub(super) fn put_value(&self, out: &mut BytesMut) {
        out.put_u32(self.serial.get());
        tlv::put_list(&self.answers, out);
    }

    pub(super) fn read(mut value: Bytes, wrong: DecodeError) -> Result<Chunk, DecodeError> {
        let serial = Seq32::new(value.try_get_u32().map_err(|_| wrong)?);
        let answers = tlv::read_list(value)?;
        Ok(Chunk::AsconfAck(Box::new(Self { serial, answers })))
    }
}
