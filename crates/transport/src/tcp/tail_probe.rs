//! A probe when the end of a flight may be lost, before the timeout (tail loss probe, RFC 8985, section 7).

use bentpipe_units::{Instant, Span};

/// The wait for an acknowledgement that may be delayed, which a single segment gets.
const DELAYED_ACK: Span = Span::from_millis(200);
/// What is added to two round trips otherwise: two ticks of Linux.
const SLACK: Span = Span::from_millis(2);
const BEFORE_FIRST_SAMPLE: Span = Span::from_secs(1);

/// The probe of one sender.
#[derive(Debug, Default)]
pub(super) struct TailProbe {
    deadline: Option<Instant>,
    due: bool,
    under_way: Option<Probe>,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    /// The offset behind everything that was sent when it left.
    end: u64,
    retransmitted: bool,
}

/// What an acknowledgement says of a probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// The first offset that is not acknowledged.
    pub(super) una: u64,
    /// The offset behind what it says came twice.
    pub(super) twice_until: Option<u64>,
    /// It reports nothing else.
    pub(super) says_nothing: bool,
}

impl TailProbe {
    /// It leaves two round trips from now unless something is heard, or when the timer of the oldest segment would
    /// run out, if that is earlier.
    #[inline]
    pub(super) fn arm(
        &mut self,
        now: Instant,
        srtt: Option<Span>,
        alone: bool,
        rto: Option<Instant>,
    ) {
        let slack = if alone { DELAYED_ACK } else { SLACK };
        let wait = srtt.map_or(BEFORE_FIRST_SAMPLE, |srtt| srtt * 2 + slack);
        self.deadline = Instant::earliest(Some(now + wait), rto);
    }

    /// Nothing is probed for now.
    #[inline]
    pub(super) const fn stop(&mut self) {
        self.deadline = None;
        self.due = false;
    }

    /// The window was reduced for a loss: the answer to a probe that left before says nothing new.
    pub(super) const fn forget(&mut self) {
        self.under_way = None;
    }

    /// When the probe leaves.
    #[inline]
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Lets the time pass. True when the deadline has come: the timer of the oldest segment starts anew.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> bool {
        let over = self.deadline.take_if(|at| *at <= now).is_some();
        // One probe at a time (section 7.3).
        self.due = over && self.under_way.is_none();
        over
    }

    /// A probe left and nothing was heard of it.
    #[inline]
    pub(super) const fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// A probe is to leave, whatever the window says.
    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    /// The probe left; nothing was sent behind `end`.
    pub(super) fn left(&mut self, end: u64, retransmitted: bool) {
        (self.due, self.under_way) = (false, Some(Probe { end, retransmitted }));
    }

    /// The report of something that came twice is about the probe, and says nothing of the path.
    pub(super) fn is_about(&self, twice_until: u64) -> bool {
        self.under_way.is_some_and(|probe| probe.retransmitted && probe.end == twice_until)
    }

    /// An acknowledgement came. True when the probe repaired a loss (section 7.4.2).
    #[inline]
    pub(super) fn hear(&mut self, answer: &Answer) -> bool {
        let Some(probe) = self.under_way.filter(|probe| answer.una >= probe.end) else {
            return false;
        };
        let twice = answer.twice_until == Some(probe.end);
        let advanced = answer.una > probe.end;
        if !probe.retransmitted || twice || advanced || answer.says_nothing {
            self.under_way = None;
        }
        probe.retransmitted && !twice && advanced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn answer(una: u64) -> Answer {
        Answer { una, twice_until: None, says_nothing: false }
    }

    #[test]
    fn it_leaves_after_two_round_trips_but_not_later_than_the_timeout() {
        let mut probe = TailProbe::default();
        let srtt = Some(Span::from_millis(100));
        probe.arm(at(0), srtt, false, Some(at(400)));
        assert_eq!(probe.deadline(), Some(at(202)));
        probe.arm(at(0), srtt, true, Some(at(350)));
        assert_eq!(probe.deadline(), Some(at(350)), "a single segment may be acknowledged late");
        probe.arm(at(0), None, true, None);
        assert_eq!(probe.deadline(), Some(at(1_000)));
    }

    #[test]
    fn there_is_one_at_a_time() {
        let mut probe = TailProbe::default();
        probe.arm(at(0), None, false, None);
        assert!(!probe.handle_timeout(at(999)) && !probe.is_due());
        assert!(probe.handle_timeout(at(1_000)) && probe.is_due());
        probe.left(500, true);
        probe.arm(at(1_000), None, false, None);
        assert!(probe.handle_timeout(at(2_000)) && !probe.is_due());
    }

    #[test]
    fn a_probe_that_is_acknowledged_once_repaired_a_loss() {
        let sent = |retransmitted| {
            let mut probe = TailProbe::default();
            probe.left(500, retransmitted);
            probe
        };
        assert!(!sent(true).hear(&answer(499)));
        assert!(!sent(true).hear(&answer(500)), "the one that is missing may come twice yet");
        assert!(sent(true).hear(&answer(501)));
        assert!(!sent(false).hear(&answer(501)), "new data repair nothing");
        let mut twice = sent(true);
        assert!(twice.is_about(500) && !twice.is_about(400));
        assert!(!twice.hear(&Answer { twice_until: Some(500), ..answer(500) }));
        assert!(!twice.hear(&answer(501)), "it is over");
        let mut silent = sent(true);
        assert!(!silent.hear(&Answer { says_nothing: true, ..answer(500) }));
        assert!(!silent.hear(&answer(501)));
    }
}
