//! `bentpipe recv`: files from peers.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bentpipe_net::hub::Streams;
use bentpipe_net::transfer::{Inbox, Progress, Rules, receive};
use bentpipe_net::{Connection, PublicKey, Tuning};
use bentpipe_units::ByteCount;
use indicatif::DecimalBytes;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::args::{Recv, Transport};
use crate::commands::{identity, log, mqueue, runtime, sctp};
use crate::failure::Failure;
use crate::output::harmless::harmless;

/// Where it listens if nothing is said.
const DEFAULT_ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 25300);

/// Time for a sender that has sent everything to take its leave.
const FAREWELL: Duration = Duration::from_secs(10);
/// Transfers at the same time, of all peers. Others wait.
const MOST_TRANSFERS: usize = 64;
/// What the connections of one peer may hold together, and how many share it.
const MEMORY: (ByteCount, usize) = (ByteCount::new(64_000_000), 16);

/// Receives files until it is stopped, or once.
pub(crate) fn recv(args: &Recv) -> Result<(), Failure> {
    log::start("warn", false);
    if !args.dir.is_dir() {
        return Err(Failure::Input(format!("--dir {}: not a directory", args.dir.display())));
    }
    if let Some(node) = args.queues.node {
        return mqueue::recv(node, args);
    }
    if args.transport == Transport::Sctp {
        return sctp::recv(args);
    }
    let listen = match args.listen[..] {
        [] => DEFAULT_ADDRESS,
        [one] => one,
        _ => {
            let problem = "--listen: XSTP listens at one address; only SCTP uses several";
            return Err(Failure::Input(problem.to_owned()));
        }
    };
    let mut peers = args.peer.clone();
    if let Some(path) = &args.peers {
        peers.extend(read_peers(path)?);
    }
    if peers.is_empty() {
        let problem = "name the peers that may send with --peer KEY or --peers FILE";
        return Err(Failure::Input(problem.to_owned()));
    }
    runtime()?.block_on(async {
        let host = identity::host(&args.identity, listen)?;
        host.limit_memory(MEMORY.0, MEMORY.1);
        peers.into_iter().for_each(|peer| host.allow(peer));
        let config = Tuning::default().config();
        host.listen(config.map_err(|error| Failure::System(error.to_string()))?);
        writeln!(std::io::stdout(), "listening on {} as {}", host.local_addr(), host.public_key())?;
        let accept = async || {
            let connection = host.accept().await;
            let peer = connection.peer().to_string();
            Arrival { sender: Some(peer.clone()), peer, connection }
        };
        tokio::select! {
            served = serve_all(args, accept) => served,
            () = host.failed() => Err(Failure::ended()),
        }
    })
}

/// A connection that a peer opened.
pub(super) struct Arrival<S: Streams> {
    /// How the peer is called.
    pub(super) peer: String,
    /// What proves that it is this peer, if anything does.
    pub(super) sender: Option<String>,
    pub(super) connection: Connection<S>,
}

/// Receives on every connection that `accept` gives out.
pub(super) async fn serve_all<S: Streams>(
    args: &Recv,
    mut accept: impl AsyncFnMut() -> Arrival<S>,
) -> Result<(), Failure> {
    let inbox = Inbox::new(&args.dir);
    let places = Arc::new(Semaphore::new(MOST_TRANSFERS));
    loop {
        let arrival = accept().await;
        let inbox = inbox.clone();
        let rules = Rules { sender: arrival.sender.clone(), overwrite: args.overwrite };
        if args.once {
            return serve(arrival, inbox, rules).await;
        }
        let place = places.clone().acquire_owned().await;
        let place = place.map_err(|error| Failure::System(error.to_string()))?;
        tokio::spawn(async move {
            if let Err(Failure::Input(message) | Failure::System(message)) =
                serve(arrival, inbox, rules).await
            {
                anstream::eprintln!("bentpipe: {message}");
            }
            drop(place);
        });
    }
}

/// Receives what one peer sends on one connection.
async fn serve<S: Streams>(arrival: Arrival<S>, inbox: Inbox, rules: Rules) -> Result<(), Failure> {
    let Arrival { peer, connection, .. } = arrival;
    // The file that is received, since when, and its size.
    let under_way = Mutex::new(None);
    let report = |progress| {
        let mut under_way = under_way.lock().expect("nobody has panicked while he held it");
        match progress {
            Progress::Begins { size, .. } => *under_way = Some((Instant::now(), size)),
            Progress::Done { name } => {
                let name = harmless(&name);
                let Some((began, size)) = under_way.take() else {
                    anstream::println!("{name}  symbolic link  from {peer}");
                    return;
                };
                let rate = size as f64 * 8e-6 / began.elapsed().as_secs_f64().max(1e-3);
                let size = DecimalBytes(size);
                anstream::println!("{name}  {size}  {rate:.2} Mbit/s  from {peer}");
            }
            Progress::Failed { name, reason } => {
                under_way.take();
                let (name, reason) = (harmless(&name), harmless(&reason));
                anstream::eprintln!("bentpipe: {name} from {peer}: {reason}");
            }
            Progress::Skipped { name, reason } => {
                let (name, reason) = (harmless(&name), harmless(&reason));
                anstream::eprintln!("bentpipe: {name} from {peer}: skipped: {reason}");
            }
            Progress::Kept { .. } => *under_way = None,
            Progress::At { .. } => {}
        }
    };
    let got = receive(&connection, inbox, rules, report).await;
    let got = got.map_err(|error| Failure::System(format!("transfer from {peer}: {error}")))?;
    if got.kept > 0 {
        anstream::println!("{} of {} entries from {peer} were there already", got.kept, got.done);
    }
    // Everything is here; how the sender takes its leave changes nothing.
    let _ = tokio::time::timeout(FAREWELL, connection.finish()).await;
    if got.failed > 0 {
        return Err(Failure::System(format!("{} of the files from {peer} failed", got.failed)));
    }
    Ok(())
}

/// The keys in a file.
fn read_peers(path: &Path) -> Result<Vec<PublicKey>, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::Input(format!("--peers {}: {error}", path.display())))?;
    let mut peers = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let peer = line.parse().map_err(|error| {
            let line = number + 1;
            Failure::Input(format!("{}: line {line}: {error}", path.display()))
        })?;
        peers.push(peer);
    }
    Ok(peers)
}
