//! The gateway: TCP over a satellite link.
//!
//! Two gateways, one at each end of the link. A connection that comes in at one of them ends there; its
//! bytes travel on a connection between the gateways, and the other one connects to where it leads.
//!
//! What decides is here: which flows there may be, where they may lead, how they are relayed and how they end. A
//! [`Gateway`] has a [`Host`] for the association and a [`Network`] for the rest of the world: `bentpipe-net` gives it sockets, names and
//! threads, `bentpipe-sim` gives it simulated ones.
//!
//! ```
//! use bentpipe_gateway::{Config, Role};
//!
//! let text = r#"
//!     role = "hub"
//!     key = "/etc/bentpipe/key"
//!     listen = "0.0.0.0:25300"
//!     allow = ["0.0.0.0/0"]
//!
//!     [peers.terminal]
//!     key = "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08="
//! "#;
//! let config = Config::parse("gateway.toml", text)?;
//! assert_eq!((config.role, config.peers.len()), (Role::Hub, 1));
//!
//! // What is wrong is told with its line, and what would be right.
//! let errors = Config::parse("gateway.toml", &text.replace("allow", "alow")).unwrap_err();
//! assert!(errors.to_string().contains("did you mean `allow`?"));
//! # Ok::<(), bentpipe_gateway::ConfigErrors>(())
//! ```

mod accept;
mod carrier;
mod compression;
mod config;
mod counters;
mod flow;
mod flows;
#[doc(hidden)]
pub mod fuzz;
mod location;
pub mod log_limit;
mod lookups;
mod meter;
mod network;
mod open;
mod peer;
pub mod places;
mod plain;
mod policy;
mod relay;
mod rivals;
mod status;
mod udp;
mod whose;

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bentpipe_association::endpoint::Datagrams;
use bentpipe_association::host::Host;
use bentpipe_transport::xstp;
use bentpipe_units::{ByteCount, Instant};

use self::log_limit::LogLimit;
use self::peer::Remote;
use self::places::{Kind, Place, Places, Rule};

pub use self::compression::COMPRESSES;
pub use self::config::{
    Backup, Compress, Config, ConfigError, ConfigErrors, Fallback, Forward, Limits, LinkConfig,
    LinkUse, Mode, Ops, OuterMode, Parsed, Password, Peer, Protocol, Proxy, Role, Transparent,
    UdpConfig, UdpMode, old_keys, schema,
};
pub use self::counters::Counters;
pub use self::flow::{Begun, Reach};
pub use self::meter::{Month, Usage};
pub use self::network::{Network, Received, Surroundings, Tasks, Tcp, TcpReader, Udp};
pub use self::open::{Destination, Verdict};
pub use self::policy::Range;
#[doc(hidden)]
pub use self::status::testing;
pub use self::status::{
    ConnectionStatus, FlowStatus, LinkStatus, PeerStatus, Refusals, Status, Totals,
};
pub use self::udp::Here;
pub use self::whose::Target;

/// The service number of gateways.
const PORT: u16 = 2;

/// What a gateway does for as long as it exists.
pub type Work = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

/// A gateway, shared by all that it does.
#[derive(Debug)]
pub struct Gateway<N> {
    config: Config,
    host: Host,
    network: N,
    tuning: Arc<xstp::Config>,
    peers: BTreeMap<String, Remote>,
    counters: Arc<Counters>,
    flows: Arc<flows::Flows>,
    tunnel: udp::Tunnel,
    /// Places for flows that begin here.
    places: Arc<Places>,
    /// Places for those who have connected and have not said yet what they want.
    unknown: Arc<Places>,
    policy: policy::Policy,
    lookups: Arc<lookups::Lookups>,
    meter: meter::Meter,
    compression: Arc<compression::Compression>,
    /// Lines about flows that were refused.
    refusals: LogLimit,
    began: Instant,
}

impl<N: Network> Gateway<N> {
    /// A gateway on a host that nobody else uses, with so many places for those who have not said yet what they want. It does
    /// nothing before [`Gateway::work`].
    ///
    /// # Errors
    /// When the settings of its connections cannot be.
    pub fn new(config: Config, host: Host, network: N, unknown: usize) -> io::Result<Self> {
        host.set_fec(config.link.fec.0);
        host.set_learning(config.link.learning());
        let of_datagrams = config.udp.memory(config.limits.memory.0);
        let memory = config.limits.memory.0 - of_datagrams.unwrap_or(ByteCount::ZERO);
        host.limit_memory(memory, config.limits.connections);
        share(&host, &config);
        let mut peers = BTreeMap::new();
        for name in config.peers.keys() {
            let remote = Remote::new(name, &config);
            host.allow(remote.key);
            remote.located.plan(&host, &config, remote.key);
            peers.insert(name.clone(), remote);
        }
        let tuning = config::tuning::flows(&config).config().map_err(io::Error::other)?;
        host.listen(tuning.clone());
        let window = Some(tuning.clone());
        let memory = of_datagrams;
        host.set_datagrams(Datagrams { deadline: config.udp.deadline, window, memory });
        let allowed = config.allow.iter().map(|range| range.0).collect();
        Ok(Self {
            places: Places::new(config.limits.connections, Rule::Fair),
            unknown: Places::new(unknown, Rule::Newest { each: unknown / 4 }),
            policy: policy::Policy::new(allowed),
            lookups: Arc::default(),
            meter: meter::Meter::new(Month::of(network.calendar())),
            compression: Arc::new(compression::Compression::new(config.link.compression.is_on())),
            refusals: LogLimit::new(),
            counters: Arc::default(),
            flows: Arc::default(),
            tunnel: udp::Tunnel::default(),
            began: host.now(),
            config,
            host,
            network,
            tuning,
            peers,
        })
    }

    /// What it does beside letting clients in: futures that never end, unless something fails that it cannot do without.
    pub fn work(self: &Arc<Self>) -> Vec<Work> {
        let mut work: Vec<Work> = vec![Box::pin(accept::serve(self.clone()))];
        if self.config.udp.mode == UdpMode::Tunnel {
            work.push(Box::pin(udp::serve(self.clone())));
        }
        if self.config.caps().next().is_some() {
            work.push(Box::pin(meter::watch(self.clone())));
        }
        if self.config.role == Role::Terminal {
            for name in self.config.peers.keys() {
                work.push(Box::pin(peer::hold(self.clone(), name.clone())));
            }
        }
        work
    }

    /// Its configuration.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What carries its associations.
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// Places for those who have connected and have not said yet what they want.
    pub const fn unknown(&self) -> &Arc<Places> {
        &self.unknown
    }

    /// A place among those of flows, for a client who says later which ones it wants.
    pub fn place(&self, client: IpAddr) -> Option<Place> {
        self.places.take(client, Kind::Connection, self.millis())
    }

    /// Something was heard of whoever has this place.
    pub fn heard_of(&self, place: &Place) {
        place.touch(self.millis());
    }

    /// What it has done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What it is doing now.
    pub fn status(&self) -> Status {
        Status::of(self)
    }

    /// The same without the flows, of which there may be many.
    pub fn overview(&self) -> Status {
        Status::without_flows(self)
    }

    /// What links have carried in this month up to now; none where no link has a cap.
    pub fn usage(&self) -> Option<Usage> {
        self.config.caps().next()?;
        self.look_after_caps();
        Some(self.meter.usage())
    }

    /// Goes on with what was counted before a restart: to be called before anything is sent.
    pub fn resume_usage(&self, kept: Usage) {
        self.meter.resume(kept);
        self.look_after_caps();
    }

    fn look_after_caps(&self) {
        self.meter.look_after(&self.host, self.network.calendar(), self.config.caps());
    }

    /// Whether the remote gateway of this name answers.
    pub fn is_up(&self, peer: &str) -> bool {
        self.peers.get(peer).is_some_and(|remote| remote.is_up.load(Ordering::Relaxed))
    }

    /// Takes over the rates and weights of a configuration that is otherwise the one it runs with: rain
    /// changes what a link carries. Flows that are open follow at once.
    ///
    /// # Errors
    /// When something else is different too, which needs a restart; nothing has changed then.
    pub fn reload(&self, config: &Config) -> Result<(), NeedsRestart> {
        if !self.config.differs_in_rates_only(config) {
            return Err(NeedsRestart);
        }
        share(&self.host, config);
        Ok(())
    }

    /// Seconds on the clock of the host.
    fn seconds(&self) -> u64 {
        self.millis() / 1000
    }

    /// The same in milliseconds.
    fn millis(&self) -> u64 {
        self.host.now().as_nanos() / 1_000_000
    }
}

/// A configuration that differs from the one at work in more than rates and weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("only rates and weights can change at run time; restart the gateway for the rest")]
pub struct NeedsRestart;

/// Shares dedicated links out.
fn share(host: &Host, config: &Config) {
    for (link, rate) in config.rates() {
        host.set_rate(link, rate);
    }
    for (link, peer, share) in config.shares() {
        host.set_share(link, peer, share);
    }
}
