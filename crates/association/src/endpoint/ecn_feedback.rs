//! Congestion marks of routers on the path (ECN, RFC 3168), counted by the host that sees them and told to
//! the one that sent what was marked.

use bentpipe_units::{Instant, Span};

/// Shortest time between two messages. A sender reacts once in a round trip anyway.
const PAUSE: Span = Span::from_millis(25);
/// No message comes so much later than one that was sent after it: the peer counts anew.
const LATE: Span = Span::from_secs(2);

/// The ECN marks of one association.
#[derive(Debug, Default)]
pub(super) struct EcnFeedback {
    /// Marked datagrams seen.
    seen: u32,
    /// The count that was sent to the peer.
    sent: u32,
    sent_at: Option<Instant>,
    /// What the peer says it has seen.
    received: u32,
    /// When it said so last.
    received_at: Option<Instant>,
}

impl EcnFeedback {
    /// An authentic datagram came with a mark.
    pub(super) fn saw(&mut self) {
        self.seen = self.seen.wrapping_add(1);
    }

    /// The count to tell the peer now.
    pub(super) fn news(&mut self, now: Instant) -> Option<u32> {
        let due = self.due()?;
        (due <= now).then(|| {
            self.sent = self.seen;
            self.sent_at = Some(now);
            self.seen
        })
    }

    /// When there will be something to tell; in the past if there is now.
    pub(super) fn due(&self) -> Option<Instant> {
        let news = self.seen != self.sent;
        news.then(|| self.sent_at.map_or(Instant::ZERO, |at| at + PAUSE))
    }

    /// The peer has seen so many. True when there are new ones among them; one that comes late tells
    /// nothing, and one that comes sooner than this host would tell waits for the next. A peer that has forgotten the
    /// association counts anew.
    pub(super) fn report(&mut self, now: Instant, count: u32) -> bool {
        if self.received_at.is_some_and(|at| now < at + PAUSE / 2) {
            return false;
        }
        let more = count.wrapping_sub(self.received);
        let anew = self.received_at.is_some_and(|at| at + LATE <= now);
        let newer = more != 0 && (more < u32::MAX / 2 || anew);
        if newer {
            self.received = count;
            self.received_at = Some(now);
        }
        newer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn the_first_mark_is_told_at_once_and_the_next_ones_together() {
        let mut feedback = EcnFeedback::default();
        assert_eq!((feedback.news(at(5)), feedback.due()), (None, None));
        feedback.saw();
        assert_eq!(feedback.news(at(10)), Some(1));
        feedback.saw();
        feedback.saw();
        assert_eq!((feedback.news(at(34)), feedback.due()), (None, Some(at(35))));
        assert_eq!(feedback.news(at(35)), Some(3));
        assert_eq!((feedback.news(at(99)), feedback.due()), (None, None));
    }

    #[test]
    fn what_was_told_before_or_comes_late_is_no_news() {
        let mut feedback = EcnFeedback::default();
        assert!(feedback.report(at(0), 3));
        assert!(!feedback.report(at(100), 3));
        assert!(!feedback.report(at(200), 2));
        assert!(feedback.report(at(300), 4));
        assert!(!feedback.report(at(301), 5), "too soon");
        assert!(feedback.report(at(325), 6));
        assert!(!feedback.report(at(2_324), 1));
        assert!(feedback.report(at(2_325), 1), "it counts anew");
        assert!(feedback.report(at(2_350), 2));
    }
}
