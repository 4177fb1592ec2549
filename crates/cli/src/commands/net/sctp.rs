//! Files over SCTP: several paths, no encryption.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bentpipe_association::{Security, Tuning};
use bentpipe_net::refusal;
use bentpipe_net::sctp::{self, Connection, Messages as _, Node, PathChange, UDP_PORT};
use bentpipe_transfer::PORT;

use super::bar::Bar;
use super::identity::warn;
use super::recv::{Arrival, serve_all};
use super::send::{Never, Parcel, any_towards, resolve};
use crate::args::net::{Identity, Recv, Send};
use crate::commands::runtime::runtime;
use crate::commands::stop::in_runtime;
use crate::failure::Failure;
use crate::output::lines::Lines;

/// Sends files to a peer.
pub(super) fn send(args: &Send, tuning: &Tuning, lines: &Arc<Lines>) -> Result<(), Failure> {
    permitted(&args.identity, args.peer.is_some())?;
    if tuning.probing.is_some() {
        return Err(Failure::Input("--probing: only XSTP probes".to_owned()));
    }
    let config = sctp::config(tuning).map_err(|error| Failure::Input(error.to_string()))?;
    let Some(parcel) = Parcel::gather(args, lines)? else { return Ok(()) };
    in_runtime(async {
        let to = resolve(&args.to).await?;
        let from: Vec<SocketAddr> = match &args.bind[..] {
            [] => vec![any_towards(to)],
            some => some.iter().map(|address| (*address, 0).into()).collect(),
        };
        let node = bind(&from)?;
        warn("Everybody on the path can read and change all names and contents.");
        let silence = "nobody is there, or a firewall lets nothing pass".to_owned();
        let (connecting, refused) = (node.connect(to, PORT, config), refusal(from[0].ip(), to));
        let sent = parcel.deliver(connecting, refused, silence, log_path_changes).await?;
        parcel.verdict(sent)
    })
}

/// Receives files until it is stopped, or once.
pub(super) fn recv(args: &Recv, lines: &Arc<Lines>) -> Result<(), Failure> {
    permitted(&args.identity, !args.peer.is_empty() || args.peers.is_some())?;
    let config = sctp::config(&Tuning::default());
    let config = config.map_err(|error| Failure::System(error.to_string()))?;
    runtime()?.block_on(async {
        let any = [SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), UDP_PORT)];
        let node = bind(if args.listen.is_empty() { &any } else { &args.listen })?;
        warn("Everybody on the path can read and change all names and contents, and anybody can send.");
        node.listen(PORT, config);
        let addresses: Vec<_> = node.local_addrs().iter().map(SocketAddr::to_string).collect();
        lines.say(format_args!("listening on {}", addresses.join(" and ")));
        let accept = async || {
            let (peer, connection) = node.accept().await;
            Arrival { peer: peer.to_string(), sender: None, connection, is_only: false }
        };
        serve_all(args, lines, accept).await
    })
}

/// SCTP is for those who say that they know what it lacks.
fn permitted(who: &Identity, names_keys: bool) -> Result<(), Failure> {
    let wrong = |problem: &str| Err(Failure::Input(problem.to_owned()));
    if who.security != Security::None {
        return wrong(
            "--transport sctp: SCTP encrypts nothing and knows no keys; add --security none if that is \
             what you want, or leave --transport out",
        );
    }
    if names_keys || who.key.is_some() {
        return wrong("--peer, --peers, --key: SCTP knows no keys; leave them out");
    }
    Ok(())
}

fn bind(addresses: &[SocketAddr]) -> Result<Node, Failure> {
    Node::bind(addresses).map_err(|error| {
        let names: Vec<_> = addresses.iter().map(SocketAddr::to_string).collect();
        Failure::System(format!("cannot bind {}: {error}", names.join(" and ")))
    })
}

/// Says which paths go down and come up.
async fn log_path_changes(connection: &Connection, bar: &Bar) -> Never {
    while let Some(change) = connection.path_change().await {
        match change {
            PathChange::Down(address) => bar.say(&format!("the path to {address} is down")),
            PathChange::Up(address) => bar.say(&format!("the path to {address} is up")),
            PathChange::Deleted(address) => {
                bar.say(&format!("the peer has the address {address} no more"));
            }
            // This host keeps the addresses that it is bound to.
            PathChange::Confirmed(_)
            | PathChange::Readdressed
            | PathChange::ReaddressRefused(_) => {}
        }
    }
    std::future::pending().await
}
