//! Packet radio.

use bentpipe_net::radio::{Address, Identity, Port, TncTime};
use bentpipe_units::Span;
use clap::Args as ClapArgs;

/// A station of packet radio.
#[derive(Debug, ClapArgs)]
pub(crate) struct Radio {
    /// Call sign of this station, such as W1ABC-1. Its address in packets follows from that, or is IPV4
    #[arg(long, value_name = "CALLSIGN[=IPV4]", requires = "via", conflicts_with = "node")]
    pub(crate) callsign: Option<Identity>,
    /// Call sign of a repeater on the way to the peer; may be given several times, in order. The other end gives them in the
    /// reverse order
    #[arg(long = "digi", value_name = "CALLSIGN", requires = "callsign")]
    pub(crate) digis: Vec<Address>,
    /// Radio of a TNC that has several: 0 to 15
    #[arg(long, value_name = "N", default_value = "0", value_parser = port, hide_default_value = true)]
    #[arg(requires = "callsign")]
    pub(crate) tnc_port: Port,
    /// Tell the TNC its TXDELAY, from key-up to the first frame: 0 to 2550 ms
    #[arg(long, value_name = "TIME", value_parser = time, requires = "callsign")]
    pub(crate) tx_delay: Option<TncTime>,
    /// Tell the TNC its persistence: a free channel is taken with probability (P + 1) / 256
    #[arg(long, value_name = "P", requires = "callsign")]
    pub(crate) persistence: Option<u8>,
    /// Tell the TNC its SLOTTIME, between two attempts to take the channel
    #[arg(long, value_name = "TIME", value_parser = time, requires = "callsign")]
    pub(crate) slot_time: Option<TncTime>,
    /// Tell the TNC its TXTAIL, how long the carrier stays after the last frame
    #[arg(long, value_name = "TIME", value_parser = time, requires = "callsign")]
    pub(crate) tx_tail: Option<TncTime>,
}

fn port(text: &str) -> Result<Port, &'static str> {
    text.parse().ok().and_then(Port::new).ok_or("write a number from 0 to 15")
}

fn time(text: &str) -> Result<TncTime, String> {
    let span: Span = text.parse().map_err(|error| format!("{error}"))?;
    TncTime::try_from(span).map_err(|error| error.to_string())
}
