//! How often segments that are not taken are answered (RFC 5961, section 7).

use bentpipe_units::{Instant, Span};

/// So many answers in so much time.
const CHALLENGES: u32 = 10;
const PERIOD: Span = Span::from_secs(5);

/// An allowance of so many answers in each period.
#[derive(Debug, Default)]
pub(super) struct Challenges {
    since: Option<Instant>,
    used: u32,
}

impl Challenges {
    /// One more, if it is allowed.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.since(since) >= PERIOD) {
            (self.since, self.used) = (Some(now), 0);
        }
        self.used += 1;
        self.used <= CHALLENGES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_answers_in_five_seconds_and_no_more() {
        let mut challenges = Challenges::default();
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        assert_eq!((0..100).filter(|n| challenges.take(at(40 * n))).count(), 10);
        assert!(!challenges.take(at(4_999)) && challenges.take(at(5_000)));
    }
}
