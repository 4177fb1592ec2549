//! What time brings: lost chunks, HEARTBEATs, paths and peers that do not answer.

use bentpipe_cc::{Loss, LossCause};
use bentpipe_units::{ByteCount, Instant};

use super::Notice;
use super::flight::Status;
use super::sender::Sender;

/// The peer did not answer too often.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreachable;

impl Sender {
    /// Lets the time pass for all paths.
    pub(super) fn handle_timeout(&mut self, now: Instant, open: bool) -> Result<(), Unreachable> {
        for index in 0..self.paths.len() {
            self.paths[index].pace_is_over(now);
            if self.paths[index].t3.is_some_and(|at| at <= now) {
                self.time_out(now, index)?;
            }
            if self.paths[index].controller.next_timer().is_some_and(|at| at <= now) {
                let view = self.view(now, index, false);
                self.paths[index].controller.on_timer(&view);
            }
            if open {
                self.let_heart_beat(now, index)?;
                self.search_on(now, index);
            }
        }
        Ok(())
    }

    /// The retransmission timer of a path ran out (RFC 9260, section 6.3.3).
    fn time_out(&mut self, now: Instant, index: usize) -> Result<(), Unreachable> {
        let limited = self.paths[index].flight >= self.paths[index].window();
        let view = self.view(now, index, limited);
        let bytes = ByteCount::new(self.paths[index].flight as u64);
        for place in 0..self.flight.len() {
            let on_it = |chunk: &super::flight::Sent| {
                chunk.path == index && chunk.status == Status::InFlight
            };
            if self.flight.get(place).is_some_and(on_it) {
                self.flight.lose(place, true);
            }
        }
        let path = &mut self.paths[index];
        (path.flight, path.t3, path.timed, path.recovery) = (0, None, None, None);
        path.back_off();
        self.rush = true;
        let loss = Loss {
            bytes,
            cause: LossCause::Timeout,
            new_episode: true,
            again: false,
            looks_corrupt: false,
        };
        path.controller.on_loss(&view, &loss);
        self.reductions += 1;
        // RFC 9260, section 6.1 A: a peer that answers but has no room is there.
        let asked_for_room = self.peer_window == 0 && std::mem::take(&mut self.heard);
        if asked_for_room {
            return Ok(());
        }
        self.timeouts += 1;
        self.doubt_mtu(now, index);
        self.count_error(index)
    }

    /// A path did not answer.
    pub(super) fn count_error(&mut self, index: usize) -> Result<(), Unreachable> {
        self.errors += 1;
        let path = &mut self.paths[index];
        path.errors += 1;
        if path.active && path.errors > self.config.path_max_retrans {
            path.active = false;
            self.notices.push(Notice::PathInactive(path.id));
        }
        if self.errors > self.config.association_max_retrans { Err(Unreachable) } else { Ok(()) }
    }

    /// RFC 9260, section 8.3.
    fn let_heart_beat(&mut self, now: Instant, index: usize) -> Result<(), Unreachable> {
        if let Some((_, deadline)) = self.paths[index].heartbeat.asked
            && deadline <= now
        {
            let wait = self.heartbeat_wait();
            let path = &mut self.paths[index];
            path.heartbeat.asked = None;
            path.heartbeat.since = now;
            path.heartbeat.wait = if path.confirmed { wait } else { bentpipe_units::Span::ZERO };
            path.back_off();
            self.count_error(index)?;
        }
        if self.paths[index].heartbeat_due().is_some_and(|at| at <= now) {
            self.paths[index].heartbeat.wanted = true;
        }
        Ok(())
    }

    /// When something is to be done on any path.
    pub(super) fn deadline(&self, open: bool) -> Option<Instant> {
        let each = self.paths.iter().map(|path| path.deadline(open));
        each.fold(None, Instant::earliest)
    }

    /// A path's HEARTBEAT came back.
    pub(super) fn heartbeat_answered(
        &mut self,
        now: Instant,
        index: usize,
        nonce: u64,
        sent_at: Instant,
    ) -> bool {
        if self.probe_answered(now, index, nonce) {
            return true;
        }
        let asked = &mut self.paths[index].heartbeat.asked;
        if asked.is_none_or(|(expected, _)| expected != nonce) {
            return false;
        }
        *asked = None;
        self.paths[index].measured(now.since(sent_at));
        self.errors = 0;
        self.confirm(now, index);
        true
    }

    /// All paths are tried that nobody has tried yet.
    pub(super) fn try_paths(&mut self) {
        for path in self.paths.iter_mut().filter(|path| !path.confirmed) {
            path.heartbeat.wanted = true;
        }
    }
}
