//! The remote gateways.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bentpipe_association::PublicKey;
use bentpipe_association::host::Connection;
use bentpipe_units::Span;
use tokio::sync::Semaphore;

use crate::accept::Pace;
use crate::carrier::Bonds;
use crate::config::{Config, tuning};
use crate::counters::Traffic;
use crate::location::Located;
use crate::log_limit::LogLimit;
use crate::open::{self, Open};
use crate::rivals::Rivals;
use crate::{Gateway, Network, PORT};

/// Time between two attempts to reach a remote gateway that is unreachable.
const RETRY: Span = Span::from_secs(1);
/// Time without an answer after which that is said: some round trips of the longest path.
const SOON: Span = Span::from_secs(5);

/// A remote gateway.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) name: String,
    pub(crate) key: PublicKey,
    pub(crate) located: Located,
    /// Bonds of flows that it has begun.
    pub(crate) bonds: Bonds,
    /// It answers.
    pub(crate) is_up: AtomicBool,
    /// Connections that it holds up here.
    pub(crate) holds: AtomicUsize,
    pub(crate) rivals: Rivals,
    /// Lines about whether it is up.
    pub(crate) lines: LogLimit,
    pub(crate) traffic: Arc<Traffic>,
    /// Places for flows that begin there.
    pub(crate) places: Arc<Semaphore>,
    pub(crate) pace: Pace,
}

/// Keeps up the association with a peer, and knows whether it answers.
pub(crate) async fn hold<N: Network>(inner: Arc<Gateway<N>>, name: String) -> io::Result<()> {
    let remote = &inner.peers[&name];
    let tuning = tuning::holding(&inner.config).config().map_err(io::Error::other)?;
    let mut was_said = false;
    loop {
        if let Err(wrong) = remote.locate(&inner).await {
            if !std::mem::replace(&mut was_said, true) {
                tracing::warn!("peer {name}: {wrong}; retrying");
            }
            inner.network.sleep(RETRY).await;
            continue;
        }
        let connecting = inner.host.connect(remote.address(), remote.key, PORT, tuning.clone());
        tokio::pin!(connecting);
        // It goes on trying: who set this up wrong is told before a minute has passed.
        let connected = loop {
            tokio::select! {
                connected = &mut connecting => break connected,
                () = inner.network.sleep(SOON), if !was_said => {
                    was_said = true;
                    remote.say_silent();
                }
            }
        };
        if let Ok(connection) = connected
            && connection.write_bytes(open::frame(&Open::Hold)).await.is_ok()
        {
            remote.say_up(inner.seconds());
            remote.is_up.store(true, Ordering::Relaxed);
            let why = ended(&connection).await;
            remote.is_up.store(false, Ordering::Relaxed);
            remote.say_down(&why, inner.seconds());
            was_said = true;
        } else if !std::mem::replace(&mut was_said, true) {
            remote.say_silent();
        }
        inner.network.sleep(RETRY).await;
    }
}

/// Waits until a connection ends on which nothing is said, and tells why it did.
pub(crate) async fn ended(connection: &Connection) -> String {
    loop {
        match connection.read_bytes().await {
            Ok(Some(_)) => {}
            Ok(None) => return "it ended the connection".to_owned(),
            Err(error) => return error.to_string(),
        }
    }
}

impl Remote {
    /// The peer of this name, of which nothing was heard.
    pub(crate) fn new(name: &str, config: &Config) -> Self {
        let peer = &config.peers[name];
        Self {
            name: name.to_owned(),
            key: peer.key.0,
            located: Located::new(peer.addresses()),
            bonds: Bonds::default(),
            is_up: AtomicBool::new(false),
            holds: AtomicUsize::new(0),
            rivals: Rivals::default(),
            lines: LogLimit::new(),
            traffic: Arc::default(),
            places: Arc::new(Semaphore::new(config.limits.connections)),
            pace: Pace::default(),
        }
    }

    /// Where it is. That of a terminal is known once it has asked.
    pub(crate) fn address(&self) -> SocketAddr {
        self.located.address().unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)))
    }

    /// Says that it does not answer, and what that may come from.
    fn say_silent(&self) {
        let (name, address) = (&self.name, self.address());
        tracing::warn!(
            %address,
            "peer {name}: no answer; check that it runs, its address, and both public keys"
        );
    }

    /// Says that it is up.
    pub(crate) fn say_up(&self, second: u64) {
        if self.lines.admit(second).is_some() {
            tracing::info!("peer {}: up", self.name);
        }
    }

    /// Says that it is down, and why.
    pub(crate) fn say_down(&self, why: &str, second: u64) {
        if self.lines.admit(second).is_some() {
            tracing::warn!("peer {}: down: {why}", self.name);
        }
    }

    /// Looks up where it is, if that is a name.
    async fn locate<N: Network>(&self, inner: &Gateway<N>) -> Result<(), String> {
        if self.located.by_name() {
            self.located
                .look_up(&inner.network, &self.name, &inner.lookups, inner.config.listen)
                .await?;
            self.located.plan(&inner.host, &inner.config, self.key);
        }
        Ok(())
    }
}
