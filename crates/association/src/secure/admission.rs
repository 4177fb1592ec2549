//! Which requests are read: each costs a key exchange, whoever sent it.
//!
//! A request that was read before is a replay. Above [`FLOOD`] requests a second only those count whose sender
//! has proved its address, and of each address few. All together never cost more than [`BUDGET`] allows, so that
//! data of the peers that are there go on.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};

use bentpipe_units::{Instant, Span};

use super::Security;
use super::cookie::Cookies;
use super::datagram::{Init, MAC_LEN};
use crate::key::PublicKey;

/// More requests than this in a second are a flood.
const FLOOD: u32 = 200;
/// Requests read in a second in a flood, and at once.
const BUDGET: u32 = 250;
/// Requests read in a second of one address in a flood, and at once.
const EACH: u32 = 20;
/// Cookies given in a second.
const COOKIES: u32 = 500;
/// Answers read in a second, and at once.
const ANSWERS: u32 = 500;
/// Requests that are remembered, so that a replay of one costs a look.
const REMEMBERED: usize = 4096;
/// Addresses that are remembered in a flood.
const ADDRESSES: usize = 4096;

/// What to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Read it.
    Read,
    /// Ask its sender for a proof of its address.
    Challenge,
    /// Nothing.
    Ignore,
}

/// So many in a second, and no more than so many at once.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Nanoseconds of the rate that are there to be spent.
    credit: Span,
    at: Instant,
}

impl Bucket {
    const FULL: Span = Span::from_secs(1);

    const fn new(now: Instant) -> Self {
        Self { credit: Self::FULL, at: now }
    }

    /// Takes one of `rate` in a second.
    fn take(&mut self, now: Instant, rate: u32) -> bool {
        let earned = now.since(self.at);
        self.at = now;
        self.credit = (self.credit + earned).min(Self::FULL);
        let price = Self::FULL / u64::from(rate);
        let can = self.credit >= price;
        if can {
            self.credit = self.credit - price;
        }
        can
    }
}

/// Judges requests before anything is spent on them.
#[derive(Debug)]
pub struct Admission {
    cookies: Cookies,
    /// Requests in the current second, and when it began.
    requests: (Instant, u32),
    all: Bucket,
    challenges: Bucket,
    answers: Bucket,
    addresses: HashMap<IpAddr, Bucket>,
    read: HashSet<[u8; MAC_LEN]>,
    /// The same, the oldest first.
    order: VecDeque<[u8; MAC_LEN]>,
}

impl Admission {
    /// Nothing has come yet. Cookies are made from this secret.
    pub fn new(security: Security, responder: PublicKey, now: Instant, secret: [u8; 32]) -> Self {
        Self {
            cookies: Cookies::new(security, responder, now, secret),
            requests: (now, 0),
            all: Bucket::new(now),
            challenges: Bucket::new(now),
            answers: Bucket::new(now),
            addresses: HashMap::new(),
            read: HashSet::new(),
            order: VecDeque::new(),
        }
    }

    /// What to do with a request that came from this address. Its sender knows this host's public key or repeats
    /// somebody who does.
    pub fn judge(&mut self, now: Instant, from: SocketAddr, init: &Init<'_>) -> Verdict {
        if self.read.contains(&init.mac1) {
            return Verdict::Ignore;
        }
        let verdict =
            if self.is_flood(now) { self.judge_in_flood(now, from, init) } else { Verdict::Read };
        if verdict == Verdict::Read {
            self.remember(init.mac1);
        }
        verdict
    }

    /// Whether an answer to a request of this host is to be read: whoever saw the request can send as many as he
    /// likes, and each costs as much as a request.
    pub fn hears_answer(&mut self, now: Instant) -> bool {
        self.answers.take(now, ANSWERS)
    }

    fn judge_in_flood(&mut self, now: Instant, from: SocketAddr, init: &Init<'_>) -> Verdict {
        if !self.cookies.check(now, from, init.covered2, &init.mac2) {
            let gives = self.challenges.take(now, COOKIES);
            return if gives { Verdict::Challenge } else { Verdict::Ignore };
        }
        if self.addresses.len() >= ADDRESSES {
            // Who had been quiet for a second has all of his part again.
            self.addresses.retain(|_, bucket| now.since(bucket.at) < Bucket::FULL);
        }
        let network = network(from.ip());
        let room = self.addresses.len() < ADDRESSES || self.addresses.contains_key(&network);
        let admits = room
            && self.addresses.entry(network).or_insert(Bucket::new(now)).take(now, EACH)
            && self.all.take(now, BUDGET);
        if admits { Verdict::Read } else { Verdict::Ignore }
    }

    /// Counts a request. True when there are too many to read those without a cookie.
    fn is_flood(&mut self, now: Instant) -> bool {
        if now.since(self.requests.0) >= Span::from_secs(1) {
            self.requests = (now, 0);
        }
        self.requests.1 = self.requests.1.saturating_add(1);
        self.requests.1 > FLOOD
    }

    fn remember(&mut self, mac1: [u8; MAC_LEN]) {
        if self.order.len() == REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.read.remove(&oldest);
        }
        self.read.insert(mac1);
        self.order.push_back(mac1);
    }

    /// The datagram that asks for a proof of this address, in answer to a request. `nonce` is new each time.
    pub fn cookie(
        &mut self,
        now: Instant,
        from: SocketAddr,
        init: &Init<'_>,
        nonce: [u64; 2],
    ) -> Vec<u8> {
        self.cookies.give(now, from, init.sender, &init.mac1, nonce)
    }
}

/// One host's network: an address of IPv4, 64 bits of IPv6.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cookie::{open, proof};
    use super::super::{Datagram, Index, parse};
    use super::*;
    use crate::key::SecretKey;

    fn us() -> PublicKey {
        SecretKey::from_bytes([1; 32]).public()
    }

    fn admission() -> Admission {
        Admission::new(Security::Full, us(), Instant::ZERO, [5; 32])
    }

    fn address(n: u32) -> SocketAddr {
        SocketAddr::from((std::net::Ipv4Addr::from(n), 7))
    }

    fn init(mac1: u64, mac2: [u8; MAC_LEN]) -> Init<'static> {
        let mut full = [0; MAC_LEN];
        full[..8].copy_from_slice(&mac1.to_be_bytes());
        let sender = Index::new(1);
        Init { sender, noise: &[], covered1: &[], mac1: full, covered2: &[], mac2 }
    }

    /// The proof of this address.
    fn proven(admission: &mut Admission, now: Instant, address: SocketAddr) -> [u8; MAC_LEN] {
        let request = init(0, [0; MAC_LEN]);
        let datagram = admission.cookie(now, address, &request, [1, 2]);
        let Some(Datagram::Cookie { sealed, .. }) = parse(Security::Full, &datagram) else {
            panic!("a cookie")
        };
        let cookie = open(Security::Full, &us(), &request.mac1, &sealed).expect("ours");
        proof(&cookie, &[])
    }

    #[test]
    fn a_replay_is_ignored_and_makes_no_flood() {
        let mut admission = admission();
        let now = Instant::ZERO;
        assert_eq!(admission.judge(now, address(1), &init(7, [0; MAC_LEN])), Verdict::Read);
        for n in 0..10_000 {
            let verdict = admission.judge(now, address(n), &init(7, [0; MAC_LEN]));
            assert_eq!(verdict, Verdict::Ignore);
        }
        assert_eq!(admission.judge(now, address(1), &init(8, [0; MAC_LEN])), Verdict::Read);
    }

    #[test]
    fn in_a_flood_only_proven_addresses_are_heard_each_a_little_and_all_within_the_budget() {
        let mut admission = admission();
        let (mut serial, mut now) = (0, Instant::ZERO);
        let mut request = |mac2| {
            serial += 1;
            init(serial, mac2)
        };
        let nothing = [0; MAC_LEN];
        for _ in 0..FLOOD {
            assert_eq!(admission.judge(now, address(1), &request(nothing)), Verdict::Read);
        }
        let verdicts: Vec<Verdict> =
            (0..2 * COOKIES).map(|_| admission.judge(now, address(1), &request(nothing))).collect();
        let given = verdicts.iter().filter(|verdict| **verdict == Verdict::Challenge).count();
        assert_eq!(given, COOKIES as usize);
        assert!(!verdicts.contains(&Verdict::Read));
        for (n, most) in [(1, EACH), (1_000, BUDGET)] {
            let mut reads = 0;
            now += Span::from_secs(1);
            // The flood goes on.
            (0..=FLOOD).for_each(|_| {
                admission.judge(now, address(0), &request(nothing));
            });
            for address in (0..n).map(|n| address(n + 7)) {
                let mac2 = proven(&mut admission, now, address);
                for _ in 0..2 * EACH {
                    let verdict = admission.judge(now, address, &request(mac2));
                    reads += u32::from(verdict == Verdict::Read);
                }
            }
            assert_eq!(reads, most);
        }
        assert!(admission.addresses.len() <= ADDRESSES && admission.read.len() <= REMEMBERED);
    }

    #[test]
    fn of_answers_so_many_are_read_in_a_second() {
        let mut admission = admission();
        let mut read = |at| (0..2_000).filter(|_| admission.hears_answer(at)).count() as u32;
        let seconds = [0, 0, 1, 9].map(|n| read(Instant::ZERO + Span::from_secs(n)));
        assert_eq!(seconds, [ANSWERS, 0, ANSWERS, ANSWERS]);
    }
}
