//! Transfers that are broken off everywhere: senders are killed, receivers start again and lose power, addresses change,
//! disks fail and fill up, with random seeds. BENTPIPE_TRANSFER_STORMS says how many; a run of one is repeated with
//! BENTPIPE_TRANSFER_SEED.

mod slow;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bentpipe_association::{SecretKey, Security, Tuning};
use bentpipe_net::Host;
use bentpipe_net::transfer::{Links, entries, receive, send};
use bentpipe_transfer::memory_disk::MemoryDisk;
use bentpipe_transfer::{Entry, Outcome, PORT, Rules, TransferError};
use bentpipe_units::Span;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use slow::Proxy;

/// Storms without a word.
const STORMS: u64 = 60;
/// Those at the same time.
const AT_ONCE: u64 = 6;
/// A run that takes longer is stuck: its parts take a second.
const STUCK: Duration = Duration::from_secs(120);

type Random = Xoshiro256PlusPlus;

/// Something happens after so many events.
#[derive(Debug, Default)]
struct Fuse {
    left: AtomicU64,
    burnt: Notify,
}

impl Fuse {
    fn new(events: u64) -> Arc<Self> {
        Arc::new(Self { left: AtomicU64::new(events), burnt: Notify::new() })
    }

    fn event(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.burnt.notify_one();
        }
    }
}

/// The receiver's side: a program that can be killed, and its disk.
struct Receiver {
    key: SecretKey,
    peer: SecretKey,
    address: SocketAddr,
    disk: MemoryDisk,
    fuse: Arc<Mutex<Arc<Fuse>>>,
    task: JoinHandle<()>,
}

impl Receiver {
    async fn start(key: SecretKey, peer: SecretKey, disk: MemoryDisk) -> Self {
        let fuse = Arc::new(Mutex::new(Fuse::new(u64::MAX)));
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (address, task) = serve(&key, &peer, any, disk.clone(), fuse.clone()).await;
        Self { key, peer, address, disk, fuse, task }
    }

    /// Kills the program and starts it again; meanwhile the machine may lose power.
    async fn restart(&mut self, power: bool) {
        self.task.abort();
        let _ = (&mut self.task).await;
        if power {
            self.disk.lose_power();
        }
        let disk = self.disk.clone();
        let (_, task) = serve(&self.key, &self.peer, self.address, disk, self.fuse.clone()).await;
        self.task = task;
    }
}

async fn serve(
    key: &SecretKey,
    peer: &SecretKey,
    address: SocketAddr,
    disk: MemoryDisk,
    fuse: Arc<Mutex<Arc<Fuse>>>,
) -> (SocketAddr, JoinHandle<()>) {
    let host = loop {
        // The socket of the one that was killed is closed when its task has ended.
        match Host::bind(address, key.clone(), Security::Full) {
            Ok(host) => break host,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    host.allow(peer.public());
    host.listen(Tuning::default().config().expect("settings"));
    let local = host.local_addr();
    let task = tokio::spawn(async move {
        // The transfers end with the program.
        let mut transfers = tokio::task::JoinSet::new();
        loop {
            let connection = host.accept().await;
            let rules = Rules { sender: Some(connection.peer().to_string()), overwrite: false };
            let (disk, fuse) = (disk.clone(), fuse.clone());
            transfers.spawn(async move {
                let event = |_| fuse.lock().expect("a fuse").event();
                let _ = receive(&connection, disk, rules, event).await;
                let _ = connection.finish().await;
            });
        }
    });
    (local, task)
}

struct Storm {
    random: Random,
    keys: [SecretKey; 2],
    source: TempDir,
    files: BTreeMap<PathBuf, Vec<u8>>,
    receiver: Receiver,
    proxy: Proxy,
}

impl Storm {
    async fn new(seed: u64) -> Self {
        let mut random = Random::seed_from_u64(seed);
        let mut keys = [(); 2].map(|()| SecretKey::generate());
        // Both orders of keys.
        if (keys[0].public() < keys[1].public()) != seed.is_multiple_of(2) {
            keys.reverse();
        }
        let disk = MemoryDisk::new(seed);
        let receiver = Receiver::start(keys[1].clone(), keys[0].clone(), disk).await;
        let delay = Duration::from_millis(random.random_range(0..8));
        let proxy = Proxy::start(receiver.address, delay).await;
        let source = TempDir::new().expect("a directory");
        let mut storm = Self { random, keys, source, files: BTreeMap::new(), receiver, proxy };
        storm.make_tree(seed);
        storm
    }

    fn make_tree(&mut self, seed: u64) {
        let root = self.source.path().join("tree");
        fs::create_dir_all(root.join("deep")).expect("made");
        let (count, most) =
            if seed.is_multiple_of(4) { (200, 3_000) } else { (1 + seed % 6, 900_000) };
        for n in 0..count {
            let name = if n % 3 == 0 { format!("deep/{n}") } else { n.to_string() };
            let mut bytes = vec![0; self.random.random_range(0..most)];
            self.random.fill(&mut bytes[..]);
            fs::write(root.join(&name), &bytes).expect("written");
            self.files.insert(Path::new("tree").join(name), bytes);
        }
    }

    fn entries(&self) -> Vec<Entry> {
        let (found, errors) = entries(&[self.source.path().join("tree")], Links::Skip);
        assert!(errors.is_empty(), "{errors:?}");
        found
    }

    /// A program that sends, until it is through or the fuse has burnt.
    async fn send(&self, fuse: &Fuse) -> Option<Result<Outcome, TransferError>> {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let client = Host::bind(any, self.keys[0].clone(), Security::Full).expect("a client");
        let tuning = Tuning { idle_timeout: Span::from_secs(4), ..Tuning::default() };
        let config = tuning.persistent_config().expect("settings");
        let found = self.entries();
        let peer = self.keys[1].public();
        let work = async {
            let connection = client.connect(self.proxy.address, peer, PORT, config).await?;
            let sent = send(&connection, &found, |_| fuse.event()).await?;
            let _ = connection.finish().await;
            Ok(sent)
        };
        tokio::select! {
            sent = work => Some(sent),
            () = fuse.burnt.notified() => None,
        }
    }

    /// A run in which something breaks.
    async fn attempt(&mut self) {
        if self.random.random_ratio(1, 3) {
            let room =
                self.random.random_ratio(1, 2).then(|| self.random.random_range(0..1_000_000));
            let (failures, lies) =
                (self.random.random_range(0..40), self.random.random_range(0..20));
            self.receiver.disk.fail(failures, lies, room);
        }
        let most = if self.files.len() > 100 { 700 } else { 24 };
        let fuse = Fuse::new(self.random.random_range(1..most));
        if self.random.random_ratio(1, 2) {
            // What happens at the receiver counts.
            *self.receiver.fuse.lock().expect("a fuse") = fuse.clone();
        }
        match self.random.random_range(0..8) {
            // The address changes under way.
            0 | 1 => {
                let never = Fuse::new(u64::MAX);
                let moves = async {
                    fuse.burnt.notified().await;
                    self.proxy.change_port().await;
                    std::future::pending::<()>().await;
                };
                *self.receiver.fuse.lock().expect("a fuse") = fuse.clone();
                tokio::select! {
                    sent = self.send(&never) => self.judge(&sent),
                    () = moves => {}
                }
            }
            // The receiver is killed and the sender goes on until it notices.
            2 => {
                let never = Fuse::new(u64::MAX);
                *self.receiver.fuse.lock().expect("a fuse") = fuse.clone();
                let mut sent = None;
                let died = {
                    let sending = self.send(&never);
                    tokio::select! {
                        done = sending => { sent = done; false }
                        () = fuse.burnt.notified() => true,
                    }
                };
                self.judge(&sent);
                let power = died && self.random.random_ratio(1, 2);
                self.receiver.restart(power).await;
            }
            // The sender is killed.
            _ => {
                let sent = self.send(&fuse).await;
                self.judge(&sent);
            }
        }
        if self.random.random_ratio(1, 4) {
            self.receiver.restart(self.random.random_ratio(1, 2)).await;
        }
        *self.receiver.fuse.lock().expect("a fuse") = Fuse::new(u64::MAX);
        self.check(false);
    }

    fn judge(&self, sent: &Option<Result<Outcome, TransferError>>) {
        if let Some(Ok(outcome)) = sent
            && outcome.failed == 0
        {
            self.check(true);
        }
    }

    /// Every file is whole or absent; after a success none is absent.
    fn check(&self, success: bool) {
        for (path, bytes) in &self.files {
            match self.receiver.disk.bytes(path) {
                Some(there) => assert!(there == *bytes, "{}: other bytes", path.display()),
                None => assert!(!success, "{} is missing after a success", path.display()),
            }
        }
    }

    async fn run(mut self) {
        for _ in 0..self.random.random_range(1..5) {
            self.attempt().await;
        }
        // When everything works again, so does the transfer.
        self.receiver.disk.fail(0, 0, None);
        let never = Fuse::new(u64::MAX);
        let outcome = self.send(&never).await.expect("a result").expect("a success");
        assert_eq!(outcome.failed, 0);
        self.check(true);
        let before = self.receiver.disk.paths();
        let again = self.send(&never).await.expect("a result").expect("a success");
        assert_eq!((again.failed, again.done), (0, outcome.done));
        self.check(true);
        assert_eq!(self.receiver.disk.paths(), before);
        assert!(!before.iter().any(|path| path.to_string_lossy().ends_with("-part")), "{before:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_breaks_off_a_transfer_every_file_is_whole_or_absent() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds: Vec<u64> = match number("BENTPIPE_TRANSFER_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("BENTPIPE_TRANSFER_STORMS").unwrap_or(STORMS)).collect(),
    };
    let places = Arc::new(tokio::sync::Semaphore::new(AT_ONCE as usize));
    let mut storms = tokio::task::JoinSet::new();
    for seed in seeds {
        let places = places.clone();
        storms.spawn(async move {
            let _place = places.acquire_owned().await.expect("a place");
            let storm = tokio::spawn(async move { Storm::new(seed).await.run().await });
            let ended = tokio::time::timeout(STUCK, storm).await;
            let ended = ended.unwrap_or_else(|_| panic!("seed {seed} is stuck"));
            ended.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        });
    }
    while let Some(ended) = storms.join_next().await {
        ended.expect("a storm that ended well");
    }
}
