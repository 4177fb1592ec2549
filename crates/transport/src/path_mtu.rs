//! How long packets may be on a path: packetization layer path MTU discovery (RFC 8899).
//!
//! Probes are packets of their own that carry nothing. What is lost of them is no sign of congestion and
//! delays no data. Nothing here knows what a probe looks like; lengths are whatever the caller counts.

use bentpipe_units::{Instant, Span};

/// The search ends when the bounds are this close.
const CLOSE: u16 = 8;
/// Longer than any round trip over a satellite (PROBE_TIMER).
const WAIT: Span = Span::from_secs(2);
/// A length that was not answered so often is too long (MAX_PROBES).
const TRIES: u32 = 3;
/// A found length is confirmed this often while full packets are sent (CONFIRMATION_TIMER): the path may
/// have changed without a word.
const CONFIRM: Span = Span::from_secs(5);
/// After this long a longer one is tried again (PMTU_RAISE_TIMER).
const RAISE: Span = Span::from_secs(600);
/// Full packets sent before a search is worth its bytes.
const WORTH: u32 = 4;

/// The search on one path.
#[derive(Debug)]
pub struct Search {
    base: u16,
    most: u16,
    /// The longest packet that is known to arrive.
    confirmed: u16,
    /// The shortest that is known to be too long, or one more than any that is tried.
    too_long: u16,
    probe: Option<Probe>,
    /// Full packets sent since the last probe.
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

impl Search {
    /// A search that has not begun, from `base`, which every path carries (BASE_PLPMTU), up to `most`
    /// (MAX_PLPMTU).
    pub const fn new(base: u16, most: u16) -> Self {
        let most = if most < base { base } else { most };
        Self {
            base,
            most,
            confirmed: base,
            too_long: most.saturating_add(1),
            probe: None,
            full: 0,
            confirmed_at: Instant::ZERO,
            searched_at: None,
        }
    }

    /// The longest packet that may carry data.
    pub const fn get(&self) -> u16 {
        self.confirmed
    }

    /// What every path is taken to carry.
    pub const fn base(&self) -> u16 {
        self.base
    }

    /// Packets of more than `most` bytes do not pass, as somebody says who knows: a router (section 4.6). Those
    /// that do are taken to pass; longer ones are not tried before ten minutes (RFC 1191, section 6.3).
    pub fn told(&mut self, now: Instant, most: u16) {
        self.base = self.base.min(most);
        (self.confirmed, self.too_long) = (most, most.saturating_add(1));
        (self.probe, self.full) = (None, 0);
        (self.confirmed_at, self.searched_at) = (now, Some(now));
    }

    /// Not even what every path is taken to carry passes: begins anew from this length.
    pub const fn fall_to(&mut self, base: u16) {
        *self = Self::new(base, self.most);
    }

    /// A full packet was sent. Returns the length of a probe that is worth sending now.
    pub fn sent_full(&mut self, now: Instant) -> Option<u16> {
        self.full = self.full.saturating_add(1);
        if self.probe.is_some() || self.full < WORTH {
            return None;
        }
        if self.searched_at.is_some_and(|at| now.since(at) >= RAISE) {
            self.too_long = self.most.saturating_add(1);
            self.searched_at = None;
        }
        let overdue = self.confirmed > self.base && now.since(self.confirmed_at) >= CONFIRM;
        let wanted = if overdue { Some(self.confirmed) } else { self.next() };
        if wanted.is_none() {
            self.searched_at.get_or_insert(now);
        }
        wanted.map(|len| self.start(now, len, 1))
    }

    /// Packets are lost that may have been too long (section 4.3). Returns the length of a probe that tells.
    pub fn doubt(&mut self, now: Instant) -> Option<u16> {
        let doubtful = self.probe.is_none() && self.confirmed > self.base;
        doubtful.then(|| self.start(now, self.confirmed, 1))
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

    /// The peer got a probe of this length. True when [`Search::get`] changed.
    pub fn answered(&mut self, now: Instant, len: u16) -> bool {
        if self.probe.is_none_or(|probe| probe.len != len) {
            return false;
        }
        self.probe = None;
        self.confirmed_at = now;
        let changed = len != self.confirmed;
        self.confirmed = len;
        // Straight on to the next one.
        self.full = WORTH;
        changed
    }

    /// When [`Search::handle_timeout`] must be called.
    pub fn deadline(&self) -> Option<Instant> {
        self.probe.map(|probe| probe.until)
    }

    /// Lets the time pass. Returns what follows from a probe that got no answer.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Unanswered> {
        let probe = self.probe.filter(|probe| probe.until <= now)?;
        self.probe = None;
        if probe.tries < TRIES {
            return Some(Unanswered::Again(self.start(now, probe.len, probe.tries + 1)));
        }
        if probe.len <= self.confirmed {
            // What got through does so no more: the path has changed, or is down.
            *self = Self::new(self.base, self.most);
            return Some(Unanswered::Shorter);
        }
        self.too_long = probe.len;
        self.full = WORTH;
        None
    }
}

/// What follows from a probe that got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// A probe of this length is to be retransmitted.
    Again(u16),
    /// Packets have to be as short as at the start.
    Shorter,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(n: u64) -> Instant {
        Instant::ZERO + Span::from_secs(n)
    }

    fn search() -> Search {
        Search::new(1280, 1500)
    }

    /// Sends full packets over a path that carries so much, and answers what arrives. Returns the lengths
    /// that were tried and not known before.
    fn run(search: &mut Search, carries: u16, from: u64, until: u64) -> Vec<u16> {
        let mut probes = Vec::new();
        for n in from..until {
            let now = secs(n);
            let probe = match search.handle_timeout(now) {
                Some(Unanswered::Again(len)) => Some(len),
                _ => (0..WORTH).find_map(|_| search.sent_full(now)),
            };
            let Some(probe) = probe else { continue };
            if probe > search.get() {
                probes.push(probe);
            }
            if probe <= carries {
                search.answered(now, probe);
            }
        }
        probes
    }

    #[test]
    fn on_an_ordinary_path_one_probe_finds_the_length() {
        let mut search = search();
        assert_eq!(run(&mut search, 1500, 0, 20), [1500]);
        assert_eq!(search.get(), 1500);
    }

    #[test]
    fn a_narrow_path_is_found_by_halving_and_never_overestimated() {
        for carries in [1280, 1281, 1290, 1372, 1412, 1492, 1499] {
            let mut search = search();
            let probes = run(&mut search, carries, 0, 120);
            let found = search.get();
            assert!(found <= carries && found + CLOSE >= carries, "{carries}: {probes:?}");
            assert!(probes.len() <= 3 * 7, "{carries}: {probes:?}");
        }
    }

    #[test]
    fn a_path_that_became_narrow_is_noticed_and_searched_again() {
        let mut search = search();
        run(&mut search, 1500, 0, 20);
        run(&mut search, 1400, 20, 200);
        assert!((1392..=1400).contains(&search.get()), "{}", search.get());
    }

    #[test]
    fn losses_lead_to_a_probe_at_once_and_three_unanswered_ones_to_the_start() {
        let mut search = search();
        assert_eq!(search.doubt(secs(0)), None, "every path carries the least");
        run(&mut search, 1500, 0, 1);
        assert_eq!(search.doubt(secs(1)), Some(1500));
        assert_eq!(search.doubt(secs(1)), None, "one is out");
        assert_eq!(search.handle_timeout(secs(3)), Some(Unanswered::Again(1500)));
        assert_eq!(search.handle_timeout(secs(5)), Some(Unanswered::Again(1500)));
        assert_eq!(search.handle_timeout(secs(6)), None);
        assert_eq!(search.handle_timeout(secs(7)), Some(Unanswered::Shorter));
        assert_eq!(search.get(), 1280);
    }

    #[test]
    fn a_wider_path_is_found_after_ten_minutes() {
        let mut search = search();
        run(&mut search, 1400, 0, 100);
        run(&mut search, 1500, 100, 500);
        assert!(search.get() <= 1400);
        run(&mut search, 1500, 500, 900);
        assert_eq!(search.get(), 1500);
    }

    #[test]
    fn what_a_router_says_counts_at_once_and_for_ten_minutes() {
        let mut search = search();
        run(&mut search, 1500, 0, 20);
        search.told(secs(20), 1400);
        assert_eq!(search.get(), 1400);
        // Nothing longer is tried, only now and then what is known.
        assert_eq!(run(&mut search, 1500, 20, 619), []);
        assert_eq!(run(&mut search, 1500, 619, 640), [1500]);
        assert_eq!(search.get(), 1500);
    }

    #[test]
    fn a_router_may_know_less_than_what_every_path_carries() {
        let mut search = search();
        search.told(secs(0), 1000);
        assert_eq!((search.get(), search.base()), (1000, 1000));
        search.fall_to(500);
        assert_eq!((search.get(), search.base()), (500, 500));
        run(&mut search, 1000, 0, 100);
        assert!((992..=1000).contains(&search.get()), "{}", search.get());
    }

    #[test]
    fn an_answer_to_what_was_not_asked_changes_nothing() {
        let mut search = search();
        assert!(!search.answered(secs(0), 9000));
        assert_eq!(search.get(), 1280);
    }
}
