//! Who this host is, and what its requests say of it: its key, the epoch of this process, the times that have to grow,
//! and the randomness that it draws.

use bentpipe_units::{Instant, Span};

use super::times::Times;
use crate::key::{PublicKey, SecretKey};
use crate::secure::{Ephemeral, Index, Initiator, Security};

/// What is kept may be so much older than what was said last. A host whose calendar went back adds it.
const KEPT_LATE: Span = Span::from_secs(120);
/// In nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// Where randomness comes from, so that tests can repeat what they did.
pub type Entropy = Box<dyn FnMut() -> u64 + Send>;

/// This host towards others.
pub(super) struct Identity {
    security: Security,
    key: SecretKey,
    entropy: Entropy,
    /// Tells this process from those that had its key before a restart: the time of its start.
    epoch: u64,
    /// Nanoseconds of the calendar at the start of the clock.
    calendar: u64,
    /// The times in requests, of peers and of this host.
    times: Times,
    is_closed: bool,
}

impl Identity {
    /// The host with this key. `calendar` are the nanoseconds since 1970 at the time zero of the clock.
    pub(super) fn new(
        key: SecretKey,
        security: Security,
        calendar: u64,
        entropy: Entropy,
        now: Instant,
    ) -> Self {
        let epoch = calendar.saturating_add(now.as_nanos());
        Self { security, key, entropy, epoch, calendar, times: Times::default(), is_closed: false }
    }

    pub(super) const fn security(&self) -> Security {
        self.security
    }

    pub(super) const fn public_key(&self) -> PublicKey {
        self.key.public()
    }

    /// The host asks nobody and answers nobody from now on.
    pub(super) const fn close(&mut self) {
        self.is_closed = true;
    }

    pub(super) const fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// A random number.
    pub(super) fn draw(&mut self) -> u64 {
        (self.entropy)()
    }

    /// The key of one handshake.
    pub(super) fn ephemeral(&mut self) -> Ephemeral {
        Ephemeral::draw(&mut self.entropy)
    }

    /// A name for new keys that is free.
    pub(super) fn new_index(&mut self, is_free: impl Fn(Index) -> bool) -> Index {
        loop {
            let index = Index::new(self.draw() as u32);
            if is_free(index) {
                return index;
            }
        }
    }

    /// What goes with a handshake message: which epoch of this host speaks, then segments.
    pub(super) fn handshake_payload(&self, segments: &[u8]) -> Vec<u8> {
        [&self.epoch.to_be_bytes()[..], segments].concat()
    }

    /// A request to a peer, to be answered to `index`.
    pub(super) fn request(
        &mut self,
        now: Instant,
        peer: PublicKey,
        index: Index,
        segments: &[u8],
    ) -> Initiator {
        let time = self.times.ask(self.calendar_at(now));
        let payload = self.handshake_payload(segments);
        let ephemeral = self.ephemeral();
        Initiator::new(self.security, &self.key, peer, index, time, &payload, ephemeral)
    }

    /// A request of a peer came with this time. False if it is no newer than one before: it is a replay.
    pub(super) fn is_newer(&mut self, peer: PublicKey, time: u64) -> bool {
        self.times.came(peer, time)
    }

    /// Nanoseconds since 1970 at a time.
    pub(super) const fn calendar_at(&self, now: Instant) -> u64 {
        self.calendar.saturating_add(now.as_nanos())
    }

    pub(super) const fn times(&self) -> &Times {
        &self.times
    }

    /// The times as they were kept, a while before this host ended.
    pub(super) fn set_times(&mut self, mut times: Times) {
        if times.own() >= self.epoch {
            // The calendar of this host has gone back, so that only what was said counts. Where nothing could be kept,
            // processes differ at least.
            let differs = self.draw() % SECOND;
            times.add(KEPT_LATE.as_nanos() + differs);
        }
        self.epoch = times.ask(self.epoch);
        self.times = times;
    }
}
