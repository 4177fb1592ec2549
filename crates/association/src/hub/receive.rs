//! Datagrams that arrive.

use bentpipe_transport::xstp::Session;
use bentpipe_transport::{Endpoint as _, PathId};
use bentpipe_units::Instant;
use bentpipe_wire::{Ecn, Segment, xstp};
use bytes::{Buf, Bytes};

use super::association::Opened;
use super::control::{Control, may_be_cut};
use super::memory::SHORT;
use super::number::{CONTROL, take_number};
use super::route::Route;
use super::ways::{BeatAnswer, Turn};
use super::{AssociationId, Hub};
use crate::secure::{Datagram, Index, OVERHEAD, parse};

/// The number of what came by itself in no datagram; nothing lies before it that parity could cover.
pub(super) const NO_DATAGRAM: u64 = 0;

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
        match parse(self.identity.security(), bytes) {
            Some(Datagram::Data { receiver, number, sealed }) => {
                self.handle_data(now, from, ecn, receiver, number, sealed)
            }
            Some(Datagram::Init(init)) => self.handle_init(now, from, &init).is_some(),
            Some(Datagram::Response { sender, receiver, noise }) => {
                self.handle_response(now, from, receiver, sender, noise).is_some()
            }
            Some(Datagram::Cookie { receiver, sealed }) => {
                self.handle_cookie(receiver, &sealed).is_some()
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
        let had_keys = association.is_up();
        let opened = &mut self.scratch.opened;
        let became = association.open(now, receiver, number, sealed, opened);
        let plain = opened.split().freeze();
        let Some(Opened { number, agreed, is_newest }) = became else { return false };
        let made = association.shield.arrived(now, receiver, number, &plain);
        if ecn == Ecn::Congestion {
            association.marks.saw();
        }
        if let Some(agreed) = agreed {
            self.handle_agreed(now, id, agreed, had_keys);
        } else if is_newest {
            self.associations[id].ways.came_by(now, from, || self.identity.draw());
        }
        self.handle_plain(now, id, number, from, plain);
        self.handle_made(now, id, from, made);
        self.set_timer(now, id);
        true
    }

    /// What was lost and made of parity.
    fn handle_made(
        &mut self,
        now: Instant,
        association: AssociationId,
        from: Route,
        made: Vec<Bytes>,
    ) {
        for plain in made {
            self.handle_plain(now, association, NO_DATAGRAM, from, plain);
        }
    }

    /// What the authentic datagram of this number carries, which came by this route.
    pub(super) fn handle_plain(
        &mut self,
        now: Instant,
        association: AssociationId,
        datagram: u64,
        from: Route,
        mut plain: Bytes,
    ) {
        let Some((number, len)) = take_number(&plain) else { return };
        plain.advance(len);
        if number == CONTROL {
            return self.handle_control(now, association, datagram, from, plain);
        }
        let id = self.associations[association].roster.find(number);
        let Some(id) = id else { return self.handle_unknown(now, association, number, plain) };
        let connection = &mut self.connections[id];
        let memory = &self.associations[association].memory;
        let tight = memory.is_tight();
        let ports = connection.stream.endpoint.ports();
        let context = xstp::Context {
            source_port: ports.peer,
            destination_port: ports.local,
            sq: connection.stream.endpoint.sq(),
            near: connection.near,
        };
        let Ok(mut segment) = xstp::decode_compact(plain, &context) else { return };
        let carries = segment.payload_len();
        if (tight || carries < SHORT)
            && let xstp::Body::Flow(flow) = &mut segment.body
            && carries > 0
        {
            flow.payload = Bytes::copy_from_slice(&flow.payload);
        }
        if tight && carries > memory.room(connection.holds) {
            // What it waits for most it gets in any case, or it would hold what follows for ever.
            if !connection.stream.endpoint.waits_for(segment.seq) {
                let lost = connection.lost.map_or(segment.seq, |lost| lost.latest(segment.seq));
                connection.lost = Some(lost);
                self.count(id);
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
    fn handle_unknown(
        &mut self,
        now: Instant,
        association: AssociationId,
        number: u32,
        plain: Bytes,
    ) {
        let nothing = xstp::Context {
            source_port: 0,
            destination_port: 0,
            sq: 0,
            near: bentpipe_units::Seq32::default(),
        };
        let Ok(segment) = xstp::decode_compact(plain, &nothing) else { return };
        let owner = &self.associations[association];
        // What was opened and has ended is not opened again by a request that is repeated because the answer was lost.
        let is_new = !owner.roster.is_ours(number) && !owner.was_accepted(number);
        let has_place = is_new && owner.memory.has_place(owner.roster.opened());
        let opened = self.settings.listens().filter(|_| has_place).and_then(|config| {
            let entropy = self.identity.draw();
            Session::accept(config, now, PathId(0), &segment, entropy)
        });
        if let Some(session) = opened {
            let id = self.add(now, association, number, session, true);
            self.count(id);
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
        id: AssociationId,
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
                if association.marks.report(now, count) {
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
                let changed = association.ways.hear(now, beat, from, || self.identity.draw());
                let main = association.ways.main() as u8;
                let answer = BeatAnswer { way: beat.way, serial: beat.serial, main };
                association.tell_to(now, from, &Control::BeatAnswer(answer), &mut self.outbox);
                if changed && self.associations[id].switch_pause.may_switch(now) {
                    self.switch(now, id);
                }
            }
            Control::BeatAnswer(answer) => match association.ways.handle_answer(now, answer) {
                Turn::None => {}
                Turn::Ours => self.switch(now, id),
                Turn::Theirs => self.follow_answers(now, id),
            },
            Control::Datagram(bytes) => self.inbox.push(association.peer, &bytes),
            Control::Challenge(token) => {
                let answer = Control::ChallengeAnswer(token);
                association.tell_to(now, from, &answer, &mut self.outbox);
            }
            Control::ChallengeAnswer(token) => {
                if association.ways.proved(token, from) && association.switch_pause.may_switch(now)
                {
                    self.switch(now, id);
                }
            }
            Control::Leaving => self.handle_leaving(now, id),
        }
    }

    /// Does something with the session of a connection, if it exists.
    fn with_session(
        &mut self,
        association: AssociationId,
        number: u32,
        act: impl FnOnce(&mut Session),
    ) {
        if let Some(id) = self.associations[association].roster.find(number) {
            act(&mut self.connections[id].stream.endpoint);
            self.stir(id);
        }
    }

    /// The peer saw congestion marks. Which connection they belong to is not known: all slow down.
    fn handle_marks(&mut self, now: Instant, association: AssociationId) {
        let all: Vec<usize> = self.associations[association].roster.all();
        for id in all {
            self.connections[id].stream.endpoint.handle_mark(now);
            self.stir(id);
        }
    }
}
