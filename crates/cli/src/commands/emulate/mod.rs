//! `bentpipe emulate`: the simulator's links between real programs.

mod counters;
mod enclosed;
mod links;
mod out;
mod queues;
mod signals;

use std::io;
use std::net::SocketAddr;

use bentpipe_emulator::{Bridge, Device, Relay};

use crate::args::Emulate;
use crate::commands::sim::changed;
use crate::failure::Failure;
use counters::Live;
pub(super) use counters::OneWay;
pub(super) use links::Links;
pub(super) use signals::Signals;

/// Emulates a link until it is stopped, or around a command.
pub(crate) fn emulate(args: &Emulate) -> Result<(), Failure> {
    let scenario = changed(&args.source.open()?, &args.overrides)?;
    let spec = scenario.run_spec(args.seed, false)?;
    let wrong = |message: &str| Failure::Input(format!("{}: {message}", scenario.source()));
    if spec.links.iter().any(|link| link.mtu.is_some()) {
        return Err(wrong(
            "the emulator has no links with an `mtu`: `--mtu` sets that of both ends",
        ));
    }
    if spec.links.iter().any(|link| link.becn) {
        return Err(wrong("the emulator marks packets and sends no messages: leave `becn` out"));
    }
    let links = Links::of(&spec)
        .ok_or_else(|| wrong("no links lead from a flow's sender to its receiver"))?;
    if links.have_agents() && (args.udp.is_some() || args.queues.node.is_some()) {
        return Err(wrong("agents see packets of IP: they need `--netns` or `--tun`"));
    }
    if let Some((listen, target)) = args.udp {
        relay(args, &links, listen, target)
    } else if let Some((clients, server)) = &args.tun {
        bridge(args, &links, clients, server)
    } else if let Some(node) = args.queues.node {
        queues::route(node, args, links.path(), &links.names())
    } else {
        enclosed::run(args, &links)
    }
}

/// Between UDP clients and a server.
fn relay(
    args: &Emulate,
    links: &Links,
    listen: SocketAddr,
    target: SocketAddr,
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::System(format!("--udp {listen}: {error}"));
    let mut relay = Relay::bind(listen, target, links.path(), args.swap).map_err(failed)?;
    let address = relay.local_addr().map_err(failed)?;
    anstream::eprintln!("{address} leads to {target} over {}", links.names());
    let signals = Signals::watch()?;
    let live = Live::new(false);
    let ended = relay.run(|path| {
        live.show(path);
        !signals.any()
    });
    live.end();
    ended.map_err(failed)?;
    counters::report(relay.path(), args.json, io::stdout().lock())
}

/// Between two TUN devices.
fn bridge(args: &Emulate, links: &Links, clients: &str, server: &str) -> Result<(), Failure> {
    let open = |name| {
        Device::open(name, args.mtu).map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    "; a new TUN device takes root (CAP_NET_ADMIN), one that is there must belong \
                     to this user"
                }
                io::ErrorKind::NotFound => "; /dev/net/tun is missing",
                _ => "",
            };
            Failure::System(format!("--tun {name}: {error}{hint}"))
        })
    };
    let mut bridge = Bridge::new(open(clients)?, open(server)?, links.packet_path(), args.swap);
    anstream::eprintln!("{clients} leads to {server} over {}", links.names());
    let signals = Signals::watch()?;
    let live = Live::new(false);
    let ended = bridge.run(None, |path| {
        live.show(path);
        !signals.any()
    });
    live.end();
    ended.map_err(|error| Failure::System(format!("--tun {clients},{server}: {error}")))?;
    counters::report(bridge.path(), args.json, io::stdout().lock())
}
