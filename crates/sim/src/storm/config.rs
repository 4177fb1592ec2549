//! The configuration of the two gateways in a storm.

use std::net::SocketAddr;

use bentpipe_association::{Fec, PublicKey};

use super::settings::{IDLE, Second, Settings};

/// What the configurations are made of.
pub(super) struct Configured<'a> {
    pub(super) settings: &'a Settings,
    pub(super) early_accept: bool,
    /// Where the hub is, on the first link and on the second one.
    pub(super) hub: String,
    pub(super) second_hub: SocketAddr,
    /// Keys of the hub, the terminal, and the hostile peer.
    pub(super) keys: [PublicKey; 3],
}

impl Configured<'_> {
    /// That of the hub.
    pub(super) fn hub(&self) -> String {
        let [_, terminal, evil] = &self.keys;
        let rate = self.rate();
        let weight = if rate.is_empty() { "" } else { "weight = 3\n" };
        let common = self.common("allow = [\"0.0.0.0/0\"]\n", "", self.settings.hub_waits);
        format!(
            "role = \"hub\"\n{common}[peers.sea]\nkey = \"{terminal}\"\n{weight}[peers.evil]\n\
             key = \"{evil}\"\n{rate}"
        )
    }

    /// That of the terminal.
    pub(super) fn terminal(&self) -> String {
        let [key, ..] = &self.keys;
        let Settings { second, direct, .. } = self.settings;
        let fallback = if *direct { "direct" } else { "wait" };
        let balance = match second {
            Some(Second::Beside) => "load_balance = true\n",
            Some(Second::Bonded) => "bond = true\n",
            Some(Second::Spilling) => "bond = true\nuse = \"spill\"\n",
            Some(Second::Capped) => "bond = true\ncap = \"1 MB\"\n",
            _ => "",
        };
        let common = self.common("", balance, IDLE);
        let backup = match second {
            Some(_) => format!("backup = \"{}\"\n", self.second_hub),
            None => String::new(),
        };
        let (early, hub) = (self.early_accept, &self.hub);
        format!(
            "role = \"terminal\"\nearly_accept = {early}\nfallback = \"{fallback}\"\n{common}[peers.hub]\n\
             key = \"{key}\"\naddress = \"{hub}\"\n{backup}"
        )
    }

    fn rate(&self) -> String {
        self.settings.rate.map_or_else(String::new, |rate| format!("rate = \"{rate}\"\n"))
    }

    /// What both have: `allow` goes before the link, `balance` into the second one.
    fn common(&self, allow: &str, balance: &str, waits: bentpipe_units::Span) -> String {
        let Settings { second, buffer, connections, memory, .. } = self.settings;
        let rate = self.rate();
        let mode = if rate.is_empty() { "shared" } else { "dedicated" };
        let fec = match self.settings.fec {
            Fec::Auto => "\"auto\"".to_owned(),
            Fec::Off => "\"off\"".to_owned(),
            Fec::Ratio(ratio) => format!("{ratio:?}"),
        };
        let buffer = buffer.map_or_else(String::new, |buffer| format!("buffer = \"{buffer}\"\n"));
        let backup = match second {
            Some(_) => format!("[backup]\n{rate}"),
            None => String::new(),
        };
        let compression = if self.settings.compresses { "zstd" } else { "off" };
        format!(
            "key = \"k\"\nlisten = \"0.0.0.0:25300\"\nudp = \"tunnel\"\n{allow}[link]\nmode = \"{mode}\"\n\
             compression = \"{compression}\"\n{rate}fec = {fec}\n{backup}{balance}[limits]\nidle_timeout = \"{} s\"\n\
             connections = {connections}\nconnect_timeout = \"10 s\"\nmemory = \"{} B\"\n{buffer}",
            waits.as_secs_f64(),
            memory.get(),
        )
    }
}
