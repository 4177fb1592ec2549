//! A bundle node: what it takes, keeps, gives on and delivers.
//!
//! The machine has no clock and no socket. It is told the time of the calendar with every call, and writes to a [`Folder`].

mod config;
mod giving;
mod held;
mod taking;

use std::collections::BTreeMap;
use std::{fmt, io};

pub use config::{Config, Limits, Route};
pub use giving::{Answer, NotDeleted, Outgoing};
pub use held::{Queue, SessionId};
pub use taking::{Refusal, Taken};

use crate::store::{Folder, Problem, Store};
use crate::{BundleId, Checked, DtnTime, Origin};
use held::{Held, Index, State};

/// News that are kept until somebody reads them.
const MOST_NEWS: usize = 1000;
/// Sessions that may be on one queue. One more, and the oldest is to end.
const MOST_SESSIONS: usize = 4;

/// A bundle node.
#[derive(Debug)]
pub struct Node<F> {
    config: Config,
    store: Store<F>,
    index: Index,
    sessions: BTreeMap<SessionId, Queue>,
    last_session: u64,
    /// Bundles that were made here since the start, and what their numbers are made from with it.
    made: u64,
    salt: u64,
    news: Vec<News>,
    /// When a refusal was told last.
    told: DtnTime,
    counters: Counters,
    /// Goes up whenever somebody who waits may go on.
    version: u64,
    is_closing: bool,
}

/// What a node has done since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bundles that it has taken custody of.
    pub taken: u64,
    /// Bundles that came and were known.
    pub known: u64,
    /// Bundles that it has refused.
    pub refused: u64,
    /// Bundles of which a neighbour has taken custody.
    pub forwarded: u64,
    /// Bundles that an application has taken.
    pub delivered: u64,
    /// Bundles that it has deleted: lifetime over, too many hops, what a block asked for.
    pub deleted: u64,
}

/// Something that those who run a node should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A file was found damaged and moved aside.
    Damaged(String),
    /// The medium fails.
    Medium(String),
    /// A bundle was deleted, and why.
    Deleted(BundleId, &'static str),
    /// A neighbour has refused a bundle for good.
    Refused(BundleId),
    /// A bundle has come for which there is no route.
    NoRoute(BundleId),
    /// A bundle was not taken: why, and how many were not since the node began. Of several in a second one is told.
    NotTaken(String, u64),
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(name) => write!(f, "{name} is damaged and was set aside"),
            Self::Medium(what) => write!(f, "the store fails: {what}"),
            Self::Deleted(id, why) => write!(f, "{id}: deleted: {why}"),
            Self::Refused(id) => write!(f, "{id}: refused by the next node for good"),
            Self::NotTaken(why, all) => {
                write!(f, "a bundle was not taken, {all} by now: {why}")
            }
            Self::NoRoute(id) => write!(f, "{id}: there is no route; it is kept"),
        }
    }
}

/// A bundle that a node holds, for whoever looks on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub id: BundleId,
    /// For whom it waits.
    pub queue: Queue,
    /// Its length in bytes.
    pub len: u64,
    /// When its lifetime is over.
    pub expires: DtnTime,
    /// Whether it was refused for good.
    pub is_refused: bool,
}

impl<F: Folder> Node<F> {
    /// A node on a folder, which it looks through. `salt` is a secret that differs from start to start: sequence numbers are made
    /// from it, so that nobody can tell the next one, and a calendar that goes back makes no name twice.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn open(config: Config, folder: F, now: DtnTime, salt: u64) -> io::Result<Self> {
        let mut found = Vec::new();
        let (store, problems) = Store::open(folder, config.limits.seen, |it| {
            let since = (it.received, it.from);
            found.push((
                it.received,
                Held { was_out: true, ..held(&config, &it.bundle, since, it.len) },
            ));
        })?;
        found.sort_by_key(|(received, _)| *received);
        let mut node = Self {
            config,
            store,
            index: Index::default(),
            sessions: BTreeMap::new(),
            last_session: 0,
            made: 0,
            salt,
            news: Vec::new(),
            told: DtnTime::default(),
            counters: Counters::default(),
            version: 0,
            is_closing: false,
        };
        for problem in problems {
            node.tell(match problem {
                Problem::Damaged(name) => News::Damaged(name),
                Problem::Medium(what) => News::Medium(what),
            });
        }
        found.into_iter().for_each(|(_, it)| node.hold(it));
        node.expire(now);
        Ok(node)
    }

    /// A number that changes whenever somebody who waits for a bundle, or for the end of a session, may go on.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// What it was told.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// What it has done.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Bundles that it holds, and their bytes.
    pub fn holds(&self) -> (usize, u64) {
        (self.index.len(), self.index.bytes())
    }

    /// Names of bundles that were here.
    pub fn seen(&self) -> usize {
        self.store.seen()
    }

    /// All bundles that it holds, the oldest first.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.index.iter().map(|held| Entry {
            id: held.id.clone(),
            queue: held.queue.clone(),
            len: held.len,
            expires: held.expires(),
            is_refused: held.state == State::Refused,
        })
    }

    /// What those who run it should know since they asked last.
    pub fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// When [`Node::expire`] has something to do.
    pub fn next_deadline(&self) -> Option<DtnTime> {
        self.index.next_deadline()
    }

    /// A session that takes bundles of a queue. Of several the last one gets them, the others only answer.
    pub fn begin(&mut self, queue: Queue) -> SessionId {
        self.last_session += 1;
        let session = SessionId(self.last_session);
        self.sessions.insert(session, queue);
        self.version += 1;
        session
    }

    /// It has ended; what it was given and has not answered is given out again.
    pub fn end(&mut self, session: SessionId) {
        self.sessions.remove(&session);
        self.index.release(session);
        self.version += 1;
    }

    /// Its sessions with neighbours are to end: nothing is given out any more, and what is under way is answered.
    pub const fn close(&mut self) {
        self.is_closing = true;
        self.version += 1;
    }

    /// Whether they are.
    pub const fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Whether there is a session with a neighbour.
    pub fn has_sessions(&self) -> bool {
        self.sessions.values().any(|queue| matches!(queue, Queue::Neighbour(_)))
    }

    /// How many sessions there are on a queue.
    pub fn sessions(&self, queue: &Queue) -> usize {
        self.sessions.values().filter(|of| *of == queue).count()
    }

    /// Whether a session is one too many: a peer that comes back again and again leaves sessions that hear nothing.
    pub fn is_over(&self, session: SessionId) -> bool {
        let Some(queue) = self.sessions.get(&session) else { return true };
        let later = self.sessions.range(session..).filter(|(_, of)| *of == queue).count();
        later > MOST_SESSIONS
    }

    /// Whether it is the last one on its queue.
    fn is_last(&self, session: SessionId) -> bool {
        let queue = self.sessions.get(&session);
        queue.is_some()
            && self.sessions.range(session..).filter(|(_, of)| Some(*of) == queue).count() == 1
    }

    /// The sequence number of a bundle that is made here: 48 bits.
    fn next_number(&mut self) -> u64 {
        self.made += 1;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.salt.to_be_bytes()).update(&self.made.to_be_bytes());
        let hash = hasher.finalize();
        hash.as_bytes()[..6].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn hold(&mut self, held: Held) {
        if held.queue == Queue::Nowhere {
            self.tell(News::NoRoute(held.id.clone()));
        }
        self.version += 1;
        self.index.add(held);
    }

    fn tell(&mut self, news: News) {
        if self.news.len() < MOST_NEWS {
            self.news.push(news);
        }
    }
}

/// What is to be known of a bundle without its file.
fn held(config: &Config, bundle: &Checked, (received, from): (DtnTime, Origin), len: u64) -> Held {
    let longest = config.limits.lifetime.map_or(DtnTime::NEVER, |longest| received.plus(longest));
    Held {
        id: bundle.id().clone(),
        queue: config.queue(bundle.destination()),
        lives_until: bundle.expires(received),
        stays_until: longest,
        len,
        standing: bundle.standing(),
        from,
        was_out: false,
        state: State::Waits,
    }
}

#[cfg(test)]
mod tests;
