//! What a node holds, and for whom.

use std::collections::{BTreeMap, BTreeSet};

use bentpipe_units::Span;

use crate::standing::Standing;
use crate::{BundleId, DtnTime, Origin};

/// For whom a bundle waits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Queue {
    /// An endpoint of this node.
    Endpoint(String),
    /// A neighbour, by its place in the configuration.
    Neighbour(usize),
    /// Nobody: there is no route.
    Nowhere,
}

/// A line to whoever takes bundles from a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId(pub(super) u64);

/// Where a bundle is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Somebody may take it.
    Waits,
    /// It was given out and not answered yet.
    Out(SessionId),
    /// The same of a copy in place of which another one has come since.
    OlderIsOut(SessionId),
    /// Not before this time.
    Paused(DtnTime),
    /// Whoever it is for has refused it for good. It is kept until its lifetime is over.
    Refused,
}

/// A bundle that is held.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) id: BundleId,
    pub(super) queue: Queue,
    /// When its lifetime is over, and when this node has it for too long.
    pub(super) lives_until: DtnTime,
    pub(super) stays_until: DtnTime,
    pub(super) len: u64,
    pub(super) standing: Standing,
    pub(super) from: Origin,
    /// Whether somebody else may have it: it was given out once, or lay here at the start.
    pub(super) was_out: bool,
    pub(super) state: State,
}

impl Held {
    /// When it is deleted.
    pub(super) fn expires(&self) -> DtnTime {
        self.lives_until.min(self.stays_until)
    }
}

/// All that is held, in the order in which it came.
#[derive(Debug, Default)]
pub(super) struct Index {
    held: BTreeMap<u64, Held>,
    places: BTreeMap<BundleId, u64>,
    waiting: BTreeMap<Queue, BTreeSet<u64>>,
    paused: BTreeSet<(DtnTime, u64)>,
    expiries: BTreeSet<(DtnTime, u64)>,
    bytes: u64,
    /// Bundles of strangers, and their bytes.
    of_strangers: (usize, u64),
    last: u64,
}

impl Index {
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) const fn of_strangers(&self) -> (usize, u64) {
        self.of_strangers
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.held.values()
    }

    pub(super) fn get(&self, id: &BundleId) -> Option<&Held> {
        self.held.get(self.places.get(id)?)
    }

    pub(super) fn add(&mut self, held: Held) {
        self.last += 1;
        let place = self.last;
        self.bytes += held.len;
        if held.from == Origin::Stranger {
            self.of_strangers.0 += 1;
            self.of_strangers.1 += held.len;
        }
        self.places.insert(held.id.clone(), place);
        self.expiries.insert((held.expires(), place));
        self.enter(place, &held);
        self.held.insert(place, held);
    }

    pub(super) fn remove(&mut self, id: &BundleId) -> Option<Held> {
        let place = self.places.remove(id)?;
        let held = self.held.remove(&place)?;
        self.leave(place, &held);
        self.expiries.remove(&(held.expires(), place));
        self.bytes -= held.len;
        if held.from == Origin::Stranger {
            self.of_strangers.0 -= 1;
            self.of_strangers.1 -= held.len;
        }
        Some(held)
    }

    /// It is somewhere else on its way.
    pub(super) fn set(&mut self, id: &BundleId, state: State) {
        let Some(place) = self.places.get(id).copied() else { return };
        let Some(mut held) = self.held.remove(&place) else { return };
        self.leave(place, &held);
        held.state = state;
        held.was_out |= matches!(state, State::Out(_));
        self.enter(place, &held);
        self.held.insert(place, held);
    }

    /// The first one that somebody may take from a queue.
    pub(super) fn first(&self, queue: &Queue) -> Option<&Held> {
        self.held.get(self.waiting.get(queue)?.first()?)
    }

    /// What a session was given comes back.
    pub(super) fn release(&mut self, session: SessionId) {
        let is_out = |state| state == State::Out(session) || state == State::OlderIsOut(session);
        let out = self.held.values().filter(|held| is_out(held.state));
        let ids: Vec<BundleId> = out.map(|held| held.id.clone()).collect();
        ids.iter().for_each(|id| self.set(id, State::Waits));
    }

    /// What waited until now may be taken. True if there is any. Nothing waits for longer than `retry`: where it seems to, the
    /// calendar was set back.
    pub(super) fn resume(&mut self, now: DtnTime, retry: Span) -> bool {
        let mut any = false;
        let due = |paused: &BTreeSet<(DtnTime, u64)>| {
            let first = paused.first().filter(|(at, _)| *at <= now);
            first.or_else(|| paused.last().filter(|(at, _)| *at > now.plus(retry))).copied()
        };
        while let Some((at, place)) = due(&self.paused) {
            self.paused.remove(&(at, place));
            any = true;
            if let Some(id) = self.held.get(&place).map(|held| held.id.clone()) {
                self.set(&id, State::Waits);
            }
        }
        any
    }

    /// One whose lifetime is over.
    pub(super) fn expired(&self, now: DtnTime) -> Option<&Held> {
        let (_, place) = self.expiries.first().filter(|(at, _)| *at <= now)?;
        self.held.get(place)
    }

    /// When something happens by itself.
    pub(super) fn next_deadline(&self) -> Option<DtnTime> {
        let first = |set: &BTreeSet<(DtnTime, u64)>| set.first().map(|(at, _)| *at);
        [first(&self.paused), first(&self.expiries)].into_iter().flatten().min()
    }

    fn enter(&mut self, place: u64, held: &Held) {
        match held.state {
            State::Waits => {
                self.waiting.entry(held.queue.clone()).or_default().insert(place);
            }
            State::Paused(until) => {
                self.paused.insert((until, place));
            }
            State::Out(_) | State::OlderIsOut(_) | State::Refused => {}
        }
    }

    fn leave(&mut self, place: u64, held: &Held) {
        if let Some(waiting) = self.waiting.get_mut(&held.queue) {
            waiting.remove(&place);
            if waiting.is_empty() {
                self.waiting.remove(&held.queue);
            }
        }
        if let State::Paused(until) = held.state {
            self.paused.remove(&(until, place));
        }
    }
}
