//! Gateways on a link that does its worst. What arrives at its end is whole, whatever happens; the rest
//! ends by an error; nothing is left. BENTPIPE_CHAOS_SECONDS says for how long, where that shall be more than
//! a moment, and BENTPIPE_CHAOS_SEED what happens.

mod gateways;
mod links;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bentpipe_net::gateway::Gateway;
use bentpipe_testkit::pattern;
use bentpipe_units::Span;
use bytes::Bytes;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::net::{TcpListener, UdpSocket};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use gateways::fetching::{Ended, LARGEST, LONG, fetch, files, said, settle, size, until};
use gateways::{DEDICATED, OPEN, Site, free};
use links::Link;
use links::damage::Damage;

/// Clients, each with one request after the other.
const CLIENTS: u64 = 8;

/// Sockets that this process has open.
fn sockets() -> usize {
    let entries = std::fs::read_dir("/proc/self/fd").expect("a list").flatten();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

/// Tasks that have not ended.
fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Clients that ask again and again, until they are told to stop.
struct Clients {
    tasks: JoinSet<()>,
    stop: Arc<AtomicBool>,
    counts: Arc<[AtomicU64; 2]>,
}

impl Clients {
    fn start(forward: SocketAddr, content: &Bytes) -> Self {
        let mut clients = Self {
            tasks: JoinSet::new(),
            stop: Arc::default(),
            counts: Arc::new([0, 0].map(AtomicU64::new)),
        };
        for seed in 0..CLIENTS {
            let (stop, counts) = (clients.stop.clone(), clients.counts.clone());
            let content = content.clone();
            clients.tasks.spawn(async move {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                while !stop.load(Ordering::Relaxed) {
                    let ended = fetch(forward, size(&mut random), &content).await;
                    counts[usize::from(ended == Ended::Failed)].fetch_add(1, Ordering::Relaxed);
                    if ended == Ended::Failed {
                        sleep(Duration::from_millis(50)).await;
                    }
                }
            });
        }
        clients
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

/// Waits until an address can be bound: a gateway that is dropped ends soon, not at once.
async fn released(is_free: impl AsyncFn() -> bool) {
    let wait = async {
        while !is_free().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, wait).await.expect("it ends");
}

/// Both gateways and the emulated part of the way, each there until trouble takes it away.
struct Parts {
    site: Site,
    /// Where the emulated part listens.
    listen: SocketAddr,
    random: Xoshiro256PlusPlus,
    hub: Option<Gateway>,
    terminal: Option<Gateway>,
    link: Option<Link>,
}

impl Parts {
    /// What is missing comes back, the link as another one: rate, delay and losses change, and so does the
    /// address of the terminal.
    fn mend(&mut self) -> [&Gateway; 2] {
        let random = &mut self.random;
        self.link.get_or_insert_with(|| {
            let (mbits, loss) = (random.random_range(2..100), random.random_range(0.0..0.05));
            let delay = Span::from_millis(random.random_range(1..100));
            Link::new(self.listen, self.site.udp, mbits, delay, loss)
        });
        [
            self.hub.get_or_insert_with(|| self.site.hub()),
            self.terminal.get_or_insert_with(|| self.site.terminal()),
        ]
    }

    /// One trouble after the other, for so long.
    async fn suffer(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.mend();
            sleep(Duration::from_millis(self.random.random_range(100..1500))).await;
            match self.random.random_range(0..9) {
                0 => self.hub = None,
                1 => self.terminal = None,
                // The power fails at both ends.
                2 => (self.hub, self.terminal) = (None, None),
                3 | 4 => {
                    let mbits = self.random.random_range(2..100);
                    if let (Some(hub), Some(terminal)) = (&self.hub, &self.terminal) {
                        self.site.change_rates([hub, terminal], mbits);
                    }
                }
                _ => self.link = None,
            }
            if self.hub.is_none() {
                released(async || UdpSocket::bind(self.site.udp).await.is_ok()).await;
            }
            if self.terminal.is_none() {
                for address in [self.site.forward, self.site.socks5, self.site.http] {
                    released(async || TcpListener::bind(address).await.is_ok()).await;
                }
            }
            // Sometimes for longer than anybody waits.
            let longest = if self.random.random_bool(0.05) { 15_000 } else { 800 };
            sleep(Duration::from_millis(self.random.random_range(0..longest))).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_to_gateways_and_link_what_ends_is_whole_and_nothing_is_left() {
    let content = pattern(LARGEST as usize);
    let to = files(content.clone()).await;
    let seed = said("BENTPIPE_CHAOS_SEED", 1);
    let time = Duration::from_secs(said("BENTPIPE_CHAOS_SECONDS", 8));
    for mode in ["", DEDICATED] {
        let (sockets_before, tasks_before) = (sockets(), tasks());
        let [listen, outer] = free().await;
        let limits = "[limits]\nidle_timeout = \"10 s\"";
        let settings = [format!("{limits}\n{mode}"), format!("{OPEN}\n{limits}\n{mode}")];
        let settings = settings.each_ref().map(String::as_str);
        let site = Site::new(&to.to_string(), Some(outer), settings).await;
        let forward = site.forward;
        let damage = Damage::new(outer, listen, seed).await;
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut parts = Parts { site, listen, random, hub: None, terminal: None, link: None };
        let clients = Clients::start(forward, &content);
        parts.suffer(time / 2).await;
        let gateways = parts.mend();
        let [whole, failed] = clients.end().await;
        let damaged = damage.damaged();
        println!("{whole} whole, {failed} failed, {damaged} datagrams damaged");
        assert!(whole > 0 && damaged > 0, "{failed} failed");
        settle(gateways).await;
        drop((parts, damage));
        until("all sockets are closed", || sockets() <= sockets_before).await;
        until("all tasks have ended", || tasks() <= tasks_before).await;
    }
}
