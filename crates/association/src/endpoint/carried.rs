//! The tunnel of an association, and whose window its packets are counted against.

use std::sync::Arc;

use bentpipe_transport::xstp::{self, SharedMember, SharedPath};
use bentpipe_tunnel::{Config, Counters, Datagram, Message, Protection, Tunnel};
use bentpipe_units::Instant;
use bentpipe_wire::Ecn;

use super::datagrams::Datagrams;
use super::shaper::AHEAD;

/// Datagrams of applications on their way to a peer and from it.
#[derive(Debug)]
pub(super) struct Carried {
    settings: Datagrams,
    tunnel: Box<Tunnel>,
    /// The path whose window it has a part of.
    shares: Option<usize>,
    /// Something was offered or came, so that it has to be looked after.
    used: bool,
}

impl Carried {
    /// Nothing is carried yet.
    pub(super) fn new(settings: &Datagrams, seed: u64) -> Self {
        let config = Config { deadline: settings.deadline, memory: Some(settings.tunnel()) };
        let tunnel = Box::new(Tunnel::new(config, seed));
        Self { settings: settings.clone(), tunnel, shares: None, used: false }
    }

    /// The peer began anew, and knows nothing of what was sent.
    pub(super) fn begin_anew(&mut self, seed: u64) {
        *self = Self::new(&self.settings.clone(), seed);
    }

    pub(super) const fn tunnel(&mut self) -> &mut Tunnel {
        &mut self.tunnel
    }

    /// A datagram is to be carried; false if it is too long.
    pub(super) fn offer(&mut self, now: Instant, datagram: Datagram) -> bool {
        self.used = true;
        self.tunnel.offer(now, datagram)
    }

    pub(super) fn handle(&mut self, now: Instant, ecn: Ecn, message: Message) {
        self.used = true;
        self.tunnel.handle_message(now, ecn, message);
    }

    /// A link of a known rate says when something leaves.
    pub(super) fn leave_window(&mut self) {
        if self.shares.take().is_some() {
            self.tunnel.set_window(None);
        }
    }

    /// The settings of the window of this path, if what leaves by it is to be a part of that and is not yet.
    pub(super) fn wants_window(&self, path: usize) -> Option<Arc<xstp::Config>> {
        let wants = self.used && self.shares != Some(path);
        self.settings.window.clone().filter(|config| wants && SharedPath::is_for(config))
    }

    /// What leaves by this path is a part of the window of all that leave by it.
    pub(super) fn share_window(&mut self, path: usize, window: &SharedPath) {
        self.tunnel.set_window(Some(SharedMember::new(window)));
        self.shares = Some(path);
    }

    /// Somebody threw away what was known of a path.
    pub(super) fn forget_window(&mut self, path: usize) {
        if self.shares == Some(path) {
            self.leave_window();
        }
    }

    /// The next message, in so many bytes.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        room: usize,
        protection: Protection,
    ) -> Option<Message> {
        if !self.used {
            return None;
        }
        self.tunnel.set_protection(protection);
        self.tunnel.poll_transmit(now, room)
    }

    /// What came is told to the peer.
    pub(super) fn poll_report(&mut self, now: Instant) -> Option<Message> {
        if self.used { self.tunnel.poll_report(now) } else { None }
    }

    /// Whether something may leave now.
    pub(super) fn is_ready(&self, now: Instant, room: usize) -> bool {
        self.used && self.tunnel.is_ready(now, room)
    }

    /// Its weight among those that share a link: that of a bulk flow for each of its flows, and more than theirs where a
    /// call waits.
    pub(super) fn weight(&self) -> u32 {
        let flows = self.tunnel.flows_waiting().clamp(1, AHEAD as usize) as u32;
        if self.tunnel.is_urgent() { AHEAD } else { flows }
    }

    /// When it has to be looked after but for what leaves as soon as there is room.
    pub(super) fn timers_due(&self) -> Option<Instant> {
        if self.used { self.tunnel.timers_due() } else { None }
    }

    /// When it has to be looked after.
    pub(super) fn deadline(&self, room: usize) -> Option<Instant> {
        if self.used { self.tunnel.deadline(room) } else { None }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.used {
            self.tunnel.handle_timeout(now);
        }
    }

    /// What was done so far.
    pub(super) fn counters(&self) -> Counters {
        self.tunnel.counters()
    }
}
