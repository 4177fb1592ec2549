//! The gateway on Linux: its sockets, its firewall, its proxies and what operators see. What decides is in `bentpipe-gateway`.

mod capture;
mod config_file;
mod descriptors;
mod firewall;
#[doc(hidden)]
pub mod fuzz;
mod neighbours;
mod ops;
mod streams;
mod system;
mod usage_file;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use bentpipe_association::SecretKey;
use bentpipe_association::secure::Security;
use bentpipe_gateway::{Config, Counters, NeedsRestart, OuterMode, Role, Status};
use tokio::task::JoinSet;

use self::streams::Stream;
use self::system::System;
use crate::host::Host;
use crate::kept::{self, Keeper};
use crate::times_file::TimesError;

pub use self::config_file::{doubt, load};
pub use self::descriptors::raise as raise_descriptor_limit;
pub use self::firewall::{Firewall, Installed};
pub use self::ops::is_meant;
pub use self::usage_file::UsageError;

/// Most connections of which it is not known yet what they want.
const UNKNOWN: usize = 1024;

/// What all tasks of a gateway share.
type Inner = bentpipe_gateway::Gateway<System>;
/// A flow on its way.
type Begun = bentpipe_gateway::Begun<Stream>;

/// The files in which a gateway keeps something over a restart. Each is written once a minute if there is anything new, and by
/// [`Gateway::stop`]; what has none is not kept.
#[derive(Clone, Debug, Default)]
pub struct KeptFiles {
    /// The times of requests, see [`Host::keep_times`].
    pub times: Option<PathBuf>,
    /// What the paths to peers carried, see [`Host::keep_paths`].
    pub paths: Option<PathBuf>,
    /// What links with a cap have carried in this month.
    pub usage: Option<PathBuf>,
}

/// Why a gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The system does not permit it.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The times of requests cannot be read.
    #[error(transparent)]
    Times(#[from] TimesError),
    /// What links have carried cannot be read.
    #[error(transparent)]
    Usage(#[from] UsageError),
}

/// A gateway at work. It ends when it is dropped.
#[derive(Debug)]
pub struct Gateway {
    inner: Arc<Inner>,
    host: Host,
    tasks: JoinSet<io::Result<()>>,
    /// Where metrics, health and status are.
    ops: Option<SocketAddr>,
    /// Where what links have carried in a month is kept.
    usage: Option<PathBuf>,
}

impl Gateway {
    /// Starts a gateway: when this returns, everything listens. What was kept is known before the first word to a peer.
    ///
    /// # Errors
    /// When an address is taken, the process may not do what the configuration asks for, or a file that is kept cannot be read.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(config: Config, key: SecretKey, kept: KeptFiles) -> Result<Self, StartError> {
        // Terminals connect, hubs are connected to.
        let both = config.role == Role::Hub && config.outer != OuterMode::Udp;
        let (bind, what): (fn(_, _, _) -> _, _) =
            if both { (Host::bind_both, "UDP and TCP") } else { (Host::bind, "UDP") };
        let host = bind(config.listen, key, Security::Full).map_err(|error| {
            io::Error::new(error.kind(), format!("{what} {}: {error}", config.listen))
        })?;
        if let Some(times) = kept.times {
            host.keep_times(times)?;
        }
        if let Some(paths) = kept.paths {
            host.keep_paths(paths);
        }
        descriptors::check(&config);
        // Each costs a file descriptor, and most of those are for flows.
        let unknown = (descriptors::limit() / 8).clamp(16, UNKNOWN);
        let inner = Inner::new(config, (*host).clone(), System::default(), unknown)?;
        let inner = Arc::new(inner);
        let mut tasks = JoinSet::new();
        let usage = kept.usage.map(|path| keep_usage(&inner, path, &mut tasks)).transpose()?;
        capture::start(&inner, &mut tasks)?;
        let ops = ops::start(&inner, &host, &mut tasks)?;
        for work in inner.work() {
            tasks.spawn(work);
        }
        tasks.spawn(monitor(host.clone()));
        Ok(Self { inner, host, tasks, ops, usage: usage.flatten() })
    }

    /// The UDP address between the gateways.
    pub fn local_addr(&self) -> SocketAddr {
        self.host.local_addr()
    }

    /// The TCP address of its metrics, health and status, if they are served.
    pub const fn ops_addr(&self) -> Option<SocketAddr> {
        self.ops
    }

    /// What it has done so far.
    pub fn counters(&self) -> &Counters {
        self.inner.counters()
    }

    /// What it is doing now.
    pub fn status(&self) -> Status {
        self.inner.status()
    }

    /// Whether the remote gateway of this name answers.
    pub fn is_up(&self, peer: &str) -> bool {
        self.inner.is_up(peer)
    }

    /// Takes over the rates and weights of a configuration that is otherwise the one it runs with, see
    /// [`bentpipe_gateway::Gateway::reload`].
    ///
    /// # Errors
    /// When something else is different too, which needs a restart; nothing has changed then.
    pub fn reload(&self, config: &Config) -> Result<(), NeedsRestart> {
        self.inner.reload(config)
    }

    /// Works until something that it cannot do without fails. Nothing is lost when this future is dropped:
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

    /// Ends, and tells the remote gateways, so that they do not have to find out.
    pub async fn stop(mut self) {
        self.tasks.abort_all();
        self.host.shutdown().await;
        // What was carried until now counts as well.
        if let (Some(path), Some(usage)) = (&self.usage, self.inner.usage()) {
            Keeper::new(path.clone(), None).save_last(&usage).await;
        }
    }
}

/// Takes over what links with a cap carried before, and writes what they carry once a minute; nothing where none has a cap.
fn keep_usage(
    inner: &Arc<Inner>,
    path: PathBuf,
    tasks: &mut JoinSet<io::Result<()>>,
) -> Result<Option<PathBuf>, UsageError> {
    if inner.usage().is_none() {
        return Ok(None);
    }
    let kept = usage_file::load(&path)?;
    if let Some(usage) = kept.clone() {
        inner.resume_usage(usage);
    }
    let mut keeper = Keeper::new(path.clone(), kept);
    if let Some(usage) = inner.usage() {
        // Whether it can be written is said now, and not in a minute.
        keeper.save(&usage);
    }
    let inner = inner.clone();
    tasks.spawn(async move {
        loop {
            tokio::time::sleep(kept::PAUSE).await;
            if let Some(usage) = inner.usage() {
                let saving = tokio::task::spawn_blocking(move || {
                    keeper.save(&usage);
                    keeper
                });
                keeper = saving.await.map_err(io::Error::other)?;
            }
        }
    });
    Ok(Some(path))
}

/// Ends when nothing works any more.
async fn monitor(host: Host) -> io::Result<()> {
    host.failed().await;
    Err(io::Error::other("the task that carries datagrams has ended"))
}
