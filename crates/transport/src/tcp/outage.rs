//! Outages that the link-layer tells of: a controller may ask for a rest until the link is up again.
//!
//! While the link is down nothing is sent but acknowledgements, and no timer of the sending side runs. When it is up,
//! the oldest segment leaves at once, with the window and the timeout as they were: its acknowledgement says within a
//! round trip what arrived before the outage. What has not arrived by then is retransmitted, and is no sign of
//! congestion.

use bentpipe_units::Instant;

/// What the sender knows of the last outage.
#[derive(Debug, Default)]
pub(super) struct Outage {
    /// The sender rests since then.
    since: Option<Instant>,
    /// When the last rest was over: no round trip is measured across it.
    over_at: Instant,
    /// Everything before this offset was under way in the last outage.
    under_way: u64,
    /// When it is known what the last outage lost of what had left by its begin.
    judgement: Option<Judgement>,
}

/// At an acknowledgement at `at` or later, what last left by `left_by` and is not acknowledged is lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judgement {
    at: Instant,
    pub(super) left_by: Instant,
    /// Everything before this offset was under way.
    pub(super) under_way: u64,
}

impl Outage {
    /// The sender rests.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.since.is_some()
    }

    /// When the last rest was over.
    #[inline]
    pub(super) const fn over_at(&self) -> Instant {
        self.over_at
    }

    /// The link is down and the sender rests. False when it does already.
    pub(super) const fn begin(&mut self, now: Instant) -> bool {
        let begins = self.since.is_none();
        if begins {
            self.since = Some(now);
        }
        begins
    }

    /// The link is up: since when the sender rested, if it did.
    pub(super) const fn end(&mut self) -> Option<Instant> {
        self.since.take()
    }

    /// The rest that began at `since` is over, and everything before `under_way` was under way in it. What it lost is
    /// known at `at`.
    pub(super) const fn over(&mut self, now: Instant, since: Instant, at: Instant, under_way: u64) {
        let judgement = Some(Judgement { at, left_by: since, under_way });
        *self = Self { since: None, over_at: now, under_way, judgement };
    }

    /// What is not acknowledged yet was under way in an outage that the sender rested in.
    #[inline]
    pub(super) const fn may_be_blamed(&self, una: u64) -> bool {
        self.is_on() || una < self.under_way
    }

    /// An acknowledgement came: it may say what the last outage lost.
    #[inline]
    pub(super) fn take_judgement(&mut self, now: Instant) -> Option<Judgement> {
        self.judgement.take_if(|judgement| judgement.at <= now)
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;

    use super::*;

    #[test]
    fn an_outage_is_judged_once_and_blamed_for_what_was_under_way() {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut outage = Outage::default();
        assert!(!outage.may_be_blamed(1) && outage.end().is_none());
        assert!(outage.begin(at(100)) && !outage.begin(at(200)) && outage.may_be_blamed(1));
        let since = outage.end().expect("it rested");
        outage.over(at(500), since, at(800), 4_000);
        assert!(outage.may_be_blamed(3_999) && !outage.may_be_blamed(4_000));
        assert!(outage.take_judgement(at(799)).is_none());
        let judgement = outage.take_judgement(at(800)).expect("it is time");
        assert_eq!((judgement.left_by, judgement.under_way), (at(100), 4_000));
        assert!(outage.take_judgement(at(900)).is_none());
    }
}
