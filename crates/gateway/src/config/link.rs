//! The part of the configuration about links: their rates, and the paths to a peer.

use std::net::{IpAddr, SocketAddr};

use bentpipe_units::{BitRate, ByteCount};
use serde::Deserialize;

use super::check::Found;
use super::{Config, Destination, Parsed, Role};
use bentpipe_association::PublicKey;
use bentpipe_association::endpoint::{Fec, Multipath, Outer, Plan, PlannedPath, Route, Share};

/// Whose the link is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Others use it too: each flow has a congestion controller.
    #[default]
    Shared,
    /// The gateways': its rate is known, and flows take turns.
    Dedicated,
}

/// The link as this end sends on it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// Whose it is.
    #[serde(default)]
    pub mode: Mode,
    /// What this end may send, all headers included, if the link is dedicated.
    pub rate: Option<Parsed<BitRate>>,
    /// The address of this host on the link (default: the system's choice).
    pub source: Option<IpAddr>,
    /// The congestion controller of each flow if the link is shared (default: CUBIC).
    pub controller: Option<String>,
    /// Parity.
    #[serde(default)]
    pub fec: Parsed<Fec>,
    /// What finding out the rate of a shared link may cost in an hour, for each peer (default: 100 kB).
    pub learn: Option<Parsed<ByteCount>>,
    /// Each byte costs: nothing is sent to find out the rate.
    #[serde(default)]
    pub metered: bool,
}

impl LinkConfig {
    /// What finding out the rate of a shared link costs in an hour, unless it is said otherwise.
    pub const LEARN: ByteCount = ByteCount::new(100_000);

    /// What finding out the rate of the link may cost in an hour.
    pub(crate) fn learning(&self) -> ByteCount {
        if self.metered { ByteCount::ZERO } else { self.learn.map_or(Self::LEARN, |learn| learn.0) }
    }
}

/// A second link as this end sends on it. It has the mode of the first one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// What this end may send, all headers included, if the links are dedicated.
    pub rate: Option<Parsed<BitRate>>,
    /// The address of this host on the link (default: the system's choice).
    pub source: Option<IpAddr>,
    /// Flows are spread over both links while both work.
    #[serde(default, alias = "aggregate")]
    pub load_balance: bool,
    /// Each flow uses both links at once.
    #[serde(default)]
    pub bond: bool,
}

/// Which outer transports there are between gateways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
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
fn check_family(
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
            let source = self.backup.as_ref().and_then(|backup| backup.source);
            let of = format!("peers.{name}.backup");
            check_family(source, peer.backup.as_ref(), "backup.source", &of, found);
        }
        self.check_backup(found);
    }

    /// Whether what is said of the second link does.
    fn check_backup(&self, found: &mut Found) {
        let addressed = self.peers.iter().filter(|(_, peer)| peer.backup.is_some());
        let addressed: Vec<_> = addressed.collect();
        let Some(backup) = &self.backup else {
            for (name, _) in addressed {
                let message = "there is no second link: describe it in [backup]";
                found.add(format!("peers.{name}.backup"), message);
            }
            return;
        };
        if backup.rate.is_some_and(|rate| rate.0 < BitRate::from_bps(1000)) {
            found.add("backup.rate", "it is at least 1 kbit/s");
        }
        match (self.link.mode, backup.rate) {
            (Mode::Dedicated, None) => {
                found.add("backup.rate", "a dedicated link has one, such as \"1 Mbit/s\"");
            }
            (Mode::Shared, Some(_)) => {
                found.add("backup.rate", "it needs mode = \"dedicated\" in [link]");
            }
            _ => {}
        }
        if backup.load_balance && backup.bond {
            let message = "with bond = true each flow uses both links: leave load_balance out";
            found.add("backup.load_balance", message);
        }
        if self.role == Role::Hub {
            for (key, is_set) in [("load_balance", backup.load_balance), ("bond", backup.bond)] {
                if is_set {
                    found.add(format!("backup.{key}"), "the terminal decides: say it there");
                }
            }
            return;
        }
        if addressed.is_empty() {
            let message = "no peer has an address over it: set peers.NAME.backup, HOST:PORT";
            found.add("backup", message);
        }
        for (name, peer) in addressed {
            if peer.backup == peer.address && backup.source == self.link.source {
                let message = "it is that over the first link: give another one, or set \
                               link.source and backup.source";
                found.add(format!("peers.{name}.backup"), message);
            }
        }
    }

    /// The paths to a peer at these addresses over the two links.
    pub(crate) fn plan(&self, [first, second]: [Option<SocketAddr>; 2]) -> Option<Plan> {
        let backup = self.backup.as_ref();
        let links = [(first, self.link.source), (second, backup.and_then(|backup| backup.source))];
        let paths = links.into_iter().enumerate().flat_map(|(link, (address, local))| {
            let path =
                move |address, outer| PlannedPath { route: Route { address, local, outer }, link };
            let outer = self.outer.all().iter();
            outer.filter_map(move |outer| Some(path(address?, *outer)))
        });
        let paths: Vec<PlannedPath> = paths.collect();
        let multipath = match backup {
            Some(backup) if backup.bond => Multipath::Bond,
            Some(backup) if backup.load_balance => Multipath::LoadBalance,
            _ => Multipath::Failover,
        };
        first.map(|_| Plan { paths, multipath })
    }

    /// The rate of each link of this end, if it is dedicated.
    pub(crate) fn rates(&self) -> impl Iterator<Item = (usize, BitRate)> {
        let backup = self.backup.as_ref().and_then(|backup| backup.rate);
        let rates = [self.link.rate, backup].into_iter().enumerate();
        rates.filter_map(|(link, rate)| Some((link, rate?.0)))
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
        if let (Some(backup), Some(known)) = (&mut other.backup, &self.backup) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of a terminal's settings beside the first link at 192.0.2.1.
    fn parse(settings: &str, peer: &str) -> Result<Config, String> {
        let text = format!(
            "role = \"terminal\"\nkey = \"key\"\nlisten = \"0.0.0.0:25300\"\n{settings}\n[peers.hub]\n\
             key = \"g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=\"\naddress = \"192.0.2.1:25300\"\n{peer}"
        );
        Config::parse("gateway.toml", &text).map_err(|error| error.to_string())
    }

    const BACKUP: &str = "backup = \"198.51.100.1:25300\"";

    fn addresses(config: &Config) -> [Option<SocketAddr>; 2] {
        let peer = &config.peers["hub"];
        [&peer.address, &peer.backup].map(|known| known.as_ref()?.0.address())
    }

    /// Links and outer transports of the paths to the peer, in their order.
    fn paths(config: &Config) -> Vec<(usize, Outer)> {
        let plan = config.plan(addresses(config)).expect("paths");
        plan.paths.iter().map(|path| (path.link, path.route.outer)).collect()
    }

    #[test]
    fn the_first_link_comes_before_the_second_one_and_udp_before_tcp() {
        let (udp, tcp) = (Outer::Udp, Outer::Tcp);
        assert_eq!(paths(&parse("", "").expect("one link")), [(0, udp), (0, tcp)]);
        let both = parse("[backup]", BACKUP).expect("two links");
        assert_eq!(paths(&both), [(0, udp), (0, tcp), (1, udp), (1, tcp)]);
        let both = parse("outer = \"tcp\"\n[backup]", BACKUP).expect("two links");
        assert_eq!(paths(&both), [(0, tcp), (1, tcp)]);
    }

    #[test]
    fn each_link_has_its_own_rate_and_source() {
        let settings = "[link]\nmode = \"dedicated\"\nrate = \"10 Mbit/s\"\n[backup]\n\
                        rate = \"1 Mbit/s\"\nsource = \"198.51.100.9\"\nload_balance = true";
        let config = parse(settings, BACKUP).expect("two links");
        let rates: Vec<(usize, u64)> =
            config.shares().map(|(link, _, share)| (link, share.rate.as_bps())).collect();
        assert_eq!(rates, [(0, 10_000_000), (1, 1_000_000)]);
        let plan = config.plan(addresses(&config)).expect("paths");
        let locals: Vec<bool> = plan.paths.iter().map(|path| path.route.local.is_some()).collect();
        assert_eq!(
            (plan.multipath, locals),
            (Multipath::LoadBalance, vec![false, false, true, true])
        );
    }

    #[test]
    fn settings_of_a_second_link_that_make_no_sense_are_named() {
        let dedicated = "[link]\nmode = \"dedicated\"\nrate = \"10 Mbit/s\"";
        for (settings, peer, key) in [
            ("", BACKUP, "`peers.hub.backup`"),
            ("[backup]", "", "`backup`"),
            ("[backup]", "backup = \"192.0.2.1:25300\"", "`peers.hub.backup`"),
            ("[backup]\nrate = \"1 Mbit/s\"", BACKUP, "`backup.rate`"),
            (&format!("{dedicated}\n[backup]"), BACKUP, "`backup.rate`"),
        ] {
            let error = parse(settings, peer).expect_err(settings);
            assert!(error.contains(key), "{error}");
        }
        // The same address from another one is another path.
        let same = "backup = \"192.0.2.1:25300\"";
        assert!(parse("[backup]\nsource = \"198.51.100.9\"", same).is_ok());
    }
}
