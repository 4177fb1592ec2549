//! `bentpipe recv`: files from peers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bentpipe_association::endpoint::Streams;
use bentpipe_association::host::Connection;
use bentpipe_association::{PublicKey, Tuning};
use bentpipe_net::transfer::{Inbox, receive};
use bentpipe_transfer::{Progress, Rules};
use bentpipe_units::ByteCount;
use indicatif::DecimalBytes;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::args::net::{Recv, Transport, Via};
use crate::commands::log;
use crate::commands::net::conclude::{leave, rate};
use crate::commands::net::{identity, mqueue, radio, sctp};
use crate::commands::runtime::runtime;
use crate::failure::Failure;
use crate::output::harmless::harmless;
use crate::output::lines::Lines;

/// Where it listens if nothing is said.
const DEFAULT_ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), 25300);

/// Transfers of one peer at the same time. One that hangs keeps its place, and nobody else's.
const MOST_TRANSFERS: usize = 16;
/// What the connections of one peer may hold together, and how many share it.
const MEMORY: (ByteCount, usize) = (ByteCount::new(64_000_000), 16);

/// Receives files until it is stopped, or once.
pub(crate) fn recv(args: &Recv) -> Result<(), Failure> {
    let lines = Arc::new(Lines::new());
    log::start(lines.log(), "warn", false);
    if !args.dir.is_dir() {
        let dir = args.dir.display();
        let wrong = if args.dir.exists() { "it is no directory" } else { "it does not exist" };
        return Err(Failure::Input(format!("--dir {dir}: {wrong}; `mkdir {dir}` makes one")));
    }
    match &args.carrier.via {
        Some(Via::Mqueue) => return mqueue::recv(args, &lines),
        Some(Via::Kiss(tnc)) => return radio::recv(tnc, args, &lines),
        None => {}
    }
    if args.transport == Transport::Sctp {
        return sctp::recv(args, &lines);
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
        lines.say(format_args!("listening on {} as {}", host.local_addr(), host.public_key()));
        let accept = async || {
            let connection = host.accept().await;
            let peer = connection.peer().to_string();
            Arrival { sender: Some(peer.clone()), peer, connection, is_only: false }
        };
        tokio::select! {
            served = serve_all(args, &lines, accept) => served,
            () = host.failed() => Err(super::ended()),
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
    /// The peer has one transfer at a time, so that the one before it was cut off: nobody has told of its end.
    pub(super) is_only: bool,
}

/// A file that is received.
#[derive(Clone, Copy, Debug)]
struct Arriving {
    size: u64,
    /// Its rate counts from this time and this byte on.
    counted: Option<(Instant, u64)>,
}

impl Arriving {
    /// It is here up to this byte.
    fn at(&mut self, now: Instant, offset: u64) {
        self.counted.get_or_insert((now, offset));
    }

    /// It was here up to this byte, which counts in no rate.
    const fn resumed(&mut self, now: Instant, offset: u64) {
        self.counted = Some((now, offset));
    }

    /// The mean rate; nothing where all came at once.
    fn rate(self, now: Instant) -> String {
        match self.counted {
            Some((since, from)) if from < self.size => {
                format!("  {}", rate(self.size - from, (now - since).as_secs_f64()))
            }
            _ => String::new(),
        }
    }
}

/// Receives on every connection that `accept` gives out.
pub(super) async fn serve_all<S: Streams>(
    args: &Recv,
    lines: &Arc<Lines>,
    mut accept: impl AsyncFnMut() -> Arrival<S>,
) -> Result<(), Failure> {
    let (inbox, leave) = (Inbox::new(&args.dir), leave(&args.carrier));
    let places = Places::default();
    let mut only: BTreeMap<String, AbortHandle> = BTreeMap::new();
    loop {
        let arrival = accept().await;
        let (inbox, lines) = (inbox.clone(), lines.clone());
        let rules = Rules { sender: arrival.sender.clone(), overwrite: args.overwrite };
        if args.once {
            return serve(arrival, inbox, rules, leave, &lines).await;
        }
        let Some(place) = places.take(&arrival.peer) else {
            let peer = &arrival.peer;
            lines.complain(format_args!(
                "{peer}: refused, it has {MOST_TRANSFERS} transfers under way"
            ));
            arrival.connection.abort();
            continue;
        };
        let (peer, is_only) = (arrival.peer.clone(), arrival.is_only);
        let serving = tokio::spawn(async move {
            let _place = place;
            if let Err(Failure::Input(message) | Failure::System(message)) =
                serve(arrival, inbox, rules, leave, &lines).await
            {
                lines.complain(message);
            }
        });
        only.retain(|_, serving| !serving.is_finished());
        if is_only && let Some(before) = only.insert(peer, serving.abort_handle()) {
            // What it holds of a file is free, and counts for this one.
            before.abort();
        }
    }
}

/// How many transfers of each peer are under way.
#[derive(Clone, Debug, Default)]
struct Places(Arc<Mutex<BTreeMap<String, usize>>>);

impl Places {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.0.lock().expect("nobody has panicked while he held it")
    }

    /// A place for one more, if the peer has not too many.
    fn take(&self, peer: &str) -> Option<Place> {
        let mut taken = self.lock();
        let of_peer = taken.entry(peer.to_owned()).or_default();
        *of_peer += 1;
        if *of_peer > MOST_TRANSFERS {
            *of_peer -= 1;
            return None;
        }
        Some(Place { places: self.clone(), peer: peer.to_owned() })
    }
}

/// A place of a transfer, until it is dropped.
#[derive(Debug)]
struct Place {
    places: Places,
    peer: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        if let Some(of_peer) = taken.get_mut(&self.peer) {
            *of_peer -= 1;
            if *of_peer == 0 {
                taken.remove(&self.peer);
            }
        }
    }
}

/// Receives what one peer sends on one connection.
async fn serve<S: Streams>(
    arrival: Arrival<S>,
    inbox: Inbox,
    rules: Rules,
    leave: Duration,
    lines: &Lines,
) -> Result<(), Failure> {
    let Arrival { peer, connection, .. } = arrival;
    let under_way: Mutex<Option<Arriving>> = Mutex::new(None);
    let report = |progress| {
        let mut under_way = under_way.lock().expect("nobody has panicked while he held it");
        match progress {
            Progress::Begins { size, .. } => *under_way = Some(Arriving { size, counted: None }),
            Progress::Done { name } => {
                let name = harmless(&name);
                let Some(file) = under_way.take() else {
                    lines.say(format_args!("{name}  symbolic link  from {peer}"));
                    return;
                };
                let (size, rate) = (DecimalBytes(file.size), file.rate(Instant::now()));
                lines.say(format_args!("{name}  {size}{rate}  from {peer}"));
            }
            Progress::Failed { name, reason } => {
                under_way.take();
                let (name, reason) = (harmless(&name), harmless(&reason));
                lines.complain(format_args!("{name} from {peer}: {reason}"));
            }
            Progress::Skipped { name, reason } => {
                let (name, reason) = (harmless(&name), harmless(&reason));
                lines.complain(format_args!("{name} from {peer}: skipped: {reason}"));
            }
            Progress::Kept { .. } => *under_way = None,
            Progress::At { offset } => {
                if let Some(file) = &mut *under_way {
                    file.at(Instant::now(), offset);
                }
            }
            Progress::Resumed { offset } => {
                if let Some(file) = &mut *under_way {
                    file.resumed(Instant::now(), offset);
                }
            }
        }
    };
    let got = receive(&connection, inbox, rules, report).await;
    let got = got.map_err(|error| Failure::System(format!("transfer from {peer}: {error}")))?;
    if got.kept > 0 {
        let (kept, done) = (got.kept, got.done);
        lines.say(format_args!("{kept} of {done} entries from {peer} were there already"));
    }
    // Everything is here; how the sender takes its leave changes nothing.
    let _ = tokio::time::timeout(leave, connection.finish()).await;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_many_transfers_under_way_gets_no_more_and_others_do() {
        let places = Places::default();
        let mut held: Vec<_> = (0..MOST_TRANSFERS).filter_map(|_| places.take("a")).collect();
        assert_eq!(held.len(), MOST_TRANSFERS);
        assert!(places.take("a").is_none() && places.take("b").is_some());
        held.pop();
        assert!(places.take("a").is_some());
        held.clear();
        assert!(places.lock().is_empty());
    }

    #[test]
    fn the_rate_of_a_file_counts_what_came_and_not_what_was_there() {
        let mut file = Arriving { size: 1_000_000, counted: None };
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        assert_eq!(file.rate(at(1)), "", "nothing came");
        // Before the receiver is heard some of what it has comes again.
        file.at(at(0), 1_000);
        file.at(at(1), 3_000);
        file.resumed(at(2), 60_000);
        file.at(at(6), 500_000);
        file.at(at(9), 1_000_000);
        assert_eq!(file.rate(at(9)), "  1.07 Mbit/s", "940 kB in 7 s");
        let mut small = Arriving { size: 500, counted: None };
        small.at(at(0), 500);
        assert_eq!(small.rate(at(3)), "", "it came at once");
    }
}
