//! The gateway: TCP over a satellite link.
//!
//! Two gateways, one at each end of the link. A connection that comes in at one of them ends there; its
//! bytes travel on a connection between the gateways, and the other one connects to where it leads.

mod accept;
mod capture;
mod config;
mod counters;
mod descriptors;
mod firewall;
mod flow;
mod flows;
#[doc(hidden)]
pub mod fuzz;
mod location;
mod lookups;
mod neighbours;
mod open;
mod ops;
mod plain;
mod policy;
mod relay;
mod rivals;
mod status;
mod udp;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bentpipe_transport::xstp;
use bentpipe_units::Span;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use self::accept::Pace;
use self::counters::Traffic;
use self::open::Open;
use self::rivals::Rivals;
use crate::host::Host;
use crate::log_limit::LogLimit;
use crate::places::{Places, Rule};
use crate::times_file::TimesError;
use bentpipe_association::Tuning;
use bentpipe_association::secure::Security;
use bentpipe_association::{PublicKey, SecretKey};

pub use self::config::{
    Backup, Carriers, Config, ConfigError, ConfigErrors, Fallback, Forward, Limits, LinkConfig,
    Mode, Parsed, Password, Peer, Protocol, Proxy, Role, Transparent, Udp,
};
pub use self::counters::Counters;
pub use self::descriptors::raise as raise_descriptor_limit;
pub use self::firewall::{Firewall, Installed};
pub use self::open::Destination;
pub use self::ops::Ops;
pub use self::policy::Range;
pub use self::status::{ConnectionStatus, FlowStatus, Link, PeerStatus, Refusals, Status, Totals};

/// The service number of gateways.
const PORT: u16 = 2;
/// A far gateway that does not answer for so long is gone until it does.
const ANSWERS_WITHIN: Span = Span::from_secs(15);
/// Time between two attempts to reach a far gateway that is gone.
const RETRY: Duration = Duration::from_secs(1);

/// Most connections of which it is not known yet what they want.
const UNKNOWN: usize = 1024;

/// What opens a flow or says what became of it, and the first bytes of the application behind that: they are written
/// one after the other, and leave like that.
const UNPACED: u32 = 4;

/// A gateway at work. It ends when it is dropped.
#[derive(Debug)]
pub struct Gateway {
    inner: Arc<Inner>,
    tasks: JoinSet<io::Result<()>>,
    /// Where metrics, health and status are.
    ops: Option<SocketAddr>,
}

/// What all tasks of a gateway share.
#[derive(Debug)]
struct Inner {
    config: Config,
    host: Host,
    tuning: Arc<xstp::Config>,
    peers: BTreeMap<String, Far>,
    counters: Arc<Counters>,
    flows: Arc<flows::Flows>,
    tunnel: udp::Tunnel,
    /// Places for flows that begin here.
    places: Arc<Places>,
    /// Places for those who have connected and have not said yet what they want.
    unknown: Arc<Places>,
    policy: policy::Policy,
    lookups: Arc<lookups::Lookups>,
    /// Lines about flows that were refused.
    refusals: LogLimit,
    began: tokio::time::Instant,
}

/// A far gateway.
#[derive(Debug)]
struct Far {
    name: String,
    key: PublicKey,
    located: location::Located,
    /// It answers.
    is_up: AtomicBool,
    /// Connections that it holds up here.
    holds: AtomicUsize,
    rivals: Rivals,
    /// Lines about whether it is up.
    lines: LogLimit,
    traffic: Arc<Traffic>,
    /// Places for flows that begin there.
    places: Arc<Semaphore>,
    pace: Pace,
}

impl Gateway {
    /// Starts a gateway: when this returns, everything listens.
    ///
    /// # Errors
    /// When an address is taken, or the process may not do what the configuration asks for.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(config: Config, key: SecretKey) -> io::Result<Self> {
        // Terminals connect, hubs are connected to.
        let both = config.role == Role::Hub && config.carrier != Carriers::Udp;
        let bind = if both { Host::bind_both } else { Host::bind };
        let host = bind(config.listen, key, Security::Full).map_err(|error| {
            io::Error::new(error.kind(), format!("UDP {}: {error}", config.listen))
        })?;
        host.set_fec(config.link.fec.0);
        host.limit_memory(config.limits.memory.0, config.limits.connections);
        share(&host, &config);
        let mut peers = BTreeMap::new();
        for (name, peer) in &config.peers {
            host.allow(peer.key.0);
            let known = [&peer.address, &peer.backup].map(|at| at.as_ref().map(|at| at.0.clone()));
            let far = Far {
                name: name.clone(),
                key: peer.key.0,
                located: location::Located::new(known),
                is_up: AtomicBool::new(false),
                holds: AtomicUsize::new(0),
                rivals: Rivals::default(),
                lines: LogLimit::new(),
                traffic: Arc::default(),
                places: Arc::new(Semaphore::new(config.limits.connections)),
                pace: Pace::default(),
            };
            far.located.plan(&host, &config, far.key);
            peers.insert(name.clone(), far);
        }
        descriptors::check(&config);
        let tuning = tuning(&config).config().map_err(io::Error::other)?;
        host.listen(tuning.clone());
        let allowed = config.allow.iter().map(|range| range.0).collect();
        let inner = Arc::new(Inner {
            places: Places::new(config.limits.connections, Rule::Fair),
            unknown: unknown(),
            policy: policy::Policy::new(allowed),
            lookups: Arc::default(),
            refusals: LogLimit::new(),
            counters: Arc::default(),
            flows: Arc::default(),
            tunnel: udp::Tunnel::default(),
            began: tokio::time::Instant::now(),
            config,
            host,
            tuning,
            peers,
        });
        let mut tasks = JoinSet::new();
        capture::start(&inner, &mut tasks)?;
        let ops = ops::start(&inner, &mut tasks)?;
        tasks.spawn(accept::serve(inner.clone()));
        tasks.spawn(watch(inner.clone()));
        if inner.config.udp == Udp::Tunnel {
            tasks.spawn(udp::serve(inner.clone()));
        }
        if inner.config.role == Role::Terminal {
            for name in inner.config.peers.keys() {
                tasks.spawn(hold(inner.clone(), name.clone()));
            }
        }
        Ok(Self { inner, tasks, ops })
    }

    /// Keeps the times of requests in a file, see [`Host::keep_times`].
    ///
    /// # Errors
    /// When the file is there and cannot be read, or is not such a file.
    pub fn keep_times(&self, path: PathBuf) -> Result<(), TimesError> {
        self.inner.host.keep_times(path)
    }

    /// The UDP address between the gateways.
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.host.local_addr()
    }

    /// The TCP address of its metrics, health and status, if they are served.
    pub const fn ops_addr(&self) -> Option<SocketAddr> {
        self.ops
    }

    /// What it has done so far.
    pub fn counters(&self) -> &Counters {
        &self.inner.counters
    }

    /// What it is doing now.
    pub fn status(&self) -> Status {
        self.inner.status()
    }

    /// Whether the far gateway of this name answers.
    pub fn is_up(&self, peer: &str) -> bool {
        self.inner.peers.get(peer).is_some_and(|far| far.is_up.load(Ordering::Relaxed))
    }

    /// Takes over the rates and weights of a configuration that is otherwise the one it runs with: rain
    /// changes what a link carries. Flows that are open follow at once.
    ///
    /// # Errors
    /// When something else is different too, which needs a restart; nothing has changed then.
    pub fn reload(&self, config: &Config) -> Result<(), NeedsRestart> {
        if !self.inner.config.differs_in_rates_only(config) {
            return Err(NeedsRestart);
        }
        share(&self.inner.host, config);
        Ok(())
    }

    /// Works until something that it can not do without fails. Nothing is lost when this future is dropped:
    /// the gateway goes on by itself as long as it exists.
    ///
    /// # Errors
    /// What failed.
    pub async fn run(&mut self) -> io::Result<()> {
        while let Some(ended) = self.tasks.join_next().await {
            ended.map_err(io::Error::other)??;
        }
        Ok(())
    }

    /// Ends, and tells the far gateways, so that they do not have to find out.
    pub async fn stop(mut self) {
        self.tasks.abort_all();
        self.inner.host.shutdown().await;
    }
}

/// A configuration that differs from the one at work in more than rates and weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("only rates and weights can change at run time; restart the gateway for the rest")]
pub struct NeedsRestart;

/// Places for those who have said nothing yet: each costs a file descriptor, and most of those are for flows.
fn unknown() -> Arc<Places> {
    let all = (descriptors::limit() / 8).clamp(16, UNKNOWN);
    Places::new(all, Rule::Newest { each: all / 4 })
}

/// Shares dedicated links out.
fn share(host: &Host, config: &Config) {
    for (link, rate) in config.rates() {
        host.set_rate(link, rate);
    }
    for (link, peer, share) in config.shares() {
        host.set_share(link, peer, share);
    }
}

/// The settings of flows between gateways. They need few signs of life, because one connection, that with
/// the settings [`holding`], shows for all whether the far gateway is there.
fn tuning(config: &Config) -> Tuning {
    let tuning = settings(config);
    let keepalive = tuning.keepalive.max(tuning.patience / 3);
    Tuning { keepalive, unpaced: UNPACED, ..tuning }
}

/// The settings of the connection that holds an association up. It ends soon after the far gateway does not answer
/// any more, and is opened anew; the flows wait on, because a link that is dark comes back.
fn holding(config: &Config) -> Tuning {
    let tuning = settings(config);
    let patience = tuning.patience.min(ANSWERS_WITHIN);
    Tuning { patience, keepalive: patience / 3, ..tuning }
}

/// What all connections between gateways have.
fn settings(config: &Config) -> Tuning {
    Tuning {
        rate: config.link.rate.map(|rate| rate.0),
        controller: config.link.controller.clone(),
        buffer: Some(config.limits.buffer.0),
        patience: config.limits.patience.0,
        ..Tuning::default()
    }
}

/// Ends when nothing works any more.
async fn watch(inner: Arc<Inner>) -> io::Result<()> {
    inner.host.failed().await;
    Err(io::Error::other("the task that carries datagrams has ended"))
}

/// Keeps up the association with a peer, and knows whether it answers.
async fn hold(inner: Arc<Inner>, name: String) -> io::Result<()> {
    let far = &inner.peers[&name];
    let tuning = holding(&inner.config).config().map_err(io::Error::other)?;
    let mut was_said = false;
    loop {
        if let Err(wrong) = far.locate(&inner).await {
            if !std::mem::replace(&mut was_said, true) {
                tracing::warn!("peer {name}: {wrong}; asking again until it is found");
            }
            tokio::time::sleep(RETRY).await;
            continue;
        }
        let connecting = inner.host.connect(far.address(), far.key, PORT, tuning.clone());
        if let Ok(connection) = connecting.await
            && connection.write_bytes(open::frame(&Open::Hold)).await.is_ok()
        {
            far.say_whether_up(true);
            far.is_up.store(true, Ordering::Relaxed);
            // It says nothing; this ends when it is gone.
            while let Ok(Some(_)) = connection.read_bytes().await {}
            far.is_up.store(false, Ordering::Relaxed);
            far.say_whether_up(false);
            was_said = true;
        } else if !std::mem::replace(&mut was_said, true) {
            let address = far.address();
            tracing::warn!(
                %address,
                "peer {name}: no answer; is it up, is this its address, has each the other's key?"
            );
        }
        tokio::time::sleep(RETRY).await;
    }
}

impl Far {
    /// Where it is. That of a terminal is known once it has asked.
    fn address(&self) -> SocketAddr {
        self.located.address().unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)))
    }

    /// Says whether it is up.
    fn say_whether_up(&self, is_up: bool) {
        let name = &self.name;
        match self.lines.admit_now() {
            Some(_) if is_up => tracing::info!("peer {name}: up"),
            Some(_) => tracing::warn!("peer {name}: down"),
            None => {}
        }
    }

    /// Looks up where it is, if that is a name.
    async fn locate(&self, inner: &Inner) -> Result<(), String> {
        if self.located.by_name() {
            self.located.look_up(&self.name, &inner.lookups, inner.config.listen).await?;
            self.located.plan(&inner.host, &inner.config, self.key);
        }
        Ok(())
    }
}
