//! Gateways as programs that are killed, stopped and started again under load. What arrives at its end is whole; the
//! rest ends by an error; nothing is left. BENTPIPE_CHAOS_SECONDS says for how long, where that shall be more than
//! a moment, and BENTPIPE_CHAOS_SEED what happens.

mod gateways;

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bentpipe_testkit::pattern;
use bytes::Bytes;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use gateways::{Place, Running, free, get, start};

/// Nothing hangs for longer.
const LONG: Duration = Duration::from_secs(90);
/// Bytes of the largest response.
const LARGEST: usize = 1_000_000;
const CLIENTS: u64 = 6;

fn said(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// A server that answers a number by so many bytes and closes at once.
async fn files(content: Bytes) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            let content = content.clone();
            tokio::spawn(async move {
                let Ok(size) = tcp.read_u32().await else { return };
                // A client may have left.
                let _ = tcp.write_all(&content[..size as usize]).await;
            });
        }
    });
    address
}

/// How clients come in.
#[derive(Clone, Copy, Debug)]
enum Entrance {
    Forward(SocketAddr),
    Socks5(SocketAddr),
    Http(SocketAddr),
}

impl Entrance {
    /// A connection to a server, as far as one knows at once.
    async fn connect(self, to: SocketAddr) -> std::io::Result<TcpStream> {
        match self {
            Self::Forward(at) => TcpStream::connect(at).await,
            Self::Socks5(at) => {
                let mut tcp = TcpStream::connect(at).await?;
                let SocketAddr::V4(v4) = to else { panic!("an IPv4 address") };
                let request = [&[5, 1, 0, 1], &v4.ip().octets()[..], &to.port().to_be_bytes()];
                tcp.write_all(&[&[5, 1, 0], request.concat().as_slice()].concat()).await?;
                let mut reply = [0; 12];
                tcp.read_exact(&mut reply).await?;
                assert_eq!(reply[..4], [5, 0, 5, 0], "an early accept");
                Ok(tcp)
            }
            Self::Http(at) => {
                let mut tcp = TcpStream::connect(at).await?;
                let request = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n");
                tcp.write_all(request.as_bytes()).await?;
                let mut answer = Vec::new();
                while !answer.ends_with(b"\r\n\r\n") {
                    answer.push(tcp.read_u8().await?);
                }
                assert!(answer.starts_with(b"HTTP/1.1 200"), "an early accept");
                Ok(tcp)
            }
        }
    }

    /// Asks for so many bytes; whether they came whole. What comes before an error is a part of them.
    async fn fetch(self, to: SocketAddr, size: usize, content: &Bytes) -> bool {
        let mut answer = Vec::new();
        let ask = async {
            let mut tcp = self.connect(to).await?;
            tcp.write_all(&(size as u32).to_be_bytes()).await?;
            tcp.read_to_end(&mut answer).await
        };
        let ended = timeout(LONG, ask).await.expect("nothing hangs");
        assert!(content.starts_with(&answer), "{} of {size} bytes through {self:?}", answer.len());
        assert!(ended.is_err() || answer.len() == size, "{} of {size}", answer.len());
        ended.is_ok()
    }
}

/// Clients that ask again and again, each by one entrance, until they are told to stop.
struct Clients {
    tasks: JoinSet<()>,
    stop: Arc<AtomicBool>,
    counts: Arc<[AtomicU64; 2]>,
}

impl Clients {
    fn start(entrances: [Entrance; 3], to: SocketAddr, content: &Bytes) -> Self {
        let (stop, counts): (Arc<AtomicBool>, Arc<[AtomicU64; 2]>) = Default::default();
        let mut tasks = JoinSet::new();
        for seed in 0..CLIENTS {
            let (stop, counts, content) = (stop.clone(), counts.clone(), content.clone());
            let entrance = entrances[seed as usize % 3];
            tasks.spawn(async move {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                while !stop.load(Ordering::Relaxed) {
                    let size = (LARGEST as f64).powf(random.random::<f64>()) as usize;
                    let whole = entrance.fetch(to, size, &content).await;
                    counts[usize::from(!whole)].fetch_add(1, Ordering::Relaxed);
                    if !whole {
                        sleep(Duration::from_millis(20)).await;
                    }
                }
            });
        }
        Self { tasks, stop, counts }
    }

    /// Lets them end; returns how many requests ended whole, and how many failed.
    async fn end(mut self) -> [u64; 2] {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.tasks.join_next().await {
            ended.expect("no panic");
        }
        [0, 1].map(|of| self.counts[of].load(Ordering::Relaxed))
    }
}

/// A gateway that is there until trouble takes it away.
struct Part {
    file: PathBuf,
    running: Option<Running>,
}

impl Part {
    fn signal(&self, signal: Signal) {
        let running = self.running.as_ref().expect("it runs");
        kill_process(Pid::from_child(&running.child), signal).expect("sent");
    }

    /// Ends it as an operator does or as a power failure does.
    fn end(&mut self, politely: bool) {
        self.signal(if politely { Signal::TERM } else { Signal::KILL });
        let mut running = self.running.take().expect("it runs");
        let status = running.child.wait().expect("an end");
        assert!(status.success() == politely, "{status}");
        let log = running.rest();
        assert!(!log.contains("panicked"), "{log}");
    }

    /// Sockets that it has open.
    fn sockets(&self) -> usize {
        let pid = self.running.as_ref().expect("it runs").child.id();
        let entries = fs::read_dir(format!("/proc/{pid}/fd")).expect("a list").flatten();
        let links = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
        links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
    }

    async fn status(&self) -> Value {
        let answer = get(self.running.as_ref().expect("it runs").ops, "/status").await;
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).expect("JSON")
    }

    /// Waits until it has the peer and no flow, nor anything of one. Returns its sockets then.
    async fn settle(&self) -> usize {
        let wait = async {
            loop {
                let status = self.status().await;
                let peer = &status["peers"][0];
                // The connection that holds the association up takes some memory itself.
                let held = peer["held_bytes"].as_u64().expect("a number");
                let idle = status["totals"]["open"] == 0 && held <= 4_096;
                if idle && peer["up"] == true && peer["connections"] == 1 {
                    return self.sockets();
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(LONG, wait).await.expect("it settles")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gateways_that_are_killed_and_started_again_truncate_nothing_and_keep_nothing() {
    let content = pattern(LARGEST);
    let to = files(content.clone()).await;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(said("BENTPIPE_CHAOS_SEED", 1));
    let place = Place::new();
    let link = "[link]\nmode = \"dedicated\"\nrate = \"50 Mbit/s\"\n";
    let limits = "[limits]\nidle_timeout = \"10 s\"\n";
    let hub_file = place.hub(&format!("{link}{limits}"));
    let first = start(&hub_file);
    let address = first.address;
    // Started again it is where it was.
    let text = fs::read_to_string(&hub_file).expect("a file");
    fs::write(&hub_file, text.replacen("127.0.0.1:0", &address.to_string(), 1)).expect("written");
    let [forward, socks5, http] = [free().await, free().await, free().await];
    let entrances = format!(
        "{link}{limits}[[forward]]\nlisten = \"{forward}\"\nto = \"{to}\"\n[socks5]\nlisten = \"{socks5}\"\n\
         [http]\nlisten = \"{http}\"\n"
    );
    let terminal_file = place.terminal(address, &entrances);
    let mut parts = [
        Part { running: Some(first), file: hub_file },
        Part { running: Some(start(&terminal_file)), file: terminal_file },
    ];
    let before = [parts[0].settle().await, parts[1].settle().await];
    let entrances = [Entrance::Forward(forward), Entrance::Socks5(socks5), Entrance::Http(http)];
    let clients = Clients::start(entrances, to, &content);
    let end = Instant::now() + Duration::from_secs(said("BENTPIPE_CHAOS_SECONDS", 6));
    let mut ends = 0;
    while Instant::now() < end {
        sleep(Duration::from_millis(random.random_range(100..800))).await;
        let part = &mut parts[random.random_range(0..2)];
        if random.random_bool(0.3) {
            let text = fs::read_to_string(&part.file).expect("a file");
            let rates = ["rate = \"50 Mbit/s\"", "rate = \"7 Mbit/s\""];
            let [from, to] = if text.contains(rates[0]) { rates } else { [rates[1], rates[0]] };
            fs::write(&part.file, text.replace(from, to)).expect("written");
            part.signal(Signal::HUP);
        } else {
            part.end(random.random_bool(0.3));
            ends += 1;
            sleep(Duration::from_millis(random.random_range(0..600))).await;
            part.running = Some(start(&part.file));
        }
    }
    let [whole, failed] = clients.end().await;
    println!("{ends} ends of gateways; {whole} responses whole, {failed} failed");
    assert!(whole > 0 && ends > 0, "{whole} whole, {failed} failed, {ends} ends");
    for (part, before) in parts.iter().zip(before) {
        // The answer to the last question may not be closed yet.
        let wait = async {
            while part.settle().await > before {
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(LONG, wait).await.expect("all sockets are closed");
    }
    parts.iter_mut().for_each(|part| part.end(true));
}
