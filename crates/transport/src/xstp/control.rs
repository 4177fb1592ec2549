//! Repetition of BGN and END until they are answered.

use bentpipe_units::{Instant, Span};

use super::Config;

/// A control segment that is retransmitted, after ever longer waits, until it is answered.
#[derive(Debug)]
pub(super) struct Retry {
    due: bool,
    next: Option<Instant>,
    wait: Span,
    longest: Span,
    left: Option<u32>,
}

/// No answer came however often it was sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

impl Retry {
    /// Nothing to send.
    pub(super) fn idle(config: &Config) -> Self {
        Self {
            due: false,
            next: None,
            wait: config.ctl_rto_init,
            longest: config.ctl_rto_max,
            left: config.ctl_max_retries,
        }
    }

    /// The segment shall go now and be repeated.
    pub(super) fn start(&mut self) {
        self.due = true;
    }

    /// The segment goes again at once, if it waits for its answer, and waits begin anew.
    pub(super) fn again(&mut self, first: Span) {
        if self.next.take().is_some() {
            self.due = true;
            self.wait = first;
        }
    }

    /// The segment goes now, and all its waits and repetitions begin anew.
    pub(super) fn restart(&mut self, config: &Config) {
        *self = Self { due: true, ..Self::idle(config) };
    }

    /// The answer came.
    pub(super) fn stop(&mut self) {
        self.due = false;
        self.next = None;
    }

    /// True when the segment is to be sent.
    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    /// The segment was handed out.
    pub(super) fn sent(&mut self, now: Instant) {
        self.due = false;
        self.next = Some(now + self.wait);
        self.wait = (self.wait * 2).min(self.longest);
    }

    /// Lets the time pass.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Result<(), Exhausted> {
        if self.next.is_none_or(|next| next > now) {
            return Ok(());
        }
        self.next = None;
        match &mut self.left {
            Some(0) => return Err(Exhausted),
            Some(left) => *left -= 1,
            None => {}
        }
        self.due = true;
        Ok(())
    }

    /// When the answer is overdue.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_end_after_the_last_retry() {
        let config = Config {
            ctl_rto_init: Span::from_secs(1),
            ctl_rto_max: Span::from_secs(4),
            ctl_max_retries: Some(4),
            ..Config::default()
        };
        let mut retry = Retry::idle(&config);
        retry.start();
        let (mut now, mut waits) = (Instant::ZERO, Vec::new());
        let outcome = loop {
            assert!(retry.is_due());
            retry.sent(now);
            let next = retry.deadline().expect("an answer is awaited");
            waits.push(next.since(now).as_nanos() / 1_000_000_000);
            now = next;
            if let Err(exhausted) = retry.handle_timeout(now) {
                break exhausted;
            }
        };
        assert_eq!((outcome, waits), (Exhausted, vec![1, 2, 4, 4, 4]));
    }
}
