//! `bentpipe emulate`.

use std::ffi::OsString;
use std::net::SocketAddr;

use bentpipe_scenario::Override;
use clap::{ArgGroup, Args as ClapArgs};

use super::net::Queues;
use super::sim::Source;

pub(super) const EMULATE_EXAMPLES: &str = "Examples:
  sudo bentpipe emulate geo --netns -- bash
  sudo bentpipe emulate geo --internet -- curl https://example.org/
  sudo bentpipe emulate geo -- bentpipe emulate leo-broadband -- COMMAND
  sudo bentpipe emulate handoff --netns --server \"iperf3 -s\" -- iperf3 -c 10.53.0.2 -R
  sudo bentpipe emulate geo --tun tun-client,tun-server
  bentpipe emulate geo --udp 127.0.0.1:7000=127.0.0.1:25300
  bentpipe emulate my-link.toml --udp 127.0.0.1:7000=10.0.0.9:25300 --seed 3
  bentpipe emulate geo --set links.satellite.ber=1e-5 --udp 127.0.0.1:7000=127.0.0.1:25300 --swap
  bentpipe emulate bit-corruption --via mqueue --node 2 --route 3=3 --route 1=1
  bentpipe emulate --profile starlink --from London --to \"New York\" --udp 127.0.0.1:7000=127.0.0.1:25300

With --profile the link is the path over a constellation between two places: its delay changes as the
satellites move, handovers and outages come as they do. --set constellation.ground.rate=\"5 Mbit/s\" and the
other keys of [constellation] change it.

The links are those on the path of the scenario's first flow. What clients get from the server travels
like the data of that flow; --swap makes it what they send. With --via mqueue, frames from a lower to a
higher node travel like the data.

With --netns the command is at 10.53.0.1 and fd53::1, the server at 10.53.0.2 and fd53::2. Nothing else
can be reached. The exit code is that of the command, and nothing is left behind. With --internet the
command reaches what this host reaches. A command alone means --netns, and behind a link that is emulated
already --internet: links are put one behind the other.";

/// What can stand on both sides of the link, one of which has to be given.
const FORMS: [&str; 6] = ["netns", "internet", "tun", "udp", "via", "command"];

/// `bentpipe emulate`.
#[derive(Debug, ClapArgs)]
#[command(group(ArgGroup::new("form").required(true).multiple(true).args(FORMS)))]
pub(crate) struct Emulate {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Listen for UDP clients here and speak to a server there
    #[arg(long, value_name = "LISTEN=TARGET", value_parser = relay, conflicts_with_all = ["tun", "via"])]
    pub(crate) udp: Option<(SocketAddr, SocketAddr)>,
    /// Pass IP packets between two TUN devices, which are made if they are not there
    #[arg(long, value_name = "CLIENTS,SERVER", value_parser = devices, conflicts_with = "via")]
    pub(crate) tun: Option<(String, String)>,
    /// Run a command behind the link, in network namespaces of its own (as root)
    #[arg(long, requires = "command", conflicts_with_all = ["udp", "tun", "via"])]
    pub(crate) netns: bool,
    /// The same with this host's own network behind the link, over IPv4: its routes and its address
    #[arg(long, requires = "command", conflicts_with_all = ["udp", "tun", "via", "netns", "server"])]
    pub(crate) internet: bool,
    /// A shell command for the other side: started before the command, ended after it
    #[arg(long, value_name = "COMMAND", requires = "netns", conflicts_with_all = ["udp", "tun", "via"])]
    pub(crate) server: Option<String>,
    /// MTU of the TUN devices in bytes [default: 1500 for new ones]
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["udp", "via"])]
    #[arg(value_parser = clap::value_parser!(u16).range(1280..))]
    pub(crate) mtu: Option<u16>,
    /// Be a process of a network on this machine, without encryption: `mqueue`, message queues between them
    #[arg(long, value_name = "WHAT", value_parser = ["mqueue"], requires = "node")]
    pub(crate) via: Option<String>,
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
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["udp", "tun", "via"])]
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
