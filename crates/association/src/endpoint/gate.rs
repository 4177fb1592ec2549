//! Who gets in: which requests are read, and whose.

use bentpipe_units::{Instant, Span};
use bentpipe_wire::Ecn;
use std::collections::BTreeSet;

use super::identity::Identity;
use super::outbox::Outbox;
use super::route::Route;
use crate::key::PublicKey;
use crate::secure::{Admission, HandshakeRequest, Init, Responder, Verdict};

/// Time between two log lines about requests that are refused: whoever sends many fills no disk.
const TELL_AGAIN: Span = Span::from_secs(60);

/// What stands between a request and an association.
#[derive(Debug)]
pub(super) struct Gate {
    responder: Responder,
    admission: Admission,
    allowed: BTreeSet<PublicKey>,
    /// When a refused request was last logged.
    logged_at: Option<Instant>,
}

impl Gate {
    /// Nobody is allowed yet. Cookies are made from this secret.
    pub(super) fn new(responder: Responder, admission: Admission) -> Self {
        Self { responder, admission, allowed: BTreeSet::new(), logged_at: None }
    }

    /// Lets a peer in.
    pub(super) fn allow(&mut self, peer: PublicKey) {
        self.allowed.insert(peer);
    }

    /// Reads a request if it is of a peer that is allowed. The checks go from the cheapest to the dearest, so that
    /// a flood costs little: the hash, the budget, the key exchange.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        from: Route,
        init: &Init<'_>,
        identity: &mut Identity,
        outbox: &mut Outbox,
    ) -> Option<HandshakeRequest> {
        if identity.is_closed() || !self.responder.knows_us(init.covered1, &init.mac1) {
            return None;
        }
        match self.admission.judge(now, from.address, init) {
            Verdict::Read => {}
            Verdict::Ignore => return None,
            Verdict::Challenge => {
                let nonce = [identity.draw(), identity.draw()];
                let datagram = self.admission.cookie(now, from.address, init, nonce);
                outbox.push(from, Ecn::NotCapable, |out| out.extend_from_slice(&datagram));
                return None;
            }
        }
        let request =
            self.responder.read_request(init.sender, init.noise, identity.ephemeral()).ok()?;
        if !self.allowed.contains(&request.peer) {
            self.log_unknown(now, from, request.peer);
            return None;
        }
        Some(request)
    }

    /// Whether the answer to a request of this host is to be read: each costs as much as a request.
    pub(super) fn hears_answer(&mut self, now: Instant) -> bool {
        self.admission.hears_answer(now)
    }

    /// A host with an unknown key asks for an association. It is logged once a minute, for whoever has put the wrong
    /// key into a configuration.
    fn log_unknown(&mut self, now: Instant, from: Route, key: PublicKey) {
        if self.may_log(now) {
            tracing::warn!(address = %from.address, %key, "handshake from unknown key");
        }
    }

    /// A process that was started before the one that has this peer's key asks for an association: it is logged once a
    /// minute, for whoever has given one key to two hosts.
    pub(super) fn log_old_process(&mut self, now: Instant, from: Route, key: PublicKey) {
        if self.may_log(now) {
            tracing::warn!(
                address = %from.address, %key,
                "handshake from a process older than the peer's: is this key used by two hosts?"
            );
        }
    }

    /// Whether a minute has passed since the last log line; counts this one.
    fn may_log(&mut self, now: Instant) -> bool {
        let may = self.logged_at.is_none_or(|last| now.since(last) >= TELL_AGAIN);
        if may {
            self.logged_at = Some(now);
        }
        may
    }
}
