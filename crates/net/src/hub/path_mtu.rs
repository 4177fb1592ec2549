//! How long datagrams may be on the way to a peer: packetization layer path MTU discovery (RFC 8899).
//!
//! Lengths here are those of UDP payloads. Probes are datagrams of their own that carry nothing; what is
//! lost of them is no sign of congestion and delays no data.

use std::net::SocketAddr;

use bentpipe_units::{Instant, Span};

/// Every path carries this (RFC 8899, section 5.1.2, BASE_PLPMTU).
pub(super) const BASE: u16 = 1200;
/// What fits into 1,500 bytes with the headers of IPv4 and IPv6.
const MOST_V4: u16 = 1472;
const MOST_V6: u16 = 1452;
/// The search ends when the bounds are this close.
const CLOSE: u16 = 8;
/// Longer than any round trip over a satellite (PROBE_TIMER).
const WAIT: Span = Span::from_secs(2);
/// A length that was not answered so often is too long (MAX_PROBES).
const TRIES: u32 = 3;
/// A found length is confirmed this often while datagrams of it are sent (CONFIRMATION_TIMER): the path may
/// have changed without a word.
const CONFIRM: Span = Span::from_secs(5);
/// After this long a longer one is tried again (PMTU_RAISE_TIMER).
const RAISE: Span = Span::from_secs(600);
/// Full datagrams sent before a search is worth its bytes.
const WORTH: u32 = 4;

/// The search for one peer.
#[derive(Debug)]
pub(super) struct PathMtu {
    /// The longest datagram that is known to arrive.
    confirmed: u16,
    /// The shortest that is not known to be too long, and longer than any that is tried.
    too_long: u16,
    most: u16,
    probe: Option<Probe>,
    /// Full datagrams sent since the last probe.
    full: u32,
    confirmed_at: Instant,
    searched_at: Option<Instant>,
}

/// A probe that waits for its answer.
#[derive(Clone, Copy, Debug)]
struct Probe {
    len: u16,
    tries: u32,
    until: Instant,
}

impl PathMtu {
    /// A search that has not begun, on the way to this address.
    pub(super) fn new(address: SocketAddr) -> Self {
        let most = if address.is_ipv4() { MOST_V4 } else { MOST_V6 };
        Self {
            confirmed: BASE,
            too_long: most + 1,
            most,
            probe: None,
            full: 0,
            confirmed_at: Instant::ZERO,
            searched_at: None,
        }
    }

    /// The longest datagram that may carry data.
    pub(super) const fn get(&self) -> u16 {
        self.confirmed
    }

    /// A datagram of this length was sent. Returns the length of a probe that is worth sending now.
    pub(super) fn sent(&mut self, now: Instant, len: usize) -> Option<u16> {
        if len + usize::from(CLOSE) < usize::from(self.confirmed) {
            return None;
        }
        self.full = self.full.saturating_add(1);
        if self.probe.is_some() || self.full < WORTH {
            return None;
        }
        if self.searched_at.is_some_and(|at| now.since(at) >= RAISE) {
            self.too_long = self.most + 1;
            self.searched_at = None;
        }
        let overdue = self.confirmed > BASE && now.since(self.confirmed_at) >= CONFIRM;
        let wanted = if overdue { Some(self.confirmed) } else { self.next() };
        if wanted.is_none() {
            self.searched_at.get_or_insert(now);
        }
        wanted.map(|len| self.start(now, len, 1))
    }

    /// The next length to try: first the one that nearly every path has, then halfway.
    fn next(&self) -> Option<u16> {
        if self.too_long > self.most {
            return (self.confirmed < self.most).then_some(self.most);
        }
        let open = self.too_long - self.confirmed > CLOSE;
        open.then(|| self.confirmed.midpoint(self.too_long))
    }

    fn start(&mut self, now: Instant, len: u16, tries: u32) -> u16 {
        self.full = 0;
        self.probe = Some(Probe { len, tries, until: now + WAIT });
        len
    }

    /// The peer got a probe of this length. True when datagrams may be longer now.
    pub(super) fn answered(&mut self, now: Instant, len: u16) -> bool {
        if self.probe.is_none_or(|probe| probe.len != len) {
            return false;
        }
        self.probe = None;
        self.confirmed_at = now;
        let grows = len > self.confirmed;
        self.confirmed = len;
        // Straight on to the next one.
        self.full = WORTH;
        grows
    }

    /// When [`PathMtu::handle_timeout`] must be called.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.probe.map(|probe| probe.until)
    }

    /// Lets the time pass. Returns what follows from a probe that got no answer.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Option<Unanswered> {
        let probe = self.probe.filter(|probe| probe.until <= now)?;
        self.probe = None;
        if probe.tries < TRIES {
            return Some(Unanswered::Again(self.start(now, probe.len, probe.tries + 1)));
        }
        if probe.len <= self.confirmed {
            // What got through does so no more: the path has changed, or is dark.
            self.reset();
            return Some(Unanswered::Shorter);
        }
        self.too_long = probe.len;
        self.full = WORTH;
        None
    }

    /// The path may be another one: nothing is known of it.
    pub(super) fn reset(&mut self) {
        self.confirmed = BASE;
        self.too_long = self.most + 1;
        self.probe = None;
        self.full = 0;
        self.searched_at = None;
    }
}

/// What follows from a probe that got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// It is to be sent again.
    Again(u16),
    /// Datagrams have to be shorter again.
    Shorter,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(n: u64) -> Instant {
        Instant::ZERO + Span::from_secs(n)
    }

    /// Sends full datagrams over a path that carries so much, and answers what arrives. Returns the
    /// lengths that were tried and not known before.
    fn search(mtu: &mut PathMtu, carries: u16, from: u64, until: u64) -> Vec<u16> {
        let mut probes = Vec::new();
        for n in from..until {
            let now = secs(n);
            let again = mtu.handle_timeout(now);
            for probe in match again {
                Some(Unanswered::Again(len)) => vec![len],
                _ => (0..WORTH).filter_map(|_| mtu.sent(now, mtu.get().into())).collect(),
            } {
                if probe > mtu.get() {
                    probes.push(probe);
                }
                if probe <= carries {
                    mtu.answered(now, probe);
                }
            }
        }
        probes
    }

    fn mtu() -> PathMtu {
        PathMtu::new(([10, 0, 0, 1], 7).into())
    }

    #[test]
    fn on_an_ordinary_path_one_probe_finds_the_length() {
        let mut mtu = mtu();
        assert_eq!(search(&mut mtu, 1472, 0, 20), [1472]);
        assert_eq!(mtu.get(), 1472);
        assert_eq!(PathMtu::new(([0u16; 8], 7).into()).most, 1452);
    }

    #[test]
    fn a_narrow_path_is_found_by_halving() {
        for carries in [1200, 1201, 1280, 1372, 1412, 1464, 1471] {
            let mut mtu = mtu();
            let probes = search(&mut mtu, carries, 0, 120);
            assert!(mtu.get() <= carries && mtu.get() + CLOSE >= carries, "{carries}: {probes:?}");
            assert!(probes.len() <= 3 * 7, "{carries}: {probes:?}");
        }
    }

    #[test]
    fn a_path_that_became_narrow_is_noticed_and_searched_again() {
        let mut mtu = mtu();
        search(&mut mtu, 1472, 0, 20);
        search(&mut mtu, 1300, 20, 200);
        assert!((1292..=1300).contains(&mtu.get()), "{}", mtu.get());
    }

    #[test]
    fn a_wider_path_is_found_after_ten_minutes() {
        let mut mtu = mtu();
        search(&mut mtu, 1300, 0, 100);
        search(&mut mtu, 1472, 100, 500);
        assert!(mtu.get() <= 1300);
        search(&mut mtu, 1472, 500, 900);
        assert_eq!(mtu.get(), 1472);
    }

    #[test]
    fn without_full_datagrams_nothing_is_probed() {
        let mut mtu = mtu();
        for n in 0..10_000 {
            assert_eq!(mtu.sent(secs(n), 100), None);
        }
        assert_eq!(mtu.deadline(), None);
    }
}
