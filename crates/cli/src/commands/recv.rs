//! `bentpipe recv`: files from peers.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use bentpipe_net::hub::Streams;
use bentpipe_net::transfer::{Progress, receive};
use bentpipe_net::{Connection, PublicKey, Tuning};

use crate::args::{Recv, Transport};
use crate::commands::{identity, mqueue, runtime, sctp};
use crate::failure::Failure;

/// Where it listens if nothing is said.
const DEFAULT_ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 25300);

/// Receives files until it is stopped, or once.
pub(crate) fn recv(args: &Recv) -> Result<(), Failure> {
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
        peers.into_iter().for_each(|peer| host.allow(peer));
        let config = Tuning::default().config();
        host.listen(config.map_err(|error| Failure::System(error.to_string()))?);
        writeln!(std::io::stdout(), "listening on {} as {}", host.local_addr(), host.public_key())?;
        let accept = async || {
            let connection = host.accept().await;
            (connection.peer().to_string(), connection)
        };
        serve_all(args, accept).await
    })
}

/// Receives on every connection that `accept` gives out, each with the name of its peer.
pub(super) async fn serve_all<S: Streams>(
    args: &Recv,
    mut accept: impl AsyncFnMut() -> (String, Connection<S>),
) -> Result<(), Failure> {
    loop {
        let (peer, connection) = accept().await;
        let dir = args.dir.clone();
        if args.once {
            return serve(connection, peer, dir).await;
        }
        tokio::spawn(async move {
            if let Err(Failure::Input(message) | Failure::System(message)) =
                serve(connection, peer, dir).await
            {
                anstream::eprintln!("bentpipe: {message}");
            }
        });
    }
}

/// Receives what one peer sends on one connection.
async fn serve(
    connection: Connection<impl Streams>,
    peer: String,
    dir: PathBuf,
) -> Result<(), Failure> {
    let report = |progress| match progress {
        Progress::Done { name } => anstream::println!("{name}"),
        Progress::Failed { name, reason } => {
            anstream::eprintln!("bentpipe: {name} from {peer}: {reason}");
        }
        Progress::Begins { .. } | Progress::At { .. } => {}
    };
    let got = receive(&connection, &dir, report).await;
    let got = got.map_err(|error| Failure::System(format!("transfer from {peer}: {error}")))?;
    // Everything is here; how the sender takes its leave changes nothing.
    let _ = connection.finish().await;
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
