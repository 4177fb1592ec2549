//! The configuration of a gateway.

mod check;
mod error;
mod link;
mod old_keys;
mod ops;
pub(crate) mod tuning;
mod values;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use bentpipe_units::{BitRate, ByteCount, Span};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

pub use self::error::{ConfigError, ConfigErrors};
pub use self::link::{Backup, LinkConfig, Mode, OuterMode};
pub use self::old_keys::old_keys;
pub use self::ops::Ops;
pub use self::values::{Parsed, Password};
use crate::open::Destination;
use crate::policy::Range;
use bentpipe_association::PublicKey;

/// Which end of the satellite link a gateway is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Beside the hosts that open connections; it keeps up the association with every peer.
    Terminal,
    /// Beside the rest of the network; it waits for terminals.
    Hub,
}

/// What becomes of new connections while the remote gateway is unreachable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fallback {
    /// They wait for it, and are reset if it does not come back.
    #[default]
    Wait,
    /// They go on without it.
    Direct,
}

/// What becomes of UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Udp {
    /// It passes by.
    #[default]
    Pass,
    /// It travels between the gateways inside the association, and is not made reliable.
    Tunnel,
}

/// What a forwarded port is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
}

/// A gateway.
#[derive(Clone, Debug, PartialEq, Deserialize)]
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
    pub udp: Udp,
    /// Connections to servers come from the address of the client.
    #[serde(default)]
    pub transparent_source: bool,
    /// The outer transport: what carries the datagrams between the gateways.
    #[serde(default, alias = "carrier")]
    pub outer: OuterMode,
    /// The link.
    #[serde(default)]
    pub link: LinkConfig,
    /// A second link, used when the first one does not work, or beside it.
    pub backup: Option<Backup>,
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
#[derive(Clone, Debug, PartialEq, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Its public key.
    pub key: Parsed<PublicKey>,
    /// Where it is, HOST:PORT of UDP; a hub does not need those of its terminals.
    pub address: Option<Parsed<Destination>>,
    /// The same over the second link.
    pub backup: Option<Parsed<Destination>>,
    /// What this end may send to it on a dedicated link (default: all of the link's rate).
    pub rate: Option<Parsed<BitRate>>,
    /// Its weight among the peers on a dedicated link.
    #[serde(default = "one")]
    pub weight: u32,
}

/// A port that leads to one destination.
#[derive(Clone, Debug, PartialEq, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    /// The TCP address here.
    pub listen: SocketAddr,
    /// Passwords by user; nobody has to give one if there are none.
    #[serde(default, deserialize_with = "values::users")]
    pub users: BTreeMap<String, Password>,
    /// Whoever reaches it may use it, although nobody has to give a password and its address is not one of a
    /// private network.
    #[serde(default)]
    pub open: bool,
    /// By which gateway (default: the only one).
    pub peer: Option<String>,
}

/// Connections that the firewall redirects here.
#[derive(Clone, Debug, PartialEq, Deserialize)]
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
    pub exclude: Vec<Parsed<IpNet>>,
    /// By which gateway (default: the only one).
    pub peer: Option<String>,
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
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
mod tests {
    use super::*;

    const KEY: &str = "g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=";

    fn parse(text: &str) -> Result<Config, String> {
        let head = "role = \"terminal\"\nkey = \"key\"\nlisten = \"0.0.0.0:25300\"\n";
        let text = format!("{head}{}", text.replace("KEY", KEY));
        Config::parse("gateway.toml", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_small_configuration_has_sensible_defaults() {
        let config =
            parse("[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"").expect("one");
        assert!(config.early_accept && config.allow.is_empty());
        assert_eq!(config.fallback, Fallback::Wait);
        assert_eq!(config.link.fec, Parsed(bentpipe_association::Fec::Auto));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let peer = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n";
        for (text, says) in [
            (String::new(), "`peers`: there is none"),
            ("[peers.hub]\nkey = \"KEY\"".into(), "`peers.hub.address`"),
            ("[peers.hub]\nkey = \"x\"".into(), "line 5"),
            (format!("{peer}waight = 3"), "line 7, `peers.hub.waight`: unknown field `waight`"),
            (format!("{peer}waight = 3"), "did you mean `weight`?"),
            (format!("{peer}[link]\nmode = \"dedicatd\""), "did you mean `dedicated`?"),
            (
                format!("{peer}[link]\nfec = \"often\""),
                "line 8, `link.fec`: it is `auto`, `off` or",
            ),
            (format!("{peer}[link]\nfec = 1.5"), "line 8, `link.fec`: it is `auto`, `off` or"),
            (format!("{peer}[link]\nrate = 10"), "line 8, `link.rate`: "),
            (
                format!("{peer}[limits]\nnew_per_second = -1"),
                "`limits.new_per_second`: invalid value: integer `-1`, expected a whole number from 0",
            ),
            (
                format!("{peer}[ops]\nlisten = \"here\""),
                "line 8, `ops.listen`: it is ADDRESS:PORT, such as",
            ),
            (
                format!("{peer}[socks5]\nlisten = \"[::1]:1080\"\npeer = \"hup\""),
                "`socks5.peer`: `hup`",
            ),
            (format!("{peer}[limits]\nbuffer = \"1 kB\""), "`limits.buffer`"),
            (
                format!("{peer}[limits]\nmemory = \"100 MB\""),
                "`limits.memory`: it is at least 320000000 B for 10000 connections",
            ),
            (format!("{peer}[link]\nmode = \"dedicated\""), "`link.rate`: a dedicated link"),
            (format!("{peer}[link]\nrate = \"1 Mbit/s\""), "`link.rate`: it needs mode"),
            (format!("{peer}rate = \"2 Mbit/s\""), "`peers.hub.rate`"),
            (format!("{peer}[ops]\nlisten = \"0.0.0.0:9100\""), "`ops.listen`: 0.0.0.0:9100 is"),
            (format!("{peer}weight = 0"), "`peers.hub.weight`"),
            (
                format!("{peer}[transparent]\nport = 1\ninterfaces = [\"e\\\" }} accept\"]"),
                "`transparent.interfaces`",
            ),
            (format!("{peer}[transparent]\nport = 1\nexclude = [\"10\"]"), "line 9"),
            (
                format!(
                    "{peer}[link]\nmode = \"dedicated\"\nrate = \"1 Mbit/s\"\ncontroller = \"reno\""
                ),
                "`link.controller`",
            ),
        ] {
            let error = parse(&text).expect_err(says);
            assert!(error.starts_with("gateway.toml") && error.contains(says), "{error}");
        }
    }

    #[test]
    fn the_status_is_open_to_this_host_or_to_whom_the_operator_says() {
        let peer = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n[ops]\nlisten = ";
        for ops in ["\"127.0.0.1:1\"", "\"[::1]:1\"", "\"0.0.0.0:1\"\nopen = true"] {
            assert!(parse(&format!("{peer}{ops}")).expect("one").ops.is_some(), "{ops}");
        }
    }

    #[test]
    fn only_rates_and_weights_change_while_it_runs() {
        let text = |rate, weight, listen| {
            format!(
                "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\nweight = {weight}\n[link]\n\
                 mode = \"dedicated\"\nrate = \"{rate} Mbit/s\"\n[socks5]\nlisten = \"[::1]:{listen}\""
            )
        };
        let config = |rate, weight, listen| parse(&text(rate, weight, listen)).expect("one");
        let now = config(10, 1, 1080);
        assert!(now.differs_in_rates_only(&config(2, 5, 1080)));
        assert!(!now.differs_in_rates_only(&config(10, 1, 1081)));
        let shares: Vec<u32> =
            config(2, 5, 1080).shares().map(|(_, _, share)| share.weight).collect();
        assert_eq!(shares, [5]);
    }

    #[test]
    fn passwords_are_not_printed() {
        let text = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n\
                    [socks5]\nlisten = \"[::1]:1080\"\nusers = { eve = \"secret\" }";
        let config = parse(text).expect("a configuration");
        assert!(!format!("{config:?}").contains("secret"));
        let users = &config.socks5.expect("a proxy").users;
        assert!(users["eve"].is("secret") && !users["eve"].is("Secret"));
    }

    #[test]
    fn a_ratio_of_parity_is_a_number_with_quotes_or_without() {
        let peer = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n[link]\nfec = ";
        for ratio in ["0.25", "\"0.25\""] {
            let config = parse(&format!("{peer}{ratio}")).expect("a ratio");
            assert_eq!(config.link.fec, Parsed(bentpipe_association::Fec::Ratio(0.25)));
        }
    }

    #[test]
    fn a_proxy_without_passwords_is_for_this_host_and_its_network_unless_it_is_said_to_be_open() {
        let peer = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n";
        for proxy in ["socks5", "http"] {
            let parse = |rest: &str| parse(&format!("{peer}[{proxy}]\nlisten = {rest}"));
            for listen in ["127.0.0.1", "192.168.7.1", "[::1]", "[fd00::1]"] {
                assert!(parse(&format!("\"{listen}:1080\"")).is_ok(), "{listen}");
            }
            for listen in ["0.0.0.0", "[::]", "203.0.113.1", "[2001:db8::1]"] {
                let listen = format!("\"{listen}:1080\"");
                let message = parse(&listen).expect_err("for everybody");
                assert!(message.contains(&format!("`{proxy}.listen`")), "{message}");
                assert!(parse(&format!("{listen}\nopen = true")).is_ok());
                assert!(parse(&format!("{listen}\nusers = {{ eve = \"x\" }}")).is_ok());
            }
        }
    }

    #[test]
    fn a_host_is_not_its_own_peer() {
        let config =
            parse("[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"").expect("one");
        let (key, _) = config.check_key(config.peers["hub"].key.0).expect_err("itself");
        assert_eq!(key, "peers.hub.key");
        let other = bentpipe_association::SecretKey::generate().public();
        assert!(config.check_key(other).is_ok());
    }

    #[test]
    fn what_could_not_start_or_would_do_nothing_is_refused_by_its_key() {
        let peer = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n";
        let twice = peer.replace("hub", "other");
        let cases = [
            (format!("{peer}[link]\ncontroller = \"cubik\""), "link.controller"),
            (format!("{peer}[link]\nmode = \"dedicated\"\nrate = \"1 bit/s\""), "link.rate"),
            (format!("{peer}weight = 7"), "peers.hub.weight"),
            (format!("{peer}{twice}"), "peers.other.key"),
            (peer.replace("192.0.2.1", "[2001:db8::1]"), "peers.hub.address"),
            (peer.replace("25300", "0"), "`peers.hub.address`: port 0"),
            (
                format!("{peer}[[forward]]\nlisten = \"127.0.0.1:1\"\nto = \"a.example:0\""),
                "`forward[0].to`: port 0",
            ),
            (peer.replace("192.0.2.1:25300", "hub.example"), "HOST:PORT"),
            (format!("{peer}[limits]\nidle_timeout = \"0 s\""), "limits.idle_timeout"),
            (format!("{peer}[limits]\nconnect_timeout = \"0 s\""), "limits.connect_timeout"),
            (format!("{peer}[limits]\nnew_per_second = 0"), "limits.new_per_second"),
            (format!("{peer}[transparent]\nport = 0"), "transparent.port"),
            (
                format!(
                    "{peer}[socks5]\nlisten = \"127.0.0.1:1080\"\n[http]\nlisten = \"127.0.0.1:1080\""
                ),
                "http.listen",
            ),
            (
                format!(
                    "{peer}[socks5]\nlisten = \"127.0.0.1:1080\"\n[ops]\nlisten = \"127.0.0.1:1080\""
                ),
                "ops.listen",
            ),
            (format!("{peer}[link]\nsource = \"2001:db8::1\""), "link.source"),
            (
                format!("{peer}[socks5]\nlisten = \"127.0.0.1:1\"\nusers = {{ eve = \"\" }}"),
                "socks5.users",
            ),
        ];
        for (text, key) in cases {
            let message = parse(&text).expect_err(key);
            assert!(message.contains(key), "{key}: {message}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let message = parse(
            "[peers.a]\nkey = \"KEY\"\n[peers.b]\nkey = \"KEY\"\naddress = \"192.0.2.1:0\"\nweight = 0\n\
             [limits]\nbuffer = \"1 kB\"\n[transparent]\nport = 0\npeer = \"c\"\n[link]\nrate = \"1 Mbit/s\"",
        )
        .expect_err("much");
        let lines: Vec<&str> = message.lines().collect();
        for key in [
            "peers.a.address",
            "peers.b.key",
            "peers.b.address",
            "peers.b.weight",
            "limits.buffer",
            "transparent.port",
            "transparent.peer",
            "link.rate",
        ] {
            let start = format!("gateway.toml, `{key}`: ");
            assert!(lines.iter().any(|line| line.starts_with(&start)), "{key}\n{message}");
        }
        assert_eq!(lines.len(), 8, "{message}");
    }

    #[test]
    fn a_peer_has_an_address_or_a_name() {
        let peer = "[peers.hub]\nkey = \"KEY\"\naddress = \"hub.example.com:25300\"";
        let config = parse(peer).expect("a name");
        let Some(Parsed(address)) = &config.peers["hub"].address else { panic!("an address") };
        assert_eq!(address, &Destination::Name("hub.example.com".into(), 25_300));
    }

    #[test]
    fn a_password_that_stands_in_the_wrong_place_is_not_repeated() {
        let text = "[peers.hub]\nkey = \"KEY\"\naddress = \"192.0.2.1:25300\"\n\
                    [socks5]\nlisten = \"127.0.0.1:1080\"\nusers = \"eve:hunter2\"";
        let message = parse(text).expect_err("no users");
        assert!(message.contains("users") && !message.contains("hunter2"), "{message}");
    }
}
