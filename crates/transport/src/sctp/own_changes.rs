//! Addresses of this end that come and go while an association is open (RFC 5061): they are told one change at a time, by
//! ASCONF, until ASCONF-ACK comes. Those of the peer are in [`super::peer_changes`].

use std::collections::VecDeque;
use std::net::IpAddr;

use bentpipe_units::{Instant, Seq32};
use bentpipe_wire::sctp::{AddressChange, Asconf, AsconfAck, AsconfOutcome, AsconfRequest, Cause};

use super::Notice;
use super::path::Path;
use super::path_ends::{self, PathEnds, Standing, alive};
use super::retry::{Exhausted, Retry};
use super::sender::Sender;
use crate::PathId;

/// Most changes of this end that wait for their turn.
const MOST_WAITING: usize = 16;
/// What is wrong where a peer does not know ASCONF: it does not recognize the chunk (RFC 9260, section 3.3.10.6).
const UNRECOGNIZED_CHUNK: u16 = 6;

/// A change of this end's addresses, in one ASCONF: first what comes, then what goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readdress {
    /// A new address of this end, `own` of the path that begins there, and the path. ASCONF leaves from it, which works
    /// where the old address is gone already.
    pub add: Option<(PathId, PathEnds)>,
    /// The peer shall send to the new address first, as this end does from there.
    pub set_primary: bool,
    /// An address that is gone, or soon will be.
    pub delete: Option<IpAddr>,
}

/// Why a change of addresses cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReaddressError {
    /// The association is not open.
    #[error("the association is not open")]
    NotOpen,
    /// The peer takes no changes, or this end does not offer any.
    #[error("the peer takes no changes of addresses: both ends must have `asconf` on")]
    NotAgreed,
    /// Nobody said which address this end has.
    #[error("no path has a known address of this end")]
    Nameless,
    /// There are enough paths or changes.
    #[error("there are 16 paths or changes already")]
    TooMany,
    /// There is such an address or path already.
    #[error("{0} is an address of this end already, or its path is one")]
    Known(IpAddr),
    /// It is the last address of this end, or not one of them.
    #[error("{0} is the last address of this end or none of them")]
    NotDeletable(IpAddr),
}

/// An ASCONF that was not answered yet.
#[derive(Debug)]
struct Outstanding {
    asconf: Asconf,
    change: Readdress,
    retry: Retry,
    /// The path that it took last.
    path: usize,
}

/// Changes of this end's addresses.
#[derive(Debug)]
pub(super) struct OwnChanges {
    /// Numbers of the next ASCONF and the next request.
    serial: Seq32,
    correlation: u32,
    waiting: VecDeque<Readdress>,
    /// Addresses of this end that the peer knows, while changes are on their way.
    told: Vec<IpAddr>,
    out: Option<Outstanding>,
}

impl OwnChanges {
    /// None yet. ASCONFs are numbered from the first TSN of their end on (RFC 5061, section 5.1).
    pub(super) const fn new(first: Seq32) -> Self {
        Self {
            serial: first,
            correlation: 1,
            waiting: VecDeque::new(),
            told: Vec::new(),
            out: None,
        }
    }

    /// The association ends: nothing is told any more.
    pub(super) fn stop(&mut self) {
        self.waiting.clear();
        self.out = None;
    }

    /// Takes a change of this end's addresses, of which the peer was told these. Its own paths change at once.
    pub(super) fn request(
        &mut self,
        now: Instant,
        change: Readdress,
        tx: &mut Sender,
        told: &[IpAddr],
    ) -> Result<(), ReaddressError> {
        if self.waiting.len() == MOST_WAITING {
            return Err(ReaddressError::TooMany);
        }
        if self.out.is_none() && self.waiting.is_empty() {
            self.told = alive(tx).filter_map(|(_, path)| path.ends.own).collect();
        }
        if self.told.is_empty() {
            return Err(ReaddressError::Nameless);
        }
        let added = change.add.and_then(|(_, ends)| ends.own);
        if change.add.is_some() && added.is_none() {
            return Err(ReaddressError::Nameless);
        }
        let stays = |path: &Path| path.standing != Standing::Leaving;
        if let Some((id, PathEnds { own: Some(own), .. })) = change.add {
            let is_it = |path: &Path| stays(path) && (path.id == id || path.ends.own == Some(own));
            if alive(tx).any(|(_, path)| is_it(path)) {
                return Err(ReaddressError::Known(own));
            }
        }
        if let Some(gone) = change.delete {
            let own =
                || alive(tx).filter(|(_, path)| stays(path)).filter_map(|(_, path)| path.ends.own);
            // One that the peer was told of may have no path of its own.
            let has = own().chain(told.iter().copied()).any(|own| own == gone);
            let others = own().any(|own| own != gone);
            if !has || added == Some(gone) || !(others || added.is_some()) {
                return Err(ReaddressError::NotDeletable(gone));
            }
        }
        if let Some((id, ends)) = change.add {
            let index = path_ends::add(tx, now, id, ends, Standing::Untold)
                .ok_or(ReaddressError::TooMany)?;
            if change.set_primary {
                tx.primary = index;
            }
        }
        if let Some(gone) = change.delete {
            for index in 0..tx.paths.len() {
                let path = &tx.paths[index];
                if path.ends.own != Some(gone) {
                    continue;
                }
                match path.standing {
                    Standing::Known | Standing::Later => path_ends::leave(tx, index),
                    // Nothing has left from there but ASCONF.
                    Standing::Untold => path_ends::retire(tx, index),
                    Standing::Leaving | Standing::Gone => {}
                }
            }
        }
        self.waiting.push_back(change);
        Ok(())
    }

    /// The ASCONF that leaves now, and the index of its path.
    pub(super) fn next(&mut self, now: Instant, tx: &Sender) -> Option<(usize, Asconf)> {
        if self.out.is_none() {
            let change = self.waiting.pop_front()?;
            let stays = self.told.iter().find(|told| Some(**told) != change.delete);
            let known = *stays.or(self.told.first())?;
            let mut retry = Retry::default();
            retry.start();
            let asconf = self.asconf(&change, known);
            self.out = Some(Outstanding { asconf, change, retry, path: 0 });
        }
        let out = self.out.as_mut().filter(|out| out.retry.wanted)?;
        let tries = out.retry.count();
        out.path = source(&out.change, tries, tx)?;
        let path = &tx.paths[out.path];
        let wait = (path.rto() * (1 << tries.min(20))).min(tx.config.rto_max);
        out.retry.sent(now, wait);
        Some((out.path, out.asconf.clone()))
    }

    fn asconf(&mut self, change: &Readdress, known: IpAddr) -> Asconf {
        let added = change.add.and_then(|(_, ends)| ends.own);
        let changes = [
            added.map(AddressChange::Add),
            added.filter(|_| change.set_primary).map(AddressChange::SetPrimary),
            change.delete.map(AddressChange::Delete),
        ];
        let first = self.correlation;
        let requests: Vec<_> = (0..)
            .zip(changes.into_iter().flatten())
            .map(|(n, change)| AsconfRequest { correlation: first.wrapping_add(n), change })
            .collect();
        self.correlation = self.correlation.wrapping_add(requests.len() as u32); // at most three
        let serial = self.serial;
        self.serial = serial.plus(1);
        Asconf { serial, known, requests }
    }

    /// Whether an ASCONF is to leave.
    pub(super) fn is_due(&self) -> bool {
        self.out.as_ref().map_or(!self.waiting.is_empty(), |out| out.retry.wanted)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.out.as_ref()?.retry.deadline()
    }

    /// T4: lets the time pass. True when an ASCONF was not answered in time.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        most: u32,
    ) -> Result<Option<usize>, Exhausted> {
        let Some(out) = &mut self.out else { return Ok(None) };
        let expired = out.retry.handle_timeout(now, most)?;
        Ok(expired.then_some(out.path))
    }

    /// The peer has answered.
    pub(super) fn handle_ack(
        &mut self,
        now: Instant,
        from: usize,
        ack: &AsconfAck,
        tx: &mut Sender,
    ) -> Option<Notice> {
        let out =
            self.out.take_if(|out| out.asconf.serial == ack.serial && out.retry.count() > 0)?;
        let refusal = |correlation: u32| {
            let answer = ack.answers.iter().find(|answer| answer.correlation == correlation)?;
            match &answer.outcome {
                AsconfOutcome::Refused(causes) => Some(causes.first().map_or(0, Cause::code)),
                _ => None,
            }
        };
        let refused = |request: &AsconfRequest| refusal(request.correlation);
        let code = out.asconf.requests.iter().find_map(refused);
        let was_refused = |is: fn(&AddressChange) -> bool| {
            let request = out.asconf.requests.iter().find(|request| is(&request.change));
            request.and_then(refused).is_some()
        };
        if let Some(added) = out.change.add.and_then(|(_, ends)| ends.own) {
            let is_refused = was_refused(|change| matches!(change, AddressChange::Add(_)));
            self.told.extend((!is_refused).then_some(added));
            // One that comes and goes within a round trip is told of once more.
            let again = self.waiting.iter().any(|change| is_about(change, added));
            for index in path_ends::from(tx, added, Standing::Untold) {
                if is_refused {
                    path_ends::retire(tx, index);
                } else if !again {
                    taken(now, index, from, &out.retry, tx);
                }
            }
        }
        if let Some(deleted) = out.change.delete {
            let is_refused = was_refused(|change| matches!(change, AddressChange::Delete(_)));
            self.told.retain(|told| *told != deleted || is_refused);
            for index in path_ends::from(tx, deleted, Standing::Leaving) {
                // It is gone here, whatever the peer says: it is kept only where there is nothing else.
                let others = || alive(tx).filter(|(_, path)| path.standing != Standing::Leaving);
                if is_refused && others().next().is_none() {
                    path_ends::revive(tx, index);
                } else {
                    path_ends::retire(tx, index);
                }
            }
        }
        tx.errors = 0;
        Some(code.map_or(Notice::Readdressed, Notice::ReaddressRefused))
    }

    /// The peer does not know ASCONF after all.
    pub(super) fn not_known(&mut self, tx: &mut Sender) -> Option<Notice> {
        let out = self.out.take()?;
        for change in self.waiting.drain(..).chain([out.change]) {
            if let Some(added) = change.add.and_then(|(_, ends)| ends.own) {
                let untold = path_ends::from(tx, added, Standing::Untold);
                untold.into_iter().for_each(|index| path_ends::retire(tx, index));
            }
            if let Some(deleted) = change.delete {
                let leaving = path_ends::from(tx, deleted, Standing::Leaving);
                leaving.into_iter().for_each(|index| path_ends::revive(tx, index));
            }
        }
        Some(Notice::ReaddressRefused(UNRECOGNIZED_CHUNK))
    }
}

/// Whether a change is about an address.
fn is_about(change: &Readdress, address: IpAddr) -> bool {
    change.delete == Some(address) || change.add.is_some_and(|(_, ends)| ends.own == Some(address))
}

/// The path that an ASCONF leaves by: a new address is told from itself, and where that does not get through from the others in
/// turn. None leaves from the address that it deletes, if there is another.
fn source(change: &Readdress, tries: u32, tx: &Sender) -> Option<usize> {
    let added = change.add.and_then(|(_, ends)| ends.own);
    let added = added.and_then(|own| path_ends::from(tx, own, Standing::Untold).first().copied());
    let deletes = |path: &Path| change.delete.is_some() && path.ends.own == change.delete;
    let talks = |index: &usize| tx.paths[*index].may_talk() && !deletes(&tx.paths[*index]);
    let data = tx.data_path();
    let others = (0..tx.paths.len()).filter(|index| *index != data);
    let known = [data].into_iter().chain(others).filter(talks);
    // Where addresses of both ends went and came in the meantime, those of later changes may be all that gets through.
    let later = alive(tx)
        .filter(|(index, path)| path.standing == Standing::Untold && added != Some(*index));
    let later = later.map(|(index, _)| index);
    let sources: Vec<usize> = added.into_iter().chain(known).chain(later).collect();
    let any = || alive(tx).map(|(index, _)| index).next();
    sources.get(tries as usize % sources.len().max(1)).copied().or_else(any)
}

/// The peer has taken a new address: its path may carry everything.
fn taken(now: Instant, index: usize, from: usize, retry: &Retry, tx: &mut Sender) {
    tx.paths[index].standing = Standing::Later;
    if from == index {
        // The question left from there, and the answer came back.
        if let Some(sent_at) = retry.sent_once() {
            tx.paths[index].measured(now.since(sent_at));
        }
        tx.confirm(now, index);
    }
    tx.try_paths();
}
