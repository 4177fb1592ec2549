//! Datagrams that arrive.

use bentpipe_transport::PathId;
use bentpipe_transport::xstp::Session;
use bentpipe_units::Instant;
use bentpipe_wire::{Ecn, xstp};
use bytes::{Buf, Bytes};

use super::Endpoint;
use super::association::Opened;
use super::control::Control;
use super::names::AssociationId;
use super::number::{CONTROL, take_number};
use super::paths::PathChange;
use super::route::Route;
use crate::secure::{Datagram, Index, OVERHEAD, parse};

/// What was around something that came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Envelope {
    /// The number of the datagram. Before that of none there is nothing that parity could cover.
    number: u64,
    /// The mark in its IP header.
    ecn: Ecn,
}

impl Envelope {
    /// Of what came by itself in no datagram.
    pub(super) const NONE: Self = Self { number: 0, ecn: Ecn::NotCapable };
}

impl Endpoint {
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
                self.handle_data(now, from, ecn, receiver, number, sealed).is_some()
            }
            Some(Datagram::Init(init)) => self.handle_init(now, from, &init).is_some(),
            Some(Datagram::Response { sender, receiver, noise }) => {
                self.handle_response(now, from, receiver, sender, noise).is_some()
            }
            Some(Datagram::Cookie { receiver, sealed }) => {
                let id = self.directory.names().find(receiver);
                id.and_then(|id| self.context(id).handle_cookie(receiver, &sealed)).is_some()
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
    ) -> Option<()> {
        let id = self.directory.names().find(receiver)?;
        let association = self.directory.get_mut(id);
        let had_keys = association.is_up();
        let opened = association.open(now, receiver, number, sealed, &mut self.opened);
        let plain = self.opened.split().freeze();
        let Opened { number, agreed, is_newest } = opened?;
        association.count(&from, OVERHEAD + plain.len());
        let recovered = association.arrived(now, receiver, number, (ecn, &from), &plain);
        // The keys first: they decide whether what it carries is of the epoch of now.
        if let Some(agreed) = agreed {
            let held = self.context(id).handle_agreed(now, agreed, had_keys);
            for segment in held.segments {
                self.handle_plain(now, id, Envelope::NONE, held.route, segment);
            }
        } else if is_newest {
            // An older one may have been on its way since the peer was elsewhere.
            association.came_by(now, from, || self.identity.draw());
        }
        self.handle_plain(now, id, Envelope { number, ecn }, from, plain);
        self.handle_recovered(now, id, from, recovered);
        self.context(id).set_timer(now);
        Some(())
    }

    /// What was lost and recovered from parity.
    fn handle_recovered(
        &mut self,
        now: Instant,
        id: AssociationId,
        from: Route,
        recovered: Vec<Bytes>,
    ) {
        for plain in recovered {
            self.handle_plain(now, id, Envelope::NONE, from, plain);
        }
    }

    /// What an authentic datagram carries, which came by this route.
    pub(super) fn handle_plain(
        &mut self,
        now: Instant,
        id: AssociationId,
        envelope: Envelope,
        from: Route,
        mut plain: Bytes,
    ) {
        let Some((number, len)) = take_number(&plain) else { return };
        plain.advance(len);
        if number == CONTROL {
            return self.handle_control(now, id, envelope, from, plain);
        }
        match self.directory.get(id).find(number) {
            Some(connection) => self.context(id).receive(now, connection, plain),
            None => self.handle_unknown(now, id, (number, from), plain),
        }
    }

    /// A segment of a connection that does not exist: the peer opens it, or it is told.
    fn handle_unknown(
        &mut self,
        now: Instant,
        id: AssociationId,
        (number, from): (u32, Route),
        plain: Bytes,
    ) {
        let nothing = xstp::Context {
            source_port: 0,
            destination_port: 0,
            sq: 0,
            near: bentpipe_units::Seq32::default(),
        };
        let Ok(segment) = xstp::decode_compact(plain, &nothing) else { return };
        let may_open = self.directory.get(id).may_open(number);
        let opened = self.settings.listens().filter(|_| may_open).and_then(|config| {
            let entropy = self.identity.draw();
            Session::accept(config, now, PathId(0), &segment, entropy)
        });
        let mut context = self.context(id);
        if let Some(session) = opened {
            context.add(now, number, session, Some((segment.seq, from)));
        } else if !matches!(segment.body, xstp::Body::Reset(_)) {
            // The answer to a reset would be answered by a reset, and so on.
            let opens = matches!(segment.body, xstp::Body::Begin(_));
            let message = if opens { Control::Refused(number) } else { Control::Gone(number) };
            context.send_control(now, &message);
        }
    }

    fn handle_control(
        &mut self,
        now: Instant,
        id: AssociationId,
        envelope: Envelope,
        from: Route,
        plain: Bytes,
    ) {
        let Some(message) = Control::take(plain) else { return };
        let association = self.directory.get_mut(id);
        let outbox = self.egress.outbox();
        match message {
            Control::Gone(number) => {
                self.context(id).with_session(number, |session| session.handle_no_session(now));
            }
            Control::Refused(number) => {
                self.context(id).with_session(number, |session| session.handle_refusal(now));
            }
            Control::EcnFeedback(count) => {
                if association.handle_ecn_feedback(now, count) {
                    self.context(id).slow_down(now);
                }
            }
            Control::MtuProbe(sealed) => association.handle_mtu_probe(now, from, sealed, outbox),
            Control::MtuProbeAnswer(len) => {
                if association.handle_mtu_probe_answer(now, from, len) {
                    self.context(id).switch(now);
                }
            }
            Control::Fragment(fragment) => {
                if let Some(whole) = association.handle_fragment(fragment) {
                    self.handle_plain(now, id, Envelope::NONE, from, whole);
                }
            }
            Control::Received(received) => association.handle_received(received),
            Control::Protects => association.expect_parity(now),
            Control::Parity(parity) => {
                let recovered = association.handle_parity(now, envelope.number, parity);
                self.handle_recovered(now, id, from, recovered);
            }
            Control::PathProbe(probe) => {
                let token = || self.identity.draw();
                if association.handle_path_probe(now, probe, from, token, outbox) {
                    self.context(id).switch(now);
                }
            }
            Control::PathProbeAnswer(answer) => {
                match association.handle_path_probe_answer(now, answer) {
                    PathChange::None => {}
                    PathChange::Ours => self.context(id).switch(now),
                    PathChange::Theirs => self.context(id).follow_answers(now),
                }
            }
            Control::CapacityProbe(probe) => association.handle_capacity_probe(now, &probe),
            Control::CapacityReport(report) => association.handle_capacity_report(now, &report),
            Control::Tunnel(message) => {
                association.handle_tunnel(now, envelope.ecn, message);
                self.inbox.take(association.peer(), association.carried().tunnel());
                self.context(id).wake_tunnel(now);
            }
            Control::Challenge(token) => association.handle_challenge(now, from, token, outbox),
            Control::ChallengeAnswer(token) => {
                if association.handle_challenge_answer(now, from, token) {
                    self.context(id).switch(now);
                }
            }
            Control::Shutdown => self.context(id).handle_shutdown(now),
        }
    }
}
