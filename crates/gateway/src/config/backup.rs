//! The part of the configuration about further links beside the first one.

use std::net::IpAddr;

use bentpipe_association::endpoint::{LINKS, LinkPlan, Multipath};
use bentpipe_bond::Use;
use bentpipe_units::{BitRate, ByteCount};
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::Found;
use super::link::check_family;
use super::{Config, Mode, Parsed, Peer, Role};

/// When a further link is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LinkUse {
    /// Whenever it works, beside the others.
    Always,
    /// Where the others have been full for a second, and while none of them works.
    Spill,
    /// While none of those works that are used otherwise.
    Backup,
}

/// A further link as this end sends on it. It has the mode of the first one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// What this end may send, all headers included, if the links are dedicated.
    pub rate: Option<Parsed<BitRate>>,
    /// The address of this host on the link (default: the system's choice).
    pub source: Option<IpAddr>,
    /// Flows are spread over this link and the first one while both work.
    #[serde(default, alias = "aggregate")]
    pub load_balance: bool,
    /// Each flow uses this link and the first one at once.
    #[serde(default)]
    pub bond: bool,
    /// When it is used (default: always with `bond` or `load_balance`, as a backup without).
    pub r#use: Option<LinkUse>,
    /// Each byte costs: an idle link is probed twice a minute, and nothing is sent to find out its rate.
    #[serde(default)]
    pub metered: bool,
    /// What it may carry in a calendar month (UTC), both directions, all headers included. Then it is not used before
    /// the next month. A link with a cap is metered.
    pub cap: Option<Parsed<ByteCount>>,
}

impl Backup {
    /// What a link may carry in a month at least.
    const CAP_MIN: ByteCount = ByteCount::new(1_000_000);

    /// Flows use it beside other links.
    const fn is_shared(&self) -> bool {
        self.bond || self.load_balance
    }

    /// What is wrong with when it is used.
    const fn wrong_use(&self) -> Option<&'static str> {
        match self.r#use {
            Some(LinkUse::Always) if !self.is_shared() => {
                Some("beside other links it needs bond = true or load_balance = true")
            }
            Some(LinkUse::Spill) if !self.bond => Some("it needs bond = true"),
            Some(LinkUse::Backup) if self.is_shared() => {
                Some("a backup is not used beside other links: leave bond and load_balance out")
            }
            _ => None,
        }
    }
}

impl Config {
    /// The table of the link of this number, counted from 1, as it stands in the file.
    fn backup_key(&self, link: usize) -> String {
        match self.backup.len() {
            1 => "backup".to_owned(),
            _ => format!("backup[{}]", link - 1),
        }
    }

    /// What is done with several links.
    pub(super) fn multipath(&self) -> Multipath {
        if self.backup.iter().any(|backup| backup.bond) {
            Multipath::Bond
        } else if self.backup.iter().any(|backup| backup.load_balance) {
            Multipath::LoadBalance
        } else {
            Multipath::Failover
        }
    }

    /// Whether a flow uses several links at once.
    pub(crate) fn bonds(&self) -> bool {
        self.multipath() == Multipath::Bond
    }

    /// When a flow that uses several links uses this one, counted from 0.
    pub(crate) fn use_of(&self, link: usize) -> Use {
        let further = link.checked_sub(1).and_then(|further| self.backup.get(further));
        match further.and_then(|backup| backup.r#use) {
            Some(LinkUse::Spill) => Use::Spill,
            _ => Use::Always,
        }
    }

    /// How each link may be used.
    pub(super) fn link_plans(&self) -> [LinkPlan; LINKS] {
        let mut plans = [LinkPlan::default(); LINKS];
        plans[0].is_metered = self.link.metered;
        let uses_several = self.multipath() != Multipath::Failover;
        for (plan, backup) in plans.iter_mut().skip(1).zip(&self.backup) {
            plan.is_reserve = uses_several && !backup.is_shared();
            plan.is_metered = backup.metered || backup.cap.is_some();
            plan.spills = backup.r#use == Some(LinkUse::Spill);
        }
        plans
    }

    /// What each link may carry in a month, counted from 0.
    pub(crate) fn caps(&self) -> impl Iterator<Item = (usize, ByteCount)> {
        (1..).zip(&self.backup).filter_map(|(link, backup)| Some((link, backup.cap?.0)))
    }

    /// Whether what is said of further links fits together.
    pub(super) fn check_backups(&self, found: &mut Found) {
        if self.backup.len() >= LINKS {
            let message = format!("there are {LINKS} links at most, the first one among them");
            found.add("backup", message);
        }
        for (name, peer) in &self.peers {
            self.check_backups_of(name, peer, found);
        }
        for (link, backup) in (1..).zip(&self.backup) {
            self.check_backup(&self.backup_key(link), backup, found);
        }
        let has_address = |peer: &Peer| !peer.backup.is_empty();
        if self.role == Role::Terminal
            && !self.backup.is_empty()
            && !self.peers.values().any(has_address)
        {
            let message = "no peer has an address over it: set peers.NAME.backup, HOST:PORT";
            found.add("backup", message);
        }
    }

    fn check_backup(&self, table: &str, backup: &Backup, found: &mut Found) {
        let key = |name: &str| format!("{table}.{name}");
        if backup.rate.is_some_and(|rate| rate.0 < BitRate::from_bps(1000)) {
            found.add(key("rate"), "it is at least 1 kbit/s");
        }
        match (self.link.mode, backup.rate) {
            (Mode::Dedicated, None) => {
                found.add(key("rate"), "a dedicated link has one, such as \"1 Mbit/s\"");
            }
            (Mode::Shared, Some(_)) => {
                found.add(key("rate"), "it needs mode = \"dedicated\" in [link]");
            }
            _ => {}
        }
        if backup.load_balance && self.bonds() {
            let message = "with bond = true each flow uses several links: leave load_balance out";
            found.add(key("load_balance"), message);
        }
        if let Some(wrong) = backup.wrong_use() {
            found.add(key("use"), wrong);
        }
        if backup.cap.is_some_and(|cap| cap.0 < Backup::CAP_MIN) {
            found.add(key("cap"), "it is at least 1 MB");
        }
        if self.role == Role::Hub {
            for (name, is_set) in [
                ("load_balance", backup.load_balance),
                ("bond", backup.bond),
                ("use", backup.r#use.is_some()),
                ("metered", backup.metered),
                ("cap", backup.cap.is_some()),
            ] {
                if is_set {
                    found.add(key(name), "the terminal decides: say it there");
                }
            }
        }
    }

    /// Whether the addresses of a peer over further links fit these.
    fn check_backups_of(&self, name: &str, peer: &Peer, found: &mut Found) {
        let (addresses, key) = (&peer.backup, format!("peers.{name}.backup"));
        if self.backup.is_empty() && !addresses.is_empty() {
            found.add(key, "there is no second link: describe it in [backup]");
            return;
        }
        if addresses.len() > self.backup.len() {
            let (more, links) = (addresses.len(), self.backup.len());
            found.add(&key, format!("{more} addresses, but [[backup]] describes {links} links"));
        }
        // Of all links to the peer no two lead from one address to the same one.
        let mut ways = vec![(peer.address.as_ref(), self.link.source)];
        for (link, (address, backup)) in (1..).zip(addresses.iter().zip(&self.backup)) {
            let source = format!("{}.source", self.backup_key(link));
            check_family(backup.source, Some(address), &source, &key, found);
            let way = (Some(address), backup.source);
            if self.role == Role::Terminal && ways.contains(&way) {
                let message = "it is that over another link: give another one, or set the source \
                               of each link";
                found.add(&key, message);
            }
            ways.push(way);
        }
    }
}
