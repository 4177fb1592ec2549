//! Opening, closing and dropping a session.

use bentpipe_units::{Instant, Seq32, Span};
use bentpipe_wire::xstp::{Begin, ResetReason, Segment};

use super::State;
use super::receiver::Receiver;
use super::sender::Activity;
use super::session::Session;
use crate::Failure;

/// Shortest time that a closed session still answers a repeated END.
const QUIET_MIN: Span = Span::from_secs(1);

impl Session {
    /// The peer's parameters are known.
    pub(super) fn establish(&mut self, now: Instant, begin: &Begin, isn: Seq32, window: u16) {
        let mss = begin.mss.max(self.config.least_mss).min(self.config.mss);
        self.state = State::Established;
        self.opening.stop();
        self.rx = Receiver::new(self.config.clone(), isn, mss, begin.many_gaps);
        self.tx.open(now, mss, window);
        self.pending.connect();
    }

    pub(super) fn handle_begin(&mut self, now: Instant, begin: &Begin, segment: &Segment) {
        match self.state {
            // Both ends opened at once: the larger session number counts for both.
            State::BgnSent => {
                self.sq = self.sq.max(segment.sq);
                self.establish(now, begin, segment.seq, segment.window);
                self.opening.peer_asks(begin.ts);
            }
            State::Closed => {}
            _ if segment.sq == self.sq => self.opening.peer_asks(begin.ts),
            // The other number of a simultaneous opening, sent before the peer knew.
            _ if self.opening.has_asked() && segment.sq < self.sq => {
                self.opening.peer_asks(begin.ts);
            }
            _ => self.drop_session(now, Some(Failure::PeerRestarted)),
        }
    }

    pub(super) fn handle_begin_ack(&mut self, now: Instant, begin: &Begin, segment: &Segment) {
        if self.state != State::BgnSent {
            return;
        }
        let Some(asked) = self.opening.asked_at(now, begin.ts_echo) else { return self.ignore() };
        // Both ends opened at once and the peer's number was the larger one.
        let crossed = segment.sq > self.sq;
        if segment.sq != self.sq && !crossed {
            return self.ignore();
        }
        self.sq = segment.sq;
        if !self.opening.is_overtaken() {
            self.tx.rtt.sample(now.since(asked));
        }
        self.establish(now, begin, segment.seq, segment.window);
    }

    /// The peer sends data before its BGNAK has come: that was lost.
    pub(super) fn miss_answer(&mut self, now: Instant) {
        if self.state == State::BgnSent {
            self.opening.ask_anew(now, &self.config);
        }
    }

    pub(super) fn handle_end_ack(&mut self, now: Instant, echo: Seq32) {
        if echo != self.tx.cache.next() {
            return self.ignore();
        }
        match self.state {
            State::EndSent if self.closing.has_peer_ended() => self.become_quiet(now),
            State::EndSent => self.state = State::LocalHalf,
            State::LastEnd => self.become_quiet(now),
            _ => return,
        }
        self.closing.stop();
    }

    pub(super) fn handle_end(&mut self, now: Instant, seq: Seq32) {
        if !self.rx.handle_end(now, seq, self.tx.rtt.srtt()) {
            return;
        }
        if !self.closing.peer_ends(seq) {
            return; // Our ENDAK was lost.
        }
        self.pending.peer_close();
        match self.state {
            State::Established => self.state = State::PeerHalf,
            State::LocalHalf => self.become_quiet(now),
            _ => {}
        }
    }

    /// The peer reset the session. If everything was delivered in both directions and only the answer to our
    /// END was lost, the peer has forgotten a session that ended well.
    pub(super) fn handle_reset(&mut self, now: Instant, reason: ResetReason) {
        let ending = matches!(self.state, State::EndSent | State::LastEnd);
        if reason == ResetReason::NoSession && ending && self.closing.has_peer_ended() {
            self.become_quiet(now);
        }
        self.drop_session(now, Some(Failure::Reset(reason)));
    }

    fn become_quiet(&mut self, now: Instant) {
        self.state = State::Quiet;
        self.closing.be_quiet(now + (self.tx.rtt.rto() * 2).max(QUIET_MIN));
        self.pending.close();
    }

    /// Sends END once the session neither sends nor receives.
    pub(super) fn maybe_end(&mut self) {
        let wanted = self.closing.is_wanted() && self.state.sends();
        if wanted && self.tx.is_idle() && self.rx.is_complete() {
            self.state = match self.state {
                State::PeerHalf => State::LastEnd,
                _ => State::EndSent,
            };
            self.closing.start();
        }
    }

    /// Frees everything; with a reason the application is told.
    pub(super) fn drop_session(&mut self, now: Instant, failure: Option<Failure>) {
        if self.state == State::Closed {
            return;
        }
        // A session that was closed in both directions has nothing left to fail.
        if self.state != State::Quiet {
            self.pending.fail(failure);
        }
        self.state = State::Closed;
        self.opening.clear();
        self.closing.clear();
        self.tx.drop_all(now);
        self.rx.drop_all();
    }

    /// Drops the session and tells the peer why.
    pub(super) fn reset(&mut self, now: Instant, reason: ResetReason, failure: Failure) {
        self.drop_session(now, Some(failure));
        self.reset = Some(reason);
    }

    /// When silence has lasted too long: the next keep-alive, or the end.
    #[inline]
    pub(super) fn silence_deadline(&self) -> Option<Instant> {
        let (keepalive, no_response) = (self.config.keepalive, self.config.no_response);
        if self.tx.activity() == Activity::Idle {
            let asks = self.state.keeps_alive() && !keepalive.is_zero();
            return asks.then(|| self.silence.next_keepalive(keepalive));
        }
        (!no_response.is_zero()).then(|| self.silence.end(no_response))
    }

    pub(super) fn handle_silence(&mut self, now: Instant) {
        if self.silence_deadline().is_none_or(|at| at > now) {
            return;
        }
        let idle = self.tx.activity() == Activity::Idle;
        if !idle || self.silence.keepalives() >= self.config.keepalive_max {
            self.reset(now, ResetReason::NoResponse, Failure::NoResponse);
        } else {
            self.silence.keepalive_sent();
            self.tx.poll_now();
        }
    }
}
