//! What a SACK does to the sender.

use bentpipe_cc::{Ack, Loss, LossCause, Signal};
use bentpipe_units::{ByteCount, Instant, Seq32};
use bentpipe_wire::sctp::{GapBlock, Sack};
use smallvec::SmallVec;

use super::flight::Status;
use super::path_ends::Standing;
use super::sender::Sender;

/// What one SACK did to one path.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Flight before, as the window counts it.
    before: usize,
    /// The lowest TSN in flight before.
    earliest: Option<Seq32>,
    /// Acknowledged for the first time, as the window counts it.
    bytes: usize,
    segments: u64,
    newest: Option<Instant>,
    /// The path is proven: something was acknowledged that it took once, after it had failed last.
    proven: bool,
    /// Found lost.
    lost: usize,
}

/// What one SACK did.
#[derive(Debug)]
struct Outcome {
    tallies: SmallVec<[Tally; 2]>,
    /// The highest TSN acknowledged for the first time.
    highest_new: Option<Seq32>,
    advanced: bool,
    /// It says nothing new and leaves out what an earlier one had: it was overtaken on its way.
    overtaken: bool,
}

/// A report that cannot be: of what was not sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Nonsense;

impl Sender {
    /// A SACK arrived (RFC 9260, section 6.2.1).
    ///
    /// # Errors
    /// When it is old or acknowledges what was not sent. Nothing changes then.
    pub(super) fn handle_sack(&mut self, now: Instant, sack: &Sack) -> Result<(), Nonsense> {
        self.handle_report(now, sack.cumulative, Some(sack))
    }

    /// The peer has everything up to this TSN, as SHUTDOWN says it too, which has no word on gaps.
    pub(super) fn handle_cumulative(
        &mut self,
        now: Instant,
        cumulative: Seq32,
    ) -> Result<(), Nonsense> {
        self.handle_report(now, cumulative, None)
    }

    fn handle_report(
        &mut self,
        now: Instant,
        cumulative: Seq32,
        sack: Option<&Sack>,
    ) -> Result<(), Nonsense> {
        let count = self.acknowledged_by(cumulative).ok_or(Nonsense)?;
        let tally = |(index, path): (usize, &super::path::Path)| Tally {
            before: path.flight,
            earliest: if path.flight > 0 { self.flight.earliest_on(index) } else { None },
            ..Tally::default()
        };
        let mut outcome = Outcome {
            tallies: self.paths.iter().enumerate().map(tally).collect(),
            highest_new: None,
            advanced: count > 0,
            overtaken: false,
        };
        self.heard = true;
        self.advance(now, count, &mut outcome);
        let reported = sack.map_or(0, |sack| self.handle_gaps(now, sack, &mut outcome));
        if let Some(sack) = sack.filter(|_| !outcome.overtaken) {
            self.peer_window = sack.window as usize;
        }
        self.count_missing(&outcome, reported);
        self.find_lost(&mut outcome, reported);
        self.settle_paths(now, &outcome);
        self.settle_probe();
        Ok(())
    }

    /// The peer has room again: what left when it had none was thrown away there and need not wait for
    /// its timer, which may have grown to a minute.
    fn settle_probe(&mut self) {
        let Some(tsn) = self.probe else { return };
        let waits = tsn == self.flight.first();
        let Some(chunk) = self.flight.get(0).filter(|_| waits) else {
            self.probe = None;
            return;
        };
        let (path, length) = (chunk.path, chunk.fragment.payload.len());
        if chunk.status == Status::InFlight && length <= self.peer_window {
            self.paths[path].flight -= length + self.config.charge();
            self.flight.lose(0, true);
            (self.rush, self.probe) = (true, None);
        }
    }

    /// How many chunks a cumulative TSN acknowledges; `None` when it is old or was not sent.
    fn acknowledged_by(&self, cumulative: Seq32) -> Option<usize> {
        let count = cumulative.plus(1).distance_from(self.flight.first()) as usize;
        (count <= self.flight.len()).then_some(count)
    }

    fn advance(&mut self, now: Instant, count: usize, outcome: &mut Outcome) {
        for _ in 0..count {
            let tsn = self.flight.first();
            if self.flight.get(0).is_some_and(|chunk| chunk.status != Status::Acked) {
                self.acknowledge(now, 0, outcome);
            }
            self.flight.pop();
            let tally = &mut outcome.highest_new;
            *tally = Some(tally.map_or(tsn, |highest| highest.latest(tsn)));
        }
    }

    /// Counts a chunk that is acknowledged for the first time.
    fn acknowledge(&mut self, now: Instant, index: usize, outcome: &mut Outcome) {
        let tsn = self.flight.tsn(index);
        let (charge, alone) = (self.config.charge(), self.paths.len() == 1);
        let Some(chunk) = self.flight.get(index) else { return };
        let (length, was_lost) =
            (chunk.fragment.payload.len() + charge, chunk.status == Status::Lost);
        let path = &mut self.paths[chunk.path];
        let tally = &mut outcome.tallies[chunk.path];
        if !was_lost {
            path.flight -= length;
        }
        if chunk.counted {
            // Its bytes were counted before the peer threw it away.
            self.flight.set(index, Status::Acked);
            return;
        }
        tally.bytes += length;
        tally.segments += 1;
        tally.newest = tally.newest.max(Some(chunk.sent_at));
        // What arrived before the path failed, and where there are others also what may have, says nothing of it
        // (RFC 9260, section 8.2).
        tally.proven |= path.reach.counts(chunk.sent_at) && (alone || chunk.transmissions == 1);
        if let Some((timed, sent_at)) = path.timed
            && timed == tsn
        {
            path.timed = None;
            path.measured(now.since(sent_at));
        }
        let next = self.flight.next();
        path.delivered(length, tsn, next);
        self.flight.set(index, Status::Acked);
        let highest = &mut outcome.highest_new;
        *highest = Some(highest.map_or(tsn, |highest| highest.latest(tsn)));
    }

    /// Takes the gap blocks. Gives the end of the last one, in places from the first chunk on.
    fn handle_gaps(&mut self, now: Instant, sack: &Sack, outcome: &mut Outcome) -> usize {
        let mut covered = 0;
        let mut end = 0;
        for &GapBlock { start, end: last } in &sack.gaps {
            // Offset 1 is the first chunk; blocks ascend, and what was not sent is not there.
            let (first, last) = (usize::from(start).wrapping_sub(1), usize::from(last));
            if first < end || last <= first || last > self.flight.len() {
                break;
            }
            for index in first..last {
                if self.flight.get(index).is_some_and(|chunk| chunk.status != Status::Acked) {
                    self.acknowledge(now, index, outcome);
                }
            }
            covered += last - first;
            end = last;
        }
        // Reports have no numbers. One with news is the latest; one without that leaves something out was
        // overtaken, or the peer threw something away. That can wait for the next news: what is missing
        // below is on its way or retransmitted, and its arrival is news.
        outcome.overtaken = covered < self.flight.acked() && outcome.highest_new.is_none();
        if covered < self.flight.acked() && !outcome.overtaken {
            self.take_back(sack, end);
        }
        end
    }

    /// The peer no longer has what it had reported: it is in flight again, and its timer runs (RFC
    /// 9260, section 6.3.2 R4).
    fn take_back(&mut self, sack: &Sack, end: usize) {
        let mut blocks = sack.gaps.iter().peekable();
        let charge = self.config.charge();
        for index in 0..self.flight.len() {
            let offset = index + 1;
            while blocks.next_if(|block| usize::from(block.end) < offset).is_some() {}
            let covered = index < end
                && blocks.peek().is_some_and(|block| usize::from(block.start) <= offset);
            let Some(chunk) = self.flight.get(index) else { break };
            if covered || chunk.status != Status::Acked {
                continue;
            }
            let (path, length) = (chunk.path, chunk.fragment.payload.len() + charge);
            if matches!(self.paths[path].standing, Standing::Leaving | Standing::Gone) {
                self.flight.set(index, Status::Lost);
                continue;
            }
            self.flight.set(index, Status::InFlight);
            self.paths[path].flight += length;
        }
    }

    /// Counts reports of missing chunks: below the highest TSN that is newly acknowledged (HTNA), or
    /// below all that is reported while losses are repaired and the peer advances (RFC 9260, section
    /// 7.2.4).
    fn count_missing(&mut self, outcome: &Outcome, reported: usize) {
        let recovering = self.paths.iter().any(|path| path.recovery.is_some());
        let limit = if recovering && outcome.advanced {
            reported
        } else {
            let highest = outcome.highest_new.filter(|tsn| !tsn.is_before(self.flight.first()));
            highest.map_or(0, |tsn| tsn.distance_from(self.flight.first()) as usize)
        };
        for index in 0..limit.min(reported) {
            if self.flight.get(index).is_some_and(|chunk| chunk.status == Status::InFlight) {
                self.flight.miss(index);
            }
        }
    }

    /// Chunks that were reported missing often enough are lost, once each.
    fn find_lost(&mut self, outcome: &mut Outcome, reported: usize) {
        let charge = self.config.charge();
        for index in 0..reported.min(self.flight.len()) {
            let Some(chunk) = self.flight.get(index) else { break };
            let enough = chunk.misses >= self.config.missing_reports;
            if chunk.status != Status::InFlight || !enough || chunk.fast_done {
                continue;
            }
            let (path, length) = (chunk.path, chunk.fragment.payload.len() + charge);
            self.paths[path].flight -= length;
            outcome.tallies[path].lost += length;
            self.flight.lose(index, false);
            self.rush = true;
        }
    }

    /// Tells the controllers, ends recoveries, sets the timers.
    fn settle_paths(&mut self, now: Instant, outcome: &Outcome) {
        for (index, tally) in outcome.tallies.iter().enumerate() {
            let first = self.flight.first();
            let path = &mut self.paths[index];
            let recovered = path.recovery.is_some_and(|exit| exit.is_before(first));
            if recovered {
                path.recovery = None;
            }
            let (in_recovery, window) = (path.recovery.is_some(), path.window());
            if tally.bytes > 0 {
                self.errors = 0;
                if tally.proven {
                    self.proven(now, index);
                }
                let view = self.view(now, index, tally.before >= window);
                let bytes = ByteCount::new(tally.bytes as u64);
                let ack = Ack {
                    bytes,
                    advanced: if outcome.advanced { bytes } else { ByteCount::ZERO },
                    segments: tally.segments,
                    newest_sent_at: tally.newest.unwrap_or(now),
                    rate_sample: None,
                    acks: 1,
                    // Nothing grows before what is missing is acknowledged (RFC 9260, section 7.2.1).
                    in_recovery: in_recovery || !outcome.advanced,
                    repairing: in_recovery,
                    lost: ByteCount::ZERO,
                    marked: ByteCount::ZERO,
                };
                self.paths[index].controller.on_ack(&view, &ack);
            }
            if recovered {
                let view = self.view(now, index, false);
                self.paths[index].controller.on_signal(&view, &Signal::RecoveryDone);
            }
            if tally.lost > 0 && !in_recovery {
                self.enter_recovery(now, index, tally);
            }
            self.set_timer(now, index, tally);
        }
    }

    /// Something was acknowledged that took this path, and no other, since it had failed.
    fn proven(&mut self, now: Instant, index: usize) {
        let path = &self.paths[index];
        if path.reach.errors() > 0 || !path.reach.is_active() {
            self.confirm(now, index);
        }
    }

    /// The first loss of a window. With marks agreed on, a loss that none accompanies may be damage.
    fn enter_recovery(&mut self, now: Instant, index: usize, tally: &Tally) {
        let exit = self.flight.next().plus(u32::MAX);
        let path = &mut self.paths[index];
        path.recovery = Some(exit);
        let srtt = path.rtt.srtt();
        let marked = path.marks.within(now, srtt);
        let looks_corrupt = self.ecn && self.config.ecn_discriminates && !marked;
        if looks_corrupt {
            return;
        }
        let limited = tally.before >= path.window();
        let view = self.view(now, index, limited);
        let loss = Loss {
            bytes: ByteCount::new(tally.lost as u64),
            cause: LossCause::Gap,
            new_episode: true,
            again: false,
            looks_corrupt,
        };
        self.paths[index].controller.on_loss(&view, &loss);
        self.reductions += 1;
    }

    /// RFC 9260, section 6.3.2: R2, R3, R4.
    fn set_timer(&mut self, now: Instant, index: usize, tally: &Tally) {
        let path = &self.paths[index];
        if path.flight == 0 {
            self.paths[index].t3 = None;
            return;
        }
        let was_earliest = tally.earliest.is_some_and(|tsn| {
            tsn.is_before(self.flight.first())
                || self.flight.of(tsn).is_some_and(|chunk| chunk.status == Status::Acked)
        });
        if path.t3.is_none() || was_earliest {
            self.paths[index].t3 = Some(now + self.paths[index].rto());
        }
    }
}
