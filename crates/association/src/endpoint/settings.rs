//! What associations that begin from now on are to be like.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use bentpipe_transport::xstp::Config;
use bentpipe_units::{ByteCount, Instant};

use super::association::Association;
use super::capacity::Ledger;
use super::carried::Carried;
use super::datagrams::Datagrams;
use super::lasting::Lasting;
use super::links::LINKS;
use super::memory::{Allowance, Memory};
use super::numbering::Numbering;
use super::parity::Fec;
use super::path_monitor::Plan;
use super::paths::Paths;
use super::route::Route;
use crate::key::PublicKey;

/// What a host was told before peers come.
#[derive(Debug)]
pub(super) struct Settings {
    /// Of connections that peers open; none when nobody may.
    listens: Option<Arc<Config>>,
    fec: Fec,
    /// What finding out the rates of links may cost in an hour, for each peer.
    learns: ByteCount,
    datagrams: Datagrams,
    allowance: Allowance,
    /// How many associations are short of memory.
    tight: Arc<AtomicUsize>,
    /// Paths to peers that this host knows several of.
    plans: BTreeMap<PublicKey, Plan>,
    /// Links that nothing may use.
    closed: BTreeSet<usize>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listens: None,
            fec: Fec::Auto,
            learns: ByteCount::ZERO,
            datagrams: Datagrams::default(),
            allowance: Allowance::UNLIMITED,
            tight: Arc::default(),
            plans: BTreeMap::new(),
            closed: BTreeSet::new(),
        }
    }
}

impl Settings {
    pub(super) fn set_fec(&mut self, fec: Fec) {
        self.fec = fec;
    }

    pub(super) fn set_learning(&mut self, an_hour: ByteCount) {
        self.learns = an_hour;
    }

    pub(super) fn set_datagrams(&mut self, datagrams: Datagrams) {
        self.datagrams = datagrams;
    }

    /// What the connections of one peer, at most so many, may hold.
    pub(super) fn limit_memory(&mut self, bytes: ByteCount, connections: usize) {
        self.allowance = Allowance::new(bytes, connections);
    }

    /// A link may be used, or not.
    pub(super) fn set_link_open(&mut self, link: usize, is_open: bool) {
        if is_open {
            self.closed.remove(&link);
        } else {
            self.closed.insert(link);
        }
    }

    pub(super) fn plan(&mut self, peer: PublicKey, plan: Plan) {
        self.plans.insert(peer, plan);
    }

    /// Peers may open connections with these settings.
    pub(super) fn listen(&mut self, config: Arc<Config>) {
        self.listens = Some(config);
    }

    /// The settings of a connection that a peer opens, if it may.
    pub(super) fn listens(&self) -> Option<Arc<Config>> {
        self.listens.clone()
    }

    pub(super) fn tight(&self) -> Arc<AtomicUsize> {
        self.tight.clone()
    }

    /// An association of host `us` with a peer, which is reached by `route` where there is no plan. The seed tells its
    /// tunnel from others.
    pub(super) fn associate(
        &self,
        now: Instant,
        us: PublicKey,
        peer: PublicKey,
        route: Route,
        lasting: Option<Lasting>,
        seed: u64,
    ) -> Association {
        // Of the two hosts one takes even numbers. None is used twice, or the peer mixes them up.
        let first = if us < peer { 2 } else { 1 };
        let new = || Lasting {
            numbering: Numbering::new(first),
            ledger: Ledger::default(),
            carried: [0; LINKS],
        };
        let lasting = lasting.unwrap_or_else(new);
        let lasting = Lasting { ledger: lasting.ledger.with_budget(self.learns), ..lasting };
        let mut paths = match self.plans.get(&peer) {
            Some(plan) => Paths::planned(now, plan),
            None => Paths::single(route),
        };
        for link in &self.closed {
            paths.set_link_open(now, *link, false);
        }
        let memory = Memory::new(self.allowance, self.tight.clone());
        let ways = (paths, Carried::new(&self.datagrams, seed));
        Association::new(peer, us > peer, ways, lasting, self.fec, memory)
    }
}
