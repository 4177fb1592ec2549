//! `bentpipe keygen`, `bentpipe recv` and `bentpipe send`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use bentpipe_association::{Fec, PublicKey, Security};
use bentpipe_units::{BitRate, Span};
use clap::builder::PossibleValuesParser;
use clap::{Args as ClapArgs, ValueEnum};

use super::via::Carrier;

pub(super) const KEYGEN_EXAMPLES: &str = "Examples:
  bentpipe keygen                         a new key, in its usual place
  bentpipe keygen --show                  the public key of the one that is there
  bentpipe keygen --key /etc/bentpipe/key

The public key is printed: peers name this host by it. The secret key stays in a file that only its
owner may read.";

/// `bentpipe keygen`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Keygen {
    /// The key file [default: ~/.config/bentpipe/key]
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Print the public key of an existing file
    #[arg(long)]
    pub(crate) show: bool,
}

/// The protocol that carries files over UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// XSTP between hosts that know each other's keys, encrypted
    #[default]
    Xstp,
    /// SCTP in UDP (RFC 6951), over several paths, without encryption and without keys
    Sctp,
}

/// Who this host is and whom it knows.
#[derive(Debug, ClapArgs)]
pub(crate) struct Identity {
    /// The key file of this host [default: ~/.config/bentpipe/key]
    #[arg(long, value_name = "FILE", conflicts_with = "via")]
    pub(crate) key: Option<PathBuf>,
    /// `none` sends cleartext, for links where encryption is forbidden; both ends must set it
    #[arg(long, value_name = "full|none", default_value = "full", value_parser = security, conflicts_with = "node")]
    pub(crate) security: Security,
    /// Parity over the end of what this host sends: as losses ask for it, none, or so much for every
    /// datagram (0 to 1)
    #[arg(long, value_name = "auto|off|RATIO", default_value = "auto", conflicts_with = "via")]
    pub(crate) fec: Fec,
}

fn security(text: &str) -> Result<Security, &'static str> {
    match text {
        "full" => Ok(Security::Full),
        "none" => Ok(Security::None),
        _ => Err("write `full` or `none`"),
    }
}

/// What is known of the path to the peer.
#[derive(Debug, ClapArgs)]
pub(crate) struct PathArgs {
    /// Send at this rate from the first packet on: what the link carries and nobody shares
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<BitRate>,
    /// Congestion controller (see `bentpipe list controllers`)
    #[arg(long, value_name = "NAME", value_parser = controllers(), hide_possible_values = true)]
    pub(crate) controller: Option<String>,
    /// Whether losses are probed for their cause, as XSTP does [default: off over UDP]
    #[arg(long, value_name = "on|off", value_parser = on_or_off)]
    pub(crate) probing: Option<bool>,
    /// Close the connection when nothing was received for so long, also while connecting
    #[arg(long, value_name = "TIME", default_value = "5 min")]
    pub(crate) idle_timeout: Span,
    /// The name of `--idle-timeout` in the last release
    #[arg(long, value_name = "TIME", hide = true, conflicts_with = "idle_timeout")]
    pub(crate) patience: Option<Span>,
}

/// The names of controllers.
fn controllers() -> PossibleValuesParser {
    PossibleValuesParser::new(bentpipe_cc::rows().iter().map(|row| row.name))
}

fn on_or_off(text: &str) -> Result<bool, &'static str> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("write `on` or `off`"),
    }
}

pub(super) const RECV_EXAMPLES: &str = "Examples:
  bentpipe recv --listen 0.0.0.0:25300 --dir inbox --peer KEY
  bentpipe recv --listen [::]:25300 --dir inbox --peers known-hosts --once
  bentpipe recv --via mqueue --node 3 --route 1=2 --dir inbox
  bentpipe recv --via kiss:localhost:8001 --callsign W1ABC-1 --security none --dir inbox
  bentpipe recv --transport sctp --security none --listen 10.1.0.2:9899 --listen 10.2.0.2:9899 --dir inbox

A file that was cut off is kept under a hidden name and goes on where it stopped when it is sent
again. It gets its final name once its BLAKE3 hash was found right. Permissions are bounded by the
umask. RUST_LOG=debug tells more.";

/// `bentpipe recv`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Recv {
    /// Protocol of the connections
    #[arg(long, value_enum, value_name = "NAME", default_value = "xstp", conflicts_with = "via")]
    pub(crate) transport: Transport,
    /// Address and UDP port to listen on [default: 0.0.0.0:25300, with SCTP 0.0.0.0:9899]. With SCTP it
    /// may be given several times: each is a path
    #[arg(long, value_name = "ADDR", conflicts_with = "via")]
    pub(crate) listen: Vec<SocketAddr>,
    /// Directory for received files
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Replace files that are there, whoever put them there. Without it only the sender of a file replaces it, unless
    /// it was changed here since
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Public key of a peer that may send; may be given several times
    #[arg(long = "peer", value_name = "KEY", conflicts_with = "via")]
    #[arg(required_unless_present_any = ["peers", "via", "transport"])]
    pub(crate) peer: Vec<PublicKey>,
    /// File with a public key on each line, `#` and blank lines aside
    #[arg(long, value_name = "FILE", conflicts_with = "via")]
    pub(crate) peers: Option<PathBuf>,
    /// Exit after the first transfer, with its status
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) identity: Identity,
    #[command(flatten)]
    pub(crate) carrier: Carrier,
}

pub(super) const SEND_EXAMPLES: &str = "Examples:
  bentpipe send report.pdf ground.example:25300 --peer KEY
  bentpipe send images/ logs/ [2001:db8::7]:25300 --peer KEY --rate \"50 Mbit/s\"
  bentpipe send report.pdf 3 --via mqueue --node 1 --route 3=2
  bentpipe send report.pdf W1ABC-1 --via kiss:/dev/ttyUSB0@9600 --callsign W2DEF --security none
  bentpipe send report.pdf 10.1.0.2:9899 --transport sctp --security none --bind 10.1.0.1 --bind 10.2.0.1

What the peer has already, whole or in part, is not sent again: the same command resumes a transfer that was cut
off. Symbolic links are skipped without --links. RUST_LOG=debug tells more.";

/// `bentpipe send`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Send {
    /// Files and directories
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The peer that receives; with --via mqueue the number of its node, with --via kiss its call sign
    #[arg(required = true, value_name = "HOST:PORT")]
    pub(crate) to: String,
    /// Public key of the peer
    #[arg(long, value_name = "KEY", conflicts_with = "via")]
    #[arg(required_unless_present_any = ["via", "transport"])]
    pub(crate) peer: Option<PublicKey>,
    /// Protocol of the connection
    #[arg(long, value_enum, value_name = "NAME", default_value = "xstp", conflicts_with = "via")]
    pub(crate) transport: Transport,
    /// Address of this host to send from [default: any]. With SCTP it may be given several times: each is
    /// a path
    #[arg(long, value_name = "IP", conflicts_with = "via")]
    pub(crate) bind: Vec<IpAddr>,
    /// Send symbolic links as links. The receiver takes those that lead to something inside of its directory
    #[arg(long)]
    pub(crate) links: bool,
    #[command(flatten)]
    pub(crate) path: PathArgs,
    #[command(flatten)]
    pub(crate) identity: Identity,
    #[command(flatten)]
    pub(crate) carrier: Carrier,
}
