//! Connections take paths to their peer, and what they share there: rounds on the shaper of the link where there is
//! one, and otherwise one window, in which short objects go ahead of bulk.
//!
//! Each for itself, they would fill the queue of the link together and a new one would have to find out in many
//! round trips what the others know.

use std::sync::Arc;

use bentpipe_transport::xstp::{Config, SharedPath};
use bentpipe_units::Instant;

use super::super::links::LINKS;
use super::Association;
use super::context::PeerContext;

impl Association {
    /// The window that all share who leave by this path. Where there is none yet it has these settings, and begins with
    /// what the path is known or remembered to carry.
    pub(super) fn window(&mut self, path: usize, config: &Arc<Config>) -> Option<&SharedPath> {
        let remembered = self.before.paths[self.paths.get(path).link()];
        let slot = self.shared.get_mut(path)?;
        Some(slot.get_or_insert_with(|| {
            let window = SharedPath::new(config.clone());
            if let Some(remembered) = remembered {
                window.remember(remembered);
            }
            if let Some(learned) = self.prober.learned(path) {
                window.know(learned.at, learned.known, learned.received);
            }
            window
        }))
    }
}

impl PeerContext<'_> {
    /// The path for another connection: the one in use, or the one with the fewest connections for its rate if they
    /// are spread.
    pub(super) fn choose_path(&self) -> usize {
        let paths = self.association.paths.open();
        let [path] = paths[..] else { return self.emptiest(&paths) };
        path
    }

    fn emptiest(&self, paths: &[usize]) -> usize {
        let association = &*self.association;
        let load = |path: usize| {
            let on_it = |(_, id): &(u32, usize)| self.connections.get(*id).path() == path;
            let connections = association.roster.iter().filter(on_it).count() as u128;
            let link = association.paths.get(path).link();
            // Without a known rate all are taken for equal.
            let rate =
                association.shapers[link].as_ref().map_or(1, |own| own.link().carried().as_bps());
            (connections + 1, u128::from(rate.max(1)))
        };
        let less = |a: &usize, b: &usize| {
            let ((m, r), (n, s)) = (load(*a), load(*b));
            (m * s).cmp(&(n * r))
        };
        paths.iter().copied().min_by(less).unwrap_or(association.paths.main())
    }

    /// The path that a connection has to take in place of its own. One that is bound to a link waits until that works.
    fn better_path(&self, id: usize) -> Option<usize> {
        let (connection, paths) = (self.connections.get(id), &self.association.paths);
        match connection.bound() {
            Some(link) => paths.by_link(link).filter(|path| *path != connection.path()),
            None => paths.must_leave(connection.path()).then(|| self.choose_path()),
        }
    }

    /// A connection keeps to this link from now on.
    pub(in crate::endpoint) fn bind(&mut self, now: Instant, id: usize, link: usize) {
        self.connections.get_mut(id).bind(link);
        self.place(now, id);
    }

    /// A link may be used from now on, or no more.
    pub(in crate::endpoint) fn set_link_open(&mut self, now: Instant, link: usize, is_open: bool) {
        if self.association.paths.set_link_open(now, link, is_open) {
            self.switch(now);
        }
        self.set_timer(now);
    }

    /// Paths to the peer have changed: connections whose path does not work take another one, and segments are
    /// as long as theirs carries.
    pub(in crate::endpoint) fn switch(&mut self, now: Instant) {
        for id in self.association.roster.all() {
            self.place(now, id);
        }
    }

    /// A connection takes another path if its own does not work, and its place among those that share it.
    fn place(&mut self, now: Instant, id: usize) {
        let before = self.connections.get(id).path();
        if let Some(path) = self.better_path(id) {
            self.leave_shaper(id);
            if self.connections.get(id).bound().is_none() {
                self.forget_window(before);
            }
            self.connections.get_mut(id).take_path(now, path);
            self.join_others(now, id);
            self.connections.mark_dirty(id);
        }
        let connection = self.connections.get_mut(id);
        // The peer may have told that the path begins with another link.
        let link = self.association.paths.get(connection.path()).link();
        let shapers = &mut self.association.shapers;
        if !connection.is_shaped_on(link) && connection.join_shaper(now, id, link, shapers) {
            self.connections.mark_dirty(id);
        }
        let connection = self.connections.get_mut(id);
        let room = self.association.payload_room(connection.number(), connection.path());
        connection.limit_payload(room);
    }

    /// The peer has taken the path that it was told: round trips are what they are from now on.
    pub(in crate::endpoint) fn follow_answers(&mut self, now: Instant) {
        self.with_sessions(|session| session.handle_new_round_trip(now));
    }

    /// A connection takes its place among those over the same path.
    pub(super) fn join_others(&mut self, now: Instant, id: usize) {
        let connection = self.connections.get_mut(id);
        let path = connection.path();
        let link = self.association.paths.get(path).link();
        if connection.join_shaper(now, id, link, &mut self.association.shapers) {
            return;
        }
        let config = connection.session().config();
        if !SharedPath::is_for(config) {
            return;
        }
        if let Some(window) = self.association.window(path, config)
            && window.suits(config)
        {
            connection.share_window(now, window);
        }
    }

    /// What was found out of a path is forgotten: nobody takes it any more.
    fn forget_window(&mut self, path: usize) {
        if let Some(slot) = self.association.shared.get_mut(path) {
            *slot = None;
            self.association.carried.leave_window(path);
        }
    }

    /// Gives the association the shapers that its peer has shares of, and its connections their rounds there.
    pub(in crate::endpoint) fn apply_shares(&mut self, now: Instant) {
        let Some(shares) = self.egress.shares(self.association.peer) else { return };
        for (link, own) in (0..LINKS).zip(&mut self.association.shapers) {
            if let Some(share) = shares[link] {
                self.egress.apply_share(now, link, self.id, share, own);
            }
        }
        for id in self.association.roster.all() {
            let connection = self.connections.get_mut(id);
            let link = self.association.paths.get(connection.path()).link();
            connection.join_shaper(now, id, link, &mut self.association.shapers);
            self.connections.mark_dirty(id);
        }
    }

    /// A connection takes no part in its shaper any more.
    pub(super) fn leave_shaper(&mut self, id: usize) {
        self.connections.get_mut(id).leave_shaper(&mut self.association.shapers);
    }

    /// The association is gone from the shapers of the host.
    pub(in crate::endpoint) fn leave_shapers(&mut self) {
        self.egress.leave(&self.association.shapers);
    }

    /// A connection has something to send and waits for its round.
    pub(super) fn wait_for_round(&mut self, id: usize) {
        let shapers = &mut self.association.shapers;
        if let Some(link) = self.connections.get(id).wake(shapers)
            && let Some(own) = &shapers[link]
        {
            self.egress.wake(link, own);
        }
    }

    /// The shapers of the association may be free by now for those who wait.
    pub(super) fn wake_shapers(&mut self, now: Instant) {
        for (link, own) in self.association.shapers.iter_mut().enumerate() {
            if let Some(own) = own
                && own.take_due(now)
            {
                self.egress.wake(link, own);
            }
        }
    }
}
