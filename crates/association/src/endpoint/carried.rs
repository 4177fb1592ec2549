//! The tunnel of an association, and whose window its packets are counted against.

use std::sync::Arc;

use bentpipe_transport::xstp::{self, SharedMember, SharedPath};
use bentpipe_tunnel::{Config, Counters, Datagram, Message, PathPlan, Protection, Tunnel};
use bentpipe_units::Instant;
use bentpipe_wire::Ecn;

use super::datagrams::Datagrams;
use super::shaper::AHEAD;

/// Datagrams of applications on their way to a peer and from it.
#[derive(Debug)]
pub(super) struct Carried {
    settings: Datagrams,
    tunnel: Box<Tunnel>,
    /// A bit for each path whose window it has a part of.
    shares: u8,
    /// The paths by which it goes.
    paths: Vec<(usize, PathPlan)>,
    /// Something was offered or came, so that it has to be looked after.
    used: bool,
}

impl Carried {
    /// Nothing is carried yet.
    pub(super) fn new(settings: &Datagrams, seed: u64) -> Self {
        let config = Config { deadline: settings.deadline, memory: Some(settings.tunnel()) };
        let tunnel = Box::new(Tunnel::new(config, seed));
        let paths = vec![(0, PathPlan::default())];
        Self { settings: settings.clone(), tunnel, shares: 0, paths, used: false }
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

    /// These paths work, the first one being used where nothing else counts.
    pub(super) fn set_paths(&mut self, now: Instant, paths: Vec<(usize, PathPlan)>) {
        if paths != self.paths {
            self.paths = paths;
            self.tunnel.set_paths(now, &self.paths);
            // What is closed has no part in a window any more.
            let open = self.paths.iter().fold(0, |open, (path, _)| open | 1 << path);
            self.shares &= open;
        }
    }

    /// The paths by which it goes, the nearest one first.
    pub(super) fn paths(&self) -> Vec<usize> {
        let nearest = self.tunnel.nearest();
        let mut paths: Vec<usize> = self.paths.iter().map(|(path, _)| *path).collect();
        paths.sort_by_key(|path| *path != nearest);
        paths
    }

    /// A link of a known rate says when something leaves by this path.
    pub(super) fn leave_window(&mut self, path: usize) {
        if self.shares & 1 << path != 0 {
            self.shares &= !(1 << path);
            self.tunnel.set_window(path, None);
        }
    }

    /// The settings of the window of this path, if what leaves by it is to be a part of that and is not yet.
    pub(super) fn wants_window(&self, path: usize) -> Option<Arc<xstp::Config>> {
        let wants = self.used && self.shares & 1 << path == 0;
        self.settings.window.clone().filter(|config| wants && SharedPath::is_for(config))
    }

    /// What leaves by this path is a part of the window of all that leave by it.
    pub(super) fn share_window(&mut self, path: usize, window: &SharedPath) {
        self.tunnel.set_window(path, Some(SharedMember::new(window)));
        self.shares |= 1 << path;
    }

    /// The next message that leaves by a path, in so many bytes.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        path: usize,
        room: usize,
        protection: Protection,
    ) -> Option<Message> {
        if !self.used {
            return None;
        }
        self.tunnel.set_protection(protection);
        self.tunnel.poll_transmit(now, path, room)
    }

    /// What came is told to the peer.
    pub(super) fn poll_report(&mut self, now: Instant) -> Option<Message> {
        if self.used { self.tunnel.poll_report(now) } else { None }
    }

    /// Whether something may leave by a path now.
    pub(super) fn is_ready(&self, now: Instant, path: usize, room: usize) -> bool {
        self.used && self.tunnel.is_ready(now, path, room)
    }

    /// The path of calls.
    pub(super) const fn nearest(&self) -> usize {
        self.tunnel.nearest()
    }

    /// Its weight among those that share a link: that of a bulk flow for each of its flows, and more than theirs where a
    /// call waits for the nearest one.
    pub(super) fn weight(&self, is_nearest: bool) -> u32 {
        let flows = self.tunnel.flows_waiting().clamp(1, AHEAD as usize) as u32;
        if is_nearest && self.tunnel.is_urgent() { AHEAD } else { flows }
    }

    /// When it has to be looked after but for what leaves as soon as there is room.
    pub(super) fn timers_due(&self) -> Option<Instant> {
        if self.used { self.tunnel.timers_due() } else { None }
    }

    /// When something leaves by a path.
    pub(super) fn deadline(&self, path: usize, room: usize) -> Option<Instant> {
        if self.used { self.tunnel.deadline(path, room) } else { None }
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
