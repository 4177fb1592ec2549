//! The part of the configuration about links: their rates, and the paths to a peer.

use std::net::{IpAddr, SocketAddr};

use bentpipe_units::{BitRate, ByteCount};
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::Found;
use super::values;
use super::{Config, Destination, Parsed, Role};
use bentpipe_association::endpoint::{Fec, Outer, Plan, PlannedPath, Route, Share};
use bentpipe_association::{LEARN, PublicKey};

/// Whose the link is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Others use it too: each flow has a congestion controller.
    #[default]
    Shared,
    /// The gateways': its rate is known, and flows take turns.
    Dedicated,
}

/// The link as this end sends on it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// Whose it is.
    #[serde(default)]
    pub mode: Mode,
    /// What this end may send, all headers included, if the link is dedicated.
    pub rate: Option<Parsed<BitRate>>,
    /// The address of this host on the link (default: the system's choice).
    pub source: Option<IpAddr>,
    /// The congestion controller of each flow if the link is shared (default: `steady`).
    pub controller: Option<String>,
    /// Parity.
    #[serde(default)]
    #[schemars(schema_with = "values::fec")]
    pub fec: Parsed<Fec>,
    /// What finding out the rate of a shared link may cost in an hour, for each peer (default: 100 kB).
    pub learn: Option<Parsed<ByteCount>>,
    /// Each byte costs: nothing is sent to find out the rate.
    #[serde(default)]
    pub metered: bool,
    /// What this end sends is compressed where that is worth it.
    #[serde(default)]
    pub compression: Compress,
}

/// How what flows carry is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Compress {
    /// Not at all.
    #[default]
    Off,
    /// By zstd, each piece of a flow for itself.
    Zstd,
}

impl Compress {
    /// Whether it is compressed.
    pub(crate) fn is_on(self) -> bool {
        self == Self::Zstd
    }
}

impl LinkConfig {
    /// What finding out the rate of the link may cost in an hour.
    pub(crate) fn learning(&self) -> ByteCount {
        if self.metered { ByteCount::ZERO } else { self.learn.map_or(LEARN, |learn| learn.0) }
    }
}

/// Which outer transports there are between gateways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OuterMode {
    /// UDP, and TCP where that does not get through.
    #[default]
    Auto,
    /// UDP only.
    Udp,
    /// TCP only.
    Tcp,
}

impl OuterMode {
    /// In the order of preference.
    const fn all(self) -> &'static [Outer] {
        match self {
            Self::Auto => &[Outer::Udp, Outer::Tcp],
            Self::Udp => &[Outer::Udp],
            Self::Tcp => &[Outer::Tcp],
        }
    }
}

/// Whether one can be reached from the other.
pub(super) fn check_family(
    source: Option<IpAddr>,
    peer: Option<&Parsed<Destination>>,
    key: &str,
    of: &str,
    found: &mut Found,
) {
    let peer = peer.and_then(|peer| peer.0.address());
    let (Some(source), Some(peer)) = (source, peer) else { return };
    let family = |is_ipv4| if is_ipv4 { "IPv4" } else { "IPv6" };
    if source.is_ipv4() != peer.is_ipv4() {
        let (has, needs) = (family(source.is_ipv4()), family(peer.is_ipv4()));
        found.add(key, format!("it is {has}, but {of} is {needs}"));
    }
}

impl Config {
    /// Whether what is said of the link fits together.
    pub(super) fn check_link(&self, found: &mut Found) {
        let LinkConfig { mode, rate, controller, .. } = &self.link;
        match (mode, rate, controller) {
            (Mode::Dedicated, None, _) => {
                found.add("link.rate", "a dedicated link has one, such as \"10 Mbit/s\"");
            }
            (Mode::Dedicated, _, Some(_)) => {
                found.add("link.controller", "flows on a dedicated link take turns without one");
            }
            (Mode::Shared, Some(_), _) => {
                found.add("link.rate", "it needs mode = \"dedicated\"");
            }
            (Mode::Dedicated, _, _) if self.link.learn.is_some() => {
                found.add("link.learn", "the rate of a dedicated link is known");
            }
            _ => {
                if let Err(error) = super::tuning::flows(self).config() {
                    let key = if controller.is_some() { "link.controller" } else { "link.rate" };
                    found.add(key, error.to_string());
                }
            }
        }
        if self.link.compression.is_on() && !cfg!(feature = "compression") {
            found.add(
                "link.compression",
                "this program was built without it (feature `compression`)",
            );
        }
        for (name, peer) in &self.peers {
            if peer.rate.is_some_and(|own| rate.is_none_or(|all| own.0 > all.0)) {
                let message = "it is at most link.rate, which must be set";
                found.add(format!("peers.{name}.rate"), message);
            }
            if peer.weight == 0 {
                found.add(format!("peers.{name}.weight"), "it is at least 1");
            } else if self.link.mode == Mode::Shared && peer.weight != 1 {
                let message = "peers have parts of a dedicated link: it needs mode = \"dedicated\"";
                found.add(format!("peers.{name}.weight"), message);
            }
            let (source, of) = (self.link.source, format!("peers.{name}.address"));
            check_family(source, peer.address.as_ref(), "link.source", &of, found);
        }
        self.check_backups(found);
    }

    /// The paths to a peer at these addresses, one over each link. A hub has none: its terminals decide.
    pub(crate) fn plan(&self, addresses: &[Option<SocketAddr>]) -> Option<Plan> {
        addresses.first()?.as_ref().filter(|_| self.role == Role::Terminal)?;
        let sources = std::iter::once(self.link.source).chain(self.backup.iter().map(|b| b.source));
        let paths = addresses.iter().zip(sources).enumerate();
        let paths = paths.flat_map(|(link, (address, local))| {
            let path =
                move |address, outer| PlannedPath { route: Route { address, local, outer }, link };
            let outer = self.outer.all().iter();
            outer.filter_map(move |outer| Some(path((*address)?, *outer)))
        });
        Some(Plan { paths: paths.collect(), links: self.link_plans(), multipath: self.multipath() })
    }

    /// The rate of each link of this end, if it is dedicated.
    pub(crate) fn rates(&self) -> impl Iterator<Item = (usize, BitRate)> {
        let rates = std::iter::once(self.link.rate).chain(self.backup.iter().map(|b| b.rate));
        rates.enumerate().filter_map(|(link, rate)| Some((link, rate?.0)))
    }

    /// What each peer may have of each dedicated link.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (usize, PublicKey, Share)> {
        self.rates().flat_map(|(link, all)| {
            self.peers.values().map(move |peer| {
                let own = peer.rate.map_or(all, |own| own.0.min(all));
                (link, peer.key.0, Share { rate: own, weight: peer.weight })
            })
        })
    }

    /// Whether nothing but rates and weights differ.
    pub(crate) fn differs_in_rates_only(&self, other: &Self) -> bool {
        let mut other = other.clone();
        other.link.rate = self.link.rate;
        for (backup, known) in other.backup.iter_mut().zip(&self.backup) {
            backup.rate = known.rate;
        }
        for (name, peer) in &mut other.peers {
            if let Some(known) = self.peers.get(name) {
                (peer.rate, peer.weight) = (known.rate, known.weight);
            }
        }
        *self == other
    }
}
