//! What a node takes.

use bentpipe_units::Span;
use bp7::administrative_record::{
    BLOCK_UNSUPPORTED, LIFETIME_EXPIRED, NO_INFORMATION, StatusReportReason,
};

use super::held::{Held, Queue, State};
use super::{News, Node, held};
use crate::making::{self, Request, Status};
use crate::store::Folder;
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
        // One that was passed on and has been further since comes in a circle: there may be no other one.
        let standing = bundle.standing();
        match self.index.get(&id) {
            Some(held) => {
                let circled = !is_local && held.was_out && standing.is_further_than(held.standing);
                if !circled && !standing.reaches_beyond(held.standing) {
                    return Ok(Taken::Known(id));
                }
            }
            None => {
                let is_new = |hops| !is_local && standing.hops > hops;
                if self.store.seen_hops(&id).is_some_and(|hops| !is_new(hops)) {
                    return Ok(Taken::Known(id));
                }
            }
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
        self.store_new(now, &mut bundle, from)?;
        let reason = if unknown.report { BLOCK_UNSUPPORTED } else { NO_INFORMATION };
        self.report(now, (&bundle, from), Status::Received, reason);
        Ok(Taken::Stored(id))
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
        if let Some(held) = self.index.get(&id).cloned() {
            return self.replace(now, &held, bundle, &bytes);
        }
        let all = (self.holds(), (limits.bundles, limits.bytes));
        let strangers = (self.index.of_strangers(), limits.of_strangers());
        for ((bundles, bytes), (most, most_bytes)) in
            [Some(all), (from == Origin::Stranger).then_some(strangers)].into_iter().flatten()
        {
            if bundles >= most || bytes.saturating_add(len) > most_bytes {
                return Err(Refusal::Full { id, bundles, bytes });
            }
        }
        if let Err(error) = self.store.put(&id, (now, from), &bytes) {
            let error = error.to_string();
            self.tell(News::Medium(error.clone()));
            return Err(Refusal::Medium { id, error });
        }
        self.hold(held(&self.config, bundle, (now, from), len));
        Ok(())
    }

    /// Takes a copy in place of one that is held. What went out of that one is answered for itself.
    fn replace(
        &mut self,
        now: DtnTime,
        held: &Held,
        bundle: &Checked,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let (id, len) = (held.id.clone(), bytes.len() as u64);
        let (bundles, sum) = self.holds();
        if sum - held.len + len > self.config.limits.bytes {
            return Err(Refusal::Full { id, bundles, bytes: sum });
        }
        if let Err(error) = self.store.replace(&id, (now, held.from), bytes) {
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
        let copy = self::held(&self.config, bundle, (now, held.from), len);
        self.hold(Held { state, was_out: held.was_out, ..copy });
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
