//! Names, looked up on threads of their own.
//!
//! A name server that does not answer holds a thread for as long as the system's resolver asks it. So these threads are few, they
//! are nobody else's, and no peer has more of them than are free: some are left for the others whatever it asks for.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use crate::Network;
use crate::open::Verdict;
use bentpipe_association::host::Runtime;
use bentpipe_association::host::lock;
use bentpipe_units::Span;

/// Lookups under way at the same time.
const THREADS: usize = 64;
/// Most that wait of one peer; each is a flow, of which there are no more than its limit.
const WAITING: usize = 4096;

/// What is called when something is done.
type Done<T> = Box<dyn FnOnce(T) + Send>;

/// Whose a lookup is.
type Owner = String;

/// Lookups under way and those that wait.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    turns: Mutex<Turns>,
}

#[derive(Debug, Default)]
struct Turns {
    under_way: usize,
    owners: BTreeMap<Owner, Own>,
}

/// Those of one peer.
#[derive(Debug, Default)]
struct Own {
    under_way: usize,
    waiting: VecDeque<oneshot::Sender<Turn>>,
}

/// May look up one name, until it is dropped.
#[derive(Debug)]
struct Turn {
    lookups: Arc<Lookups>,
    owner: Owner,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.lookups.end(&self.owner);
    }
}

impl Lookups {
    /// The addresses of a name, for this peer, within this time.
    ///
    /// # Errors
    /// There is no such name, nobody answers, or too many wait already.
    pub(crate) async fn look_up<N: Network>(
        self: &Arc<Self>,
        network: &N,
        owner: &str,
        name: &str,
        port: u16,
        within: Span,
    ) -> Result<Vec<SocketAddr>, Verdict> {
        let name = name.to_owned();
        let begin = |done: Done<io::Result<Vec<SocketAddr>>>| network.look_up(name, port, done);
        self.run(network, owner, within, begin).await?.map_err(|_| Verdict::UnknownName)
    }

    /// Begins something when it is the peer's turn, and waits for it. The turn lasts until it is done, also where whoever
    /// waits has gone before.
    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        runtime: &impl Runtime,
        owner: &str,
        within: Span,
        begin: impl FnOnce(Done<T>) -> io::Result<()> + Send,
    ) -> Result<T, Verdict> {
        let done = async {
            let turn = self.turn(owner).ok_or(Verdict::Busy)?.await;
            let turn = turn.map_err(|_| Verdict::Busy)?;
            let (done, result) = oneshot::channel();
            let done: Done<T> = Box::new(move |found| {
                drop(turn);
                let _ = done.send(found);
            });
            begin(done).map_err(|_| Verdict::Busy)?;
            result.await.map_err(|_| Verdict::UnknownName)
        };
        runtime.timeout(within, done).await.unwrap_or(Err(Verdict::TimedOut))
    }

    /// What gives the peer its turn; `None` if too many wait.
    fn turn(self: &Arc<Self>, owner: &str) -> Option<oneshot::Receiver<Turn>> {
        let (give, waits) = oneshot::channel();
        let mut turns = lock(&self.turns);
        let own = turns.owners.entry(owner.to_owned()).or_default();
        // Who has given up waits no more.
        own.waiting.retain(|waiting| !waiting.is_closed());
        if own.waiting.len() >= WAITING {
            return None;
        }
        own.waiting.push_back(give);
        let given = self.give(&mut turns);
        drop(turns);
        deliver(given);
        Some(waits)
    }

    fn end(self: &Arc<Self>, owner: &str) {
        let mut turns = lock(&self.turns);
        turns.end(owner);
        let given = self.give(&mut turns);
        drop(turns);
        deliver(given);
    }

    /// Gives turns to those who may have one.
    fn give(self: &Arc<Self>, turns: &mut Turns) -> Vec<(oneshot::Sender<Turn>, Turn)> {
        let mut given = Vec::new();
        while let Some((owner, waiting)) = turns.next() {
            let turn = Turn { lookups: self.clone(), owner };
            given.push((waiting, turn));
        }
        given
    }
}

/// Without the lock: a turn that nobody takes is dropped, which locks again.
fn deliver(given: Vec<(oneshot::Sender<Turn>, Turn)>) {
    for (waiting, turn) in given {
        let _ = waiting.send(turn);
    }
}

impl Turns {
    /// Whoever is next, if anybody may begin: of those who have fewer under way than are free, the one with fewest.
    fn next(&mut self) -> Option<(Owner, oneshot::Sender<Turn>)> {
        let free = THREADS - self.under_way;
        let waiting = self.owners.iter_mut().filter(|(_, own)| !own.waiting.is_empty());
        let (owner, own) = waiting.min_by_key(|(_, own)| own.under_way)?;
        if own.under_way >= free {
            return None;
        }
        let next = own.waiting.pop_front()?;
        own.under_way += 1;
        self.under_way += 1;
        Some((owner.clone(), next))
    }

    fn end(&mut self, owner: &str) {
        let Some(own) = self.owners.get_mut(owner) else { return };
        own.under_way -= 1;
        self.under_way -= 1;
        if own.under_way == 0 && own.waiting.is_empty() {
            self.owners.remove(owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use bentpipe_units::Instant;

    use super::*;

    const LONG: Span = Span::from_secs(60);

    /// Time that stands still, or is over at once.
    #[derive(Clone, Copy, Debug)]
    struct Still {
        over: bool,
    }

    impl Runtime for Still {
        fn now(&self) -> Instant {
            Instant::ZERO
        }

        async fn sleep(&self, _: Span) {
            if !self.over {
                std::future::pending::<()>().await;
            }
        }

        async fn blocking<T: Send + 'static>(
            &self,
            work: impl FnOnce() -> T + Send + 'static,
        ) -> io::Result<T> {
            Ok(work())
        }
    }

    type Looking = Pin<Box<dyn Future<Output = Result<u32, Verdict>>>>;

    /// A lookup that ends when what it leaves in `begun` is called.
    fn look_up(
        lookups: &Arc<Lookups>,
        owner: &str,
        over: bool,
        begun: &Arc<Mutex<Vec<Done<u32>>>>,
    ) -> Looking {
        let (lookups, owner, begun) = (lookups.clone(), owner.to_owned(), begun.clone());
        Box::pin(async move {
            let begin = |done| {
                lock(&begun).push(done);
                Ok(())
            };
            lookups.run(&Still { over }, &owner, LONG, begin).await
        })
    }

    fn poll(looking: &mut Looking) -> Poll<Result<u32, Verdict>> {
        looking.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn names_that_nobody_answers_for_leave_threads_for_other_peers() {
        let (lookups, begun) = (Arc::new(Lookups::default()), Arc::default());
        let peers = ["bad 0", "bad 1"];
        let mut hanging: Vec<Looking> =
            (0..1000).map(|n| look_up(&lookups, peers[n % 2], false, &begun)).collect();
        assert!(hanging.iter_mut().all(|looking| poll(looking).is_pending()));
        let under_way = lock(&lookups.turns).under_way;
        assert!((2 * (THREADS / 3)..=2 * (THREADS / 3) + 1).contains(&under_way), "{under_way}");
        let mut good = look_up(&lookups, "good", false, &begun);
        assert!(poll(&mut good).is_pending());
        let done = lock(&begun).pop().expect("it has begun");
        done(7);
        assert_eq!(poll(&mut good), Poll::Ready(Ok(7)));
        let mut left = hanging;
        while !left.is_empty() {
            let done: Vec<Done<u32>> = lock(&begun).drain(..).collect();
            assert!(!done.is_empty(), "{} wait for ever", left.len());
            done.into_iter().for_each(|done| done(1));
            left.retain_mut(|looking| poll(looking).is_pending());
        }
        assert!(lock(&lookups.turns).owners.is_empty());
    }

    #[test]
    fn a_lookup_that_takes_too_long_is_given_up_and_keeps_its_thread() {
        let (lookups, begun) = (Arc::new(Lookups::default()), Arc::default());
        let mut late = look_up(&lookups, "a", true, &begun);
        assert_eq!(poll(&mut late), Poll::Ready(Err(Verdict::TimedOut)));
        assert_eq!(lock(&lookups.turns).under_way, 1);
        let done = lock(&begun).pop().expect("it has begun");
        done(1);
        assert_eq!(lock(&lookups.turns).under_way, 0);
    }
}
