//! One episode of losses: what the controller was told of it, and whether it was a mistake.

use bentpipe_cc::LossCause;
use bentpipe_units::{Instant, Span};

use super::recovery::Found;

/// So many acknowledgements after a retransmission are looked at by the fine timers of a controller.
const LOOKED_AT: u32 = 2;

/// The losses that count as one for the controller.
#[derive(Debug)]
pub(super) struct Episode {
    /// The clock of the timestamps when the first retransmission left (RFC 3522).
    first_retransmission: Option<u32>,
    /// It is one that a mistaken loss began, if there was one.
    may_undo: bool,
    /// Retransmissions of the episode whose originals are not known to have arrived; `None` before the first one.
    unproven: Option<u32>,
    /// The first offset that was not acknowledged when it began.
    began_at: u64,
    /// The acknowledgement that is being handled says that a link, not a queue, lost what it asks for.
    excused: bool,
    /// The losses so far were excused: the controller has not answered them.
    forgiven: bool,
    /// Acknowledgements since a retransmission left, while the controller wants fine timers.
    acks_since_retransmission: u32,
    duplicates: u32,
    last_reduction: Option<Instant>,
    resent_all_at: Option<Instant>,
}

/// What a loss is to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The controller answers it as the first one of an episode.
    pub(super) new_episode: bool,
    /// It is no sign of congestion.
    pub(super) looks_corrupt: bool,
}

impl Episode {
    /// Nothing was lost.
    pub(super) const fn new() -> Self {
        Self {
            first_retransmission: None,
            may_undo: false,
            unproven: None,
            began_at: 0,
            excused: false,
            forgiven: false,
            acks_since_retransmission: u32::MAX,
            duplicates: 0,
            last_reduction: None,
            resent_all_at: None,
        }
    }

    /// An acknowledgement came; what it finds lost is no congestion if it is `excused`.
    #[inline]
    pub(super) const fn heard(&mut self, excused: bool) {
        self.excused = excused;
    }

    /// What the acknowledgement finds lost is no congestion.
    pub(super) const fn excuse(&mut self) {
        self.excused = true;
    }

    /// What the acknowledgement finds lost is no congestion.
    pub(super) const fn is_excused(&self) -> bool {
        self.excused
    }

    /// What a loss is. One that is excused begins no episode; the first one after it that is not excused does, and
    /// then the window is reduced now.
    pub(super) fn judge(&mut self, found: &Found, cause: LossCause) -> Verdict {
        let looks_corrupt = self.excused && cause != LossCause::Timeout;
        let first = found.new_episode || self.forgiven;
        self.forgiven = first && looks_corrupt;
        Verdict { new_episode: first && !looks_corrupt, looks_corrupt }
    }

    /// The controller answered the first loss of an episode.
    /// While retransmissions of the one before are `under_way` an echo of theirs says nothing against it.
    pub(super) const fn begin(&mut self, now: Instant, una: u64, under_way: bool) {
        if !under_way {
            self.first_retransmission = None;
        }
        self.may_undo = true;
        (self.unproven, self.began_at) = (None, una);
        self.last_reduction = Some(now);
    }

    /// Everything may be retransmitted, which is so once in a round trip.
    pub(super) fn resend_all(&mut self, now: Instant, srtt: Span) -> bool {
        let rested = self.resent_all_at.is_none_or(|at| now.since(at) >= srtt);
        if rested {
            self.resent_all_at = Some(now);
        }
        rested
    }

    /// A retransmission leaves while the clock of the timestamps shows this.
    pub(super) fn repaired(&mut self, clock: u32) {
        self.first_retransmission.get_or_insert(clock);
        self.unproven = Some(self.unproven.unwrap_or(0) + 1);
        self.acks_since_retransmission = 0;
    }

    /// The first acknowledgement after a retransmission echoes a stamp from before it: the original had arrived
    /// (RFC 3522, section 3.2). Only the first one tells.
    pub(super) fn take_mistake(&mut self, echo: u32) -> bool {
        let Some(retransmission) = self.first_retransmission else { return false };
        std::mem::take(&mut self.may_undo) && (echo.wrapping_sub(retransmission) as i32) < 0
    }

    /// The peer has something twice, up to this offset. True, once, when that goes for all that was retransmitted in the
    /// episode (RFC 3708).
    pub(super) fn take_twice(&mut self, until: u64) -> bool {
        let Some(unproven) = self.unproven.filter(|_| until > self.began_at) else { return false };
        self.unproven = unproven.checked_sub(1).filter(|left| *left > 0);
        unproven == 1
    }

    /// An acknowledgement that advances has nothing to say of the last retransmissions; one that `echoes` a stamp might say
    /// that they were a mistake.
    #[inline]
    pub(super) const fn is_settled(&self, echoes: bool) -> bool {
        let may_be_mistaken = self.may_undo && self.first_retransmission.is_some() && echoes;
        self.acks_since_retransmission >= LOOKED_AT && !may_be_mistaken
    }

    /// An acknowledgement advanced. True when it is one of the first after a retransmission.
    #[inline]
    pub(super) const fn advanced(&mut self) -> bool {
        self.duplicates = 0;
        self.acks_since_retransmission = self.acks_since_retransmission.saturating_add(1);
        self.acks_since_retransmission <= LOOKED_AT
    }

    /// An acknowledgement advanced nothing. True when it is the first duplicate.
    pub(super) fn stood_still(&mut self, duplicate: bool) -> bool {
        self.duplicates += u32::from(duplicate);
        duplicate && self.duplicates == 1
    }

    /// A segment left after the window was last reduced.
    pub(super) fn is_since_reduction(&self, sent_at: Instant) -> bool {
        self.last_reduction.is_none_or(|at| sent_at > at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(new_episode: bool) -> Found {
        Found { lost: 1_000, new_episode, ..Found::default() }
    }

    #[test]
    fn the_first_loss_after_an_excused_one_begins_the_episode() {
        let mut episode = Episode::new();
        episode.heard(true);
        let excused = Verdict { new_episode: false, looks_corrupt: true };
        assert_eq!(episode.judge(&found(true), LossCause::Gap), excused);
        episode.heard(false);
        let first = Verdict { new_episode: true, looks_corrupt: false };
        assert_eq!(episode.judge(&found(false), LossCause::Gap), first);
        assert!(!episode.judge(&found(false), LossCause::Gap).new_episode);
    }

    #[test]
    fn only_the_first_echo_after_a_repair_shows_a_mistake() {
        let mut episode = Episode::new();
        episode.begin(Instant::ZERO, 1, false);
        assert!(!episode.take_mistake(0), "nothing was repaired");
        episode.repaired(100);
        episode.repaired(200);
        assert!(!episode.is_settled(true));
        assert!(episode.take_mistake(99) && !episode.take_mistake(99));
        episode.begin(Instant::ZERO, 1, false);
        episode.repaired(u32::MAX);
        assert!(!episode.take_mistake(0), "the clock wraps");
        episode.begin(Instant::ZERO, 1, true);
        episode.repaired(500);
        assert!(!episode.take_mistake(0), "that may be the one of before");
    }

    #[test]
    fn an_episode_is_a_mistake_when_all_that_was_repaired_came_twice() {
        let mut episode = Episode::new();
        episode.begin(Instant::ZERO, 1_000, false);
        assert!(!episode.take_twice(2_000), "nothing was repaired");
        (0..2).for_each(|_| episode.repaired(0));
        assert!(!episode.take_twice(1_000), "that was before");
        assert!(
            !episode.take_twice(2_000) && episode.take_twice(3_000) && !episode.take_twice(3_000)
        );
    }

    #[test]
    fn two_acknowledgements_after_a_repair_and_the_first_duplicate_are_looked_at() {
        let mut episode = Episode::new();
        assert!(!episode.advanced());
        episode.repaired(0);
        assert!(episode.advanced() && !episode.is_settled(true) && episode.advanced());
        assert!(!episode.advanced());
        assert!(
            !episode.stood_still(false) && episode.stood_still(true) && !episode.stood_still(true)
        );
    }
}
