//! What a node takes.

use bentpipe_units::Span;
use bp7::administrative_record::{
    BLOCK_UNSUPPORTED, LIFETIME_EXPIRED, NO_INFORMATION, StatusReportReason,
};

use super::held::{Held, Queue, State};
use super::{News, Node, held};
use crate::making::{self, Request, Status};
use crate::store::{Folder, LoadError};
use crate::{BundleId, Checked, DtnTime, Invalid, Origin};

/// What became of a bundle that was offered. In each case whoever has offered it may delete it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is on the medium.
    Stored(BundleId),
    /// It is, or was, here already.
    Known(BundleId),
    /// It was deleted, as the protocol wants it.
    Deleted(BundleId),
}

impl Taken {
    /// Its name.
    pub const fn id(&self) -> &BundleId {
        let (Self::Stored(id) | Self::Known(id) | Self::Deleted(id)) = self;
        id
    }
}

/// Why a bundle was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is wrong.
    #[error("{0}")]
    Invalid(#[from] Invalid),
    /// It is longer than this node takes.
    #[error("it has {len} bytes, and this node takes {most}")]
    TooLarge {
        /// Its length.
        len: u64,
        /// What is taken.
        most: u64,
    },
    /// It is a part of a bundle for this node, which puts none together.
    #[error("{0}: it is a fragment, and this node puts none together")]
    Fragment(BundleId),
    /// There is no room for it at the moment.
    #[error("{id}: there is no room: {bundles} bundles with {bytes} bytes are held")]
    Full {
        /// Its name.
        id: BundleId,
        /// Bundles that are held; of strangers, where it is from one.
        bundles: usize,
        /// Their bytes.
        bytes: u64,
    },
    /// The medium does not take it at the moment.
    #[error("{id}: the store fails: {error}")]
    Medium {
        /// Its name.
        id: BundleId,
        /// What the medium says.
        error: String,
    },
}

impl Refusal {
    /// Whether it is no use to offer it again.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Invalid(_) | Self::TooLarge { .. } | Self::Fragment(_))
    }

    /// The name of the bundle, if it has one.
    pub const fn id(&self) -> Option<&BundleId> {
        match self {
            Self::Fragment(id) | Self::Full { id, .. } | Self::Medium { id, .. } => Some(id),
            Self::Invalid(_) | Self::TooLarge { .. } => None,
        }
    }
}

/// Of refusals one is told in so long, with how many there were.
const REFUSALS: Span = Span::from_secs(1);

impl<F: Folder> Node<F> {
    /// Takes a bundle that somebody offers. When it returns without an error, the bundle is on the medium or need not be:
    /// custody is this node's.
    ///
    /// # Errors
    /// Why it is not taken; custody stays where it is.
    pub fn receive(&mut self, now: DtnTime, bytes: &[u8], from: Origin) -> Result<Taken, Refusal> {
        let taken = self.take(now, bytes, from);
        match &taken {
            Ok(Taken::Stored(_)) => self.counters.taken += 1,
            Ok(Taken::Known(_)) => self.counters.known += 1,
            Ok(Taken::Deleted(_)) => self.counters.deleted += 1,
            Err(refusal) => {
                self.counters.refused += 1;
                // Who offers without end fills no log.
                if !(self.told..self.told.plus(REFUSALS)).contains(&now) {
                    self.told = now;
                    self.tell(News::NotTaken(refusal.to_string(), self.counters.refused));
                }
            }
        }
        taken
    }

    fn take(&mut self, now: DtnTime, bytes: &[u8], from: Origin) -> Result<Taken, Refusal> {
        let (len, most) = (bytes.len() as u64, self.config.limits.largest);
        if len > most {
            return Err(Refusal::TooLarge { len, most });
        }
        let mut bundle = Checked::parse(bytes, self.config.limits.requires_crc)?;
        let id = bundle.id().clone();
        let is_local = self.config.node.has(bundle.destination());
        let standing = bundle.standing();
        // One that was passed on and has been further since comes in a circle: there may be no other one.
        let is_new = |hops| !is_local && standing.hops > hops;
        if self.store.seen_hops(&id).is_some_and(|hops| !is_new(hops)) {
            return Ok(Taken::Known(id));
        }
        let held = self.index.get(&id).cloned();
        if held.as_ref().is_some_and(|held| !self.is_wanted_beside(now, held, &bundle)) {
            return Ok(Taken::Known(id));
        }
        if is_local && bundle.is_fragment() {
            return Err(Refusal::Fragment(id));
        }
        if bundle.expires(now) <= now {
            self.tell(News::Deleted(id.clone(), "its lifetime was over when it came"));
            self.report(now, (&bundle, from), Status::Deleted, LIFETIME_EXPIRED);
            return Ok(Taken::Deleted(id));
        }
        let unknown = bundle.settle_unknown();
        if unknown.delete {
            self.tell(News::Deleted(id.clone(), "it has a block that this node does not know"));
            self.report(now, (&bundle, from), Status::Deleted, BLOCK_UNSUPPORTED);
            return Ok(Taken::Deleted(id));
        }
        if let Some(held) = held {
            self.replace(now, &held, &mut bundle, from)?;
        } else {
            self.store_new(now, &mut bundle, from)?;
            let reason = if unknown.report { BLOCK_UNSUPPORTED } else { NO_INFORMATION };
            self.report(now, (&bundle, from), Status::Received, reason);
        }
        Ok(Taken::Stored(id))
    }

    /// Whether a copy is of use beside the one that is held: it has come in a circle, can go further, or lives longer by an
    /// eighth of what is left.
    fn is_wanted_beside(&self, now: DtnTime, held: &Held, copy: &Checked) -> bool {
        let left = held.lives_until.as_millis().saturating_sub(now.as_millis());
        let standing = copy.standing();
        self.has_circled(held, copy)
            || standing.reaches_beyond(held.standing)
            || copy.expires(now) > held.lives_until.plus_millis(left / 8)
    }

    /// Whether a copy was passed on by this node and has come back.
    fn has_circled(&self, held: &Held, copy: &Checked) -> bool {
        let is_local = self.config.node.has(copy.destination());
        !is_local && held.was_out && copy.standing().is_further_than(held.standing)
    }

    /// Makes a bundle for an application and takes it. When it returns without an error, the bundle is on the medium.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn submit(&mut self, now: DtnTime, request: &Request) -> Result<BundleId, Refusal> {
        let wrong = |what: &str| Refusal::Invalid(Invalid(what.to_owned()));
        if !self.config.node.has(&request.from) {
            return Err(wrong("it is not from an endpoint of this node"));
        }
        let made = making::request(request, now, self.next_number());
        let mut made = made.ok_or_else(|| wrong("it is for nobody"))?;
        if made.expires(now) <= now {
            return Err(wrong("its lifetime is over when it begins"));
        }
        if now == DtnTime::default() {
            return Err(wrong("the calendar of this node is before 2000: set it"));
        }
        // What nobody can read is not taken, whatever made it so.
        Checked::parse(&made.to_bytes(), true)?;
        self.store_new(now, &mut made, Origin::Known)?;
        self.counters.taken += 1;
        Ok(made.id().clone())
    }

    fn store_new(
        &mut self,
        now: DtnTime,
        bundle: &mut Checked,
        from: Origin,
    ) -> Result<(), Refusal> {
        let (bytes, limits, id) = (bundle.to_bytes(), self.config.limits, bundle.id().clone());
        let len = bytes.len() as u64;
        if len > limits.largest {
            return Err(Refusal::TooLarge { len, most: limits.largest });
        }
        self.find_room((&id, len), from, None)?;
        if let Err(error) = self.store.put(&id, (now, from), &bytes) {
            let error = error.to_string();
            self.tell(News::Medium(error.clone()));
            return Err(Refusal::Medium { id, error });
        }
        self.hold(held(&self.config, bundle, (now, from), len));
        Ok(())
    }

    /// Whether there is room for a bundle of this length, in place of one that is held if there is one.
    fn find_room(
        &self,
        (id, len): (&BundleId, u64),
        from: Origin,
        replaced: Option<&Held>,
    ) -> Result<(), Refusal> {
        let limits = self.config.limits;
        let gone = replaced.map(|held| (held.from, held.len));
        let gone_of = |of: fn(Origin) -> bool| gone.filter(|(from, _)| of(*from)).map(|it| it.1);
        let all = (self.holds(), (limits.bundles, limits.bytes), gone_of(|_| true));
        let (of_strangers, most) = (self.index.of_strangers(), limits.of_strangers());
        let strangers = (of_strangers, most, gone_of(|from| from == Origin::Stranger));
        for ((bundles, bytes), (most, most_bytes), gone) in
            [Some(all), (from == Origin::Stranger).then_some(strangers)].into_iter().flatten()
        {
            let (bundles, bytes) = gone.map_or((bundles, bytes), |len| (bundles - 1, bytes - len));
            if bundles >= most || bytes.saturating_add(len) > most_bytes {
                return Err(Refusal::Full { id: id.clone(), bundles, bytes });
            }
        }
        Ok(())
    }

    /// Takes a copy in place of one that is held, with the better of both: how far it can go, unless it has come in a circle, and
    /// how long it lives. What went out of the one that is held is answered for itself.
    fn replace(
        &mut self,
        now: DtnTime,
        held: &Held,
        bundle: &mut Checked,
        from: Origin,
    ) -> Result<(), Refusal> {
        let id = held.id.clone();
        match self.store.load(&id) {
            Ok((received, known)) => {
                let has_circled = self.has_circled(held, bundle);
                if !has_circled && !bundle.standing().reaches_beyond(held.standing) {
                    bundle.take_hops(&known);
                }
                if bundle.expires(now) <= held.lives_until {
                    let stayed = now.as_millis().saturating_sub(received.as_millis());
                    bundle.take_age(&known, stayed);
                }
            }
            // There is nothing to be kept of it.
            Err(LoadError::Damaged) => {}
            Err(LoadError::Unreadable(error)) => {
                let error = error.to_string();
                self.tell(News::Medium(error.clone()));
                return Err(Refusal::Medium { id, error });
            }
        }
        let bytes = bundle.to_bytes();
        let len = bytes.len() as u64;
        // What a stranger makes longer is a stranger's, and what a neighbour sends too is not.
        let from = if from == Origin::Known || len > held.len { from } else { held.from };
        self.find_room((&id, len), from, Some(held))?;
        if let Err(error) = self.store.replace(&id, (now, from), &bytes) {
            let error = error.to_string();
            self.tell(News::Medium(error.clone()));
            return Err(Refusal::Medium { id, error });
        }
        let state = match held.state {
            State::Out(session) | State::OlderIsOut(session) => State::OlderIsOut(session),
            State::Refused => State::Waits,
            other => other,
        };
        self.index.remove(&id);
        let copy = self::held(&self.config, bundle, (now, from), len);
        let stays_until = held.stays_until;
        self.hold(Held { state, was_out: held.was_out, stays_until, ..copy });
        Ok(())
    }

    /// Makes the report that a bundle asks for, if it asks. There may be no room for it: what a stranger asks for is a stranger's.
    pub(super) fn report(
        &mut self,
        now: DtnTime,
        (about, from): (&Checked, Origin),
        status: Status,
        reason: StatusReportReason,
    ) {
        let number = self.next_number();
        let node = self.config.node.endpoint();
        let report = making::report(about, node, (status, reason), now, number);
        let Some(mut report) = report else { return };
        let is_readable = Checked::parse(&report.to_bytes(), true).is_ok();
        if !is_readable || self.config.queue(report.destination()) == Queue::Nowhere {
            return;
        }
        // Nobody has custody of a report that was never made.
        let _ = self.store_new(now, &mut report, from);
    }
}
