//! The flows that are open, each as long as it is.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use tokio::sync::OwnedSemaphorePermit;

use crate::carrier::Carrier;
use crate::compression::Compression;
use crate::counters::{Counters, Traffic};
use crate::peer::Remote;
use crate::places::{Place, Stay};
use crate::whose::Target;
use crate::{Gateway, Network};
use bentpipe_association::endpoint::ConnectionRef;
use bentpipe_association::host::Host;
use bentpipe_association::host::lock;
use bentpipe_units::Instant;

/// The flows that are open, by number. Each has a permit, so that there are never more than may be open.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    flows: BTreeMap<u64, Arc<Entry>>,
}

/// What is known of an open flow.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) client: SocketAddr,
    pub(crate) destination: Target,
    pub(crate) peer: String,
    pub(crate) began: Instant,
    pub(crate) traffic: Traffic,
    /// How it gets there, once that is known.
    path: OnceLock<Path>,
}

#[derive(Clone, Copy, Debug)]
enum Path {
    Remote(ConnectionRef),
    Direct,
}

impl Entry {
    /// The connection to the remote gateway.
    pub(crate) fn connection(&self) -> Option<ConnectionRef> {
        match self.path.get() {
            Some(Path::Remote(connection)) => Some(*connection),
            _ => None,
        }
    }

    /// Whether it goes without the remote gateway.
    pub(crate) fn is_direct(&self) -> bool {
        matches!(self.path.get(), Some(Path::Direct))
    }
}

impl Flows {
    /// The flows that are open, the oldest first.
    pub(crate) fn open(&self) -> Vec<Arc<Entry>> {
        self.lock().flows.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        // A panic elsewhere leaves it as it was between two calls.
        lock(&self.open)
    }
}

/// The place of a flow among those that may be open.
#[derive(Debug)]
pub(crate) enum Room {
    /// It began here, where clients share places.
    Here(Place),
    /// It began at a remote gateway, which has places of its own.
    There { _permit: OwnedSemaphorePermit },
}

impl Room {
    /// Something was heard of the flow.
    fn touch(&self, host: &Host) {
        if let Self::Here(place) = self {
            place.touch(host.now().as_nanos() / 1_000_000);
        }
    }
}

/// An open flow: as long as this exists, it is among those that are open.
#[derive(Debug)]
pub(crate) struct Flow {
    entry: Arc<Entry>,
    flows: Arc<Flows>,
    counters: Arc<Counters>,
    peer: Arc<Traffic>,
    room: Room,
    host: Host,
    compression: Arc<Compression>,
}

impl Flow {
    /// A flow of `client` to `destination` by `remote` begins.
    pub(crate) fn begin<N: Network>(
        inner: &Gateway<N>,
        remote: &Remote,
        client: SocketAddr,
        destination: impl Into<Target>,
        room: Room,
    ) -> Self {
        Counters::add(&inner.counters.open, 1);
        Counters::add(&inner.counters.flows, 1);
        let mut open = inner.flows.lock();
        open.next += 1;
        let entry = Arc::new(Entry {
            number: open.next,
            client,
            destination: destination.into(),
            peer: remote.name.clone(),
            began: inner.host.now(),
            traffic: Traffic::default(),
            path: OnceLock::new(),
        });
        open.flows.insert(entry.number, entry.clone());
        Self {
            entry,
            flows: inner.flows.clone(),
            counters: inner.counters.clone(),
            peer: remote.traffic.clone(),
            room,
            host: inner.host.clone(),
            compression: inner.compression.clone(),
        }
    }

    /// What compresses what it carries.
    pub(crate) fn compression(&self) -> &Compression {
        &self.compression
    }

    /// The time on the clock of the host.
    pub(crate) fn now(&self) -> Instant {
        self.host.now()
    }

    /// It goes by this.
    pub(crate) fn goes_by(&self, carrier: &Carrier) {
        if let Some(connection) = carrier.reference() {
            let _ = self.entry.path.set(Path::Remote(connection));
        }
    }

    /// It goes without the remote gateway.
    pub(crate) fn goes_directly(&self) {
        let _ = self.entry.path.set(Path::Direct);
    }

    /// What is known of it.
    pub(crate) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Its client has shown that it is where it says.
    pub(crate) fn prove(&mut self) {
        if let Room::Here(place) = &mut self.room {
            place.prove();
        }
    }

    /// What is over when the place goes to another client; one that began at a remote gateway keeps its own.
    pub(crate) fn stay(&self) -> Option<Stay> {
        match &self.room {
            Room::Here(place) => Some(place.stay()),
            Room::There { .. } => None,
        }
    }

    /// So many bytes were taken from TCP.
    pub(crate) fn sent(&self, bytes: usize) {
        self.room.touch(&self.host);
        for count in [&self.counters.sent, &self.peer.sent, &self.entry.traffic.sent] {
            Counters::add(count, bytes as u64);
        }
    }

    /// So many bytes were given to TCP.
    pub(crate) fn received(&self, bytes: usize) {
        self.room.touch(&self.host);
        for count in [&self.counters.received, &self.peer.received, &self.entry.traffic.received] {
            Counters::add(count, bytes as u64);
        }
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.flows.lock().flows.remove(&self.entry.number);
        self.counters.open.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }
}
