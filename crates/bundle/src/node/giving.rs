//! What a node gives to neighbours and applications.

use std::io;

use bp7::administrative_record::{
    HOP_LIMIT_EXCEEDED, LIFETIME_EXPIRED, NO_INFORMATION, StatusReportReason,
};

use super::held::{Queue, SessionId, State};
use super::{News, Node};
use crate::making::Status;
use crate::store::{Folder, LoadError};
use crate::{BundleId, Checked, DtnTime, Origin};

/// What whoever was given a bundle says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It has the bundle on its medium: custody is there.
    Accepted,
    /// Not now.
    Later,
    /// It will never take it.
    Never,
}

/// Why a bundle was not deleted by its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotDeleted {
    /// There is none.
    #[error("this node holds no bundle {0}; `bentpipe bundle list` names those it has")]
    Absent(String),
    /// There are several; their hashes.
    #[error("several bundles are called {0}: name the one that is meant by its hash, {1}")]
    Several(String, String),
    /// The medium does not remove it: it is still here.
    #[error("{0} is still here: {1}")]
    Medium(BundleId, String),
}

/// A bundle that is given out.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    /// Its name.
    pub id: BundleId,
    /// The bundle, as it leaves.
    pub bundle: Checked,
}

impl<F: Folder> Node<F> {
    /// The next bundle for a session, of at most so many bytes. It stays here until it was answered.
    pub fn next(&mut self, now: DtnTime, session: SessionId, most: u64) -> Option<Outgoing> {
        if self.is_closing || !self.is_last(session) {
            return None;
        }
        let queue = self.sessions.get(&session)?.clone();
        self.expire(now);
        loop {
            let held = self.index.first(&queue)?;
            let (id, len) = (held.id.clone(), held.len);
            if len > most {
                self.refuse(&id);
                continue;
            }
            let Some((received, mut bundle)) = self.load(now, &id) else { continue };
            if matches!(queue, Queue::Neighbour(_)) {
                let stayed = now.as_millis().saturating_sub(received.as_millis());
                if !bundle.leave(self.config.node.endpoint(), stayed) {
                    self.delete(now, &id, HOP_LIMIT_EXCEEDED, "it has been too many hops");
                    continue;
                }
                // It has become longer by where it comes from.
                if bundle.to_bytes().len() as u64 > most {
                    self.refuse(&id);
                    continue;
                }
            }
            self.index.set(&id, State::Out(session));
            return Some(Outgoing { id, bundle });
        }
    }

    /// Whoever is at the other end of a session has answered. What was accepted is deleted here, and told apart when it
    /// comes again.
    ///
    /// # Errors
    /// When the medium does not take that; then the bundle is given out again later.
    pub fn answered(
        &mut self,
        now: DtnTime,
        session: SessionId,
        id: &BundleId,
        answer: Answer,
    ) -> io::Result<()> {
        let Some(queue) = self.sessions.get(&session).cloned() else { return Ok(()) };
        let Some(held) = self.index.get(id).filter(|held| held.queue == queue) else {
            return Ok(());
        };
        match answer {
            // Another copy has come since, which goes on by itself.
            _ if matches!(held.state, State::OlderIsOut(_)) && !is_local(&queue) => {
                match answer {
                    Answer::Accepted => self.index.set(id, State::Waits),
                    Answer::Later | Answer::Never => self.pause(now, id),
                }
                self.version += 1;
                Ok(())
            }
            Answer::Accepted => self.finish(now, id, &queue),
            // It may be on its way in a session that followed.
            _ if held.state != State::Out(session) => Ok(()),
            Answer::Later => {
                self.pause(now, id);
                Ok(())
            }
            Answer::Never => {
                self.refuse(id);
                Ok(())
            }
        }
    }

    /// It is offered again later.
    fn pause(&mut self, now: DtnTime, id: &BundleId) {
        self.index.set(id, State::Paused(now.plus(self.config.retry)));
        self.version += 1;
    }

    /// Whoever it is for never takes it.
    fn refuse(&mut self, id: &BundleId) {
        self.tell(News::Refused(id.clone()));
        self.index.set(id, State::Refused);
    }

    fn finish(&mut self, now: DtnTime, id: &BundleId, queue: &Queue) -> io::Result<()> {
        let Some(held) = self.index.get(id) else { return Ok(()) };
        let (seen, from) = ((held.lives_until, held.standing.hops), held.from);
        let is_local = is_local(queue);
        let status = if is_local { Status::Delivered } else { Status::Forwarded };
        let about = self.asks_for(id, status);
        if let Err(error) = self.store.finish(id, seen, now) {
            self.tell(News::Medium(error.to_string()));
            self.pause(now, id);
            return Err(error);
        }
        self.index.remove(id);
        if is_local {
            self.counters.delivered += 1;
        } else {
            self.counters.forwarded += 1;
        }
        if let Some(bundle) = about {
            self.report(now, (&bundle, from), status, NO_INFORMATION);
        }
        Ok(())
    }

    /// Deletes what has lived, and lets what has waited be offered again.
    pub fn expire(&mut self, now: DtnTime) {
        while let Some(id) = self.index.expired(now).map(|held| held.id.clone()) {
            self.delete(now, &id, LIFETIME_EXPIRED, "its lifetime is over");
        }
        if self.index.resume(now, self.config.retry) {
            self.version += 1;
        }
    }

    /// Deletes the bundle of this name, or of this hash where there are several of one name, as whoever runs it asks.
    ///
    /// # Errors
    /// When there is none, or more than one, or the medium does not remove it; then it is still here.
    pub fn delete_named(&mut self, now: DtnTime, said: &str) -> Result<BundleId, NotDeleted> {
        let is_it = |id: &BundleId| id.name() == said || id.hash_text() == said;
        let ids: Vec<BundleId> =
            self.index.iter().map(|held| &held.id).filter(|id| is_it(id)).cloned().collect();
        let id = match &ids[..] {
            [] => return Err(NotDeleted::Absent(said.to_owned())),
            [id] => id.clone(),
            several => {
                let hashes: Vec<String> = several.iter().map(BundleId::hash_text).collect();
                return Err(NotDeleted::Several(said.to_owned(), hashes.join(" or ")));
            }
        };
        let about = self.asks_for(&id, Status::Deleted);
        self.store
            .remove(&id)
            .map_err(|error| NotDeleted::Medium(id.clone(), error.to_string()))?;
        self.remember(now, &id);
        self.forget(now, &id, about, (NO_INFORMATION, "somebody has asked for that"));
        Ok(id)
    }

    fn delete(
        &mut self,
        now: DtnTime,
        id: &BundleId,
        reason: StatusReportReason,
        why: &'static str,
    ) {
        let about = self.asks_for(id, Status::Deleted);
        // Where it cannot be removed it is found again at the next start, and deleted then.
        if let Err(error) = self.store.remove(id) {
            self.tell(News::Medium(error.to_string()));
        }
        self.remember(now, id);
        self.forget(now, id, about, (reason, why));
    }

    /// A bundle that was given out is deleted: somebody may have it by now, and is not to be given it once more.
    fn remember(&mut self, now: DtnTime, id: &BundleId) {
        let Some(held) = self.index.get(id).filter(|held| held.was_out) else { return };
        let seen = (held.lives_until, held.standing.hops);
        if let Err(error) = self.store.finish(id, seen, now) {
            self.tell(News::Medium(error.to_string()));
        }
    }

    /// A bundle that is removed from the medium is held no more.
    fn forget(
        &mut self,
        now: DtnTime,
        id: &BundleId,
        about: Option<Checked>,
        (reason, why): (StatusReportReason, &'static str),
    ) {
        let from = self.index.remove(id).map_or(Origin::Stranger, |held| held.from);
        self.counters.deleted += 1;
        self.tell(News::Deleted(id.clone(), why));
        if let Some(bundle) = about {
            self.report(now, (&bundle, from), Status::Deleted, reason);
        }
    }

    /// The bundle, if it asks for a report of what becomes of it.
    fn asks_for(&mut self, id: &BundleId, status: Status) -> Option<Checked> {
        let (_, bundle) = self.store.load(id).ok()?;
        bundle.asks(status.flag()).then_some(bundle)
    }

    /// A bundle from the medium. One that is damaged is held no more; one that cannot be read is tried later.
    fn load(&mut self, now: DtnTime, id: &BundleId) -> Option<(DtnTime, Checked)> {
        match self.store.load(id) {
            Ok(loaded) => Some(loaded),
            Err(LoadError::Damaged) => {
                self.index.remove(id);
                self.tell(News::Damaged(id.to_string()));
                None
            }
            Err(LoadError::Unreadable(error)) => {
                self.tell(News::Medium(error.to_string()));
                self.pause(now, id);
                None
            }
        }
    }
}

/// Whether who takes from a queue is an application of this node.
const fn is_local(queue: &Queue) -> bool {
    matches!(queue, Queue::Endpoint(_))
}
