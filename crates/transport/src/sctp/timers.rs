//! What time brings: lost chunks, HEARTBEATs, paths and peers that do not answer.

use bentpipe_cc::{Loss, LossCause};
use bentpipe_units::{ByteCount, Instant, Span};

use super::Notice;
use super::flight::Status;
use super::path::Path;
use super::path_ends::Standing;
use super::sender::Sender;

/// The peer did not answer too often.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreachable;

impl Sender {
    /// Lets the time pass for all paths.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        heart_beats: bool,
    ) -> Result<(), Unreachable> {
        for index in 0..self.paths.len() {
            if matches!(self.paths[index].standing, Standing::Leaving | Standing::Gone) {
                continue;
            }
            self.paths[index].pace_is_over(now);
            if self.paths[index].t3.is_some_and(|at| at <= now) {
                self.time_out(now, index)?;
            }
            if self.paths[index].controller.next_timer().is_some_and(|at| at <= now) {
                let view = self.view(now, index, false);
                self.paths[index].controller.on_timer(&view);
            }
            if heart_beats {
                self.let_heart_beat(now, index)?;
                let search = self.paths[index].search.as_mut();
                if let Some(mtu) = search.and_then(|search| search.handle_timeout(now)) {
                    self.set_mtu(now, index, mtu);
                }
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
        path.forget_flight();
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
        if let Some(search) = &mut self.paths[index].search {
            search.doubt(now);
        }
        self.count_error(now, index)
    }

    /// The peer did not answer on a path that data or the end of the association took.
    pub(super) fn count_error(&mut self, now: Instant, index: usize) -> Result<(), Unreachable> {
        self.errors += 1;
        self.count_path_error(now, index);
        if self.errors > self.config.association_max_retrans { Err(Unreachable) } else { Ok(()) }
    }

    /// An ASCONF was not answered in time. A path of which the peer does not know yet says nothing of it.
    pub(super) fn asconf_timed_out(&mut self, now: Instant, index: usize) {
        if self.paths[index].may_talk() {
            self.count_path_error(now, index);
        }
    }

    /// A path did not answer.
    fn count_path_error(&mut self, now: Instant, index: usize) {
        let path = &mut self.paths[index];
        if path.reach.failed(now, self.config.path_max_retrans) {
            self.notices.push(Notice::PathInactive(path.id));
        }
    }

    /// RFC 9260, section 8.3. A path that carries no data, or was never confirmed, says nothing of the
    /// peer (sections 8.1 and 5.4).
    fn let_heart_beat(&mut self, now: Instant, index: usize) -> Result<(), Unreachable> {
        if let Some((_, deadline)) = self.paths[index].heartbeat.asked
            && deadline <= now
        {
            let wait = self.heartbeat_wait();
            let path = &mut self.paths[index];
            path.heartbeat.asked = None;
            path.heartbeat.since = now;
            path.back_off();
            // Where no other path can carry data it says all that is known of the peer.
            let is_last = !self.paths.iter().any(Path::carries);
            let of_data = index == self.data_path() && self.paths[index].reach.is_confirmed();
            if of_data || is_last {
                self.count_error(now, index)?;
            } else {
                self.count_path_error(now, index);
            }
            // Until it is confirmed or inactive, a path is tried without the interval.
            let path = &mut self.paths[index];
            let tried = path.reach.is_active() && !path.reach.is_confirmed();
            path.heartbeat.wait = if tried { Span::ZERO } else { wait };
        }
        if self.paths[index].heartbeat_due().is_some_and(|at| at <= now) {
            self.paths[index].heartbeat.wanted = true;
        }
        Ok(())
    }

    /// When something is to be done on any path.
    pub(super) fn deadline(&self, heart_beats: bool) -> Option<Instant> {
        let each = self.paths.iter().map(|path| path.deadline(heart_beats));
        let waits = heart_beats && self.paths.iter().any(Path::waits_to_be_tried);
        each.fold(waits.then_some(self.next_try), Instant::earliest)
    }

    /// A path's HEARTBEAT came back.
    pub(super) fn heartbeat_answered(
        &mut self,
        now: Instant,
        index: usize,
        nonce: u64,
        sent_at: Instant,
    ) -> bool {
        let search = self.paths[index].search.as_mut();
        if let Some((length, carries)) = search.and_then(|search| search.answered(now, nonce)) {
            if carries {
                self.set_mtu(now, index, length);
            }
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

    /// All paths are to be tried that are not confirmed.
    pub(super) fn try_paths(&mut self) {
        let untried = |path: &&mut Path| {
            path.may_talk() && !path.reach.is_confirmed() && path.heartbeat.asked.is_none()
        };
        for path in self.paths.iter_mut().filter(untried) {
            path.heartbeat.wanted = true;
        }
    }

    /// The next path on which a HEARTBEAT leaves now. Those that are not confirmed are tried one in each
    /// initial timeout (HB.Max.Burst, RFC 9260, section 5.4), the least tried first: a peer's list of
    /// addresses makes no burst to all of them.
    #[inline]
    pub(super) fn next_heartbeat(&mut self, now: Instant) -> Option<usize> {
        if !self.paths.iter().any(|path| path.heartbeat.wanted) {
            return None;
        }
        let paths = || self.paths.iter().enumerate();
        let known = paths().find(|(_, path)| path.heartbeat.wanted && path.reach.is_confirmed());
        let index = match known {
            Some((index, _)) => index,
            None if self.next_try > now => return None,
            None => {
                let waiting = paths().filter(|(_, path)| path.waits_to_be_tried());
                let (index, _) = waiting.min_by_key(|(_, path)| path.reach.errors())?;
                self.next_try = now + self.config.rto_init;
                index
            }
        };
        self.paths[index].heartbeat.wanted = false;
        Some(index)
    }
}
