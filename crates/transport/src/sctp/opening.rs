//! How an association is opened: four messages, collisions of two openings, and a peer that starts anew
//! (RFC 9260, sections 5.1 and 5.2).

use std::net::IpAddr;

use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::sctp::{Cause, Chunk, Init, Packet, Parameter};
use bytes::Bytes;

use super::association::Association;
use super::auth::ASCONF;
use super::cookie::{Cookie, addresses};
use super::ecn::EcnFeedback;
use super::offer::{
    LONGEST_UNRECOGNIZED, Offer, STATE_COOKIE, fault_of, init_ack, init_of, stale_cookie,
    unrecognized,
};
use super::own_changes::OwnChanges;
use super::path::Path;
use super::path_ends::{self, Standing};
use super::peer_changes::PeerChanges;
use super::receiver::Receiver;
use super::retry::{Exhausted, Retry};
use super::{Config, Identity, Notice, State};
use crate::{Failure, PathId};

/// Where the opening is.
#[derive(Debug)]
pub(super) struct Opening {
    /// INIT, until INIT ACK comes.
    pub(super) init: Retry,
    /// COOKIE ECHO, until COOKIE ACK comes.
    pub(super) echo: Retry,
    /// The peer's cookie.
    pub(super) cookie: Bytes,
    /// This end's first TSN.
    first: Seq32,
    /// How much longer the cookie shall live, in milliseconds, after one was stale.
    preservative: Option<u32>,
}

impl Opening {
    pub(super) fn new(first: Seq32) -> Self {
        let (init, echo) = (Retry::default(), Retry::default());
        Self { init, echo, cookie: Bytes::new(), first, preservative: None }
    }

    pub(super) fn stop(&mut self) {
        self.init.stop();
        self.echo.stop();
        self.cookie = Bytes::new();
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        Instant::earliest(self.init.deadline(), self.echo.deadline())
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, most: u32) -> Result<(), Exhausted> {
        self.init.handle_timeout(now, most)?;
        self.echo.handle_timeout(now, most).map(|_| ())
    }
}

impl Association {
    /// The end that a COOKIE ECHO creates.
    pub(super) fn of_cookie(
        config: std::sync::Arc<Config>,
        now: Instant,
        identity: Identity,
        cookie: &Cookie,
    ) -> Self {
        let mut association = Self::new(config, now, identity);
        association.ends.rename(cookie.local_tag);
        association.tx.clear(cookie.local_tsn);
        association.adopt(cookie);
        association.open(now, 0);
        association.cookie_ack = true;
        association
    }

    /// This end's INIT.
    pub(super) fn init(&self) -> Init {
        let mut init = init_of(&self.config, &self.offer(), self.ends.own_addresses());
        init.parameters.extend(self.opening.preservative.map(Parameter::CookiePreservative));
        init
    }

    /// The path of INIT or COOKIE ECHO: each further time the next one.
    pub(super) fn opening_path(&self) -> usize {
        let tries = (self.opening.init.count() + self.opening.echo.count()) as usize;
        (self.tx.primary + tries) % self.tx.paths.len()
    }

    /// How long to wait for the answer: twice as long each further time.
    pub(super) fn opening_wait(&self, path: usize, retry: Retry) -> Span {
        let rto = self.tx.paths[path].rto() * (1 << retry.count().min(20));
        rto.min(self.config.rto_max)
    }

    /// An INIT although there is an association: both ends open at once, or the peer starts anew.
    pub(super) fn handle_init(&mut self, now: Instant, id: PathId, init: &Init) {
        if self.state == State::ShutdownAckSent {
            return self.closing.again();
        }
        if let Some(cause) = fault_of(init) {
            let abort = Chunk::Abort { reflected: false, causes: vec![cause] };
            return self.send_packet(id, init.tag, abort);
        }
        let known = self.ends.peer_addresses();
        let named =
            |address| path_ends::alive(&self.tx).any(|(_, path)| path.ends.peer == Some(address));
        let is_new = |address: &IpAddr| !known.contains(address) && !named(*address);
        let new = addresses(init).into_iter().find(is_new);
        if self.state.is_open()
            && let Some(address) = new
        {
            let address = Parameter::from(address).to_bytes();
            let causes = vec![Cause::RestartWithNewAddresses(address)];
            return self.send_packet(id, init.tag, Chunk::Abort { reflected: false, causes });
        }
        let (offer, tie_tags) = match self.state {
            // Section 5.2.1: the same offer as in the INIT that is out.
            State::CookieWait => (self.offer(), (0, 0)),
            State::CookieEchoed => (self.offer(), self.ends.tags()),
            // Section 5.2.2: a new offer, tied to what there is.
            _ => {
                let (tag, first) = (self.tx.tag(), Seq32::new(self.tx.nonce() as u32));
                let random = self.config.asconf.then(|| self.tx.random());
                (Offer { tag, first, random }, self.ends.tags())
            }
        };
        let answer = init_ack(&self.ends.host(&self.config), now, &offer, init, tie_tags);
        self.send_packet(id, init.tag, answer);
    }

    fn offer(&self) -> Offer {
        self.ends.offer(self.opening.first)
    }

    /// The answer to our INIT.
    pub(super) fn handle_init_ack(&mut self, now: Instant, from: usize, init: &Init) {
        if self.state != State::CookieWait {
            return self.ignore();
        }
        self.ends.name_peer(init.tag);
        let cookie = init.parameters.iter().find_map(|parameter| match parameter {
            Parameter::Cookie(cookie) => Some(cookie.clone()),
            _ => None,
        });
        let fault = fault_of(init);
        let missing = || Cause::MissingParameters(vec![STATE_COOKIE]);
        let Some(cookie) = cookie.filter(|_| fault.is_none()) else {
            return self.give_up(fault.unwrap_or_else(missing), Failure::PeerBrokeRules);
        };
        if self.config.stripes() > init.inbound_streams || self.ends.is_overasked(init) {
            return self.give_up(Cause::InvalidParameter, Failure::PeerBrokeRules);
        }
        if let Some(sent_at) = self.opening.init.sent_once() {
            self.tx.paths[from].measured(now.since(sent_at));
        }
        self.ends.agree(&self.config, init);
        self.tx.queue.limit_streams(self.ends.outbound());
        self.tx.peer_window = init.window as usize;
        self.tx.ecn = self.config.ecn && init.parameters.contains(&Parameter::EcnCapable);
        self.rx = Receiver::new(self.config.clone(), init.initial_tsn);
        self.changes = OwnChanges::new(self.opening.first);
        self.peer_changes = PeerChanges::new(init.initial_tsn);
        let told = unrecognized(init).concat();
        if !told.is_empty() && told.len() <= LONGEST_UNRECOGNIZED {
            self.outbox
                .answer(from, Chunk::Error(vec![Cause::UnrecognizedParameters(told.into())]));
        }
        self.opening.init.stop();
        self.opening.cookie = cookie;
        self.opening.echo.start();
        self.tx.confirm(now, from);
        self.state = State::CookieEchoed;
    }

    /// The peer accepted the cookie.
    pub(super) fn handle_cookie_ack(&mut self, now: Instant, from: usize) {
        if self.state != State::CookieEchoed {
            return self.ignore();
        }
        if let Some(sent_at) = self.opening.echo.sent_once() {
            self.tx.paths[from].measured(now.since(sent_at));
        }
        self.open(now, from);
    }

    /// A cookie came back although there is an association (section 5.2.4). False when the rest of the
    /// packet does not count.
    pub(super) fn handle_cookie_echo(
        &mut self,
        now: Instant,
        id: PathId,
        packet: &Packet,
        bytes: &[u8],
    ) -> bool {
        let Some(cookie) = self.ends.open_cookie(bytes, packet.tag) else {
            self.ignore();
            return false;
        };
        let (local_tag, peer_tag) = self.ends.tags();
        let (ours, theirs) = (cookie.local_tag == local_tag, cookie.peer_tag == peer_tag);
        let stale = cookie.staleness(now, self.config.cookie_life);
        if let (false, Some(stale)) = (ours && theirs, stale) {
            self.send_packet(id, cookie.peer_tag, stale_cookie(stale));
            return false;
        }
        let from = self.tx.index_of(id).unwrap_or(self.tx.primary);
        match (ours, theirs) {
            // D: the cookie of this very association, whose COOKIE ACK may be lost.
            (true, true) => {
                if self.state == State::CookieEchoed {
                    self.open(now, from);
                }
            }
            // B: both ends opened at once.
            (true, false) if !self.state.is_open() => {
                self.adopt(&cookie);
                self.open(now, from);
            }
            // A: the peer started anew.
            (false, false) if cookie.tie_tags == self.ends.tags() => {
                if self.state == State::ShutdownAckSent {
                    self.closing.again();
                    self.outbox.answer(from, Chunk::Error(vec![Cause::CookieWhileShuttingDown]));
                    return false;
                }
                self.restart(now, from, &cookie);
            }
            // C, and what no rule knows.
            _ => {
                self.ignore();
                return false;
            }
        }
        self.report_path.begin(from);
        self.cookie_ack = true;
        true
    }

    /// Takes over what a cookie says of the peer.
    fn adopt(&mut self, cookie: &Cookie) {
        self.ends.adopt(cookie);
        self.tx.queue.limit_streams(self.ends.outbound());
        self.tx.peer_window = cookie.peer_window as usize;
        self.tx.ecn = cookie.ecn;
        self.rx = Receiver::new(self.config.clone(), cookie.peer_tsn);
        self.changes = OwnChanges::new(cookie.local_tsn);
        self.peer_changes = PeerChanges::new(cookie.peer_tsn);
    }

    /// The association is open; the path on which that became known works.
    fn open(&mut self, now: Instant, from: usize) {
        self.state = State::Established;
        self.opening.stop();
        self.tx.confirm(now, from);
        self.tx.try_paths();
        self.report_path.begin(from);
        self.pending.connect();
    }

    /// The peer lost everything and began anew: so does this end.
    fn restart(&mut self, now: Instant, from: usize, cookie: &Cookie) {
        self.ends.rename(cookie.local_tag);
        self.tx.clear(cookie.local_tsn);
        for (index, path) in self.tx.paths.iter_mut().enumerate() {
            let (mtu, search) = (path.mtu, path.search.take());
            let (ends, standing) = (path.ends, path.standing);
            *path = Path::new(&self.config, path.id, cookie.local_tsn, now);
            (path.mtu, path.search, path.ends) = (mtu, search, ends);
            // A change that was on its way is forgotten with everything else, and what it was about is gone.
            let is_changing = matches!(standing, Standing::Untold | Standing::Leaving);
            if standing == Standing::Gone || is_changing && index != from {
                path.leave();
                path.standing = Standing::Gone;
            }
        }
        if !self.tx.paths[self.tx.primary].may_talk() {
            self.tx.primary = from;
        }
        self.tx.errors = 0;
        self.outbox.clear_chunks();
        self.closing.stop();
        self.ecn = EcnFeedback::default();
        self.adopt(cookie);
        self.open(now, from);
        self.tell(Notice::Restarted);
    }

    /// The peer says that something is wrong. That it does not know ASCONF ends what this end asked for; for a stale cookie
    /// another is asked for, that lives longer (section 5.2.6).
    pub(super) fn handle_error(&mut self, causes: &[Cause]) {
        let stale = causes.iter().find_map(|cause| match cause {
            Cause::StaleCookie(micros) => Some(micros / 1000 + 1),
            _ => None,
        });
        let is_asconf = |cause: &Cause| matches!(cause, Cause::UnrecognizedChunk(whole) if whole.first() == Some(&ASCONF));
        if causes.iter().any(is_asconf) {
            let notice = self.changes.not_known(&mut self.tx);
            notice.into_iter().for_each(|notice| self.tell(notice));
            self.leave_gone_paths();
        }
        let Some(millis) = stale.filter(|_| self.state == State::CookieEchoed) else { return };
        if self.opening.preservative.is_some() {
            return self.drop_all(Some(Failure::NoAnswer));
        }
        self.opening.stop();
        self.opening.preservative = Some(millis.saturating_mul(2));
        self.opening.init.start();
        self.state = State::CookieWait;
    }
}
