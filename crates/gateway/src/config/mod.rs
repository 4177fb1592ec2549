//! The configuration of a gateway.

mod backup;
mod check;
mod error;
mod link;
mod old_keys;
mod ops;
pub(crate) mod tuning;
mod udp;
mod values;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use bentpipe_units::{BitRate, ByteCount, Span};
use ipnet::IpNet;
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

pub use self::backup::{Backup, LinkUse};
pub use self::error::{ConfigError, ConfigErrors};
pub use self::link::{Compress, LinkConfig, Mode, OuterMode};
pub use self::old_keys::old_keys;
pub use self::ops::Ops;
pub use self::udp::{UdpConfig, UdpMode};
pub use self::values::{Parsed, Password};
use crate::open::Destination;
use crate::policy::Range;
use bentpipe_association::PublicKey;

/// Which end of the satellite link a gateway is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Beside the hosts that open connections; it keeps up the association with every peer.
    Terminal,
    /// Beside the rest of the network; it waits for terminals.
    Hub,
}

/// What becomes of new connections while the remote gateway is unreachable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fallback {
    /// They wait for it, and are reset if it does not come back.
    #[default]
    Wait,
    /// They go on without it.
    Direct,
}

/// What a forwarded port is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
}

/// A gateway.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Which end of the link.
    pub role: Role,
    /// The file with the key of this host; as it stands in the configuration, relative to that.
    pub key: PathBuf,
    /// The UDP address between the gateways.
    pub listen: SocketAddr,
    /// The user that the process becomes once it has read its key, if it was started by root.
    pub user: Option<String>,
    /// Connections are answered before the remote gateway has connected.
    #[serde(default = "yes")]
    pub early_accept: bool,
    /// What becomes of new connections while the remote gateway is unreachable.
    #[serde(default)]
    pub fallback: Fallback,
    /// What becomes of UDP.
    #[serde(default)]
    pub udp: UdpConfig,
    /// Connections to servers come from the address of the client.
    #[serde(default)]
    pub transparent_source: bool,
    /// The outer transport: what carries the datagrams between the gateways.
    #[serde(default, alias = "carrier")]
    pub outer: OuterMode,
    /// The link.
    #[serde(default)]
    pub link: LinkConfig,
    /// Further links, in the order of preference: used when those before do not work, or beside them.
    #[serde(default, deserialize_with = "values::one_or_more")]
    #[schemars(with = "values::OneOrMany<Backup>")]
    pub backup: Vec<Backup>,
    /// What one peer may use.
    #[serde(default)]
    pub limits: Limits,
    /// Where flows of peers may lead.
    #[serde(default)]
    pub allow: Vec<Parsed<Range>>,
    /// The gateways that this one talks to, by name.
    #[serde(default)]
    pub peers: BTreeMap<String, Peer>,
    /// Ports that lead to one destination.
    #[serde(default)]
    pub forward: Vec<Forward>,
    /// A SOCKS5 server.
    pub socks5: Option<Proxy>,
    /// An HTTP server that knows CONNECT.
    pub http: Option<Proxy>,
    /// Connections that the firewall redirects here.
    pub transparent: Option<Transparent>,
    /// Metrics, health and status over HTTP.
    pub ops: Option<Ops>,
}

/// What one peer may use.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Flows at the same time.
    pub connections: usize,
    /// New flows in a second.
    pub new_per_second: u32,
    /// Bytes that all flows of a peer may hold together.
    pub memory: Parsed<ByteCount>,
    /// Bytes that wait for one flow in each direction.
    pub buffer: Parsed<ByteCount>,
    /// Time for a server to answer.
    pub connect_timeout: Parsed<Span>,
    /// The remote gateway may be silent for so long before flows are reset.
    #[serde(alias = "patience")]
    pub idle_timeout: Parsed<Span>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            new_per_second: 1_000,
            memory: Parsed(ByteCount::new(1_000_000_000)),
            buffer: Parsed(ByteCount::new(20_000_000)),
            connect_timeout: Parsed(Span::from_secs(30)),
            idle_timeout: Parsed(Span::from_secs(300)),
        }
    }
}

/// Another gateway.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Its public key.
    pub key: Parsed<PublicKey>,
    /// Where it is, HOST:PORT of UDP; a hub does not need those of its terminals.
    pub address: Option<Parsed<Destination>>,
    /// The same over each further link.
    #[serde(default, deserialize_with = "values::one_or_more")]
    #[schemars(with = "values::OneOrMany<Parsed<Destination>>")]
    pub backup: Vec<Parsed<Destination>>,
    /// What this end may send to it on a dedicated link (default: all of the link's rate).
    pub rate: Option<Parsed<BitRate>>,
    /// Its weight among the peers on a dedicated link.
    #[serde(default = "one")]
    pub weight: u32,
}

/// A port that leads to one destination.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forward {
    /// The address here.
    pub listen: SocketAddr,
    /// TCP or UDP.
    #[serde(default)]
    pub protocol: Protocol,
    /// Where it leads, as the remote gateway sees it.
    pub to: Parsed<Destination>,
    /// By which gateway (default: the only one).
    pub peer: Option<String>,
}

/// A proxy that clients are told of.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// The TCP address here.
    pub listen: SocketAddr,
    /// Passwords by user; nobody has to give one if there are none.
    #[serde(default, deserialize_with = "values::users")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub users: BTreeMap<String, Password>,
    /// Whoever reaches it may use it, although nobody has to give a password and its address is not one of a
    /// private network.
    #[serde(default)]
    pub open: bool,
    /// By which gateway (default: the only one).
    pub peer: Option<String>,
}

/// Connections that the firewall redirects here.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transparent {
    /// The TCP port that they are redirected to.
    pub port: u16,
    /// The devices that they come in by, for the rules of the firewall; all if there are
    /// none.
    #[serde(default)]
    pub interfaces: Vec<String>,
    /// Networks to which connections go untouched, for the same rules.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub exclude: Vec<Parsed<IpNet>>,
    /// By which gateway (default: the only one).
    pub peer: Option<String>,
}

/// The JSON Schema of configuration files.
pub fn schema() -> Schema {
    schema_for!(Config)
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

impl Peer {
    /// Where it is over each link.
    pub(crate) fn addresses(&self) -> Vec<Option<Destination>> {
        let first = std::iter::once(self.address.as_ref());
        let all = first.chain(self.backup.iter().map(Some));
        all.map(|at| at.map(|at| at.0.clone())).collect()
    }
}

impl Config {
    /// Reads a configuration from a text that came from `file`.
    ///
    /// # Errors
    /// When it is not one: all that does not fit together, or the first thing that cannot be read.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigErrors> {
        let config: Self = error::read(file, text)?;
        match config.check() {
            found if found.is_empty() => Ok(config),
            found => Err(ConfigErrors::of(file, found)),
        }
    }

    /// Whether this host, with this key, may have the configuration.
    ///
    /// # Errors
    /// When a peer has the same key: the name of its setting and what is wrong.
    pub fn check_key(&self, own: PublicKey) -> Result<(), (String, String)> {
        match self.peers.iter().find(|(_, peer)| peer.key.0 == own) {
            Some((name, _)) => {
                let message =
                    "it is this host's own; the peer's is what `bentpipe keygen` prints there";
                Err((format!("peers.{name}.key"), message.to_owned()))
            }
            None => Ok(()),
        }
    }

    /// Whether it opens sockets with other hosts' addresses while it runs, for which Linux wants
    /// CAP_NET_ADMIN.
    pub const fn is_transparent(&self) -> bool {
        self.transparent.is_some() || self.transparent_source
    }

    /// Whether it opens raw sockets while it runs, for packets of ESP with other hosts' addresses, for which Linux wants
    /// CAP_NET_RAW.
    pub fn captures_esp(&self) -> bool {
        self.is_transparent() && self.udp.mode == UdpMode::Tunnel
    }

    /// The keys of everything where connections come in, and the peers that they name.
    pub fn entrances(&self) -> impl Iterator<Item = (String, Option<&str>)> {
        let forward = self.forward.iter().enumerate();
        let forward = forward.map(|(n, f)| (format!("forward[{n}]"), f.peer.as_deref()));
        let socks5 = self.socks5.iter().map(|p| ("socks5".to_owned(), p.peer.as_deref()));
        let http = self.http.iter().map(|p| ("http".to_owned(), p.peer.as_deref()));
        let transparent = self.transparent.iter();
        let transparent = transparent.map(|t| ("transparent".to_owned(), t.peer.as_deref()));
        forward.chain(socks5).chain(http).chain(transparent)
    }

    /// The name of the peer that is meant: the one named, or the only one.
    ///
    /// # Errors
    /// There is no such peer, or there are several.
    pub fn peer(&self, named: Option<&str>) -> Result<&str, String> {
        let names = || self.peers.keys().cloned().collect::<Vec<_>>().join(", ");
        match named {
            Some(name) => match self.peers.get_key_value(name) {
                Some((name, _)) => Ok(name),
                None => Err(format!("`{name}` is none of the peers: {}", names())),
            },
            None => match self.peers.first_key_value() {
                Some((name, _)) if self.peers.len() == 1 => Ok(name),
                _ => Err(format!("there are several peers, name one of {}", names())),
            },
        }
    }
}

#[cfg(test)]
mod link_tests;
#[cfg(test)]
mod tests;
