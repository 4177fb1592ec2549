//! A host on the network: a socket, its endpoint, and the task that runs both.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bentpipe_association::SecretKey;
use bentpipe_association::endpoint::{Endpoint, parity};
use bentpipe_association::host::{self, Shared};
use bentpipe_association::secure::Security;
use bentpipe_units::Instant;
use tokio::net::TcpListener;

use crate::kept::Keeper;
use crate::outer_tcp::OuterTcp;
use crate::paths_file;
use crate::socket::Socket;
use crate::sockets;
use crate::task::{self, Life};
use crate::times_file::{self, TimesError};
use bentpipe_system::Clock;

/// Batches received before what they ask for is sent.
const BATCHES: usize = 4;
/// Time to send what says that a host ends.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(200);
/// Time between two looks whether it was sent.
const LOOK: Duration = Duration::from_millis(5);

/// A host on a socket; what applications do with it is in [`host::Host`]. Clones are the same host.
///
/// It goes on in the background, on the runtime that it was made on, until the last clone and
/// the last connection are gone.
#[derive(Clone, Debug)]
pub struct Host {
    host: host::Host,
    life: Arc<Life>,
    local: SocketAddr,
    /// Where the times of requests are kept, and what paths carried.
    times: Arc<OnceLock<PathBuf>>,
    paths: Arc<OnceLock<PathBuf>>,
}

impl Deref for Host {
    type Target = host::Host;

    fn deref(&self) -> &host::Host {
        &self.host
    }
}

impl Host {
    /// A host with this key at this address. Peers have to be [allowed](host::Host::allow) before they can
    /// reach it, and to have the same `security`.
    ///
    /// # Errors
    /// When the address is taken or not one of this machine.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn bind(address: SocketAddr, key: SecretKey, security: Security) -> io::Result<Self> {
        let socket = Socket::bind(address)?;
        Self::on(socket, None, key, security)
    }

    /// As [`Host::bind`], and peers that cannot reach it by UDP do so by TCP, at the same address.
    ///
    /// # Errors
    /// When the address is taken or not one of this machine.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn bind_both(address: SocketAddr, key: SecretKey, security: Security) -> io::Result<Self> {
        let (socket, listener) =
            Socket::bind_beside(address, |local| sockets::listen(local, false))?;
        Self::on(socket, Some(listener), key, security)
    }

    fn on(
        socket: Socket,
        listener: Option<TcpListener>,
        key: SecretKey,
        security: Security,
    ) -> io::Result<Self> {
        let local = socket.local_addr()?;
        let clock = Clock::start();
        let entropy = || getrandom::u64().expect("the system's source of randomness");
        let endpoint =
            Endpoint::new(key, security, clock.calendar(), Box::new(entropy), clock.now());
        tokio::task::spawn_blocking(parity::prepare);
        let shared = Arc::new(Shared::new(endpoint, Arc::new(clock)));
        let outer_tcp = OuterTcp::new(shared.clone(), listener);
        let life = Arc::<Life>::default();
        let task = run(socket, outer_tcp, shared.clone(), clock, life.clone());
        let host = host::Host::new(task::run(shared, life.clone(), task));
        Ok(Self { host, life, local, times: Arc::default(), paths: Arc::default() })
    }

    /// The address that it is bound to.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Whether the task that carries datagrams does something within this time when it is asked to.
    pub async fn answers(&self, limit: Duration) -> bool {
        self.life.answers(self.shared(), limit).await
    }

    /// Waits until the task that carries datagrams has ended, which it never does by itself: nothing works any more,
    /// and the process should end.
    pub async fn failed(&self) {
        self.life.ended().await;
    }

    /// Keeps the times of requests in this file, from which those of before are taken: to be called before anything
    /// is sent. It is written now, then once a minute if there is anything new, and by [`Host::shutdown`].
    ///
    /// # Errors
    /// When the file is there and cannot be read, or is not such a file.
    pub fn keep_times(&self, path: PathBuf) -> Result<(), TimesError> {
        let times = times_file::load(&path)?;
        let shared = self.shared();
        let mut keeper = Keeper::new(path.clone(), Some(times.clone()));
        let times = {
            let mut endpoint = shared.endpoint();
            endpoint.set_times(times);
            endpoint.times().clone()
        };
        // Where another process is at it, it is written in a minute.
        keeper.save(&times);
        tokio::spawn(keeper.run(Arc::downgrade(shared), |endpoint| endpoint.times().clone()));
        // Who calls this twice keeps the first file up to date at the end.
        let _ = self.times.set(path);
        Ok(())
    }

    /// Keeps what the paths to peers carry in this file, from which what they carried before is taken: to be called before anything
    /// is sent. It is written once a minute if there is anything new, and by [`Host::shutdown`]. A file that cannot be read is as
    /// good as none.
    pub fn keep_paths(&self, path: PathBuf) {
        let memory = paths_file::load(&path);
        let shared = self.shared();
        let keeper = Keeper::new(path.clone(), Some(memory.clone()));
        shared.endpoint().set_path_memory(memory);
        tokio::spawn(keeper.run(Arc::downgrade(shared), Endpoint::path_memory));
        let _ = self.paths.set(path);
    }

    /// Ends all connections, tells the peers so, and returns when that has been sent or cannot be.
    pub async fn shutdown(&self) {
        let shared = self.shared();
        let memory = shared.endpoint().path_memory();
        self.close();
        let sent = async {
            loop {
                tokio::time::sleep(LOOK).await;
                if shared.endpoint().outbox().is_empty() {
                    break;
                }
            }
        };
        // Nobody has to wait for a socket that is full.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, sent).await;
        if let Some(path) = self.times.get() {
            let times = shared.endpoint().times().clone();
            Keeper::new(path.clone(), None).save_last(&times).await;
        }
        if let Some(path) = self.paths.get() {
            Keeper::new(path.clone(), None).save_last(&memory).await;
        }
    }
}

/// Runs a socket and its endpoint for ever.
async fn run(
    mut socket: Socket,
    mut outer_tcp: OuterTcp,
    shared: Arc<Shared<Endpoint>>,
    clock: Clock,
    life: Arc<Life>,
) {
    loop {
        let (deadline, full) = turn(&mut socket, &mut outer_tcp, &shared);
        life.answer();
        tokio::select! {
            () = poll_fn(|cx| socket.poll_ready(cx, full)) => {}
            () = shared.changed.notified() => {}
            () = clock.sleep_until(deadline) => {}
        }
    }
}

/// Receives, lets the time pass, sends. Returns the next deadline and whether the socket is full.
fn turn(
    socket: &mut Socket,
    outer_tcp: &mut OuterTcp,
    shared: &Shared<Endpoint>,
) -> (Option<Instant>, bool) {
    let mut endpoint = shared.endpoint();
    let now = shared.now();
    for _ in 0..BATCHES {
        let mut each = |from, ecn, datagram: &[u8]| {
            endpoint.handle_datagram(now, from, ecn, datagram);
        };
        if !socket.receive(&mut each) {
            break;
        }
    }
    endpoint.handle_timeout(now);
    endpoint.flush(now);
    let full = socket.send_all(endpoint.outbox(), |train| outer_tcp.send(train));
    (endpoint.next_deadline(), full)
}
