//! The longest packet of a path, found by HEARTBEATs with padding (RFC 8899, section 6.2), or told by a router (RFC 1191).

use bentpipe_units::Instant;

use crate::path_mtu::{Search, Unanswered};

/// The search on one path and the probe that is out or to be sent.
#[derive(Debug)]
pub(super) struct PathSearch {
    search: Search,
    /// A probe of this length is to be sent.
    wanted: Option<u16>,
    /// What the answer to the latest probe brings back, and its length.
    out: Option<(u64, u16)>,
}

impl PathSearch {
    pub(super) const fn new(base: u16, most: u16) -> Self {
        Self { search: Search::new(base, most), wanted: None, out: None }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.search.deadline()
    }

    /// A full packet left: it may be worth to look for more.
    pub(super) fn full_packet_left(&mut self, now: Instant) {
        self.wanted = self.search.sent_full(now).or(self.wanted);
    }

    /// A router says what passes.
    pub(super) fn told(&mut self, now: Instant, mtu: u16) {
        self.search.told(now, mtu);
        (self.wanted, self.out) = (None, None);
    }

    /// The timer of the path ran out: longer packets than every path carries may be what it drops.
    pub(super) fn doubt(&mut self, now: Instant) {
        self.wanted = self.search.doubt(now).or(self.wanted);
    }

    /// Lets the time pass. The longest packet, if it is shorter from now on.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Option<u16> {
        match self.search.handle_timeout(now)? {
            Unanswered::Again(length) => {
                self.wanted = Some(length);
                None
            }
            Unanswered::Shorter => Some(self.search.get()),
        }
    }

    /// Whether a probe is to be sent.
    pub(super) const fn is_due(&self) -> bool {
        self.wanted.is_some()
    }

    /// The length of the probe that leaves now, whose answer brings back `nonce`.
    pub(super) fn probe(&mut self, nonce: u64) -> Option<u16> {
        let length = self.wanted.take()?;
        self.out = Some((nonce, length));
        Some(length)
    }

    /// A HEARTBEAT ACK brought this number back: the length of the probe, if it answers that, and whether packets
    /// are that long from now on.
    pub(super) fn answered(&mut self, now: Instant, nonce: u64) -> Option<(u16, bool)> {
        let (_, length) = self.out.take_if(|(expected, _)| *expected == nonce)?;
        Some((length, self.search.answered(now, length)))
    }
}
