//! `bentpipe trace record` and `bentpipe trace respond`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use bentpipe_units::{BitRate, ByteCount, Span};
use clap::Args as ClapArgs;

use super::orbit::{some_duration, some_time};
use super::trace::TraceWay;

/// `bentpipe trace record`.
#[derive(Debug, ClapArgs)]
pub(crate) struct TraceRecord {
    /// A host, which echoes (ICMP), or the address of a `bentpipe trace respond`
    #[arg(value_name = "HOST[:PORT]")]
    pub(crate) to: FarEnd,
    /// How long it takes
    #[arg(long, value_name = "TIME", default_value = "2 min", value_parser = some_duration)]
    pub(crate) duration: Span,
    /// Time from one probe to the next
    #[arg(long, value_name = "TIME", default_value = "20 ms", value_parser = some_time)]
    pub(crate) interval: Span,
    /// The most that may be sent and received, with headers
    #[arg(long, value_name = "SIZE", default_value = "100 MB")]
    pub(crate) limit: ByteCount,
    /// Send a load at this rate; what of it arrives is the rate of the trace of --way up
    #[arg(long, value_name = "RATE")]
    pub(crate) load_up: Option<BitRate>,
    /// Ask for a load at this rate; what of it arrives is the rate of the trace of --way down
    #[arg(long, value_name = "RATE")]
    pub(crate) load_down: Option<BitRate>,
    /// Write nothing but the rate: under a load that fills the queue, delay, losses and outages are those of a full queue
    #[arg(long)]
    pub(crate) only_rate: bool,
    /// Which way along the link the trace is for
    #[arg(long, value_enum, default_value = "down")]
    pub(crate) way: TraceWay,
    /// More missing answers in a row than this are an outage, fewer are losses
    #[arg(long, value_name = "N", default_value = "3")]
    pub(crate) gap: usize,
    /// Write the trace into this file: Parquet if its name ends in .parquet, else CSV [default: print it]
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) out: Option<PathBuf>,
}

/// Who answers a recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FarEnd {
    /// As it was written.
    pub(crate) text: String,
    pub(crate) host: String,
    /// That of a responder.
    pub(crate) port: Option<u16>,
}

impl FromStr for FarEnd {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let port = |port: &str| {
            let number = port.parse::<u16>().ok().filter(|port| *port > 0);
            number.ok_or_else(|| format!("`{port}` is no port: write 1 to 65535"))
        };
        let far = |host: &str, port| match host {
            "" => Err("the host is missing: write HOST or HOST:PORT".to_owned()),
            host => Ok(Self { text: text.to_owned(), host: host.to_owned(), port }),
        };
        if let Some(rest) = text.strip_prefix('[') {
            let (host, rest) = rest
                .split_once(']')
                .ok_or("the ] behind the address is missing: [ADDRESS]:PORT")?;
            return match rest.strip_prefix(':') {
                Some(number) => far(host, Some(port(number)?)),
                None if rest.is_empty() => far(host, None),
                None => Err(format!("`{rest}` stands behind the address: write [ADDRESS]:PORT")),
            };
        }
        match text.split_once(':') {
            // More colons are an address of IPv6.
            Some((host, number)) if !number.contains(':') => far(host, Some(port(number)?)),
            _ => far(text, None),
        }
    }
}

/// `bentpipe trace respond`.
#[derive(Debug, ClapArgs)]
pub(crate) struct TraceRespond {
    /// Where it listens (UDP)
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:25310")]
    pub(crate) listen: SocketAddr,
    /// The rate of the loads that it sends, all together
    #[arg(long, value_name = "RATE", default_value = "100 Mbit/s")]
    pub(crate) max_rate: BitRate,
    /// The most that it sends in one session
    #[arg(long, value_name = "SIZE", default_value = "1 GB")]
    pub(crate) max_bytes: ByteCount,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_end_is_a_host_that_may_have_a_port() {
        for (text, host, port) in [
            ("server.example", "server.example", None),
            ("server.example:7000", "server.example", Some(7000)),
            ("192.0.2.1", "192.0.2.1", None),
            ("2001:db8::1", "2001:db8::1", None),
            ("[2001:db8::1]:7000", "2001:db8::1", Some(7000)),
            ("[2001:db8::1]", "2001:db8::1", None),
        ] {
            let far = text.parse::<FarEnd>().expect(text);
            assert_eq!((far.host.as_str(), far.port), (host, port));
        }
        for (text, said) in [
            ("server:x", "`x` is no port"),
            ("server:0", "`0` is no port"),
            (":7000", "the host is missing"),
            ("[::1", "the ] behind"),
            ("[::1]7", "`7` stands behind"),
        ] {
            let error = text.parse::<FarEnd>().expect_err(text);
            assert!(error.contains(said), "{error}");
        }
    }
}
