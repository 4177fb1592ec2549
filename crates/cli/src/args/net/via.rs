//! What carries files in place of UDP.

use std::str::FromStr;

use bentpipe_net::radio::{BadTnc, TncAddress};
use clap::Args as ClapArgs;

use super::queues::Queues;
use super::radio::Radio;

/// What carries packets in place of UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// Message queues between processes of this machine.
    Mqueue,
    /// A TNC of packet radio.
    Kiss(TncAddress),
}

impl FromStr for Via {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "mqueue" => Ok(Self::Mqueue),
            Some(("kiss", tnc)) => {
                tnc.parse().map(Self::Kiss).map_err(|error: BadTnc| error.to_string())
            }
            _ => Err(
                "write `mqueue`, or `kiss:` and where the TNC is, such as kiss:localhost:8001 or \
                      kiss:/dev/ttyUSB0@9600"
                    .to_owned(),
            ),
        }
    }
}

/// What carries files in place of UDP.
#[derive(Debug, ClapArgs)]
pub(crate) struct Carrier {
    /// What carries packets in place of UDP, without encryption: `mqueue`, message queues between processes of this machine
    /// (with --node), or `kiss:HOST:PORT` or `kiss:/dev/DEVICE[@BAUD]`, a TNC of packet radio (with --callsign)
    #[arg(long, value_name = "WHAT", requires_if("mqueue", "node"))]
    pub(crate) via: Option<Via>,
    #[command(flatten)]
    pub(crate) queues: Queues,
    #[command(flatten)]
    pub(crate) radio: Radio,
}
