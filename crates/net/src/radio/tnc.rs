//! Where a TNC is, and the bytes from and to it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::serial;

/// The rate of a serial line when nothing is said, in baud.
const BAUD: u32 = 9600;
/// A host that does not answer for three times as long is gone.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Where a TNC that speaks KISS is: `HOST:PORT`, `/dev/DEVICE` or `/dev/DEVICE@BAUD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TncAddress {
    /// A program such as Dire Wolf, over TCP.
    Tcp {
        /// Host and port.
        host: String,
    },
    /// A device on a serial line.
    Serial {
        /// The line.
        path: PathBuf,
        /// Its rate.
        baud: u32,
    },
}

/// A text that says of no TNC where it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no TNC: write HOST:PORT, such as localhost:8001, or /dev/ttyUSB0 or /dev/ttyUSB0@9600"
)]
pub struct BadTnc {
    text: String,
}

impl FromStr for TncAddress {
    type Err = BadTnc;

    fn from_str(text: &str) -> Result<Self, BadTnc> {
        let bad = || BadTnc { text: text.to_owned() };
        if text.starts_with('/') {
            let (path, baud) = match text.rsplit_once('@') {
                Some((path, baud)) => (path, baud.parse().map_err(|_| bad())?),
                None => (text, BAUD),
            };
            return Ok(Self::Serial { path: path.into(), baud });
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(bad)?;
        let is_right = !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0);
        if is_right { Ok(Self::Tcp { host: text.to_owned() }) } else { Err(bad()) }
    }
}

impl fmt::Display for TncAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host } => f.write_str(host),
            Self::Serial { path, baud } => write!(f, "{}@{baud}", path.display()),
        }
    }
}

/// The bytes from and to a TNC.
pub(super) struct Tnc {
    pub(super) reader: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) writer: Box<dyn AsyncWrite + Send + Unpin>,
}

impl Tnc {
    /// Opens the line to it.
    pub(super) async fn open(address: &TncAddress) -> io::Result<Self> {
        match address {
            TncAddress::Tcp { host } => {
                let stream = TcpStream::connect(host).await?;
                stream.set_nodelay(true)?;
                let keepalive = TcpKeepalive::new()
                    .with_time(KEEPALIVE)
                    .with_interval(KEEPALIVE)
                    .with_retries(2);
                SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
                let (reader, writer) = stream.into_split();
                Ok(Self { reader: Box::new(reader), writer: Box::new(writer) })
            }
            TncAddress::Serial { path, baud } => {
                let (reader, writer) = serial::open(path, *baud)?;
                Ok(Self { reader: Box::new(reader), writer: Box::new(writer) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tnc_is_at_a_port_or_on_a_line() {
        let address = |text: &str| text.parse::<TncAddress>().expect("an address");
        for text in ["localhost:8001", "[::1]:8001", "/dev/ttyUSB0@1200"] {
            assert_eq!(address(text).to_string(), text);
        }
        assert_eq!(address("/dev/ttyS0").to_string(), "/dev/ttyS0@9600");
    }

    #[test]
    fn what_is_no_tnc_is_named() {
        for text in ["", "localhost", ":8001", "localhost:0", "localhost:70000", "/dev/ttyS0@fast"]
        {
            let error = text.parse::<TncAddress>().expect_err(text).to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }
}
