//! A machine in a storm: its key, its calendar, what it kept, and the program that runs on it.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bentpipe_association::SecretKey;
use bentpipe_association::endpoint::{PathMemory, PathRecord, Times};
use bentpipe_association::secure::{Datagram, Security, parse};
use bentpipe_units::{BitRate, Instant, Span};

use super::network::Flight;
use crate::program::{Begins, Program};

/// What is kept is written so often.
const KEEP_EVERY: Span = Span::from_secs(60);

#[derive(Debug)]
pub(super) struct Node {
    pub(super) key: SecretKey,
    pub(super) program: Option<Program>,
    security: Security,
    /// Nanoseconds of its calendar at time zero.
    calendar: u64,
    kept: Times,
    /// What paths carried.
    paths: PathMemory,
    keep_at: Instant,
    /// Hashes of what its program has taken for authentic.
    taken: BTreeSet<u64>,
    /// Programs that it has started.
    pub(super) starts: u64,
    /// When the program that was killed is started again.
    pub(super) returns: Option<Instant>,
}

impl Node {
    pub(super) fn new(key: SecretKey, security: Security, calendar: u64) -> Self {
        Self {
            key,
            program: None,
            security,
            calendar,
            kept: Times::default(),
            paths: PathMemory::default(),
            keep_at: Instant::ZERO,
            taken: BTreeSet::new(),
            starts: 0,
            returns: None,
        }
    }

    /// A program begins, and keeps its times at once.
    pub(super) fn start(&mut self, now: Instant, seed: u64) -> &mut Program {
        self.starts += 1;
        self.taken.clear();
        self.returns = None;
        let seed = seed ^ self.starts.wrapping_mul(0x2545_f491_4f6c_dd1d);
        let begins = Begins {
            key: self.key.clone(),
            calendar: self.calendar,
            times: self.kept.clone(),
            paths: on_disk(&self.paths, seed),
            security: self.security,
            seed,
        };
        let program = Program::new(begins, now);
        self.kept = program.host().shared().endpoint().times().clone();
        self.keep_at = now + KEEP_EVERY;
        self.program.insert(program)
    }

    /// A datagram has come. Nothing is authentic twice but cookies, which only say where to ask again.
    ///
    /// # Errors
    /// When it was.
    pub(super) fn receive(&mut self, now: Instant, flight: &Flight) -> Result<(), String> {
        let Some(program) = &mut self.program else { return Ok(()) };
        if !program.receive(now, flight.from, flight.ecn, &flight.bytes) {
            return Ok(());
        }
        let kind = match parse(self.security, &flight.bytes) {
            Some(Datagram::Cookie { .. }) | None => return Ok(()),
            Some(Datagram::Data { .. }) => "data",
            Some(Datagram::Init(_)) => "a request",
            Some(Datagram::Response { .. }) => "an answer",
        };
        let mut hasher = DefaultHasher::new();
        flight.bytes.hash(&mut hasher);
        if self.taken.insert(hasher.finish()) {
            return Ok(());
        }
        Err(format!("{kind} of {} bytes taken a second time", flight.bytes.len()))
    }

    /// The program is killed. What it knew is gone, but for what it kept.
    #[must_use = "it may have to be weighed"]
    pub(super) const fn kill(&mut self) -> Option<Program> {
        self.program.take()
    }

    /// Whoever is down is up by `at`.
    pub(super) fn return_by(&mut self, at: Instant) {
        self.returns = self.returns.map(|returns| returns.min(at));
    }

    /// Its calendar is set; programs notice when they start.
    pub(super) const fn set_calendar(&mut self, nanos: u64) {
        self.calendar = nanos;
    }

    /// Keeps what is to be kept.
    pub(super) fn keep(&mut self, now: Instant) {
        if let Some(program) = &self.program
            && now >= self.keep_at
        {
            let endpoint = program.host().shared().endpoint();
            self.kept = endpoint.times().clone();
            self.paths = endpoint.path_memory();
            drop(endpoint);
            self.keep_at = now + KEEP_EVERY;
        }
    }

    /// When something happens here by itself.
    pub(super) fn next(&self) -> Option<Instant> {
        let program = self.program.as_ref().and_then(Program::next_deadline);
        Instant::earliest(program, self.returns)
    }
}

/// What is on the disk of what paths carried: that, nothing, or a lie.
fn on_disk(kept: &PathMemory, draw: u64) -> PathMemory {
    let lie = |(peer, link, record)| {
        let rate = BitRate::from_bps(1 << (draw >> 8 & 63));
        let round_trip = Span::from_nanos(1 << (draw >> 16 & 63));
        (peer, link, PathRecord { rate, round_trip, ..record })
    };
    match draw & 3 {
        0 => PathMemory::default(),
        1 => PathMemory::new(kept.records().map(lie)),
        _ => kept.clone(),
    }
}
