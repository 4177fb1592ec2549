//! A node that several futures use.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use bentpipe_association::host::Runtime;
use tokio::sync::watch;

use crate::{DtnTime, Folder, News, Node, Queue, SessionId};

/// What tells the time of the calendar.
type Calendar = Arc<dyn Fn() -> DtnTime + Send + Sync>;
/// What is told when something should be known.
type Listener = Arc<dyn Fn(News) + Send + Sync>;

/// A node that several futures use. Clones are the same node.
///
/// Each call works on the medium, and so it is done where it holds up nobody ([`Runtime::blocking`]).
pub struct SharedNode<F> {
    node: Arc<Mutex<Node<F>>>,
    changed: Arc<watch::Sender<u64>>,
    calendar: Calendar,
    listener: Listener,
}

impl<F> Clone for SharedNode<F> {
    fn clone(&self) -> Self {
        Self {
            node: self.node.clone(),
            changed: self.changed.clone(),
            calendar: self.calendar.clone(),
            listener: self.listener.clone(),
        }
    }
}

impl<F> fmt::Debug for SharedNode<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedNode").finish_non_exhaustive()
    }
}

impl<F: Folder> SharedNode<F> {
    /// A node that is told the time by `calendar`, and whose news go to `listener`.
    pub fn new(
        node: Node<F>,
        calendar: impl Fn() -> DtnTime + Send + Sync + 'static,
        listener: impl Fn(News) + Send + Sync + 'static,
    ) -> Self {
        let shared = Self {
            node: Arc::new(Mutex::new(node)),
            changed: Arc::new(watch::Sender::new(0)),
            calendar: Arc::new(calendar),
            listener: Arc::new(listener),
        };
        shared.tell(&mut shared.lock());
        shared
    }

    /// The time of the calendar.
    pub fn now(&self) -> DtnTime {
        (self.calendar)()
    }

    /// Tells of each time that somebody who waits may go on.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Does something with the node. Whoever waits for it is woken.
    ///
    /// # Errors
    /// When it panicked, or the runtime is shutting down.
    pub async fn with<T: Send + 'static>(
        &self,
        runtime: &impl Runtime,
        act: impl FnOnce(&mut Node<F>, DtnTime) -> T + Send + 'static,
    ) -> io::Result<T> {
        let shared = self.clone();
        runtime.blocking(move || shared.at_once(act)).await
    }

    /// The same, on this thread.
    pub fn at_once<T>(&self, act: impl FnOnce(&mut Node<F>, DtnTime) -> T) -> T {
        let now = self.now();
        let mut node = self.lock();
        let done = act(&mut node, now);
        self.tell(&mut node);
        let version = node.version();
        drop(node);
        self.changed.send_if_modified(|told| std::mem::replace(told, version) != version);
        done
    }

    /// Looks at the node. Nobody is woken.
    pub fn look<T>(&self, look: impl FnOnce(&Node<F>) -> T) -> T {
        look(&self.lock())
    }

    /// A session on a queue, which ends when it is dropped.
    pub fn begin(&self, queue: Queue) -> Line<F> {
        let session = self.at_once(|node, _| node.begin(queue));
        Line { node: self.clone(), session }
    }

    fn tell(&self, node: &mut Node<F>) {
        node.take_news().into_iter().for_each(|news| (self.listener)(news));
    }

    fn lock(&self) -> MutexGuard<'_, Node<F>> {
        self.node.lock().expect("nobody has panicked while he held this lock")
    }
}

/// A session of a node. What it was given and has not answered is free again when it is dropped.
#[derive(Debug)]
pub struct Line<F: Folder> {
    node: SharedNode<F>,
    session: SessionId,
}

impl<F: Folder> Line<F> {
    /// Its number.
    pub const fn id(&self) -> SessionId {
        self.session
    }
}

impl<F: Folder> Drop for Line<F> {
    fn drop(&mut self) {
        let session = self.session;
        self.node.at_once(|node, _| node.end(session));
    }
}

/// Keeps the node's own times: lifetimes that are over, bundles that are to be offered again. It never ends by itself.
pub async fn keep<F: Folder>(node: SharedNode<F>, runtime: impl Runtime) {
    /// A calendar that is set does not make it sleep for long.
    const LONGEST: bentpipe_units::Span = bentpipe_units::Span::from_secs(10);
    let mut changed = node.watch();
    loop {
        changed.borrow_and_update();
        let next = node.look(Node::next_deadline);
        let until = next.map_or(LONGEST, |next| next.since(node.now()).min(LONGEST));
        if next.is_some_and(|next| next <= node.now()) {
            if node.with(&runtime, Node::expire).await.is_err() {
                return;
            }
            continue;
        }
        let least = until.max(bentpipe_units::Span::from_millis(1));
        tokio::select! {
            biased;
            // What is due may be due by a calendar that was set back.
            () = runtime.sleep(least) => if node.with(&runtime, Node::expire).await.is_err() { return },
            changed = changed.changed() => if changed.is_err() { return },
        }
    }
}
