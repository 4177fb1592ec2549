//! An association and what surrounds it: its connections, the socket, the timers, and the names of its keys.
//!
//! Nothing here can touch another association. Whoever changes connections or keys does it by these verbs, which
//! count, mark and name what follows from it.

use bentpipe_transport::xstp::Session;
use bentpipe_tunnel::Datagram;
use bentpipe_units::{Instant, Seq32};
use bentpipe_wire::Ecn;
use bytes::Bytes;

use super::super::connection::Connection;
use super::super::connections::Connections;
use super::super::control::Control;
use super::super::egress::Egress;
use super::super::identity::Identity;
use super::super::names::{AssociationId, Names, Owner};
use super::super::route::Route;
use super::super::timers::Timers;
use super::drain::Scratch;
use super::{Association, Held};
use crate::secure::{Agreed, Index, Initiator, Keyring, SealedCookie, Traffic};
use crate::stream::Accepted;

/// One association, and what it may touch of the host.
pub(in crate::endpoint) struct PeerContext<'a> {
    pub(super) id: AssociationId,
    pub(super) association: &'a mut Association,
    pub(super) names: &'a mut Names,
    pub(super) connections: &'a mut Connections,
    pub(super) egress: &'a mut Egress,
    pub(super) timers: &'a mut Timers<Owner>,
    pub(super) identity: &'a mut Identity,
    pub(super) accepted: &'a mut Accepted,
    pub(super) scratch: &'a mut Scratch,
}

impl<'a> PeerContext<'a> {
    /// What an association may touch. Of the host that are its connections, what leaves, and when it is looked after;
    /// of the applications, who waits for connections of the peer.
    pub(in crate::endpoint) const fn new(
        id: AssociationId,
        (association, names): (&'a mut Association, &'a mut Names),
        (connections, egress): (&'a mut Connections, &'a mut Egress),
        timers: &'a mut Timers<Owner>,
        identity: &'a mut Identity,
        accepted: &'a mut Accepted,
        scratch: &'a mut Scratch,
    ) -> Self {
        Self { id, association, names, connections, egress, timers, identity, accepted, scratch }
    }

    /// The association is to be looked after when it says, and at once when nobody needs it any more.
    pub(in crate::endpoint) fn set_timer(&mut self, now: Instant) {
        let is_over = self.association.is_over();
        let deadline = if is_over { Some(now) } else { self.association.deadline() };
        self.timers.set(Owner::Association(self.id), deadline);
    }

    /// Changes the keys. What names are gone then lead nowhere.
    pub(super) fn change_keys<T>(
        &mut self,
        change: impl FnOnce(&mut Keyring<Traffic, Box<Initiator>, Held>) -> T,
    ) -> T {
        let outcome = change(&mut self.association.keys);
        self.follow_keys();
        outcome
    }

    /// Names of keys that are gone lead nowhere.
    fn follow_keys(&mut self) {
        self.names.remove(self.association.keys.take_dropped());
    }

    /// Nobody waits for the answer to this host's request any more.
    pub(in crate::endpoint) fn withdraw_request(&mut self) {
        self.change_keys(Keyring::withdraw);
    }

    /// One connection more. One that the peer opened, with a segment of this number that came by this route, is counted at once,
    /// for it holds what came with it.
    pub(in crate::endpoint) fn add(
        &mut self,
        now: Instant,
        number: u32,
        mut session: Session,
        opened_by: Option<(Seq32, Route)>,
    ) -> usize {
        // Of several that belong together each answers by the path that it came by.
        let came_by = opened_by.as_ref().and_then(|(_, from)| self.association.paths.bonded(from));
        let path = came_by.unwrap_or_else(|| self.choose_path());
        let opened_by = opened_by.map(|(seq, _)| seq);
        session.limit_payload(self.association.payload_room(number, path));
        let connection = Connection::new(self.id, number, path, session, opened_by);
        let id = self.connections.insert(connection);
        self.association.roster.add(number, id);
        self.join_others(now, id);
        if opened_by.is_some() {
            self.connections.count(id, &mut self.association.memory);
        }
        id
    }

    /// A segment came for a connection.
    pub(in crate::endpoint) fn receive(&mut self, now: Instant, connection: usize, plain: Bytes) {
        self.connections.receive(now, connection, plain, &mut self.association.memory);
    }

    /// Does something with the session of a connection, if it exists.
    pub(in crate::endpoint) fn with_session(
        &mut self,
        number: u32,
        act: impl FnOnce(&mut Session),
    ) {
        let id = self.association.roster.find(number);
        if let Some(session) = id.and_then(|id| self.connections.change(id)) {
            act(session);
        }
    }

    /// Does something with the sessions of all connections.
    pub(super) fn with_sessions(&mut self, mut act: impl FnMut(&mut Session)) {
        for id in self.association.roster.all() {
            if let Some(session) = self.connections.change(id) {
                act(session);
            }
        }
    }

    /// The peer saw congestion marks. To whom they belong is not known: all connections and the tunnel slow down.
    pub(in crate::endpoint) fn slow_down(&mut self, now: Instant) {
        self.with_sessions(|session| session.handle_mark(now));
        self.association.carried.tunnel().handle_mark(now);
    }

    /// Carries a datagram of an application. False if it is lost already.
    pub(in crate::endpoint) fn send_datagram(&mut self, now: Instant, datagram: Datagram) -> bool {
        let carried = self.association.is_up() && self.association.carried.offer(now, datagram);
        if carried {
            self.wake_tunnel(now);
            self.set_timer(now);
        }
        carried
    }

    /// What the tunnel has to send leaves, or waits for its round on a shaper.
    pub(in crate::endpoint) fn wake_tunnel(&mut self, now: Instant) {
        let association = &mut *self.association;
        association.carried.set_paths(now, association.tunnelled());
        for path in association.carried.paths() {
            let link = association.paths.get(path).link();
            let room = association.tunnel_room(path);
            if let Some(own) = &mut association.shapers[link] {
                association.carried.leave_window(path);
                if association.carried.is_ready(now, path, room) {
                    let is_nearest = path == association.carried.nearest();
                    own.wake_datagrams(association.carried.weight(is_nearest));
                    self.egress.wake(link, own);
                }
            } else {
                if let Some(config) = association.carried.wants_window(path)
                    && let Some(window) = association.window(path, &config).cloned()
                {
                    association.carried.share_window(path, &window);
                }
                while association.send_tunnelled(now, path, self.egress.outbox()) {}
            }
        }
    }

    /// Asks the peer for keys.
    pub(in crate::endpoint) fn ask(&mut self, now: Instant) {
        if self.identity.is_closed() {
            return;
        }
        // A request that is repeated goes under the name of the one before: the answer to either counts.
        let index = match self.association.keys.requested() {
            Some(index) => index,
            None => self.identity.new_index(|index| self.names.is_free(index)),
        };
        self.names.add(index, self.id);
        let association = &mut *self.association;
        let segments = association.early.payload();
        let initiator = self.identity.request(now, association.peer, index, &segments);
        association.keys.asked(now, Box::new(initiator), index);
        let is_proven = association.keys.epoch().is_some();
        association.asked_by = Some(association.paths.to_ask_by(association.asked_by, is_proven));
        self.send_request(index);
        self.set_timer(now);
    }

    /// The path that the latest request went, and where it leads.
    pub(in crate::endpoint) fn asked_by(&self) -> (usize, Route) {
        let paths = &self.association.paths;
        let path = self.association.asked_by.unwrap_or(paths.main());
        (path, paths.route_to_ask(path))
    }

    /// Sends the request that waits for its answer to `index`.
    fn send_request(&mut self, index: Index) {
        let (_, route) = self.asked_by();
        let Some(request) = self.association.keys.request(index) else { return };
        let Some(initiator) = &request.initiator else { return };
        let datagram = initiator.datagram(request.cookie.as_ref());
        let outbox = self.egress.outbox();
        outbox.push(route, Ecn::NotCapable, |out| out.extend_from_slice(&datagram));
    }

    /// The peer wants a proof of this host's address with its request.
    pub(in crate::endpoint) fn handle_cookie(
        &mut self,
        receiver: Index,
        sealed: &SealedCookie<'_>,
    ) -> Option<()> {
        let request = self.association.keys.request(receiver)?;
        let cookie = request.initiator.as_ref()?.open_cookie(sealed)?;
        // Once for each request: a cookie that comes again makes this host send nothing.
        if request.cookie.replace(cookie).is_none() {
            self.send_request(receiver);
        }
        Some(())
    }

    /// The peer asked for these keys. They are only offered until it uses them, for the request may be a replay.
    pub(in crate::endpoint) fn offer(
        &mut self,
        now: Instant,
        traffic: Traffic,
        index: Index,
        epoch: u64,
        held: Held,
    ) {
        self.change_keys(|keys| keys.offer(now, traffic, index, epoch, held));
        self.names.add(index, self.id);
    }

    /// The peer has used the keys that it asked for. Returns where it is, and the segments that came with the request.
    pub(in crate::endpoint) fn handle_agreed(
        &mut self,
        now: Instant,
        agreed: Agreed<Held>,
        had_keys: bool,
    ) -> Held {
        self.follow_keys();
        self.begin_proven(now);
        self.association.asked_by = None;
        let route = agreed.held.route;
        if agreed.new_epoch {
            self.begin_epoch(now, route);
        } else if self.association.paths.is_at(route) {
            // The answer arrived there.
            self.association.forget_capacity(now);
            self.switch(now);
        }
        self.go_on(had_keys);
        agreed.held
    }

    /// The answer to a request of this host came: the keys and the peer's epoch. False if the peer was started anew
    /// since, so that they are nobody's.
    pub(in crate::endpoint) fn handle_answer(
        &mut self,
        now: Instant,
        traffic: Traffic,
        epoch: u64,
    ) -> bool {
        let (asked_by, route) = self.asked_by();
        self.association.asked_by = None;
        self.association.liveness.answered();
        let Some(agreed) = self.change_keys(|keys| keys.agree(now, traffic, epoch)) else {
            return false;
        };
        self.association.paths.answered_by(asked_by);
        if agreed.new_epoch {
            self.begin_epoch(now, route);
        }
        self.begin_proven(now);
        let main = self.association.paths.main();
        let rest = self.association.early.take_rest();
        // The peer sends nothing before it has seen that the keys are in use.
        for plain in std::iter::once(Bytes::new()).chain(rest) {
            let outbox = self.egress.outbox();
            self.association.send(now, main, true, outbox, |out| out.extend_from_slice(&plain));
        }
        true
    }

    /// Connections that waited for keys can go on. What a request to open was sealed with, the peer may not have had.
    pub(in crate::endpoint) fn go_on(&mut self, had_keys: bool) {
        if !had_keys {
            // The peer may have forgotten the association, and counts anew what it cuts.
            self.association.fragments.forget();
        }
        for id in self.association.roster.all() {
            if (!had_keys || self.connections.get(id).session().is_opening())
                && let Some(session) = self.connections.change(id)
            {
                session.repeat_opening();
            }
        }
    }

    /// Does what time demands: keys, signs of life, probes of the path. False when nobody needs the association.
    pub(in crate::endpoint) fn maintain(&mut self, now: Instant) -> bool {
        let were_coming = self.association.is_up() || self.association.keys.is_coming();
        let expired = self.change_keys(|keys| keys.expire(now).is_some() && keys.epoch().is_none());
        if expired {
            // What came with that request was opened by nobody who has proved his key.
            self.begin_unproven(now, None);
        }
        if were_coming && !self.association.is_up() && !self.association.keys.is_coming() {
            // Whoever waited for these keys asks for others.
            self.with_sessions(|_| ());
        }
        if self.association.is_over() {
            return false;
        }
        if self.association.owes_answer(now) {
            let main = self.association.paths.main();
            self.association.send(now, main, false, self.egress.outbox(), |_| {});
        }
        let changed = self.association.send_due(now, self.egress.outbox());
        if self.association.wants_keys(now) {
            if self.association.roster.is_empty() {
                // Nobody needs the answer any more.
                self.withdraw_request();
            } else {
                self.ask(now);
            }
        }
        if changed {
            self.switch(now);
        }
        self.wake_tunnel(now);
        self.wake_shapers(now);
        self.set_timer(now);
        true
    }

    /// Tells the peer something about the association.
    pub(in crate::endpoint) fn send_control(&mut self, now: Instant, message: &Control) {
        self.association.send_control(now, message, self.egress.outbox());
    }
}
