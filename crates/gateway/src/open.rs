//! What a gateway says on a new connection before the bytes of the flow: where the flow leads, and what
//! became of it.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use bentpipe_units::Written;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use crate::carrier::Carrier;

/// Longest message: a name has 255 bytes at most.
const MOST: usize = 512;

/// Where a flow leads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Destination {
    /// An address.
    Address(SocketAddr),
    /// A name, which the remote gateway looks up, and a port.
    Name(String, u16),
}

impl Destination {
    /// The address, where it is one.
    pub(crate) const fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Address(address) => Some(*address),
            Self::Name(..) => None,
        }
    }

    /// Whether anybody could be there: a host has a name, and a service a port.
    pub fn leads_anywhere(&self) -> bool {
        match self {
            Self::Address(address) => address.port() != 0,
            Self::Name(name, port) => !name.is_empty() && *port != 0,
        }
    }
}

impl From<SocketAddr> for Destination {
    fn from(address: SocketAddr) -> Self {
        // What came through a socket for both kinds of addresses.
        Self::Address(SocketAddr::new(address.ip().to_canonical(), address.port()))
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name(name, port) => write!(f, "{name}:{port}"),
        }
    }
}

impl Written for Destination {
    const NAME: &'static str = "Destination";
    const EXPECTED: &'static str = "HOST:PORT, such as \"example.org:80\" or \"[2001:db8::1]:80\"";
    const PATTERN: &'static str = r"^(\[[^\]]+\]|[^\[\]:/ ]+):\d+$";
}

impl std::str::FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(address.into());
        }
        let wrong =
            || format!("`{text}` is not HOST:PORT, such as example.org:80 or [2001:db8::1]:80");
        let (name, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        if name.is_empty() || name.len() > 255 || name.contains(['[', ']', ':', '/', ' ']) {
            return Err(wrong());
        }
        match name.parse::<IpAddr>() {
            Ok(ip) => Ok(SocketAddr::new(ip, port).into()),
            Err(_) => Ok(Self::Name(name.to_owned(), port)),
        }
    }
}

/// The first message on a connection between gateways.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Open {
    /// Nothing follows: the association is held up, and its end shows that the remote gateway is unreachable.
    Hold,
    /// A flow.
    Flow {
        /// Where it leads.
        to: Destination,
        /// Whose it is.
        from: SocketAddr,
    },
    /// A flow whose bytes go over several links, as frames of a bond.
    Bonded {
        /// Where it leads.
        to: Destination,
        /// Whose it is.
        from: SocketAddr,
        /// The link that this connection goes by.
        link: u8,
        /// It is used when the others are full: see [`Use::Spill`](bentpipe_bond::Use).
        spills: bool,
    },
    /// One connection more of such a flow.
    Join {
        /// The number of the flow's first connection.
        first: u32,
        /// The link that this connection goes by.
        link: u8,
        /// It is used when the others are full.
        spills: bool,
    },
}

/// What became of a flow, the first message in the other direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// It is connected.
    Connected,
    /// Nobody listens there.
    Refused,
    /// There is no way there.
    Unreachable,
    /// Nobody answered.
    TimedOut,
    /// The remote gateway does not allow it.
    Forbidden,
    /// There is no such name.
    UnknownName,
    /// The remote gateway has no room for it now.
    Busy,
}

impl Verdict {
    /// How many there are.
    pub(crate) const ALL: usize = Self::Busy as usize + 1;
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connected => "connected",
            Self::Refused => "connection refused",
            Self::Unreachable => "host unreachable",
            Self::TimedOut => "timed out",
            Self::Forbidden => "denied by allow",
            Self::UnknownName => "name not found",
            Self::Busy => "no place free",
        })
    }
}

impl From<&io::Error> for Verdict {
    fn from(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::Unreachable,
        }
    }
}

/// A message with its length in front.
pub(crate) fn frame(message: &impl Serialize) -> Bytes {
    let body = postcard::to_stdvec(message).expect("messages have no unusual types");
    let mut frame = BytesMut::with_capacity(2 + body.len());
    frame.put_u16(body.len() as u16);
    frame.put_slice(&body);
    frame.freeze()
}

/// Reads a message from the beginning of a connection, and gives what follows it already.
///
/// # Errors
/// When the connection ends before, or what comes is none.
pub(crate) async fn read<M: for<'a> Deserialize<'a>>(carrier: &Carrier) -> io::Result<(M, Bytes)> {
    let mut read = BytesMut::new();
    loop {
        if let Some(message) = take(&mut read)? {
            return Ok((message, read.freeze()));
        }
        match carrier.read_bytes().await? {
            Some(bytes) => read.extend_from_slice(&bytes),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Takes a message from the front, once all of it is there.
pub(crate) fn take<M: for<'a> Deserialize<'a>>(read: &mut BytesMut) -> io::Result<Option<M>> {
    let Some(len) = read.first_chunk().map(|len| usize::from(u16::from_be_bytes(*len))) else {
        return Ok(None);
    };
    if len > MOST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
    }
    if read.len() < 2 + len {
        return Ok(None);
    }
    read.advance(2);
    let body = read.split_to(len);
    let message = postcard::from_bytes(&body)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Some(message))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_message_is_read_once_all_of_it_is_there_and_nothing_behind_it_is_lost() {
        let from = "192.0.2.1:4000".parse().expect("an address");
        let open = Open::Flow { to: Destination::Name("example.org".into(), 80), from };
        let bytes = frame(&open);
        let mut read = BytesMut::new();
        for &byte in &bytes[..bytes.len() - 1] {
            read.put_u8(byte);
            assert_eq!(take::<Open>(&mut read).expect("no error"), None);
        }
        read.put_slice(&[bytes[bytes.len() - 1], b'G']);
        assert_eq!(take::<Open>(&mut read).expect("no error"), Some(open));
        assert_eq!(&read[..], b"G");
    }

    #[test]
    fn destinations_are_addresses_or_names_with_a_port() {
        for (text, name) in [
            ("192.0.2.1:80", None),
            ("[2001:db8::1]:443", None),
            ("[::ffff:192.0.2.1]:80", None),
            ("example.org:80", Some("example.org")),
        ] {
            let to: Destination = text.parse().expect("a destination");
            match (&to, name) {
                (Destination::Address(address), None) => assert!(!address.ip().is_loopback()),
                (Destination::Name(found, _), Some(name)) => assert_eq!(found, name),
                _ => panic!("{to:?}"),
            }
        }
        for text in ["example.org", ":80", "a b:80", "example.org:http", "2001:db8::1:80"] {
            assert!(text.parse::<Destination>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = take::<Open>(&mut BytesMut::from(&bytes[..]));
            let _ = take::<Verdict>(&mut BytesMut::from(&bytes[..]));
        }
    }
}
