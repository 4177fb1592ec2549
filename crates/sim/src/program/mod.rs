//! Programs in virtual time: a host of the association and the futures that use it, as they are deployed.

mod executor;
mod runtime;

use std::sync::Arc;

use bentpipe_association::endpoint::{Endpoint, Entropy, PathMemory, Route, Times};
use bentpipe_association::host::{Handle, Host, Shared};
use bentpipe_association::{SecretKey, Security};
use bentpipe_units::Instant;
use bentpipe_wire::Ecn;

pub use executor::Task;
pub use runtime::Virtual;

use executor::Executor;

/// A datagram that a program sends.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Where to, and from where.
    pub route: Route,
    /// Its mark.
    pub ecn: Ecn,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// What a program begins with.
#[derive(Debug)]
pub struct Begins {
    /// Its key.
    pub key: SecretKey,
    /// Nanoseconds of the calendar at time zero.
    pub calendar: u64,
    /// The times of requests that were kept.
    pub times: Times,
    /// What paths carried, as that was kept.
    pub paths: PathMemory,
    /// What its randomness comes from.
    pub seed: u64,
    /// What protects its datagrams.
    pub security: Security,
}

/// A program: what runs in one process. When it is dropped it was killed.
#[derive(Debug)]
pub struct Program {
    executor: Executor,
    host: Host,
}

impl Program {
    /// A program that begins now.
    pub fn new(begins: Begins, now: Instant) -> Self {
        let executor = Executor::new(now);
        let Begins { key, calendar, times, paths, seed, security } = begins;
        let mut endpoint = Endpoint::new(key, security, calendar, entropy(seed), now);
        endpoint.set_times(times);
        endpoint.set_path_memory(paths);
        let shared = Arc::new(Shared::new(endpoint, Arc::new(executor.runtime().clone())));
        let host = Host::new(Arc::new(Handle::new(shared, ())));
        Self { executor, host }
    }

    /// Its host.
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// Its time, for futures.
    pub const fn runtime(&self) -> &Virtual {
        self.executor.runtime()
    }

    /// Runs a future for as long as the program lasts.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.executor.runtime().spawn(future).detach();
    }

    /// A datagram has come from `from`. True if it was taken for authentic.
    pub fn receive(
        &mut self,
        now: Instant,
        from: impl Into<Route>,
        ecn: Ecn,
        datagram: &[u8],
    ) -> bool {
        self.host.shared().endpoint().handle_datagram(now, from, ecn, datagram)
    }

    /// Lets everything happen that can happen now, and appends the datagrams that leave.
    pub fn run(&mut self, now: Instant, out: &mut Vec<Outgoing>) {
        loop {
            let mut endpoint = self.host.shared().endpoint();
            endpoint.handle_timeout(now);
            endpoint.flush(now);
            drop(endpoint);
            if self.executor.run(now) == 0 {
                break;
            }
        }
        let mut endpoint = self.host.shared().endpoint();
        let outbox = endpoint.outbox();
        while let Some(train) = outbox.front(1) {
            let (route, ecn, bytes) = (train.route, train.ecn, train.bytes.to_vec());
            outbox.pop(bytes.len());
            out.push(Outgoing { route, ecn, bytes });
        }
    }

    /// When [`Program::run`] has to be called again, if nothing comes before.
    pub fn next_deadline(&self) -> Option<Instant> {
        let endpoint = self.host.shared().endpoint().next_deadline();
        Instant::earliest(endpoint, self.executor.next_deadline())
    }

    /// Whether a future was woken since it ran.
    pub fn is_woken(&self) -> bool {
        !self.executor.runtime().state().ready.is_empty()
    }

    /// Whether a future was spawned that has not run yet.
    pub fn has_work(&self) -> bool {
        !self.executor.runtime().state().spawned.is_empty()
    }

    /// Futures that have not ended.
    pub fn tasks(&self) -> usize {
        self.executor.tasks()
    }
}

/// Steele, Lea and Flood's generator.
fn entropy(mut state: u64) -> Entropy {
    Box::new(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

#[cfg(test)]
mod tests;
