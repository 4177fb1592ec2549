//! Datagrams that arrive.

use bentpipe_transport::xstp::Session;
use bentpipe_transport::{Endpoint as _, PathId};
use bentpipe_units::Instant;
use bentpipe_wire::{Ecn, Segment, xstp};
use bytes::{Buf, Bytes};

use super::association::Opened;
use super::connection::take_number;
use super::control::{CONTROL, Control, may_be_cut};
use super::early::segments;
use super::incarnation::INCARNATION;
use super::route::Route;
use super::ways::{BeatAnswer, Turn};
use super::{Hub, MOST_CONNECTIONS, Owner};
use crate::association::{Datagram, Index, Init, MAC_LEN, OVERHEAD, parse};

/// The number of what came by itself in no datagram; nothing lies before it that parity could cover.
const NO_DATAGRAM: u64 = 0;

impl Hub {
    /// A datagram arrived by this route, with this mark in its IP header. What is not authentic gets no
    /// answer and changes nothing. Returns whether it was.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        from: impl Into<Route>,
        ecn: Ecn,
        bytes: &[u8],
    ) -> bool {
        let from = from.into();
        match parse(self.security, bytes) {
            Some(Datagram::Data { receiver, number, sealed }) => {
                self.handle_data(now, from, ecn, receiver, number, sealed)
            }
            Some(Datagram::Init(init)) => self.handle_init(now, from, &init).is_some(),
            Some(Datagram::Response { sender, receiver, noise }) => {
                self.handle_response(now, from, receiver, sender, noise).is_some()
            }
            Some(Datagram::Cookie { receiver, cookie }) => {
                self.handle_cookie(receiver, cookie);
                false
            }
            None => false,
        }
    }

    fn handle_data(
        &mut self,
        now: Instant,
        from: Route,
        ecn: Ecn,
        receiver: Index,
        number: u32,
        sealed: &[u8],
    ) -> bool {
        let Some(&id) = self.by_index.get(&receiver) else { return false };
        let Some(association) = self.associations.get_mut(id) else { return false };
        let opened = &mut self.scratch.opened;
        let became = association.open(now, receiver, number, sealed, from, opened);
        let plain = opened.split().freeze();
        let Some(Opened { number, confirms, moved }) = became else { return false };
        let made = association.shield.arrived(now, receiver, number, &plain);
        if ecn == Ecn::Congestion {
            association.marks.saw();
        }
        if moved {
            self.switch(now, id);
        }
        if confirms {
            self.stir_all(id);
        }
        self.handle_plain(now, id, number, from, plain);
        self.handle_made(now, id, from, made);
        self.timers.set(Owner::Association(id), self.associations[id].deadline());
        true
    }

    /// Connections that waited for keys can go on.
    pub(super) fn stir_all(&mut self, id: usize) {
        let waiting: Vec<usize> = self.associations[id].numbers.values().copied().collect();
        for connection in waiting {
            self.stir(connection);
        }
    }

    /// What was lost and made of parity.
    fn handle_made(&mut self, now: Instant, association: usize, from: Route, made: Vec<Bytes>) {
        for plain in made {
            self.handle_plain(now, association, NO_DATAGRAM, from, plain);
        }
    }

    /// What the authentic datagram of this number carries, which came by this route.
    fn handle_plain(
        &mut self,
        now: Instant,
        association: usize,
        datagram: u64,
        from: Route,
        mut plain: Bytes,
    ) {
        let Some((number, len)) = take_number(&plain) else { return };
        plain.advance(len);
        if number == CONTROL {
            return self.handle_control(now, association, datagram, from, plain);
        }
        let id = self.associations[association].numbers.get(&number).copied();
        let Some(id) = id else { return self.handle_unknown(now, association, number, plain) };
        let connection = &mut self.connections[id];
        let memory = &self.associations[association].memory;
        let tight = memory.is_tight();
        if tight {
            plain = Bytes::copy_from_slice(&plain);
        }
        let ports = connection.stream.endpoint.ports();
        let context = xstp::Context {
            source_port: ports.peer,
            destination_port: ports.local,
            sq: connection.stream.endpoint.sq(),
            near: connection.near,
        };
        let Ok(segment) = xstp::decode_compact(plain, &context) else { return };
        let carries = segment.payload_len();
        if tight && carries > memory.room(connection.holds) {
            // What it waits for most it gets in any case, or it would hold what follows for ever.
            if !connection.stream.endpoint.waits_for(segment.seq) {
                return;
            }
        }
        connection.near = segment.seq;
        connection.stream.endpoint.handle_segment(now, PathId(0), &mut Segment::Xstp(segment));
        if tight {
            // Otherwise it is enough to count when the connection is drained.
            self.count(id);
        }
        self.stir(id);
    }

    /// A segment of a connection that does not exist: the peer opens it, or it is told.
    fn handle_unknown(&mut self, now: Instant, association: usize, number: u32, plain: Bytes) {
        let nothing = xstp::Context {
            source_port: 0,
            destination_port: 0,
            sq: 0,
            near: bentpipe_units::Seq32::default(),
        };
        let Ok(segment) = xstp::decode_compact(plain, &nothing) else { return };
        let room = self.associations[association].numbers.len() < MOST_CONNECTIONS;
        let opened = self.listens.clone().filter(|_| room).and_then(|config| {
            let entropy = (self.entropy)();
            Session::accept(config, now, PathId(0), &segment, entropy)
        });
        if let Some(session) = opened {
            let id = self.add(now, association, number, session, true);
            self.connections[id].near = segment.seq;
            self.stir(id);
        } else if !matches!(segment.body, xstp::Body::Reset(_)) {
            let opens = matches!(segment.body, xstp::Body::Begin(_));
            let message = if opens { Control::Refused(number) } else { Control::Gone(number) };
            self.associations[association].tell(now, &message, &mut self.outbox);
        }
    }

    fn handle_control(
        &mut self,
        now: Instant,
        id: usize,
        datagram: u64,
        from: Route,
        plain: Bytes,
    ) {
        let Some(message) = Control::take(plain) else { return };
        let association = &mut self.associations[id];
        match message {
            Control::Gone(number) => {
                self.with_session(id, number, |session| session.handle_no_session(now));
            }
            Control::Refused(number) => {
                self.with_session(id, number, |session| session.handle_refusal(now));
            }
            Control::Marks(count) => {
                if association.marks.report(count) {
                    self.handle_marks(now, id);
                }
            }
            Control::Probe(sealed) => {
                let answer = Control::ProbeAnswer(sealed.saturating_add(OVERHEAD as u16));
                let way = association.ways.of(&from);
                association.tell_by(now, way, &answer, &mut self.outbox);
            }
            Control::ProbeAnswer(len) => {
                let way = association.ways.of(&from);
                if association.ways.get_mut(way).path.answered(now, len) {
                    self.switch(now, id);
                }
            }
            Control::Piece(piece) => {
                // A whole that is itself a half is nobody's: nothing is cut twice.
                let whole = association.pieces.join(piece);
                if let Some(whole) = whole.filter(|whole| may_be_cut(whole)) {
                    self.handle_plain(now, id, NO_DATAGRAM, from, whole);
                }
            }
            Control::Received(received) => {
                association.handle_received(received);
            }
            Control::Protects => association.shield.expect(now),
            Control::Parity(parity) => {
                let made = association.shield.handle_parity(now, datagram, parity);
                self.handle_made(now, id, from, made);
            }
            Control::Beat(beat) => {
                let changed = association.ways.hear(beat, from);
                let way = usize::from(beat.way);
                let main = association.ways.main() as u8;
                let answer = BeatAnswer { way: beat.way, serial: beat.serial, main };
                association.tell_by(now, way, &Control::BeatAnswer(answer), &mut self.outbox);
                if changed {
                    self.switch(now, id);
                }
            }
            Control::BeatAnswer(answer) => match association.ways.handle_answer(now, answer) {
                Turn::None => {}
                Turn::Ours => self.switch(now, id),
                Turn::Theirs => self.follow_answers(now, id),
            },
            Control::Datagram(bytes) => {
                let peer = association.peer;
                self.inbox.push(peer, bytes);
            }
            Control::Leaving => self.handle_leaving(now, id, from),
        }
    }

    /// Does something with the session of a connection, if it exists.
    fn with_session(&mut self, association: usize, number: u32, act: impl FnOnce(&mut Session)) {
        if let Some(&id) = self.associations[association].numbers.get(&number) {
            act(&mut self.connections[id].stream.endpoint);
            self.stir(id);
        }
    }

    /// The peer saw congestion marks. Which connection they belong to is not known: all slow down.
    fn handle_marks(&mut self, now: Instant, association: usize) {
        let all: Vec<usize> = self.associations[association].numbers.values().copied().collect();
        for id in all {
            self.connections[id].stream.endpoint.handle_mark(now);
            self.stir(id);
        }
    }

    fn handle_init(&mut self, now: Instant, from: Route, init: &Init<'_>) -> Option<()> {
        if self.has_left || !self.responder.knows_us(init.covered1, &init.mac1) {
            return None;
        }
        if self.cookies.is_flood(now)
            && !self.cookies.check(now, from.address, init.covered2, &init.mac2)
        {
            let datagram = self.cookies.give(now, from.address, init.sender);
            self.outbox.push(from, Ecn::NotCapable, |out| out.extend_from_slice(&datagram));
            return None;
        }
        let greeting = self.responder.greet(init.sender, init.noise).ok()?;
        if !self.allowed.contains(&greeting.peer) {
            self.tell_of_stranger(now, from, greeting.peer);
            return None;
        }
        let (incarnation, early) = greeting.payload.split_first_chunk::<INCARNATION>()?;
        let known = self.by_peer.get(&greeting.peer).copied();
        if let Some(association) = known.map(|id| &self.associations[id]) {
            // Both ask at once: the request of the smaller key counts.
            let crossed = association.request.is_some() && self.key.public() < greeting.peer;
            if greeting.time <= association.peer_time || crossed {
                return None;
            }
        }
        let id = known.unwrap_or_else(|| self.associate(now, greeting.peer, from));
        self.associations[id].peer_time = greeting.time;
        self.meet(now, id, from, u64::from_be_bytes(*incarnation));
        if self.associations[id].request.take().is_some() {
            self.unname_requests(id);
        }
        self.associations[id].collects = true;
        for segment in segments(early) {
            self.handle_plain(now, id, NO_DATAGRAM, from, Bytes::copy_from_slice(segment));
        }
        self.flush(now);
        self.associations[id].collects = false;
        let payload = self.greeting(id);
        let association = &mut self.associations[id];
        let _ = association.early.take_rest();
        let before: Vec<Index> = association.indices().collect();
        let index = self.new_index();
        let (traffic, datagram) = greeting.answer(index, &payload);
        let association = &mut self.associations[id];
        association.prepare(now, traffic, index);
        let after: Vec<Index> = association.indices().collect();
        for old in before.into_iter().filter(|old| !after.contains(old)) {
            self.by_index.remove(&old);
        }
        self.by_index.insert(index, id);
        self.outbox.push(from, Ecn::NotCapable, |out| out.extend_from_slice(&datagram));
        self.timers.set(Owner::Association(id), self.associations[id].deadline());
        Some(())
    }

    /// Names of requests that wait no longer lead nowhere.
    pub(super) fn unname_requests(&mut self, id: usize) {
        let kept: Vec<Index> = self.associations[id].indices().collect();
        self.by_index.retain(|index, owner| *owner != id || kept.contains(index));
    }

    fn handle_response(
        &mut self,
        now: Instant,
        from: Route,
        receiver: Index,
        sender: Index,
        noise: &[u8],
    ) -> Option<()> {
        let &id = self.by_index.get(&receiver)?;
        let association = &mut self.associations[id];
        let request = association.request.as_mut().filter(|r| r.index == receiver)?;
        let initiator = request.initiator.take()?;
        let (traffic, payload) = match initiator.finish(sender, noise) {
            Ok(finished) => finished,
            Err(waiting) => {
                request.initiator = Some(waiting);
                return None;
            }
        };
        let (incarnation, early) = payload.split_first_chunk::<INCARNATION>()?;
        self.meet(now, id, from, u64::from_be_bytes(*incarnation));
        let association = &mut self.associations[id];
        association.take_over(now, traffic, receiver);
        association.ways.answered_by(&from);
        let main = association.ways.main();
        // The peer sends nothing before it has seen that the keys are in use.
        let rest = association.early.take_rest();
        for plain in std::iter::once(Bytes::new()).chain(rest) {
            association
                .send(now, main, true, &mut self.outbox, |out| out.extend_from_slice(&plain));
        }
        self.unname_requests(id);
        for segment in segments(early) {
            self.handle_plain(now, id, NO_DATAGRAM, from, Bytes::copy_from_slice(segment));
        }
        // What waited for keys can go, by the way that was answered.
        self.switch(now, id);
        self.stir_all(id);
        self.timers.set(Owner::Association(id), self.associations[id].deadline());
        Some(())
    }

    fn handle_cookie(&mut self, receiver: Index, cookie: [u8; MAC_LEN]) {
        let Some(&id) = self.by_index.get(&receiver) else { return };
        let association = &mut self.associations[id];
        let Some(request) = association.request.as_mut().filter(|r| r.index == receiver) else {
            return;
        };
        // Once for each request: whoever forges cookies makes this host send no more than that.
        if request.cookie.replace(cookie).is_none()
            && let Some(initiator) = &request.initiator
        {
            let datagram = initiator.datagram(Some(&cookie));
            let way = association.asked_by.unwrap_or(association.ways.main());
            let route = association.ways.get(way).route;
            self.outbox.push(route, Ecn::NotCapable, |out| out.extend_from_slice(&datagram));
        }
    }
}
