//! Whether the peer is still there, asked where nothing else would tell (RFC 9293, section 3.8.4).

use bentpipe_units::Instant;

use super::Config;
use super::timers::Exhausted;

/// When the peer was heard, and how often it was asked since.
#[derive(Debug)]
pub(super) struct Keepalive {
    last_heard: Instant,
    asked: u32,
    /// It is to be asked.
    due: bool,
}

impl Keepalive {
    /// The peer counts as heard now.
    pub(super) const fn new(now: Instant) -> Self {
        Self { last_heard: now, asked: 0, due: false }
    }

    /// The peer was heard. True when it had been asked: the next question leaves sooner than it would have.
    #[inline]
    pub(super) const fn heard(&mut self, now: Instant) -> bool {
        let asked = self.asked > 0;
        (self.last_heard, self.asked) = (now, 0);
        asked
    }

    /// The connection opened; how often the peer was asked before stands.
    pub(super) const fn opened(&mut self, now: Instant) {
        self.last_heard = now;
    }

    /// A question is to leave.
    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    /// A question leaves, if one is to leave.
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }

    /// Nobody is to be asked any more.
    pub(super) const fn stop(&mut self) {
        self.due = false;
    }

    /// When an idle connection asks again.
    pub(super) fn deadline(&self, config: &Config) -> Option<Instant> {
        let asked = config.keepalive_interval * u64::from(self.asked);
        (!config.keepalive.is_zero()).then(|| self.last_heard + config.keepalive + asked)
    }

    /// Time may have come to ask.
    ///
    /// # Errors
    /// When that was done often enough.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        config: &Config,
    ) -> Result<(), Exhausted> {
        if self.deadline(config).is_none_or(|at| at > now) {
            return Ok(());
        }
        if self.asked >= config.keepalive_max {
            return Err(Exhausted);
        }
        self.asked += 1;
        self.due = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;

    use super::*;

    #[test]
    fn a_silent_peer_is_asked_so_often_and_then_given_up() {
        let (keepalive, keepalive_interval) = (Span::from_secs(100), Span::from_secs(10));
        let config = Config { keepalive, keepalive_interval, keepalive_max: 2, ..Config::ns2() };
        let at = |secs| Instant::ZERO + Span::from_secs(secs);
        let mut silence = Keepalive::new(at(0));
        for due in [100, 110] {
            assert_eq!(silence.handle_timeout(at(due - 1), &config), Ok(()));
            assert!(!silence.take_due());
            assert_eq!(silence.handle_timeout(at(due), &config), Ok(()));
            assert!(silence.take_due());
        }
        assert_eq!(silence.handle_timeout(at(120), &config), Err(Exhausted));
        assert!(silence.heard(at(120)), "100 s from now, not 120");
        assert_eq!(silence.deadline(&config), Some(at(220)));
        assert!(!silence.heard(at(121)));
    }
}
