//! Variants of a flow by short names: `xstp-probing`, `tcp-newreno`, `tcp-sack-cubic`, `sctp`,
//! `tcp-cubic+snoop`.

use std::str::FromStr;

use bentpipe_cc::{Registry, rows};
use bentpipe_scenario::{Override, did_you_mean, nearest};
use bentpipe_sim::{Protocol, RunSpec};

use super::place::{self, Place};

/// What is compared where nothing is named.
pub const DEFAULT_VARIANTS: &[&str] = &[
    "bentpipe",
    "bentpipe-rate",
    "tcp-cubic+gateways",
    "tcp-cubic+gateways-rate",
    "xstp-probing",
    "xstp",
    "sctp",
    "tcp-newreno",
    "tcp-cubic",
    "tcp-hybla",
    "tcp-bbr",
];

/// The ways of TCP to repair losses, as `recovery` in a scenario has them.
const RECOVERIES: &[(&str, &str)] = &[
    ("tahoe", "everything again after a loss"),
    ("reno", "one repair for each window"),
    ("newreno", "one repair for each partial acknowledgment"),
    ("newreno-steady", "the same; each of them restarts the timer"),
    ("rack", "what left before something that arrived is missing, as in Linux"),
    ("sack", "what the receiver reports is missing"),
    ("fack", "what lies far enough below the furthest report is missing"),
    ("aero", "AeroTCP: one duplicate on a path that keeps order"),
    ("departure-order", "what left before something that arrived"),
    ("snack", "SCPS-TP: what the receiver asks for"),
];

/// Bytes of an SCTP packet around its user bytes: IP, common header, DATA chunk.
const SCTP_HEADERS: u16 = 20 + 12 + 16;

/// Something that a flow can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The name it was asked for by.
    pub name: String,
    kind: Kind,
    /// Keys below the flow's own, and their values.
    set: Vec<(&'static str, String)>,
    addition: Option<Addition>,
}

/// What stands before the last link of each flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Addition {
    /// Snoop.
    Snoop,
    /// A proxy that splits the connection; TCP with SACK leads up to it.
    Split,
    /// Two gateways, at both ends of that link, which know its rate or find it out.
    Gateways {
        /// They do.
        know_rate: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Xstp,
    Tcp,
    Sctp,
    Bentpipe,
}

/// A name that can be asked for, for listings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedVariant {
    /// The name.
    pub name: String,
    /// What it is.
    pub summary: String,
}

/// Every name but those with both a recovery and a controller, or with `+snoop` or `+split`.
pub fn named() -> Vec<NamedVariant> {
    let entry = |name: String, summary: String| NamedVariant { name, summary };
    let mut all = vec![
        entry("xstp".into(), "XSTP without probing, which is STP".into()),
        entry("xstp-probing".into(), "XSTP with probing".into()),
        entry("sctp".into(), "SCTP as RFC 9260 has it".into()),
        entry(
            "bentpipe".into(),
            "what `bentpipe send` does: encrypted, with parity, at a rate that it finds".into(),
        ),
        entry(
            "bentpipe-rate".into(),
            "the same with --rate: at the rate of the links on the path".into(),
        ),
    ];
    let recovery = |(name, summary): &(&str, &str)| {
        entry(format!("tcp-{name}"), format!("TCP with Reno's window; {summary}"))
    };
    all.extend(RECOVERIES.iter().map(recovery));
    for row in rows().iter().filter(|row| row.name != "reno") {
        let recovery = usual_recovery(row.name).to_uppercase();
        all.push(entry(
            format!("tcp-{}", row.name),
            format!("TCP with {recovery}; {}", row.summary),
        ));
    }
    all.push(entry("tcp-RECOVERY-CONTROLLER".into(), "both, such as tcp-newreno-vegas".into()));
    all.push(entry(
        "PROTOCOL-CONTROLLER".into(),
        "under xstp, xstp-probing or sctp as well, such as sctp-hybla".into(),
    ));
    all.push(entry(
        "VARIANT+snoop".into(),
        "TCP with Snoop before the last link of each flow, such as tcp-sack+snoop".into(),
    ));
    all.push(entry(
        "VARIANT+split".into(),
        "a proxy there, TCP with RACK up to it, the variant behind it: xstp-probing+split".into(),
    ));
    all.push(entry(
        "VARIANT+gateways".into(),
        "TCP that gateways carry over the last link of each flow, such as tcp-cubic+gateways"
            .into(),
    ));
    all.push(entry(
        "VARIANT+gateways-rate".into(),
        "the same where they know the rate of that link".into(),
    ));
    all
}

impl Variant {
    /// What it is, if its name is one of those that are listed.
    pub fn summary(&self) -> Option<String> {
        let (ends, addition) = self.name.split_once('+').unwrap_or((&self.name, ""));
        let known = named().into_iter().find(|known| known.name == ends)?;
        Some(match addition {
            "" => known.summary,
            "snoop" => format!("{}; Snoop before the last link", known.summary),
            "split" => format!("{}; behind a proxy before the last link", known.summary),
            "gateways" => format!("{}; between gateways that find the rate", known.summary),
            _ => format!("{}; between gateways that know the rate", known.summary),
        })
    }
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::of(name, &Registry::built_in())
    }
}

impl Variant {
    /// The variant of this name, in which these controllers can be named.
    ///
    /// # Errors
    /// When there is none, with what it may have been meant to be.
    pub fn of(name: &str, controllers: &Registry) -> Result<Self, String> {
        let full = in_full(name.trim(), controllers);
        let name = full.as_str();
        let (ends, addition) = match name.split_once('+') {
            Some((ends, addition)) => (ends, Some(addition)),
            None => (name, None),
        };
        let addition = match addition {
            None => None,
            Some("snoop") => Some(Addition::Snoop),
            Some("split") => Some(Addition::Split),
            Some("gateways") => Some(Addition::Gateways { know_rate: false }),
            Some("gateways-rate") => Some(Addition::Gateways { know_rate: true }),
            Some(other) => {
                return Err(format!(
                    "there is no addition `+{other}`: there are `+snoop`, `+split`, `+gateways`, `+gateways-rate`{}",
                    did_you_mean(other, ["snoop", "split", "gateways", "gateways-rate"])
                ));
            }
        };
        let (kind, set) =
            parse(ends, controllers).ok_or_else(|| unknown(name, ends, controllers))?;
        if addition == Some(Addition::Snoop) && kind != Kind::Tcp {
            return Err(format!("`{name}`: Snoop knows TCP only"));
        }
        if matches!(addition, Some(Addition::Gateways { .. })) && kind != Kind::Tcp {
            return Err(format!("`{name}`: gateways carry TCP only"));
        }
        if addition.is_some() && kind == Kind::Bentpipe {
            return Err(format!(
                "`{name}`: it is encrypted from end to end, and nobody can split it"
            ));
        }
        Ok(Self { name: name.to_owned(), kind, set, addition })
    }
}

/// The name of a variant that may have been called without its `tcp-`, such as `bbr`.
fn in_full(name: &str, controllers: &Registry) -> String {
    let of_tcp = format!("tcp-{name}");
    let is_one = |name: &str| parse(name.split('+').next().unwrap_or(name), controllers).is_some();
    if !is_one(name) && is_one(&of_tcp) { of_tcp } else { name.to_owned() }
}

fn unknown(name: &str, ends: &str, controllers: &Registry) -> String {
    let known = named();
    let names = known.iter().map(|variant| variant.name.as_str());
    let names = names.filter(|name| !name.contains(char::is_uppercase));
    // Also without its `tcp-`.
    let names = names.flat_map(|name| [Some(name), name.strip_prefix("tcp-")]).flatten();
    let brought = controllers.rows().map(|row| row.name);
    match nearest(ends, names.chain(brought)) {
        Some(right) => format!("there is no variant `{name}`; did you mean `{right}`?"),
        None => format!("there is no variant `{name}`; `bentpipe list variants` names them"),
    }
}

/// Reads the part of a name before any addition.
fn parse(name: &str, controllers: &Registry) -> Option<(Kind, Vec<(&'static str, String)>)> {
    let (protocol, rest) = name.split_once('-').unwrap_or((name, ""));
    let is_controller = |name: &str| controllers.find(name).is_some();
    let mut set = Vec::new();
    let kind = match protocol {
        "xstp" => {
            let (probing, controller) = match rest.strip_prefix("probing") {
                Some("") => (true, ""),
                Some(rest) => (true, rest.strip_prefix('-')?),
                None => (false, rest),
            };
            set.push(("protocol", "xstp".to_owned()));
            set.push(("xstp.probing", probing.to_string()));
            controller_of(controller, "xstp.controller", controllers, &mut set)?;
            Kind::Xstp
        }
        "bentpipe" if rest.is_empty() || rest == "rate" => {
            set.push(("protocol", name.to_owned()));
            Kind::Bentpipe
        }
        "sctp" => {
            set.push(("protocol", "sctp".to_owned()));
            controller_of(rest, "sctp.controller", controllers, &mut set)?;
            Kind::Sctp
        }
        "tcp" => {
            let (recovery, controller) = if is_recovery(rest) {
                (rest, "reno")
            } else if is_controller(rest) {
                (usual_recovery(rest), rest)
            } else {
                split_both(rest, controllers)?
            };
            set.push(("protocol", "tcp".to_owned()));
            set.push(("tcp.recovery", recovery.to_owned()));
            controller_of(controller, "tcp.controller", controllers, &mut set)?;
            Kind::Tcp
        }
        _ => return None,
    };
    Some((kind, set))
}

/// How losses are repaired under a controller unless it is said: with SCPS-TP's as SCPS-TP does it.
fn usual_recovery(controller: &str) -> &'static str {
    if controller == "scps" { "snack" } else { "rack" }
}

fn is_recovery(name: &str) -> bool {
    RECOVERIES.iter().any(|(known, _)| *known == name)
}

/// Sets the controller, if one is named; `None` if there is no such controller.
fn controller_of(
    name: &str,
    key: &'static str,
    controllers: &Registry,
    set: &mut Vec<(&'static str, String)>,
) -> Option<()> {
    if name.is_empty() {
        return Some(());
    }
    set.push((key, controllers.find(name)?.name.to_owned()));
    Some(())
}

/// A recovery and a controller with a dash between them.
fn split_both<'a>(name: &'a str, controllers: &Registry) -> Option<(&'a str, &'a str)> {
    let dashes = name.match_indices('-').map(|(place, _)| (&name[..place], &name[place + 1..]));
    let known = |(recovery, controller): &(&str, &str)| {
        is_recovery(recovery) && controllers.find(controller).is_some()
    };
    dashes.into_iter().find(known)
}

impl Variant {
    /// What makes these flows of a run the variant. The size of segments stays that of the flow, and buffers do
    /// unless the protocol is another one, which has its own: those of one say nothing of what another needs.
    pub(crate) fn changes(&self, spec: &RunSpec, flows: &[usize]) -> Result<Vec<Override>, String> {
        let mut changes = Vec::new();
        let mut change = |key: String, value: String| changes.push(Override { key, value });
        for &index in flows {
            let flow = &spec.flows[index];
            let own = format!("flows.{}", flow.name);
            let room = Room::of(&flow.protocol);
            // Where it is split, the variant is what leads on from the proxy.
            let (leg, kind) = match self.addition {
                Some(Addition::Split) => {
                    let name = format!("compare-{index}");
                    let leg = format!("proxies.{name}");
                    change(format!("{leg}.node"), place::before_last_link(spec, flow)?.node);
                    change(format!("{own}.through"), format!("[{name:?}]"));
                    change(format!("{own}.protocol"), "tcp".to_owned());
                    change(format!("{own}.tcp.recovery"), "rack".to_owned());
                    for (key, value) in room.iter().flat_map(|room| room.keys(self.kind)) {
                        change(format!("{leg}.{key}"), value);
                    }
                    (leg, Kind::Tcp)
                }
                Some(Addition::Snoop | Addition::Gateways { .. }) | None => {
                    (own.clone(), self.kind)
                }
            };
            for (key, value) in
                room.iter().filter(|room| room.kind != kind).flat_map(|room| room.keys(kind))
            {
                change(format!("{own}.{key}"), value);
            }
            for (key, value) in &self.set {
                change(format!("{leg}.{key}"), value.clone());
            }
        }
        if self.addition == Some(Addition::Snoop) {
            for (number, place) in place::before_last_links(spec, flows)?.iter().enumerate() {
                let Place { node, link } = place;
                let table = format!("{{ at = {node:?}, link = {link:?}, agent = \"snoop\" }}");
                change(format!("agents.compare-{number}"), table);
            }
        }
        if let Some(Addition::Gateways { know_rate }) = self.addition {
            for (key, value) in place::gateways(spec, flows, know_rate)? {
                change(key, value);
            }
        }
        Ok(changes)
    }
}

/// What a flow may keep in its buffers and put into a segment.
struct Room {
    kind: Kind,
    snd_buf: String,
    rcv_buf: String,
    mss: u16,
}

impl Room {
    fn of(protocol: &Protocol) -> Option<Self> {
        Some(match protocol {
            Protocol::Xstp { sender, receiver } => Self {
                kind: Kind::Xstp,
                snd_buf: sender.snd_buf.to_string(),
                rcv_buf: receiver.rcv_buf.to_string(),
                mss: sender.mss,
            },
            Protocol::Tcp { sender, receiver } => Self {
                kind: Kind::Tcp,
                snd_buf: sender.snd_buf.to_string(),
                rcv_buf: receiver.rcv_buf.to_string(),
                mss: sender.mss,
            },
            Protocol::Sctp { sender, receiver, .. } => Self {
                kind: Kind::Sctp,
                snd_buf: sender.snd_buf.to_string(),
                rcv_buf: receiver.rcv_buf.to_string(),
                mss: sender.mtu.saturating_sub(SCTP_HEADERS),
            },
            // Its buffers and segments follow from what it knows of the link.
            Protocol::Udp | Protocol::Bentpipe { .. } => return None,
        })
    }

    /// The same for another protocol, which has buffers of its own; nothing if it has segments of its own, too.
    fn keys(&self, kind: Kind) -> Vec<(&'static str, String)> {
        let [snd, rcv, size] = match kind {
            Kind::Bentpipe => return Vec::new(),
            Kind::Xstp => ["xstp.snd_buf", "xstp.rcv_buf", "xstp.mss"],
            Kind::Tcp => ["tcp.snd_buf", "tcp.rcv_buf", "tcp.mss"],
            Kind::Sctp => ["sctp.snd_buf", "sctp.rcv_buf", "sctp.mtu"],
        };
        let mss = match kind {
            Kind::Sctp => self.mss.saturating_add(SCTP_HEADERS),
            Kind::Xstp | Kind::Tcp | Kind::Bentpipe => self.mss,
        };
        let size = (size, mss.to_string());
        if kind == self.kind {
            vec![(snd, self.snd_buf.clone()), (rcv, self.rcv_buf.clone()), size]
        } else {
            vec![size]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str) -> Vec<(&'static str, String)> {
        name.parse::<Variant>().unwrap_or_else(|e| panic!("{name}: {e}")).set
    }

    fn keys(pairs: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
        pairs.iter().map(|(key, value)| (*key, (*value).to_owned())).collect()
    }

    #[test]
    fn a_name_says_protocol_recovery_and_controller() {
        let xstp = |probing| keys(&[("protocol", "xstp"), ("xstp.probing", probing)]);
        assert_eq!(set("xstp"), xstp("false"));
        assert_eq!(set("xstp-probing"), xstp("true"));
        assert_eq!(set("sctp"), keys(&[("protocol", "sctp")]));
        for (name, recovery, controller) in [
            ("tcp-newreno", "newreno", "reno"),
            ("tcp-reno", "reno", "reno"),
            ("tcp-cubic", "rack", "cubic"),
            ("tcp-westwood-plus", "rack", "westwood-plus"),
            ("tcp-newreno-steady", "newreno-steady", "reno"),
            ("tcp-newreno-steady-westwood-plus", "newreno-steady", "westwood-plus"),
            ("tcp-sack-cubic", "sack", "cubic"),
            ("tcp-scps", "snack", "scps"),
            ("tcp-sack-scps", "sack", "scps"),
        ] {
            let expected =
                [("protocol", "tcp"), ("tcp.recovery", recovery), ("tcp.controller", controller)];
            assert_eq!(set(name), keys(&expected), "{name}");
        }
    }

    #[test]
    fn tcp_and_spaces_go_without_saying() {
        for (name, full) in [
            ("bbr", "tcp-bbr"),
            (" cubic", "tcp-cubic"),
            ("sack-cubic", "tcp-sack-cubic"),
            ("hybla+split", "tcp-hybla+split"),
            ("xstp", "xstp"),
            ("sctp ", "sctp"),
        ] {
            assert_eq!(name.parse::<Variant>().expect(name).name, full);
        }
    }

    #[test]
    fn every_name_that_is_listed_is_one() {
        let names = named().into_iter().map(|variant| variant.name);
        for name in names.filter(|name| !name.contains(char::is_uppercase)) {
            set(&name);
        }
        DEFAULT_VARIANTS.iter().for_each(|name| drop(set(name)));
    }

    #[test]
    fn a_name_that_is_none_is_answered_with_the_nearest() {
        for (wrong, said) in [
            ("tcp-cubik", "`tcp-cubic`"),
            ("cubik", "`cubic`"),
            ("xstp-probin", "`xstp-probing`"),
            ("qqqqqqqqqqqqqqqqqqqqqq", "bentpipe list variants"),
            ("tcp-cubic+snup", "`+snoop`"),
            ("sctp+snoop", "TCP only"),
            ("xstp+gateways", "TCP only"),
            ("bentpipe+split", "encrypted"),
            ("tcp", "did you mean"),
        ] {
            let error = wrong.parse::<Variant>().expect_err(wrong);
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
