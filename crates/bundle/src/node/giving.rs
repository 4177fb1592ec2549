//! What a node gives to neighbours and applications.

use std::io;

use bp7::administrative_record::{
    HOP_LIMIT_EXCEEDED, LIFETIME_EXPIRED, NO_INFORMATION, StatusReportReason,
};

use super::held::{Queue, SessionId, State};
use super::{News, Node};
use crate::making::Status;
use crate::store::{Folder, LoadError};
use crate::{BundleId, Checked, DtnTime};

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
        let (expires, hops) = (held.expires, held.hops);
        match answer {
            Answer::Accepted => self.finish(now, id, &queue, (expires, hops)),
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

    fn finish(
        &mut self,
        now: DtnTime,
        id: &BundleId,
        queue: &Queue,
        (expires, hops): (DtnTime, u8),
    ) -> io::Result<()> {
        let is_local = matches!(queue, Queue::Endpoint(_));
        let status = if is_local { Status::Delivered } else { Status::Forwarded };
        let about = self.store.load(id).ok().filter(|(_, bundle)| bundle.asks(status.flag()));
        if let Err(error) = self.store.finish(id, (expires, hops), now) {
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
        if let Some((_, bundle)) = about {
            self.report(now, &bundle, status, NO_INFORMATION);
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

    /// Deletes what it holds of this name, as whoever runs it asks. How many bundles there were.
    pub fn delete_named(&mut self, now: DtnTime, name: &str) -> usize {
        let ids: Vec<BundleId> = self
            .index
            .iter()
            .filter(|held| held.id.name() == name)
            .map(|it| it.id.clone())
            .collect();
        ids.iter()
            .for_each(|id| self.delete(now, id, NO_INFORMATION, "somebody has asked for that"));
        ids.len()
    }

    fn delete(
        &mut self,
        now: DtnTime,
        id: &BundleId,
        reason: StatusReportReason,
        why: &'static str,
    ) {
        let flag = Status::Deleted.flag();
        let about = self.store.load(id).ok().filter(|(_, bundle)| bundle.asks(flag));
        // Where it cannot be removed it is found again at the next start, and deleted then.
        if let Err(error) = self.store.remove(id) {
            self.tell(News::Medium(error.to_string()));
        }
        self.index.remove(id);
        self.counters.deleted += 1;
        self.tell(News::Deleted(id.clone(), why));
        if let Some((_, bundle)) = about {
            self.report(now, &bundle, Status::Deleted, reason);
        }
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
