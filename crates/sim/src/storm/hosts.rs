//! All hosts beside the gateways: who has opened a flow, who has got one, and what came through.

use std::collections::BTreeSet;

use bentpipe_association::host::lock;
use bentpipe_link::Stream;
use bentpipe_units::Instant;

use super::flows::{Client, Server};
use super::lan::{Arrivals, SERVER};
use crate::lan::{Pipe, Read};

/// Most that a host reads at a time of what a hostile peer sends.
const MOST_OTHER: usize = 4096;

/// Clients and servers.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    clients: Vec<Client>,
    servers: Vec<Server>,
    /// What a hostile peer has opened.
    others: Vec<Pipe>,
    /// Flows that have come to their server.
    came: BTreeSet<u64>,
    opened: u64,
    /// When the next one is opened.
    opens_at: Instant,
    /// Flows that were opened when everything worked, and how many of them came through.
    calm: (u64, u64),
}

impl Hosts {
    /// When a client does something by itself.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        self.clients.iter().filter_map(|client| client.next(now)).min()
    }

    pub(super) const fn opens_at(&self) -> Instant {
        self.opens_at
    }

    /// The next flow is opened then.
    pub(super) const fn open_at(&mut self, at: Instant) {
        self.opens_at = at;
    }

    /// Clients and servers that are not done.
    pub(super) const fn waiting(&self) -> (usize, usize) {
        (self.clients.len(), self.servers.len())
    }

    /// Flows that were opened when everything worked, and how many of them came through.
    pub(super) const fn calm(&self) -> (u64, u64) {
        self.calm
    }

    /// The number of the flow that is opened next.
    pub(super) const fn next_number(&self) -> u64 {
        self.opened + 1
    }

    /// A client opens a flow. When everything works it waits as long as it takes.
    pub(super) fn open(&mut self, now: Instant, pipe: Pipe, is_calm: bool, random: &mut Stream) {
        self.opened += 1;
        let mut client = Client::new(self.opened, now, pipe, random);
        if is_calm {
            client.be_patient();
            self.calm.0 += 1;
        }
        self.clients.push(client);
    }

    /// A client gives up: its number.
    pub(super) fn quit_one(&mut self, random: &mut Stream) -> Option<u64> {
        if self.clients.is_empty() {
            return None;
        }
        let at = random.below(self.clients.len() as u64) as usize;
        self.clients[at].quit();
        Some(self.clients[at].number)
    }

    /// Clients write and read what they can.
    ///
    /// # Errors
    /// What came that must not come.
    pub(super) fn clients_go_on(&mut self, now: Instant) -> Result<(), String> {
        self.clients.iter_mut().try_for_each(|client| client.go_on(now))
    }

    /// Servers take what has arrived for them, write and read.
    ///
    /// # Errors
    /// What came that must not come.
    pub(super) fn servers_go_on(&mut self, arrivals: [&Arrivals; 2]) -> Result<(), String> {
        let new: Vec<_> =
            arrivals.into_iter().flat_map(|all| std::mem::take(&mut *lock(all))).collect();
        for (at, pipe) in new {
            if at == SERVER {
                self.servers.push(Server::new(pipe));
            } else {
                self.others.push(pipe);
            }
        }
        for server in &mut self.servers {
            let knew = server.number().is_some();
            server.go_on()?;
            if let Some(number) = server.number().filter(|_| !knew)
                && !self.came.insert(number)
            {
                return Err(format!("flow {number} came to its server a second time"));
            }
        }
        Ok(())
    }

    /// Forgets those who are done. Gives how many clients got all that they wanted. `calm_since` is when everything began
    /// to work, if it does.
    pub(super) fn reap(&mut self, calm_since: Option<Instant>) -> u64 {
        let done = |client: &&Client| client.is_over() && client.is_complete();
        let is_calm = |client: &&Client| calm_since.is_some_and(|since| client.began >= since);
        let completed = self.clients.iter().filter(done);
        self.calm.1 += completed.clone().filter(is_calm).count() as u64;
        let completed = completed.count() as u64;
        self.clients.retain(|client| !client.is_over());
        self.servers.retain(|server| !server.is_over());
        self.others.retain(|pipe| pipe.read(MOST_OTHER) != Read::Reset);
        completed
    }
}
