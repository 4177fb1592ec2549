//! The command line.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use bentpipe_association::{Fec, PublicKey, Security};
use bentpipe_experiments::compare::{DEFAULT_VARIANTS, Variant};
use bentpipe_net::qlp::{NodeId, Route};
use bentpipe_orbit::{Degrees, Epoch, Place, cities};
use bentpipe_scenario::{Override, Scenario, ScenarioError, did_you_mean};
use bentpipe_units::{BitRate, Span};
use clap::{ArgGroup, Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Transport for satellite links: simulate it, measure it, prove it.
#[derive(Debug, Parser)]
#[command(name = "bentpipe", version, propagate_version = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "Examples:
  bentpipe reproduce xstp                 all simulated figures of the XSTP paper, judged
  bentpipe run handoff                    one transfer over a built-in scenario
  bentpipe compare geo                    which protocol is the fastest there
  bentpipe run my.toml --set links.space.delay=250ms --samples cwnd.csv
  bentpipe list scenarios
  bentpipe orbit iridium --from Berkeley --to Boston
  bentpipe keygen                         make this host's key
  bentpipe recv --listen 0.0.0.0:25300 --dir inbox --peer KEY
  bentpipe send photos/ ground.example:25300 --peer KEY --rate \"10 Mbit/s\"";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run experiments of a paper again and judge what it claims
    #[command(after_help = REPRODUCE_EXAMPLES)]
    Reproduce(Reproduce),
    /// Rank protocols and controllers on one scenario
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Run one scenario once
    #[command(after_help = RUN_EXAMPLES)]
    Run(Run),
    /// Put a satellite link between programs of this machine
    #[command(after_help = EMULATE_EXAMPLES)]
    Emulate(Emulate),
    /// Delay, route and handovers between two places over satellites
    #[command(after_help = ORBIT_EXAMPLES)]
    Orbit(Orbit),
    /// Make the key of this host
    #[command(after_help = KEYGEN_EXAMPLES)]
    Keygen(Keygen),
    /// Receive files from peers
    #[command(after_help = RECV_EXAMPLES)]
    Recv(Recv),
    /// Send files and directories to a peer
    #[command(after_help = SEND_EXAMPLES)]
    Send(Send),
    /// Carry TCP connections to another gateway over a satellite link
    #[command(after_help = GATEWAY_EXAMPLES)]
    Gateway(Gateway),
    /// Watch the peers and flows of a gateway
    #[command(after_help = TOP_EXAMPLES)]
    Top(Top),
    /// Name what there is
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// What to name; everything if it is left out
        what: Option<Listing>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of scenario files
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema,
    /// Write the manual pages
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Directory that they go to
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Print the completions of a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
}

const GATEWAY_EXAMPLES: &str = "Examples:
  bentpipe gateway --config /etc/bentpipe/gateway.toml
  bentpipe gateway --check gateway.toml

RUST_LOG=debug tells of every flow.";

/// `bentpipe gateway`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Gateway {
    /// The configuration
    #[arg(long, value_name = "FILE", required_unless_present = "check")]
    pub(crate) config: Option<PathBuf>,
    /// Only say whether this configuration and its key are good
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    pub(crate) check: Option<PathBuf>,
    /// Install the rules of nftables and routing that transparent connections need, and remove them at the end
    #[arg(long)]
    pub(crate) setup_firewall: bool,
    /// Only print these rules as a shell script
    #[arg(long, conflicts_with_all = ["setup_firewall", "check"])]
    pub(crate) print_firewall: bool,
    /// Only remove the rules that a run left which was killed
    #[arg(long, conflicts_with_all = ["setup_firewall", "print_firewall", "check"])]
    pub(crate) remove_firewall: bool,
    /// Log as JSON, one object a line
    #[arg(long)]
    pub(crate) log_json: bool,
}

const TOP_EXAMPLES: &str = "Examples:
  bentpipe top
  bentpipe top 10.0.0.1:9100
  bentpipe top --once

The gateway serves its status where `listen` of [ops] in its configuration says. Rates are those of
the last half second, those of --once the means since the start of each flow and of the gateway.
q ends it.";

/// `bentpipe top`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Top {
    /// Where the gateway serves its status
    #[arg(value_name = "ADDRESS", default_value = "127.0.0.1:9100")]
    pub(crate) address: String,
    /// Print one table and end
    #[arg(long)]
    pub(crate) once: bool,
}

const REPRODUCE_EXAMPLES: &str = "Examples:
  bentpipe reproduce xstp                 the XSTP paper: E1 to E7
  bentpipe reproduce s1                   the study of TCP over GEO and LEO: E9 to E18
  bentpipe reproduce E3 --reps 40 --out figures/
  bentpipe reproduce all --json > result.json

Each figure is a table of means over the replications with their 95 % confidence intervals, and a
line for each claim of the paper: whether it holds, and what was measured. With --out each figure
becomes a CSV, a JSON and an SVG file.";

/// `bentpipe reproduce`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Reproduce {
    /// Experiments (E1, E3) or papers (xstp, s1); all if there are none
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Replications of each point instead of the experiment's own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) reps: Option<u64>,
    /// Threads; one on each core if left out. The result is the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Write CSV, JSON and SVG for each figure into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document and no tables
    #[arg(long)]
    pub(crate) json: bool,
}

const COMPARE_EXAMPLES: &str = "Examples:
  bentpipe compare geo --variants xstp-probing,tcp-cubic,tcp-hybla,sctp
  bentpipe compare my-link.toml --variants tcp-sack,tcp-sack+snoop,tcp-hybla+split --reps 20
  bentpipe compare geo --set links.satellite.ber=1e-5 --svg ranking.svg --csv ranking.csv

A variant is PROTOCOL, PROTOCOL-CONTROLLER, tcp-RECOVERY or tcp-RECOVERY-CONTROLLER; `bentpipe list
variants` names them. All meet the same channel in a replication. Buffers and segments keep the sizes
that the scenario gives them.";

/// `bentpipe compare`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Compare {
    /// A scenario file, or the name of a built-in scenario
    pub(crate) scenario: String,
    /// What is compared, with commas between
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_values = DEFAULT_VARIANTS)]
    pub(crate) variants: Vec<Variant>,
    /// Runs of each variant
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) reps: u64,
    /// A flow that is compared; may be given several times. All that send a file or without end if left
    /// out
    #[arg(long, value_name = "NAME")]
    pub(crate) flow: Vec<String>,
    /// Change a value of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<Override>,
    /// Threads; one on each core if left out. The result is the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Write the ranking into this CSV file
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) csv: Option<PathBuf>,
    /// Draw the goodputs
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `run` and `emulate` take their network from.
#[derive(Debug, ClapArgs)]
pub(crate) struct Source {
    /// A scenario file, or the name of a built-in scenario
    #[arg(required_unless_present = "profile")]
    pub(crate) scenario: Option<String>,
    /// A constellation instead of a scenario: a known one, a TOML file of shells, or a file of element
    /// sets (TLE or OMM)
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "scenario", requires_all = ["from", "to"])]
    pub(crate) profile: Option<String>,
    /// Where the sender or the server is: a city or LAT,LON in degrees
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true, conflicts_with = "scenario", value_parser = spot)]
    pub(crate) from: Option<Spot>,
    /// Where the receiver is, or the clients are
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true, conflicts_with = "scenario", value_parser = spot)]
    pub(crate) to: Option<Spot>,
}

impl Source {
    /// The scenario that is meant.
    pub(crate) fn open(&self) -> Result<Scenario, ScenarioError> {
        match (&self.scenario, &self.profile, &self.from, &self.to) {
            (None, Some(profile), Some(from), Some(to)) => {
                Scenario::over(profile, &from.name, &to.name)
            }
            (scenario, ..) => Scenario::open(scenario.as_deref().unwrap_or_default()),
        }
    }
}

const RUN_EXAMPLES: &str = "Examples:
  bentpipe run handoff
  bentpipe run handoff --set flows.file.xstp.probing=false --seed 7
  bentpipe run geo --pcap geo.pcapng --pcap-link satellite --samples geo.csv
  bentpipe run handoff --wire --json
  bentpipe run --profile starlink --from London --to Boston --set flows.file.protocol=tcp

With --profile the network is a constellation and two places. The flow and the links are those of the built-in
scenario of that name, if there is one; otherwise links have no rate and the flow sends for an hour.

A value of --set is TOML; text needs no quotes: --set links.space.delay=\"250 ms\".";

/// `bentpipe run`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Seed of every random draw, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Change a value of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<Override>,
    /// Encode every packet, flip real bits, check real checksums; the result is the same
    #[arg(long)]
    pub(crate) wire: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the senders' states over time into this CSV file
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) samples: Option<PathBuf>,
    /// Write every packet that enters a link into this capture
    #[arg(long, value_name = "FILE.pcapng")]
    pub(crate) pcap: Option<PathBuf>,
    /// Capture this link only; may be given several times
    #[arg(long, value_name = "LINK", requires = "pcap")]
    pub(crate) pcap_link: Vec<String>,
}

const EMULATE_EXAMPLES: &str = "Examples:
  sudo bentpipe emulate geo --netns -- bash
  sudo bentpipe emulate handoff --netns --server \"iperf3 -s\" -- iperf3 -c 10.53.0.2 -R
  sudo bentpipe emulate geo --tun tun-client,tun-server
  bentpipe emulate geo --udp 127.0.0.1:7000=127.0.0.1:25300
  bentpipe emulate my-link.toml --udp 127.0.0.1:7000=10.0.0.9:25300 --seed 3
  bentpipe emulate geo --set links.satellite.ber=1e-5 --udp 127.0.0.1:7000=127.0.0.1:25300 --swap
  bentpipe emulate bit-corruption --via mqueue --node 2 --route 3=3 --route 1=1
  bentpipe emulate --profile starlink --from London --to \"New York\" --udp 127.0.0.1:7000=127.0.0.1:25300

With --profile the link is the way over a constellation between two places: its delay changes as the
satellites move, handovers and outages come as they do. --set constellation.ground.rate=\"5 Mbit/s\" and the
other keys of [constellation] change it.

The links are those on the way of the scenario's first flow. What clients get from the server travels
like the data of that flow; --swap makes it what they send. With --via mqueue, frames from a lower to a
higher node travel like the data.

With --netns the command is at 10.53.0.1 and fd53::1, the server at 10.53.0.2 and fd53::2. Nothing else
can be reached. The exit code is that of the command, and nothing is left behind.";

/// `bentpipe emulate`.
#[derive(Debug, ClapArgs)]
#[command(group(ArgGroup::new("form").required(true).args(["udp", "tun", "netns", "via"])))]
pub(crate) struct Emulate {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Listen for UDP clients here and speak to a server there
    #[arg(long, value_name = "LISTEN=TARGET", value_parser = relay)]
    pub(crate) udp: Option<(SocketAddr, SocketAddr)>,
    /// Pass IP packets between two TUN devices, which are made if they are not there
    #[arg(long, value_name = "CLIENTS,SERVER", value_parser = devices)]
    pub(crate) tun: Option<(String, String)>,
    /// Run a command behind the link, in network namespaces of its own (as root)
    #[arg(long, requires = "command")]
    pub(crate) netns: bool,
    /// A shell command for the other side: started before the command, ended after it
    #[arg(long, value_name = "COMMAND", requires = "netns", conflicts_with_all = ["udp", "tun", "via"])]
    pub(crate) server: Option<String>,
    /// The longest IP packet of the TUN devices in bytes; 1500 for new ones if left out
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["udp", "via"])]
    #[arg(value_parser = clap::value_parser!(u16).range(1280..))]
    pub(crate) mtu: Option<u16>,
    #[command(flatten)]
    pub(crate) queues: Queues,
    /// Seed of every random draw, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Change a value of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) overrides: Vec<Override>,
    /// Clients, or higher nodes, send in the direction of the scenario's flow
    #[arg(long)]
    pub(crate) swap: bool,
    /// Print the counters as JSON at the end
    #[arg(long)]
    pub(crate) json: bool,
    /// The command and its arguments
    #[arg(last = true, value_name = "COMMAND", requires = "netns", conflicts_with_all = ["udp", "tun", "via"])]
    pub(crate) command: Vec<OsString>,
}

fn devices(text: &str) -> Result<(String, String), String> {
    // IFNAMSIZ of the kernel, without the final zero.
    let right = |name: &str| (1..=15).contains(&name.len()) && !name.contains(['/', ' ', ':', '%']);
    match text.split_once(',') {
        Some((clients, server)) if clients != server && right(clients) && right(server) => {
            Ok((clients.to_owned(), server.to_owned()))
        }
        _ => {
            Err("write CLIENTS,SERVER: two names of at most 15 bytes, such as tun0,tun1".to_owned())
        }
    }
}

fn relay(text: &str) -> Result<(SocketAddr, SocketAddr), String> {
    let (listen, target) =
        text.split_once('=').ok_or("write LISTEN=TARGET, such as 127.0.0.1:7000=10.0.0.9:25300")?;
    let parse = |address: &str| {
        address.parse().map_err(|_| format!("`{address}` is not an address and a port"))
    };
    Ok((parse(listen)?, parse(target)?))
}

const ORBIT_EXAMPLES: &str = "Examples:
  bentpipe orbit iridium --from Berkeley --to Boston
  bentpipe orbit starlink --from London --to Singapore --duration \"10 min\" --svg map.svg
  bentpipe orbit iridium+geo --from 37.9,-122.3 --to Boston --policy best --csv looks.csv
  bentpipe orbit my-shells.toml --from Oslo --to Tromso --check \"1 s\" --json
  bentpipe orbit active.tle --from Paris --to Madrid --gateway Lisbon --mask 25

`bentpipe list constellations` names those that are known; geo:-101,12.5 puts satellites over other
longitudes. The picture of --svg is that of the first look.";

/// `bentpipe orbit`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Orbit {
    /// A known constellation, a TOML file of shells, or a file of element sets (TLE or OMM)
    #[arg(value_name = "NAME|FILE")]
    pub(crate) constellation: String,
    /// Where the route begins: a city or LAT,LON in degrees
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true, value_parser = spot)]
    pub(crate) from: Spot,
    /// Where it ends
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true, value_parser = spot)]
    pub(crate) to: Spot,
    /// A station that forwards, joined to the others by cable; may be given several times
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true, value_parser = spot)]
    pub(crate) gateway: Vec<Spot>,
    /// The time that is looked at
    #[arg(long, value_name = "TIME", default_value = "1 d", value_parser = days)]
    pub(crate) duration: Span,
    /// Time from one look to the next
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = some_time)]
    pub(crate) step: Span,
    /// Time of the first look
    #[arg(long, value_name = "TIME", default_value = "0 s")]
    pub(crate) first: Span,
    /// Keep a satellite while it can be seen, or take the highest at every check
    #[arg(long, value_enum, default_value = "hold")]
    pub(crate) policy: GroundPolicy,
    /// Time from one check of the links to the next
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = some_time)]
    pub(crate) check: Span,
    /// Least elevation in degrees; the constellation's own, or 10 for element sets, if left out
    #[arg(long, value_name = "DEGREES", value_parser = mask)]
    pub(crate) mask: Option<Degrees>,
    /// Link each satellite of an element set to its N nearest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) isl: Option<u8>,
    /// When the run of element sets starts, in UTC; their latest epoch if left out
    #[arg(long, value_name = "TIME")]
    pub(crate) start: Option<Epoch>,
    /// Write each look into this CSV file
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) csv: Option<PathBuf>,
    /// Write each handover into this CSV file
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) handovers: Option<PathBuf>,
    /// Draw a map and the delay over time
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A place and what it was called.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    /// As it was written.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) place: Place,
}

fn spot(text: &str) -> Result<Spot, String> {
    let place = text.parse().map_err(|message| {
        let known = cities().map(|(name, _)| name);
        format!("{message}{}", did_you_mean(text, known))
    })?;
    Ok(Spot { name: text.trim().to_owned(), place })
}

/// A policy of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroundPolicy {
    /// Keep a satellite until it is below the mask
    Hold,
    /// Take the highest at every check
    Best,
}

fn some_time(text: &str) -> Result<Span, String> {
    match days(text)? {
        Span::ZERO => Err("it must be more than 0 s".to_owned()),
        span => Ok(span),
    }
}

/// A time, which may be in days.
fn days(text: &str) -> Result<Span, String> {
    const DAY: u64 = 86_400;
    let number = text.trim().strip_suffix('d').and_then(|days| days.trim_end().parse::<u32>().ok());
    match number {
        Some(days) => Ok(Span::from_secs(u64::from(days) * DAY)),
        None => text.parse().map_err(|error| format!("{error}, or days such as \"1 d\"")),
    }
}

fn mask(text: &str) -> Result<Degrees, String> {
    let degrees = text.parse().ok().filter(|degrees| (0.0..90.0).contains(degrees));
    degrees.map(Degrees).ok_or_else(|| format!("`{text}` is not an elevation in 0..90 degrees"))
}

const KEYGEN_EXAMPLES: &str = "Examples:
  bentpipe keygen                         a new key, in its usual place
  bentpipe keygen --show                  the public key of the one that is there
  bentpipe keygen --key /etc/bentpipe/key

The public key is printed: peers name this host by it. The secret key stays in a file that only its
owner may read.";

/// `bentpipe keygen`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Keygen {
    /// The key file; ~/.config/bentpipe/key if left out
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Print the public key of an existing file
    #[arg(long)]
    pub(crate) show: bool,
}

/// What carries packets in place of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Via {
    /// Message queues between processes of this machine, without encryption
    Mqueue,
}

/// Message queues between processes of this machine.
#[derive(Debug, ClapArgs)]
pub(crate) struct Queues {
    /// Be a process of a network on this machine, without encryption, in place of UDP
    #[arg(long, value_name = "WHAT", requires = "node")]
    pub(crate) via: Option<Via>,
    /// Number of this node; its queue is /xstp_N
    #[arg(long, value_name = "N", requires = "via")]
    pub(crate) node: Option<NodeId>,
    /// Put what is for one node into the queue of another; may be given several times. Nodes that are
    /// not named get theirs directly
    #[arg(long = "route", value_name = "DST=NEXT", requires = "via")]
    pub(crate) routes: Vec<Route>,
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
    /// The key file of this host; ~/.config/bentpipe/key if left out
    #[arg(long, value_name = "FILE", conflicts_with = "via")]
    pub(crate) key: Option<PathBuf>,
    /// `none` sends everything readable, for links where encryption is forbidden; both ends must say so
    #[arg(long, value_name = "full|none", default_value = "full", value_parser = security, conflicts_with = "via")]
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

/// What is known of the way to the peer.
#[derive(Debug, ClapArgs)]
pub(crate) struct Way {
    /// Send at this rate from the first packet on: what the link carries and nobody shares
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<BitRate>,
    /// Congestion controller (see `bentpipe list controllers`)
    #[arg(long, value_name = "NAME")]
    pub(crate) controller: Option<String>,
    /// Whether losses are probed for their cause, as XSTP does; off over UDP if left out
    #[arg(long, value_name = "on|off", value_parser = on_or_off)]
    pub(crate) probing: Option<bool>,
    /// Give up when nothing was heard for so long, also while connecting
    #[arg(long, value_name = "TIME", default_value = "5 min")]
    pub(crate) patience: Span,
}

fn on_or_off(text: &str) -> Result<bool, &'static str> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("write `on` or `off`"),
    }
}

const RECV_EXAMPLES: &str = "Examples:
  bentpipe recv --listen 0.0.0.0:25300 --dir inbox --peer KEY
  bentpipe recv --listen [::]:25300 --dir inbox --peers known-hosts --once
  bentpipe recv --via mqueue --node 3 --route 1=2 --dir inbox
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
    /// Address and UDP port to listen on; 0.0.0.0:25300 if left out, with SCTP 0.0.0.0:9899. With SCTP it
    /// may be given several times: each is a path
    #[arg(long, value_name = "ADDR", conflicts_with = "via")]
    pub(crate) listen: Vec<SocketAddr>,
    /// Directory that files go to
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
    /// End after the first transfer, with its success
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) identity: Identity,
    #[command(flatten)]
    pub(crate) queues: Queues,
}

const SEND_EXAMPLES: &str = "Examples:
  bentpipe send report.pdf ground.example:25300 --peer KEY
  bentpipe send images/ logs/ [2001:db8::7]:25300 --peer KEY --rate \"50 Mbit/s\"
  bentpipe send report.pdf 3 --via mqueue --node 1 --route 3=2
  bentpipe send report.pdf 10.1.0.2:9899 --transport sctp --security none --bind 10.1.0.1 --bind 10.2.0.1

What the peer has already, whole or in part, is not sent again: the same command resumes a transfer that was cut
off. Symbolic links are skipped without --links. RUST_LOG=debug tells more.";

/// `bentpipe send`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Send {
    /// Files and directories
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The peer that receives; with --via mqueue the number of its node
    #[arg(required = true, value_name = "HOST:PORT")]
    pub(crate) to: String,
    /// Public key of the peer
    #[arg(long, value_name = "KEY", conflicts_with = "via")]
    #[arg(required_unless_present_any = ["via", "transport"])]
    pub(crate) peer: Option<PublicKey>,
    /// Protocol of the connection
    #[arg(long, value_enum, value_name = "NAME", default_value = "xstp", conflicts_with = "via")]
    pub(crate) transport: Transport,
    /// Address of this host to send from, any if left out. With SCTP it may be given several times: each is a
    /// path
    #[arg(long, value_name = "IP", conflicts_with = "via")]
    pub(crate) bind: Vec<IpAddr>,
    /// Send symbolic links as links. The receiver takes those that lead to something inside of its directory
    #[arg(long)]
    pub(crate) links: bool,
    #[command(flatten)]
    pub(crate) way: Way,
    #[command(flatten)]
    pub(crate) identity: Identity,
    #[command(flatten)]
    pub(crate) queues: Queues,
}

const LIST_EXAMPLES: &str = "Examples:
  bentpipe list
  bentpipe list experiments
  bentpipe list links --json";

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    /// Experiments that `reproduce` knows
    Experiments,
    /// Protocols that a flow can use
    Protocols,
    /// Congestion controllers and their parameters
    Controllers,
    /// Link models and their parameters
    Links,
    /// Scenarios that come with the program
    Scenarios,
    /// Constellations that are known by name
    Constellations,
    /// What `compare` can put into a flow
    Variants,
}

const SCHEMA_EXAMPLES: &str = "Example:
  bentpipe schema > scenario.schema.json

Editors with a TOML language server check and complete scenario files with it.";

const MAN_EXAMPLES: &str = "Example:
  bentpipe man /usr/local/share/man/man1";

const COMPLETIONS_EXAMPLES: &str = "Example:
  bentpipe completions bash > /etc/bash_completion.d/bentpipe";
