//! The rules that lead connections of other hosts to a gateway, and the answers to hosts whose address
//! it uses.
//!
//! Only the first packet of a connection is led here, so that those which exist when the rules come go
//! on as they did. Without a gateway that listens the rules lead nowhere and packets go their way.
//! Without an early accept it comes twice: from its host it is redirected to a device, and from there, when the
//! remote gateway has connected, to the port.

use std::fmt::Write as _;
use std::io;

use bentpipe_association::PublicKey;
use bentpipe_gateway::{Config, UdpMode};
use bentpipe_system::programs;

use crate::esp_sockets;

/// Mark of packets for sockets of this machine.
pub(super) const MARK: u32 = 0x6270;
/// The routing table that leads them there; also the priority of the rule that says so.
const TABLE: u32 = 25_300;
/// Mark of requests that wait for the remote gateway.
const HELD_MARK: u32 = 0x6271;
/// The routing table that leads them to their device, while there is one; also the priority of the rule that says so.
pub(super) const HELD_TABLE: u32 = 25_301;
/// That device.
pub(super) const HELD_DEVICE: &str = "bentpipe-held";
/// Which mark is looked up in which table.
const LOOKUPS: [(u32, u32); 2] = [(MARK, TABLE), (HELD_MARK, HELD_TABLE)];
/// What leads them there, in the words of `ip`, for either kind of addresses.
const ROUTES: [(&str, &str); 2] = [("-4", "0.0.0.0/0"), ("-6", "::/0")];

/// Clients with ESP and the hosts that they have it with, for either kind of addresses: raw sockets take what comes back, and
/// no rule sees whether there is one.
const ESP_SETS: [(&str, &str); 2] = [("esp4", "ip"), ("esp6", "ip6")];

/// Switches by which Linux' own messages about a packet take its mark. Packets that leave with a client's address have
/// [`MARK`]: that nobody has the address of a neighbour comes to the gateway's socket then, and not to the client.
const REFLECT: [&str; 2] =
    ["/proc/sys/net/ipv4/fwmark_reflect", "/proc/sys/net/ipv6/fwmark_reflect"];

/// The rules of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firewall {
    rules: String,
    /// It sends from clients' addresses.
    reflects: bool,
}

/// Rules that are installed, until this is dropped.
#[derive(Debug)]
pub struct Installed {
    /// Switches that were off before.
    switched: Vec<&'static str>,
}

impl Drop for Installed {
    fn drop(&mut self) {
        if let Err(error) = Firewall::clear() {
            tracing::error!(%error, "cannot remove the firewall rules");
        }
        for switch in &self.switched {
            if let Err(error) = std::fs::write(switch, "0") {
                tracing::error!(%error, switch, "cannot turn the switch off");
            }
        }
    }
}

/// Turns on what makes Linux tell the gateway of neighbours that are absent; returns what was off before. The rest
/// works without.
fn reflect() -> Vec<&'static str> {
    let turn_on = |switch: &&str| {
        let was_off = std::fs::read_to_string(switch)?.trim() == "0";
        if was_off { std::fs::write(switch, "1").map(|()| true) } else { Ok(false) }
    };
    let there = REFLECT.into_iter().filter(|switch| !switch.contains("ipv6") || has_ipv6());
    there
        .filter(|switch| {
            turn_on(switch).unwrap_or_else(|error| {
                tracing::warn!(
                    %error, switch,
                    "cannot turn the switch on: clients do not learn that a neighbour of this host is absent"
                );
                false
            })
        })
        .collect()
}

impl Firewall {
    /// The rules that a configuration needs; none if it captures nothing and uses nobody's address.
    pub fn of(config: &Config) -> Option<Self> {
        if config.transparent.is_none() && !config.transparent_source {
            return None;
        }
        let tunnels = config.udp.mode == UdpMode::Tunnel;
        // Where nothing takes ESP it goes its way.
        let takes_esp = tunnels && esp_sockets::are_permitted();
        let answers_esp = takes_esp && config.transparent_source;
        let mut rules = "table inet bentpipe {\n".to_owned();
        for (set, version) in ESP_SETS.iter().filter(|_| answers_esp) {
            let address = if *version == "ip" { "ipv4_addr" } else { "ipv6_addr" };
            let _ = writeln!(
                rules,
                "  set {set} {{\n    type {address} . {address}\n    flags dynamic, timeout\n    \
                 timeout 10m\n    size 65535\n  }}"
            );
        }
        let _ = writeln!(
            rules,
            "  chain prerouting {{\n    type filter hook prerouting priority mangle; policy accept;\n    \
             meta l4proto {{ tcp, udp, icmp, ipv6-icmp }} socket transparent 1 meta mark set {MARK:#x} accept"
        );
        for (set, version) in ESP_SETS.iter().filter(|_| answers_esp) {
            let ends = format!("{version} daddr . {version} saddr");
            let _ = writeln!(
                rules,
                "    meta l4proto esp {ends} @{set} meta mark set {MARK:#x} accept"
            );
        }
        if let Some(transparent) = &config.transparent {
            let from = match &transparent.interfaces[..] {
                [] => String::new(),
                names => format!("iifname {{ \"{}\" }} ", names.join("\", \"")),
            };
            rules.push_str("    fib daddr type { local, broadcast, multicast } return\n");
            for network in &transparent.exclude {
                let version = if network.0.addr().is_ipv4() { "ip" } else { "ip6" };
                let _ = writeln!(rules, "    {version} daddr {} return", network.0);
            }
            let first = "tcp flags & (fin | syn | rst | ack) == syn";
            let here =
                format!("{first} tproxy to :{} meta mark set {MARK:#x} accept", transparent.port);
            let _ = if config.early_accept {
                writeln!(rules, "    {from}{here}")
            } else {
                writeln!(
                    rules,
                    "    iifname \"{HELD_DEVICE}\" {here}\n    \
                     {from}{first} meta mark set {HELD_MARK:#x} accept"
                )
            };
            if tunnels {
                let _ = writeln!(
                    rules,
                    "    {from}meta l4proto udp tproxy to :{} meta mark set {MARK:#x} accept",
                    transparent.port
                );
            }
            if takes_esp {
                let _ =
                    writeln!(rules, "    {from}meta l4proto esp meta mark set {MARK:#x} accept");
            }
        }
        rules.push_str("  }\n");
        if config.transparent_source {
            let _ = writeln!(
                rules,
                "  chain output {{\n    type filter hook output priority mangle; policy accept;\n    \
                 meta l4proto {{ tcp, udp }} fib saddr type != local meta mark set {MARK:#x}"
            );
            for (set, version) in ESP_SETS.iter().filter(|_| answers_esp) {
                let ends = format!("{version} saddr . {version} daddr");
                let _ = writeln!(
                    rules,
                    "    meta l4proto esp fib saddr type != local meta mark set {MARK:#x} update @{set} {{ {ends} }}"
                );
            }
            rules.push_str("  }\n");
        }
        rules.push_str("}\n");
        Some(Self { rules, reflects: config.transparent_source })
    }

    /// The rules with the name of the gateway: a chain that nothing leads to, because old versions of nft know no comments
    /// on tables.
    fn owned_by(&self, owner: PublicKey) -> String {
        let table = "table inet bentpipe {\n";
        self.rules.replacen(table, &format!("{table}  chain {} {{\n  }}\n", name_of(owner)), 1)
    }

    /// A shell script that does what [`Firewall::install`] does.
    pub fn script(&self) -> String {
        let mut script = format!(
            "nft -f - <<'END'\n{}{}END\n",
            "table inet bentpipe\ndelete table inet bentpipe\n", self.rules
        );
        for (version, all) in ROUTES {
            for (mark, table) in LOOKUPS {
                let _ = write!(
                    script,
                    "ip {version} rule del fwmark {mark:#x} lookup {table} 2>/dev/null || true\n\
                     ip {version} rule add fwmark {mark:#x} lookup {table} priority {table}\n"
                );
            }
            let _ = writeln!(script, "ip {version} route replace local {all} dev lo table {TABLE}");
        }
        for switch in REFLECT.iter().filter(|_| self.reflects) {
            let _ = writeln!(script, "echo 1 > {switch}");
        }
        script
    }

    /// Installs the rules of the gateway with this key, in place of those of an earlier run.
    ///
    /// # Errors
    /// When the rules of another gateway are there, `nft` or `ip` is missing or may not do this: it takes
    /// `CAP_NET_ADMIN`.
    pub fn install(&self, owner: PublicKey) -> io::Result<Installed> {
        let found = programs::nft_table("inet", "bentpipe")?;
        if is_another_ones(found.as_deref().unwrap_or_default(), owner) {
            return Err(io::Error::other(
                "another gateway's rules are in this network, and there can be only one's: if that gateway is gone, \
                 --remove-firewall removes them",
            ));
        }
        Self::remove()?;
        // From here on what was done is undone if the rest fails.
        let mut installed = Installed { switched: Vec::new() };
        for (version, all) in ROUTES {
            if version == "-6" && !has_ipv6() {
                continue;
            }
            let mut batch = format!("route replace local {all} dev lo table {TABLE}\n");
            for (mark, table) in LOOKUPS {
                let _ =
                    writeln!(batch, "rule add fwmark {mark:#x} lookup {table} priority {table}");
            }
            programs::ip(&[version], &batch)?;
        }
        programs::nft(&self.owned_by(owner))?;
        if self.reflects {
            installed.switched = reflect();
        }
        Ok(installed)
    }

    /// Removes what this and earlier runs left, the switches of one that was killed among it.
    ///
    /// # Errors
    /// As those of [`Firewall::install`].
    pub fn remove() -> io::Result<()> {
        if Self::clear()? {
            for switch in REFLECT {
                // It may not be there, or not be this process's.
                let _ = std::fs::write(switch, "0");
            }
        }
        Ok(())
    }

    /// Removes the rules of this and earlier runs; returns whether there were any.
    fn clear() -> io::Result<bool> {
        let mut found = false;
        // The table is made first, so that there is one to delete.
        programs::nft("table inet bentpipe\ndelete table inet bentpipe\n")?;
        for (version, _) in ROUTES {
            for (mark, table) in LOOKUPS {
                let delete = format!("rule del fwmark {mark:#x} lookup {table}\n");
                // Until there is none any more.
                while programs::ip(&[version], &delete).is_ok() {
                    found = true;
                }
            }
            // There may be no such table.
            let _ = programs::ip(&[version], &format!("route flush table {TABLE}\n"));
        }
        Ok(found)
    }
}

/// How a chain is called that says whose the rules are.
const OWNER: &str = "gateway_";

/// The name of the chain that says that the rules are those of the gateway with this key.
fn name_of(owner: PublicKey) -> String {
    let letters = owner.to_string().chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    format!("{OWNER}{letters}")
}

/// Whether the rules that `nft` lists are those of another gateway. Those that do not say whose they are were made by an
/// earlier version or by a script.
fn is_another_ones(listed: &str, owner: PublicKey) -> bool {
    let chains = listed.lines().filter_map(|line| line.trim().strip_prefix("chain "));
    let mut owners = chains.filter_map(|chain| chain.split_whitespace().next());
    owners.any(|chain| chain.starts_with(OWNER) && chain != name_of(owner))
}

/// Whether this machine speaks IPv6. The path is there also where a unit of systemd shows processes only.
pub(super) fn has_ipv6() -> bool {
    std::fs::exists("/proc/self/net/if_inet6").unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn firewall(settings: &str) -> Option<Firewall> {
        let text = format!(
            "role = \"terminal\"\nkey = \"key\"\nlisten = \"0.0.0.0:25300\"\n{settings}\n\
             [peers.hub]\nkey = \"g9GFFU8rGj+Q69zpXoj1ecxx/izHNwRWbH/BhgNl9w8=\"\naddress = \"192.0.2.1:25300\""
        );
        Firewall::of(&Config::parse("gateway.toml", &text).expect("a configuration"))
    }

    #[test]
    fn a_gateway_that_captures_nothing_needs_no_rules() {
        assert_eq!(firewall(""), None);
    }

    #[test]
    fn connections_from_the_named_devices_are_led_to_the_port_but_for_some_networks() {
        let settings = "[transparent]\nport = 25310\ninterfaces = [\"lan0\", \"lan1\"]\n\
                        exclude = [\"10.0.0.0/8\", \"fd00::/8\"]";
        let rules = firewall(settings).expect("rules").rules;
        for line in [
            "iifname { \"lan0\", \"lan1\" } tcp flags & (fin | syn | rst | ack) == syn",
            "tproxy to :25310 meta mark set 0x6270 accept",
            "ip daddr 10.0.0.0/8 return",
            "ip6 daddr fd00::/8 return",
        ] {
            assert!(rules.contains(line), "{rules}");
        }
    }

    #[test]
    fn without_an_early_accept_first_packets_are_held_and_only_those_that_were_are_led_to_the_port()
    {
        let settings = "early_accept = false\n[transparent]\nport = 25310\ninterfaces = [\"lan0\"]";
        let rules = firewall(settings).expect("rules").rules;
        let first = "tcp flags & (fin | syn | rst | ack) == syn";
        for line in [
            format!(
                "iifname \"bentpipe-held\" {first} tproxy to :25310 meta mark set 0x6270 accept"
            ),
            format!("iifname {{ \"lan0\" }} {first} meta mark set 0x6271 accept"),
        ] {
            assert!(rules.contains(&line), "{rules}");
        }
        assert_eq!(rules.matches("tproxy").count(), 1, "{rules}");
    }

    #[test]
    fn rules_of_another_gateway_stay_and_those_of_an_earlier_run_or_of_nobody_do_not() {
        let [own, other] =
            [1, 2].map(|n| bentpipe_association::SecretKey::from_bytes([n; 32]).public());
        let firewall = firewall("transparent_source = true").expect("rules");
        let listed = firewall.owned_by(own);
        assert!(!is_another_ones(&listed, own), "{listed}");
        assert!(is_another_ones(&listed, other), "{listed}");
        assert!(!is_another_ones(&firewall.rules, other) && !is_another_ones("", other));
    }

    #[test]
    fn udp_is_led_to_the_port_only_if_it_is_to_be_carried() {
        let settings = "[transparent]\nport = 25310\ninterfaces = [\"lan0\"]";
        let line =
            "iifname { \"lan0\" } meta l4proto udp tproxy to :25310 meta mark set 0x6270 accept";
        assert!(!firewall(settings).expect("rules").rules.contains("udp tproxy"));
        let rules = firewall(&format!("udp = \"tunnel\"\n{settings}")).expect("rules").rules;
        assert!(rules.contains(line), "{rules}");
    }

    #[test]
    fn esp_is_captured_where_udp_is_and_what_comes_back_is_known_by_both_addresses() {
        if !esp_sockets::are_permitted() {
            return eprintln!("skipped: raw sockets take CAP_NET_RAW");
        }
        let capture = "[transparent]\nport = 25310\ninterfaces = [\"lan0\"]";
        let line = "iifname { \"lan0\" } meta l4proto esp meta mark set 0x6270 accept";
        assert!(!firewall(capture).expect("rules").rules.contains("esp"));
        let rules = firewall(&format!("udp = \"tunnel\"\n{capture}")).expect("rules").rules;
        assert!(rules.contains(line) && !rules.contains("@esp4"), "{rules}");
        assert!(!firewall("transparent_source = true").expect("rules").rules.contains("esp"));
        let settings = "udp = \"tunnel\"\ntransparent_source = true";
        let rules = firewall(settings).expect("rules").rules;
        for line in [
            "type ipv6_addr . ipv6_addr",
            "meta l4proto esp ip daddr . ip saddr @esp4 meta mark set 0x6270 accept",
            "meta l4proto esp fib saddr type != local meta mark set 0x6270 update @esp6 { ip6 saddr . ip6 daddr }",
        ] {
            assert!(rules.contains(line), "{rules}");
        }
    }

    #[test]
    fn a_hub_that_uses_addresses_of_clients_gets_the_answers_and_captures_nothing() {
        let rules = firewall("transparent_source = true").expect("rules").rules;
        assert!(rules.contains("socket transparent 1") && !rules.contains("tproxy"), "{rules}");
        // Its own packets bear the mark by which what Linux says of them comes back.
        let line = "meta l4proto { tcp, udp } fib saddr type != local meta mark set 0x6270";
        assert!(rules.contains(line), "{rules}");
    }
}
