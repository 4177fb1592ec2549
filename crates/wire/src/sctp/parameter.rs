//! Parameters of INIT and INIT ACK.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::tlv::Item;

/// Types of parameters.
mod kinds {
    pub(super) const IPV4: u16 = 5;
    pub(super) const IPV6: u16 = 6;
    pub(super) const COOKIE: u16 = 7;
    pub(super) const UNRECOGNIZED: u16 = 8;
    pub(super) const COOKIE_PRESERVATIVE: u16 = 9;
    pub(super) const HOST_NAME: u16 = 11;
    pub(super) const SUPPORTED_ADDRESSES: u16 = 12;
    pub(super) const ECN_CAPABLE: u16 = 0x8000;
    pub(super) const RANDOM: u16 = 0x8002;
    pub(super) const CHUNKS: u16 = 0x8003;
    pub(super) const HMAC_ALGORITHMS: u16 = 0x8004;
    pub(super) const SUPPORTED_EXTENSIONS: u16 = 0x8008;
}

/// A parameter of INIT or INIT ACK (RFC 9260, section 3.3.2.1 and 3.3.3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// An address of the sender.
    Ipv4(Ipv4Addr),
    /// An address of the sender.
    Ipv6(Ipv6Addr),
    /// The state cookie, in INIT ACK.
    Cookie(Bytes),
    /// A parameter of the INIT that the sender of the INIT ACK does not know, whole.
    Unrecognized(Bytes),
    /// The cookie shall live so many milliseconds longer.
    CookiePreservative(u32),
    /// A host name. Deprecated: a peer that sends it is refused (RFC 9260, section 3.3.2.1.4).
    HostName(Bytes),
    /// Types of addresses that the sender can use.
    SupportedAddresses(Vec<u16>),
    /// The sender understands ECN (RFC 4960, appendix A).
    EcnCapable,
    /// Random bytes, part of the key of AUTH (RFC 4895, section 3.1).
    Random(Bytes),
    /// Types of chunks that the sender takes behind AUTH alone (RFC 4895, section 3.2).
    Chunks(Bytes),
    /// Codes that the sender can check, the best one first (RFC 4895, section 3.3).
    HmacAlgorithms(Vec<u16>),
    /// Types of further chunks that the sender knows (RFC 5061, section 4.2.7).
    SupportedExtensions(Bytes),
    /// A parameter that this version does not know.
    Other {
        /// Its type.
        kind: u16,
        /// Its value.
        value: Bytes,
    },
}

impl Parameter {
    /// Type of an IPv4 address in [`Parameter::SupportedAddresses`].
    pub const IPV4: u16 = kinds::IPV4;
    /// Type of an IPv6 address in [`Parameter::SupportedAddresses`].
    pub const IPV6: u16 = kinds::IPV6;

    /// The parameter as bytes, with its type and length, as [`Parameter::Unrecognized`] holds it.
    pub fn to_bytes(&self) -> Bytes {
        let mut out = BytesMut::new();
        super::tlv::put_list(std::slice::from_ref(self), &mut out);
        out.freeze()
    }
}

impl From<IpAddr> for Parameter {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::Ipv4(address),
            IpAddr::V6(address) => Self::Ipv6(address),
        }
    }
}

impl Item for Parameter {
    fn kind(&self) -> u16 {
        match self {
            Self::Ipv4(_) => kinds::IPV4,
            Self::Ipv6(_) => kinds::IPV6,
            Self::Cookie(_) => kinds::COOKIE,
            Self::Unrecognized(_) => kinds::UNRECOGNIZED,
            Self::CookiePreservative(_) => kinds::COOKIE_PRESERVATIVE,
            Self::HostName(_) => kinds::HOST_NAME,
            Self::SupportedAddresses(_) => kinds::SUPPORTED_ADDRESSES,
            Self::EcnCapable => kinds::ECN_CAPABLE,
            Self::Random(_) => kinds::RANDOM,
            Self::Chunks(_) => kinds::CHUNKS,
            Self::HmacAlgorithms(_) => kinds::HMAC_ALGORITHMS,
            Self::SupportedExtensions(_) => kinds::SUPPORTED_EXTENSIONS,
            Self::Other { kind, .. } => *kind,
        }
    }

    fn value_len(&self) -> usize {
        match self {
            Self::Ipv4(_) | Self::CookiePreservative(_) => 4,
            Self::Ipv6(_) => 16,
            Self::Cookie(value)
            | Self::Unrecognized(value)
            | Self::HostName(value)
            | Self::Random(value)
            | Self::Chunks(value)
            | Self::SupportedExtensions(value)
            | Self::Other { value, .. } => value.len(),
            Self::SupportedAddresses(types) | Self::HmacAlgorithms(types) => 2 * types.len(),
            Self::EcnCapable => 0,
        }
    }

    fn put_value(&self, out: &mut BytesMut) {
        match self {
            Self::Ipv4(address) => out.put_slice(&address.octets()),
            Self::Ipv6(address) => out.put_slice(&address.octets()),
            Self::CookiePreservative(millis) => out.put_u32(*millis),
            Self::SupportedAddresses(types) | Self::HmacAlgorithms(types) => {
                types.iter().for_each(|kind| out.put_u16(*kind));
            }
            Self::EcnCapable => {}
            Self::Cookie(value)
            | Self::Unrecognized(value)
            | Self::HostName(value)
            | Self::Random(value)
            | Self::Chunks(value)
            | Self::SupportedExtensions(value)
            | Self::Other { value, .. } => out.put_slice(value),
        }
    }

    fn read(kind: u16, mut value: Bytes) -> Option<Self> {
        let parameter = match kind {
            kinds::IPV4 => Self::Ipv4(value.try_get_u32().ok()?.into()),
            kinds::IPV6 => Self::Ipv6(value.try_get_u128().ok()?.into()),
            kinds::COOKIE_PRESERVATIVE => Self::CookiePreservative(value.try_get_u32().ok()?),
            kinds::ECN_CAPABLE => Self::EcnCapable,
            kinds::SUPPORTED_ADDRESSES => return numbers(&value).map(Self::SupportedAddresses),
            kinds::HMAC_ALGORITHMS => return numbers(&value).map(Self::HmacAlgorithms),
            kinds::RANDOM => return Some(Self::Random(value)),
            kinds::CHUNKS => return Some(Self::Chunks(value)),
            kinds::SUPPORTED_EXTENSIONS => return Some(Self::SupportedExtensions(value)),
            kinds::COOKIE => return Some(Self::Cookie(value)),
            kinds::UNRECOGNIZED => return Some(Self::Unrecognized(value)),
            kinds::HOST_NAME => return Some(Self::HostName(value)),
            _ => return Some(Self::Other { kind, value }),
        };
        value.is_empty().then_some(parameter)
    }
}

/// A list of numbers of sixteen bits.
fn numbers(value: &[u8]) -> Option<Vec<u16>> {
    let (numbers, cut) = value.as_chunks::<2>();
    cut.is_empty().then(|| numbers.iter().map(|number| u16::from_be_bytes(*number)).collect())
}
