//! Names, looked up on threads of their own.
//!
//! A name server that does not answer holds a thread for as long as the system's resolver asks it. So these threads are few, they
//! are nobody else's, and no peer has more of them than are free: some are left for the others whatever it asks for.

use std::collections::{BTreeMap, VecDeque};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::oneshot;

use super::open::Verdict;
use bentpipe_association::host::lock;

/// Lookups under way at the same time.
const THREADS: usize = 64;
/// Most that wait of one peer; each is a flow, of which there are no more than its limit.
const WAITING: usize = 4096;

/// Whose a lookup is.
type Owner = String;

/// Lookups under way and those that wait.
#[derive(Debug, Default)]
pub(super) struct Lookups {
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
    pub(super) async fn look_up(
        self: &Arc<Self>,
        owner: &str,
        name: &str,
        port: u16,
        within: Duration,
    ) -> Result<Vec<SocketAddr>, Verdict> {
        let name = name.to_owned();
        let found = self.run(owner, within, move || {
            (name.as_str(), port).to_socket_addrs().map(Vec::from_iter)
        });
        found.await?.map_err(|_| Verdict::UnknownName)
    }

    /// Runs this when it is the peer's turn.
    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        owner: &str,
        within: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Verdict> {
        let done = async {
            let turn = self.turn(owner).ok_or(Verdict::Busy)?.await;
            let turn = turn.map_err(|_| Verdict::Busy)?;
            let (done, result) = oneshot::channel();
            // Whoever waits may be gone before it ends: the turn lasts as long as the thread.
            let thread = std::thread::Builder::new().name("bentpipe-names".to_owned());
            let started = thread.spawn(move || {
                let found = work();
                drop(turn);
                let _ = done.send(found);
            });
            started.map_err(|_| Verdict::Busy)?;
            result.await.map_err(|_| Verdict::UnknownName)
        };
        tokio::time::timeout(within, done).await.unwrap_or(Err(Verdict::TimedOut))
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
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn names_that_nobody_answers_for_leave_threads_for_other_peers() {
        let lookups = Arc::new(Lookups::default());
        let (end, ended) = mpsc::channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        let mut hanging = Vec::new();
        for n in 0..1000 {
            let (lookups, ended) = (lookups.clone(), ended.clone());
            let peer = format!("bad {}", n % 2);
            hanging.push(tokio::spawn(async move {
                // Until the sender is dropped.
                lookups.run(&peer, LONG, move || lock(&ended).recv().is_err()).await
            }));
        }
        while lock(&lookups.turns).under_way < 2 * (THREADS / 3) {
            tokio::task::yield_now().await;
        }
        let good = lookups.look_up("good", "127.0.0.1", 80, LONG).await;
        assert_eq!(good, Ok(vec!["127.0.0.1:80".parse().expect("an address")]));
        assert!(lock(&lookups.turns).under_way <= 2 * (THREADS / 3) + 1);
        drop(end);
        for hung in hanging {
            assert_eq!(hung.await.expect("no panic"), Ok(true));
        }
        assert!(lock(&lookups.turns).owners.is_empty());
    }

    #[tokio::test]
    async fn a_lookup_that_takes_too_long_is_given_up_and_keeps_its_thread() {
        let lookups = Arc::new(Lookups::default());
        let (end, ended) = mpsc::channel::<()>();
        let late = lookups.run("a", Duration::from_millis(1), move || ended.recv()).await;
        assert_eq!(late, Err(Verdict::TimedOut));
        assert_eq!(lock(&lookups.turns).under_way, 1);
        drop(end);
        while lock(&lookups.turns).under_way > 0 {
            tokio::task::yield_now().await;
        }
    }
}
