//! Places that clients share, so that none of them keeps all.
//!
//! A client is an address: one of IPv4, or the network of 64 bits of IPv6 that a host has for itself.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use bentpipe_association::host::lock;

/// Who counts as one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Client(IpAddr);

impl From<IpAddr> for Client {
    fn from(ip: IpAddr) -> Self {
        Self(match ip.to_canonical() {
            IpAddr::V6(ip) if !ip.is_loopback() => {
                Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into()
            }
            ip => ip,
        })
    }
}

/// What a place is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A client that has shown that it is where it says.
    Connection,
    /// A client that may be anywhere: all of these together have half of the places at most.
    Datagrams,
}

/// What becomes of somebody who comes when there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// He gets the place of whoever has been there the longest, among those of the client with most places. A client
    /// has no more than `each`. This is for those of whom nothing is known yet.
    Newest {
        /// Most places of one client.
        each: usize,
    },
    /// He gets the place of whoever has been quiet for the longest, among those of the client with most places, if that
    /// one has at least as many as he has even then. So under load each client has its fair part.
    Fair,
}

/// Places that clients share.
#[derive(Debug)]
pub struct Places {
    all: usize,
    rule: Rule,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    count: usize,
    datagrams: usize,
    by_client: BTreeMap<(Client, Kind), BTreeMap<u64, Arc<Seat>>>,
}

#[derive(Debug)]
struct Seat {
    /// When anything was heard of whoever has it.
    heard: AtomicU64,
    /// He is to leave.
    leaves: Notify,
}

impl Places {
    /// So many places, none of them taken.
    pub fn new(all: usize, rule: Rule) -> Arc<Self> {
        Arc::new(Self { all, rule, taken: Mutex::default() })
    }

    /// A place for a client, of whom something was heard `now`, on a clock that is the caller's.
    pub fn take(
        self: &Arc<Self>,
        client: impl Into<Client>,
        kind: Kind,
        now: u64,
    ) -> Option<Place> {
        let key = (client.into(), kind);
        let mut taken = lock(&self.taken);
        if let Some((of, number)) = self.in_the_way(&taken, key)? {
            let seat = taken.remove(of, number)?;
            tracing::debug!(client = %of.0.0, "no free place: somebody gives way");
            seat.leaves.notify_one();
        }
        taken.next += 1;
        let number = taken.next;
        let heard = if self.rule == Rule::Fair { now } else { number };
        let seat = Arc::new(Seat { heard: heard.into(), leaves: Notify::new() });
        taken.add(key, number, seat.clone());
        Some(Place { places: self.clone(), key, number, seat })
    }

    /// How many are taken.
    pub fn count(&self) -> usize {
        lock(&self.taken).count
    }

    /// Who has to leave for one more, if there is one more and if anybody has to.
    fn in_the_way(
        &self,
        taken: &Taken,
        key: (Client, Kind),
    ) -> Option<Option<((Client, Kind), u64)>> {
        let own = taken.by_client.get(&key).map_or(0, BTreeMap::len);
        let is_full = taken.count >= self.all;
        let of = match self.rule {
            Rule::Newest { each } if own >= each => key,
            Rule::Newest { .. } if is_full => taken.greediest(|_| true)?,
            Rule::Fair => {
                let bounds_datagrams =
                    key.1 == Kind::Datagrams && taken.datagrams >= (self.all / 2).max(1);
                if !is_full && !bounds_datagrams {
                    return Some(None);
                }
                let of = taken.greediest(|kind| kind >= key.1)?;
                if taken.by_client[&of].len() < own + 2 {
                    return None;
                }
                of
            }
            Rule::Newest { .. } => return Some(None),
        };
        let seats = taken.by_client.get(&of)?.iter();
        let quietest = seats.min_by_key(|(_, seat)| seat.heard.load(Ordering::Relaxed))?;
        Some(Some((of, *quietest.0)))
    }
}

impl Taken {
    fn add(&mut self, key: (Client, Kind), number: u64, seat: Arc<Seat>) {
        self.count += 1;
        self.datagrams += usize::from(key.1 == Kind::Datagrams);
        self.by_client.entry(key).or_default().insert(number, seat);
    }

    fn remove(&mut self, key: (Client, Kind), number: u64) -> Option<Arc<Seat>> {
        let seats = self.by_client.get_mut(&key)?;
        let seat = seats.remove(&number)?;
        if seats.is_empty() {
            self.by_client.remove(&key);
        }
        self.count -= 1;
        self.datagrams -= usize::from(key.1 == Kind::Datagrams);
        Some(seat)
    }

    /// The client with most places of these kinds; of several, one that is not this host, with the oldest.
    fn greediest(&self, those: impl Fn(Kind) -> bool) -> Option<(Client, Kind)> {
        let found = self.by_client.iter().filter(|((_, kind), _)| those(*kind));
        let found = found.max_by_key(|((client, _), seats)| {
            (seats.len(), !client.0.is_loopback(), Reverse(seats.keys().next().copied()))
        });
        found.map(|(key, _)| *key)
    }
}

/// A place, until it is dropped or somebody else gets it.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    key: (Client, Kind),
    number: u64,
    seat: Arc<Seat>,
}

impl Place {
    /// Something was heard of whoever has it.
    pub fn touch(&self, now: u64) {
        self.seat.heard.store(now, Ordering::Relaxed);
    }

    /// The client has shown that it is where it says.
    pub fn prove(&mut self) {
        let mut taken = lock(&self.places.taken);
        if let Some(seat) = taken.remove(self.key, self.number) {
            self.key.1 = Kind::Connection;
            taken.add(self.key, self.number, seat);
        }
    }

    /// What is over when somebody else gets the place.
    pub fn stay(&self) -> Stay {
        Stay(self.seat.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.places.taken).remove(self.key, self.number);
    }
}

/// The time of a client at its place.
#[derive(Debug)]
pub struct Stay(Arc<Seat>);

impl Stay {
    /// Waits until somebody else gets the place. It lasts for ever if the place was dropped before.
    pub async fn over(&self) {
        self.0.leaves.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn connections(places: &Arc<Places>, client: &str, count: usize) -> Vec<Option<Place>> {
        (0..count).map(|n| places.take(ip(client), Kind::Connection, n as u64)).collect()
    }

    fn has_to_leave(place: Option<&Place>) -> bool {
        place.is_some_and(|place| {
            let stay = place.stay();
            pin!(stay.over()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
        })
    }

    #[test]
    fn one_client_has_all_places_until_another_one_comes() {
        let places = Places::new(4, Rule::Fair);
        let greedy = connections(&places, "10.0.0.1", 5);
        assert!(greedy[..4].iter().all(Option::is_some) && greedy[4].is_none());
        // The first one said something since.
        greedy[0].as_ref().expect("a place").touch(9);
        let honest = connections(&places, "10.0.0.2", 3);
        assert!(honest[..2].iter().all(Option::is_some) && honest[2].is_none(), "half of them");
        let left: Vec<bool> = greedy.iter().map(|place| has_to_leave(place.as_ref())).collect();
        assert_eq!(left, [false, true, true, false, false], "the quietest ones");
        assert_eq!(places.count(), 4);
    }

    #[test]
    fn who_has_left_takes_nothing_of_him_who_came() {
        let places = Places::new(2, Rule::Fair);
        let greedy = connections(&places, "10.0.0.1", 2);
        let honest = connections(&places, "10.0.0.2", 1);
        drop(greedy);
        assert_eq!(places.count(), 1);
        drop(honest);
        assert_eq!(places.count(), 0);
    }

    #[test]
    fn addresses_that_may_be_invented_get_half_and_nothing_of_a_connection() {
        let places = Places::new(4, Rule::Fair);
        let honest = connections(&places, "10.0.0.2", 3);
        let invented = |n: u8| places.take(IpAddr::from([10, 0, 1, n]), Kind::Datagrams, 0);
        let kept: Vec<Option<Place>> = (0..9).map(invented).collect();
        assert_eq!(kept.iter().flatten().count(), 1);
        kept.into_iter().flatten().for_each(|mut place| place.prove());
        assert_eq!(places.count(), 3);
        let kept: Vec<Option<Place>> = (0..9).map(invented).collect();
        assert_eq!(kept.iter().flatten().count(), 1, "what was proved counts no more");
        assert!(!honest.iter().any(|place| has_to_leave(place.as_ref())));
    }

    #[test]
    fn of_those_who_are_not_known_the_oldest_of_the_greediest_leaves() {
        let places = Places::new(4, Rule::Newest { each: 3 });
        let greedy = connections(&places, "10.0.0.1", 4);
        assert!(has_to_leave(greedy[0].as_ref()), "no more than three each");
        let honest = connections(&places, "10.0.0.2", 2);
        assert!(honest.iter().all(Option::is_some));
        assert!(has_to_leave(greedy[1].as_ref()) && !has_to_leave(honest[0].as_ref()));
    }

    #[test]
    fn a_host_of_ipv6_is_its_network_and_one_of_ipv4_its_address_however_written() {
        let client = |text: &str| Client::from(ip(text));
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_eq!(client("::ffff:10.0.0.1"), client("10.0.0.1"));
        assert_ne!(client("10.0.0.1"), client("10.0.0.2"));
        assert_ne!(client("::1"), client("::2"));
    }
}
