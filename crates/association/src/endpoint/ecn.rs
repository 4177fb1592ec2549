//! Whether what is sent may be marked by routers (ECN, RFC 3168), and whether the path lets it through: some
//! middleboxes throw away what says that it understands marks (RFC 9000, section 13.4.2).

use bentpipe_units::{Instant, Span};
use bentpipe_wire::Ecn;

/// What was sent with the offer to be marked should be reported as received in this time.
const TIMEOUT: Span = Span::from_secs(3);

/// What is known of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EcnUse {
    /// Nothing yet; content was sent at this time, if any was.
    Testing(Option<Instant>),
    /// Datagrams that may be marked arrive.
    Works,
    /// Nothing that may be marked seems to arrive.
    Off,
}

impl EcnUse {
    /// A path of which nothing is known.
    pub(super) const NEW: Self = Self::Testing(None);

    fn is_on(self) -> bool {
        self != Self::Off
    }

    /// What the IP header of a datagram says.
    pub(super) fn mark(self) -> Ecn {
        if self.is_on() { Ecn::Capable0 } else { Ecn::NotCapable }
    }

    /// A datagram with content is sent.
    pub(super) fn sent(&mut self, now: Instant) {
        if let Self::Testing(since) = self {
            since.get_or_insert(now);
        }
    }

    /// The peer has received something.
    pub(super) fn confirmed(&mut self) {
        if self.is_on() {
            *self = Self::Works;
        }
    }

    /// When [`EcnUse::handle_timeout`] must be called.
    pub(super) fn deadline(self) -> Option<Instant> {
        match self {
            Self::Testing(since) => since.map(|since| since + TIMEOUT),
            Self::Works | Self::Off => None,
        }
    }

    /// Gives up if the time is over.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            *self = Self::Off;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_confirms_nothing_gets_no_offers_any_more() {
        let mut ecn = EcnUse::NEW;
        assert_eq!((ecn.is_on(), ecn.deadline()), (true, None));
        ecn.sent(Instant::ZERO);
        ecn.sent(Instant::ZERO + Span::from_secs(1));
        assert_eq!(ecn.deadline(), Some(Instant::ZERO + TIMEOUT));
        ecn.handle_timeout(Instant::ZERO + TIMEOUT);
        assert!(!ecn.is_on());
        ecn.confirmed();
        assert!(!ecn.is_on());
    }

    #[test]
    fn a_path_that_confirmed_once_may_be_dark_for_long() {
        let mut ecn = EcnUse::NEW;
        ecn.sent(Instant::ZERO);
        ecn.confirmed();
        ecn.handle_timeout(Instant::ZERO + Span::from_secs(1000));
        assert!(ecn.is_on());
    }
}
