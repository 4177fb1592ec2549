//! How an association is closed: SHUTDOWN, SHUTDOWN ACK, SHUTDOWN COMPLETE (RFC 9260, section 9).

use bentpipe_units::{Instant, Seq32};
use bentpipe_wire::sctp::{Chunk, Packet};

use super::State;
use super::association::Association;
use super::timers::Unreachable;
use crate::PathId;

impl Association {
    /// Takes the steps of closing for which everything is ready.
    pub(super) fn move_on(&mut self) {
        if self.state == State::Established && self.wants_close {
            self.state = State::ShutdownPending;
        }
        let next = match self.state {
            State::ShutdownPending if self.tx.is_idle() => State::ShutdownSent,
            State::ShutdownReceived if self.tx.is_idle() => State::ShutdownAckSent,
            _ => return,
        };
        self.state = next;
        self.closing.start();
    }

    /// The peer will send no more and has everything up to this TSN.
    pub(super) fn handle_shutdown(&mut self, now: Instant, tsn: Seq32) {
        match self.state {
            State::Established | State::ShutdownPending => {
                self.state = State::ShutdownReceived;
                self.tx.flushing = true;
                self.pending.peer_close();
            }
            State::ShutdownReceived => {}
            // Both ends close at once.
            State::ShutdownSent => {
                self.state = State::ShutdownAckSent;
                self.closing.start();
                self.pending.peer_close();
            }
            State::ShutdownAckSent => self.closing.again(),
            State::Closed | State::CookieWait | State::CookieEchoed => return self.ignore(),
        }
        if self.tx.handle_cumulative(now, tsn).is_err() {
            self.ignore();
        }
    }

    /// The peer has nothing outstanding either.
    pub(super) fn handle_shutdown_ack(&mut self, id: PathId) {
        match self.state {
            State::ShutdownSent => self.pending.peer_close(),
            State::ShutdownAckSent => {}
            _ => return self.ignore(),
        }
        self.send_packet(id, self.peer_tag, Chunk::ShutdownComplete { reflected: false });
        self.pending.close();
        self.drop_all(None);
    }

    /// The peer knows that both ends have closed.
    pub(super) fn handle_shutdown_complete(&mut self) {
        if self.state != State::ShutdownAckSent {
            return self.ignore();
        }
        self.pending.close();
        self.drop_all(None);
    }

    /// The path of SHUTDOWN or SHUTDOWN ACK: another one each further time.
    pub(super) fn closing_path(&self) -> usize {
        let first = self.tx.data_path();
        if self.closing.count().is_multiple_of(2) {
            first
        } else {
            self.tx.other_than(first).unwrap_or(first)
        }
    }

    /// Writes SHUTDOWN or SHUTDOWN ACK if it is to leave on this path.
    pub(super) fn write_closing(&mut self, now: Instant, path: usize, place: &mut Packet) {
        if !self.closing.wanted || path != self.closing_path() {
            return;
        }
        let chunk = match self.state {
            State::ShutdownSent => Chunk::Shutdown(self.rx.cumulative()),
            State::ShutdownAckSent => Chunk::ShutdownAck,
            _ => return self.closing.stop(),
        };
        place.chunks.push(chunk);
        self.closing.sent(now, self.tx.paths[path].rto());
    }

    /// T2: the message leaves again, and the path and the peer have one answer less to owe.
    pub(super) fn closing_timed_out(&mut self, now: Instant) -> Result<(), Unreachable> {
        let path = self.tx.data_path();
        if self.closing.handle_timeout(now, u32::MAX) == Ok(true) {
            self.tx.paths[path].back_off();
            self.tx.count_error(now, path)?;
        }
        Ok(())
    }
}
