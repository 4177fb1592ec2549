//! Gateways on a link that does its worst. What arrives at its end is whole, whatever happens; the rest
//! ends by an error. BENTPIPE_CHAOS_SECONDS says for how long, and BENTPIPE_RESPONSES how many responses
//! cross each lossy link, where that shall be more than a moment.

mod gateways;
mod links;

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bentpipe_net::gateway::Gateway;
use bentpipe_testkit::pattern;
use bentpipe_units::Span;
use bytes::Bytes;
use rand::{Rng, RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use gateways::{OPEN, Site, free, server};
use links::Link;

/// Nothing hangs for longer.
const LONG: Duration = Duration::from_secs(120);
const LARGEST: u32 = 2_000_000;

/// A number out of the environment.
fn said<T: FromStr>(name: &str, otherwise: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// A server that answers a number by so many bytes and closes at once.
async fn files(content: Bytes) -> SocketAddr {
    server(move |mut tcp: TcpStream| {
        let content = content.clone();
        async move {
            let Ok(size) = tcp.read_u32().await else { return };
            // A client may have left.
            let _ = tcp.write_all(&content[..size as usize]).await;
        }
    })
    .await
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Whole,
    Failed,
}

/// Asks for so many bytes. What comes before an error is a part of them; what comes before an end is all.
async fn fetch(forward: SocketAddr, size: u32, content: &Bytes) -> Ended {
    let answer = async {
        let mut answer = Vec::new();
        let Ok(mut tcp) = TcpStream::connect(forward).await else { return (answer, Ended::Failed) };
        let asked = tcp.write_all(&size.to_be_bytes()).await;
        let read = tcp.read_to_end(&mut answer).await;
        let whole = asked.is_ok() && read.is_ok();
        (answer, if whole { Ended::Whole } else { Ended::Failed })
    };
    let (answer, ended) = tokio::time::timeout(LONG, answer).await.expect("nothing hangs");
    let from = answer.iter().zip(content).position(|(ours, theirs)| ours != theirs);
    assert_eq!(from, None, "{} of {size} bytes: {:?}", answer.len(), answer.first_chunk::<8>());
    assert!(ended == Ended::Failed || answer.len() == size as usize, "{} of {size}", answer.len());
    ended
}

/// A size from 1 byte to the largest, small ones as likely as large ones.
fn size(random: &mut impl Rng) -> u32 {
    (f64::from(LARGEST).powf(random.random::<f64>())) as u32
}

/// Flows that are open at a gateway.
fn open(gateway: &Gateway) -> u64 {
    gateway.counters().open.load(Ordering::Relaxed)
}

/// Waits until neither has any flow.
async fn settle(gateways: [&Gateway; 2]) {
    let quiet = async {
        while gateways.into_iter().any(|gateway| open(gateway) > 0) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, quiet).await.expect("all flows end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_response_arrives_whole_whatever_is_lost() {
    let content = pattern(LARGEST as usize);
    let to = files(content.clone()).await;
    let count: u64 = said("BENTPIPE_RESPONSES", 60);
    for loss in [0.0, 0.01, 0.05] {
        let [listen] = free().await;
        let site = Arc::new(Site::new(&to.to_string(), Some(listen), ["", OPEN]).await);
        let _link = Link::new(listen, site.udp, 200, Span::from_millis(5), loss);
        let (hub, terminal) = (site.hub(), site.terminal());
        let mut requests = JoinSet::new();
        for seed in 0..count {
            if requests.len() >= 20 {
                assert_eq!(
                    requests.join_next().await.expect("one").expect("no panic"),
                    Ended::Whole
                );
            }
            let (content, forward) = (content.clone(), site.forward);
            let size = size(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
            requests.spawn(async move { fetch(forward, size, &content).await });
        }
        while let Some(ended) = requests.join_next().await {
            assert_eq!(ended.expect("no panic"), Ended::Whole, "{loss}");
        }
        settle([&hub, &terminal]).await;
    }
}

/// Sockets that this process has open.
fn sockets() -> usize {
    let entries = std::fs::read_dir("/proc/self/fd").expect("a list").flatten();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_to_gateways_and_link_what_ends_is_whole_and_nothing_is_left() {
    let content = pattern(LARGEST as usize);
    let to = files(content.clone()).await;
    let [listen] = free().await;
    let patience = "[limits]\npatience = \"20 s\"";
    let site =
        Site::new(&to.to_string(), Some(listen), [patience, &format!("{OPEN}\n{patience}")]).await;
    let before = sockets();
    let (stop, counts) = (Arc::new(AtomicBool::new(false)), Arc::new([0, 0].map(AtomicU64::new)));
    let mut clients = JoinSet::new();
    for seed in 0..8 {
        let (stop, counts, content) = (stop.clone(), counts.clone(), content.clone());
        let forward = site.forward;
        clients.spawn(async move {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            while !stop.load(Ordering::Relaxed) {
                let ended = fetch(forward, size(&mut random), &content).await;
                counts[usize::from(ended == Ended::Failed)].fetch_add(1, Ordering::Relaxed);
                if ended == Ended::Failed {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        });
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(said("BENTPIPE_CHAOS_SEED", 1));
    let connect = |random: &mut Xoshiro256PlusPlus| {
        let (mbits, loss) = (random.random_range(2..100), random.random_range(0.0..0.05));
        Link::new(listen, site.udp, mbits, Span::from_millis(random.random_range(1..100)), loss)
    };
    let (mut hub, mut terminal) = (Some(site.hub()), Some(site.terminal()));
    let mut link = Some(connect(&mut random));
    let end = tokio::time::Instant::now() + Duration::from_secs(said("BENTPIPE_CHAOS_SECONDS", 8));
    while tokio::time::Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(random.random_range(100..1500))).await;
        let pause = Duration::from_millis(random.random_range(0..800));
        match random.random_range(0..6) {
            0 => {
                hub = None;
                tokio::time::sleep(pause).await;
            }
            1 => {
                terminal = None;
                tokio::time::sleep(pause).await;
            }
            // Another link: rate, delay and losses change, and so does the address of the terminal.
            _ => {
                drop(link.take());
                tokio::time::sleep(pause).await;
            }
        }
        hub = hub.or_else(|| Some(site.hub()));
        terminal = terminal.or_else(|| Some(site.terminal()));
        link = link.or_else(|| Some(connect(&mut random)));
    }
    stop.store(true, Ordering::Relaxed);
    while let Some(ended) = clients.join_next().await {
        ended.expect("no panic");
    }
    let [whole, failed] = [&counts[0], &counts[1]].map(|count| count.load(Ordering::Relaxed));
    println!("{whole} whole, {failed} failed");
    assert!(whole > 0, "{failed} failed");
    let gateways = (hub.expect("a hub"), terminal.expect("a terminal"));
    settle([&gateways.0, &gateways.1]).await;
    drop((gateways, link));
    let left = async {
        while sockets() > before {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, left).await.expect("all sockets are closed");
}
