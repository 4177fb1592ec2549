//! Attacks a hub over real sockets, as somebody without a key or as a peer with one, and says what was sent and what came
//! back. `bench/attacks.sh` runs each attack beside an honest download.

mod association;
mod clients;
mod hostile;

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bentpipe_association::{PublicKey, SecretKey};
use clap::{Parser, ValueEnum};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus as Random;
use tokio::net::UdpSocket;
use tokio::time::Instant;

use association::{Association, request};

/// What may go wrong in an example is told and ends it.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Sockets of those who have no key, each with a port of its own.
const SOCKETS: usize = 16;
/// Requests of keys that the hub does not know, made beforehand.
const UNKNOWN_PEERS: usize = 1_000;

#[derive(Parser)]
struct Args {
    attack: Attack,
    /// The UDP address of the hub; with `clients` the TCP address where clients come in.
    #[arg(long)]
    to: SocketAddr,
    /// The public key of the hub.
    #[arg(long)]
    hub: Option<PublicKey>,
    /// The file with the key of a peer that the hub knows.
    #[arg(long)]
    key: Option<PathBuf>,
    /// Datagrams a second.
    #[arg(long, default_value_t = 10_000)]
    rate: u64,
    /// For how long.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Clients that connect.
    #[arg(long, default_value_t = 5_000)]
    clients: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Attack {
    /// Datagrams of random bytes.
    Garbage,
    /// One captured request of a peer, again and again.
    Replays,
    /// Requests of keys that the hub does not know.
    UnknownPeers,
    /// Many TCP connections that say next to nothing.
    Clients,
    /// A peer opens connections without end.
    Connections,
    /// A peer sends bytes far ahead of what was read.
    Far,
    /// A peer sends POLLs, probes, challenges and marks that ask for answers.
    Questions,
    /// A peer sends parity that is never right.
    Parity,
    /// A peer sends anything.
    Anything,
    /// A peer asks for new keys all the time.
    Requests,
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let args = Args::parse();
    if args.attack == Attack::Clients {
        return clients::run(args.to, args.clients, Duration::from_secs(args.seconds)).await;
    }
    let mut random = Random::seed_from_u64(2_611);
    let hub = || args.hub.ok_or("--hub names the public key of the hub");
    let key = || -> Outcome<SecretKey> {
        let path = args.key.as_deref().ok_or("--key names the file of a peer's key")?;
        Ok(bentpipe_net::key_file::load(path)?)
    };
    let mut sockets = Vec::new();
    for _ in 0..SOCKETS {
        let socket = UdpSocket::bind((args.to.ip(), 0)).await?;
        socket.connect(args.to).await?;
        sockets.push(socket);
    }
    let mut attack: Box<dyn FnMut(u64) -> Vec<u8>> = match args.attack {
        Attack::Garbage => Box::new(move |_| {
            let mut bytes = vec![0; random.random_range(1..1_400)];
            random.fill(&mut bytes[..]);
            // Of a kind that exists, most times.
            bytes[0] %= 9;
            bytes
        }),
        Attack::Replays => {
            let (_, captured) = request(&key()?, hub()?, now(), &[]);
            Box::new(move |_| captured.clone())
        }
        Attack::UnknownPeers => {
            let hub = hub()?;
            let requests: Vec<_> = (0..UNKNOWN_PEERS)
                .map(|_| request(&SecretKey::generate(), hub, now(), &[]).1)
                .collect();
            Box::new(move |n| requests[n as usize % UNKNOWN_PEERS].clone())
        }
        what => {
            let mut association = Association::open(&sockets[0], key()?, hub()?).await?;
            Box::new(move |n| hostile::datagram(what, &mut association, n, &mut random))
        }
    };
    // Who has keys has one address.
    let count = match args.attack {
        Attack::Garbage | Attack::Replays | Attack::UnknownPeers => SOCKETS,
        _ => 1,
    };
    let (mut sent, mut answers) = ((0u64, 0u64), (0u64, 0u64));
    let began = Instant::now();
    let mut buffer = [0; 2_048];
    while began.elapsed() < Duration::from_secs(args.seconds) {
        let due = began.elapsed().as_micros() as u64 * args.rate / 1_000_000;
        while sent.0 < due {
            let bytes = attack(sent.0);
            // A full buffer of the kernel loses it.
            let _ = sockets[sent.0 as usize % count].try_send(&bytes);
            sent = (sent.0 + 1, sent.1 + bytes.len() as u64);
        }
        for socket in &sockets {
            while let Ok(len) = socket.try_recv(&mut buffer) {
                answers = (answers.0 + 1, answers.1 + len as u64);
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    println!("sent {} datagrams, {} bytes; got {}, {} bytes", sent.0, sent.1, answers.0, answers.1);
    Ok(())
}

/// Nanoseconds of the calendar.
#[expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "requests tell the time")]
fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_nanos() as u64
}
