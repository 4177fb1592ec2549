//! What a transport checksum covers besides the segment when it is carried directly over IP.

use std::net::IpAddr;

use crate::checksum::Checksum;

/// The addresses of the IP packet around a segment, of the same family. With them the checksum
/// covers the protocol number and the length of the segment (RFC 9293, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PseudoHeader {
    /// Address of the host that sent the segment.
    pub source: IpAddr,
    /// Address of the host it is meant for.
    pub destination: IpAddr,
}

impl PseudoHeader {
    /// The checksum that belongs into the two bytes at `at` of a segment, which are not read. Only
    /// the segment is covered where no pseudo header is given.
    ///
    /// # Panics
    /// When the segment ends before those bytes.
    pub(crate) fn checksum(pseudo: Option<&Self>, protocol: u8, bytes: &[u8], at: usize) -> u16 {
        let mut sum = Checksum::new();
        if let Some(pseudo) = pseudo {
            pseudo.add_to(&mut sum, protocol, bytes.len());
        }
        sum.add(&bytes[..at]);
        sum.add(&bytes[at + 2..]);
        sum.finish()
    }

    /// The fields of IPv4 and IPv6 differ in their widths, which the sum does not see.
    fn add_to(&self, sum: &mut Checksum, protocol: u8, length: usize) {
        for address in [self.source, self.destination] {
            match address {
                IpAddr::V4(address) => sum.add(&address.octets()),
                IpAddr::V6(address) => sum.add(&address.octets()),
            }
        }
        sum.add(&[0, protocol]);
        sum.add(&(length as u64).to_be_bytes());
    }
}
