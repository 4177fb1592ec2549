//! The near end of a recording: what it sends, and what it makes of the answers.

use bentpipe_units::{BitRate, ByteCount, Instant, Span};

use super::arrivals::{Arrivals, rate};
use super::cookie::Cookie;
use super::error::{Early, PlanError, RecordError};
use super::message::{Answer, BYE_SIZE, LOAD_SIZE, Message, Probe, Status};
use super::pace::Pacer;
use super::plan::{Far, GRACE, OPEN_TIMEOUT, Plan, SLOW};
use super::reported::Reported;
use super::samples::Samples;
use crate::Trace;
use crate::import::probes::trace;
use crate::import::{ImportOptions, Way};

/// Goodbyes, one of which should arrive.
const BYES: u8 = 2;
/// An answer may take this much longer than the longest round trip so far, twice.
const LATE: Span = Span::from_millis(200);

/// A recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The link as it was.
    pub trace: Trace,
    /// Probes that were sent.
    pub probes: usize,
    /// Those that were answered.
    pub answered: usize,
    /// Bytes that went to the far end.
    pub sent: ByteCount,
    /// Bytes that came from there.
    pub received: ByteCount,
    /// Why it is shorter than it was to be.
    pub early: Option<Early>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nobody has answered yet.
    Opening { began: Instant },
    /// Until a time.
    Measuring { began: Instant, until: Instant },
    /// Late answers and counts may come.
    Closing { began: Instant, ended: Instant, until: Instant },
    /// It says goodbye so many times.
    Leaving { began: Instant, ended: Instant, byes: u8 },
    /// It has ended.
    Done { measured: Option<(Instant, Instant)> },
}

/// Measures a link.
#[derive(Debug)]
pub struct Recorder {
    plan: Plan,
    session: u64,
    phase: Phase,
    cookie: Cookie,
    seq: u64,
    next_probe: Instant,
    samples: Samples,
    load: Option<Pacer>,
    arrivals: Arrivals,
    reported: Reported,
    sent: ByteCount,
    received: ByteCount,
    early: Option<Early>,
    error: Option<RecordError>,
}

impl Recorder {
    /// A recorder that begins now. Nobody can guess the number of its session.
    ///
    /// # Errors
    /// When the plan cannot be.
    pub fn new(plan: Plan, session: u64, now: Instant) -> Result<Self, PlanError> {
        plan.check()?;
        Ok(Self {
            plan,
            session,
            phase: Phase::Opening { began: now },
            cookie: Cookie::NONE,
            seq: 0,
            next_probe: now,
            samples: Samples::default(),
            load: None,
            arrivals: Arrivals::default(),
            reported: Reported::default(),
            sent: ByteCount::ZERO,
            received: ByteCount::ZERO,
            early: None,
            error: None,
        })
    }

    /// Whether nobody has answered yet.
    pub const fn is_opening(&self) -> bool {
        matches!(self.phase, Phase::Opening { .. })
    }

    /// Whether it measures now.
    pub const fn is_measuring(&self) -> bool {
        matches!(self.phase, Phase::Measuring { .. })
    }

    /// Whether it has ended.
    pub const fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done { .. })
    }

    /// Ends it early.
    pub fn stop(&mut self, now: Instant) {
        match self.phase {
            Phase::Opening { .. } => self.fail(RecordError::Stopped),
            Phase::Measuring { .. } => self.cut(now, Early::Stopped),
            Phase::Closing { began, ended, .. } => self.leave(began, ended),
            Phase::Leaving { .. } | Phase::Done { .. } => {}
        }
    }

    fn fail(&mut self, error: RecordError) {
        self.error = Some(error);
        self.phase = Phase::Done { measured: None };
    }

    /// Ends the measurement before its time.
    fn cut(&mut self, now: Instant, early: Early) {
        let Phase::Measuring { began, .. } = self.phase else { return };
        self.early = Some(early);
        match early {
            Early::Stopped => self.close(now, began, now),
            // Nothing more may be sent, or would be answered.
            Early::Limit | Early::Responder => self.leave(began, now),
        }
    }

    fn close(&mut self, now: Instant, began: Instant, ended: Instant) {
        let grace = (self.samples.longest() * 2 + LATE).min(GRACE);
        self.phase = Phase::Closing { began, ended, until: ended + grace };
        self.next_probe = now;
    }

    fn leave(&mut self, began: Instant, ended: Instant) {
        let byes = if self.plan.far == Far::Responder { BYES } else { 0 };
        self.phase = Phase::Leaving { began, ended, byes };
    }

    /// When there is something to do next; `None` when it has ended.
    pub fn timeout(&self) -> Option<Instant> {
        let load = self.load.as_ref().map(Pacer::next);
        match self.phase {
            Phase::Opening { began } => Some(self.next_probe.min(began + OPEN_TIMEOUT)),
            Phase::Measuring { until, .. } => {
                Instant::earliest(Some(self.next_probe.min(until)), load)
            }
            Phase::Closing { until, .. } => Some(self.next_probe.min(until)),
            Phase::Leaving { .. } => Some(Instant::ZERO),
            Phase::Done { .. } => None,
        }
    }

    /// Whether there is a datagram to send now, which is in `out` then.
    pub fn poll(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        self.turn(now);
        let message = match self.phase {
            Phase::Done { .. } => return false,
            Phase::Leaving { began, ended, byes } => {
                if byes == 0 {
                    self.phase = Phase::Done { measured: Some((began, ended)) };
                    return false;
                }
                self.sent += self.plan.wire(BYE_SIZE);
                self.phase = Phase::Leaving { began, ended, byes: byes - 1 };
                Message::Bye { session: self.session }
            }
            _ if now >= self.next_probe => {
                let size = self.plan.wire(self.plan.probe_size());
                if !self.spend(size) {
                    return self.exhausted(now);
                }
                self.probe(now)
            }
            Phase::Measuring { .. } => {
                let size = self.plan.wire(LOAD_SIZE);
                let Some(seq) = self.load.as_mut().and_then(|load| load.take(now, size)) else {
                    return false;
                };
                if !self.spend(size) {
                    return self.exhausted(now);
                }
                Message::Load { session: self.session, seq }
            }
            Phase::Opening { .. } | Phase::Closing { .. } => return false,
        };
        message.write(out);
        true
    }

    /// Goes on to the next phase when it is time.
    fn turn(&mut self, now: Instant) {
        match self.phase {
            Phase::Opening { began } if now >= began + OPEN_TIMEOUT => {
                self.fail(RecordError::Silent(OPEN_TIMEOUT));
            }
            Phase::Measuring { began, until } if now >= until => self.close(now, began, until),
            Phase::Closing { began, ended, until } => {
                let (sent, answered) = self.samples.counts();
                let counted = self.plan.load_up.is_none() || self.reported.is_complete(ended);
                if now >= until || (sent == answered && counted) {
                    self.leave(began, ended);
                }
            }
            _ => {}
        }
    }

    /// Takes bytes out of those that may be used; `false` if there are no more.
    fn spend(&mut self, size: ByteCount) -> bool {
        let fits = self.sent + self.received + size <= self.room();
        if fits {
            self.sent += size;
        }
        fits
    }

    /// Bytes that may be used before it takes its leave, for which there have to be some.
    fn room(&self) -> ByteCount {
        self.plan.limit - self.plan.wire(LOAD_SIZE) - self.plan.wire(BYE_SIZE) * u64::from(BYES)
    }

    fn exhausted(&mut self, now: Instant) -> bool {
        match self.phase {
            Phase::Opening { .. } => self.fail(RecordError::Flooded(self.received)),
            Phase::Measuring { .. } => self.cut(now, Early::Limit),
            Phase::Closing { began, ended, .. } => self.leave(began, ended),
            Phase::Leaving { .. } | Phase::Done { .. } => {}
        }
        false
    }

    /// The next probe.
    fn probe(&mut self, now: Instant) -> Message {
        let apart = match self.phase {
            Phase::Measuring { .. } => {
                self.samples.sent(now);
                self.plan.interval
            }
            _ => self.plan.interval.max(SLOW),
        };
        // Probes that are overdue are not made up for: each shows the moment at which it leaves.
        let late = now.since(self.next_probe).as_nanos() / apart.as_nanos();
        self.next_probe += apart * (late + 1);
        let (session, seq) = (self.session, self.seq);
        self.seq += 1;
        if self.plan.far == Far::Echo {
            return Message::Echo { session, seq };
        }
        let (load, remaining) = match self.phase {
            Phase::Measuring { until, .. } => (self.plan.load_down, until.since(now)),
            // The responder can say at once that this is too much.
            Phase::Opening { .. } => (self.plan.load_down, self.plan.duration),
            _ => (None, Span::ZERO),
        };
        Message::Probe(Probe {
            session,
            seq,
            cookie: self.cookie,
            load: load.map_or(0, BitRate::as_bps),
            remaining: remaining.as_nanos(),
            want: self.reported.want(),
            size: self.plan.probe_size(),
        })
    }

    /// A datagram came from the far end.
    pub fn handle(&mut self, now: Instant, datagram: &[u8]) {
        if matches!(self.phase, Phase::Leaving { .. } | Phase::Done { .. }) {
            return;
        }
        let size = self.plan.wire(datagram.len());
        self.received += size;
        if self.sent + self.received > self.room() {
            self.exhausted(now);
            return;
        }
        match Message::read(datagram) {
            Some(Message::Echo { session, seq })
                if session == self.session && self.plan.far == Far::Echo =>
            {
                self.answered(now, seq);
            }
            Some(Message::Answer(answer))
                if answer.session == self.session && self.plan.far == Far::Responder =>
            {
                self.arrivals.came_besides(now, size);
                self.told(now, &answer);
            }
            Some(Message::Load { session, .. })
                if session == self.session && self.plan.load_down.is_some() =>
            {
                self.arrivals.came(now, size);
            }
            _ => {}
        }
    }

    /// A probe was answered: when it left, if it is one of the measurement.
    fn answered(&mut self, now: Instant, seq: u64) -> Option<Instant> {
        if self.is_opening() && seq < self.seq {
            self.begin(now);
            return None;
        }
        self.samples.answered(seq, now)
    }

    fn begin(&mut self, now: Instant) {
        self.phase = Phase::Measuring { began: now, until: now + self.plan.duration };
        self.samples = Samples::from(self.seq);
        self.next_probe = now;
        self.load = self.plan.load_up.map(|rate| Pacer::new(rate, now));
    }

    fn told(&mut self, now: Instant, answer: &Answer) {
        if answer.seq >= self.seq {
            return;
        }
        let refusal = match answer.status {
            Status::Open => None,
            Status::Unproven => {
                let is_first = self.cookie == Cookie::NONE;
                self.cookie = answer.cookie;
                match self.is_opening() {
                    // The session is there with the next probe.
                    true if is_first => self.next_probe = now,
                    true => {}
                    // A link that was down for longer than a cookie is good: the answer shows its delay as any other.
                    false => drop(self.answered(now, answer.seq)),
                }
                return;
            }
            Status::Full => Some(RecordError::Full),
            Status::TooFast(most) => Some(RecordError::TooFast(BitRate::from_bps(most))),
            Status::TooMuch(most) => Some(RecordError::TooMuch(ByteCount::new(most))),
        };
        self.cookie = answer.cookie;
        match refusal {
            Some(error) if self.is_opening() => self.fail(error),
            Some(_) => self.cut(now, Early::Responder),
            None => {
                let sent = self.answered(now, answer.seq);
                self.samples.told(answer);
                if self.plan.load_up.is_some() {
                    self.reported.told(answer, sent, now, self.plan.duration);
                }
            }
        }
    }

    /// What was recorded; `name` is what errors call it.
    ///
    /// # Errors
    /// When nobody answered, or the responder refused.
    pub fn finish(self, name: &str) -> Result<Recording, RecordError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let Phase::Done { measured: Some((began, ended)) } = self.phase else {
            return Err(RecordError::Stopped);
        };
        let options =
            ImportOptions { way: self.plan.way, gap: self.plan.gap, interval: self.plan.interval };
        let probes = self.samples.probes(self.plan.way, self.plan.gap);
        let mut trace = trace(name, probes, &options)?;
        trace.rate = match self.plan.way {
            Way::Down => {
                let back = began + self.samples.shortest();
                rate(self.arrivals.until(back, ended), trace.up.as_deref())
            }
            Way::Up => rate(self.reported.until(began, ended), trace.up.as_deref()),
        };
        let (probes, answered) = self.samples.counts();
        let (sent, received, early) = (self.sent, self.received, self.early);
        Ok(Recording { trace, probes, answered, sent, received, early })
    }
}
