//! BBR leads the window beside those who answer no loss, as BBR itself: whoever leaves them room gets none back, and a window that
//! stays whatever is lost makes both lose more than twice as much as two of BBR do.

use std::collections::BTreeMap;

use bentpipe_units::ByteCount;

use crate::row::Build;
use crate::{Ack, Controller, Limits, Loss, LossCause, PathView, Phase, Signal};

/// BBR's startup takes so many intervals, in which much is lost whoever is there.
const STARTUP: u32 = 48;
/// What is lost within so many more, which are fourteen of BBR's cycles, shows who is there.
const SHOWS: u32 = 112;
/// Whoever answers losses leaves so much room that less than this part is lost.
const LITTLE: f64 = 0.012;
/// The others are gone when the queue was empty in so many more intervals than not.
const GONE: u32 = 32;
/// What BBR is doing while it measures the round trip.
const PROBE_RTT: Phase = Phase::Other("probe_rtt");

/// What an interval shows of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// They answer no loss, or nothing is known yet.
    Stay,
    /// They answer losses after all.
    Answer,
    /// They are no longer there.
    Left,
}

/// BBR and what it shows of the others.
#[derive(Debug)]
pub(super) struct LikeBbr {
    bbr: Box<dyn Controller>,
    /// Intervals since it began, or since what was lost was looked at last.
    intervals: u32,
    /// Intervals with an empty queue, less those with another.
    empty: u32,
    /// Bytes lost since then, and what had been delivered.
    lost: ByteCount,
    delivered: ByteCount,
}

impl LikeBbr {
    pub(super) fn new(build: &Build<'_>) -> Self {
        let defaults = BTreeMap::new();
        let bbr = (crate::algorithms::bbr::ROW.build)(&Build { parameters: &defaults, ..*build });
        Self { bbr, intervals: 0, empty: 0, lost: ByteCount::ZERO, delivered: ByteCount::ZERO }
    }

    /// BBR leads from now on, and begins anew: the path may be another one than when it led last.
    pub(super) fn begin(&mut self, path: &PathView) {
        (self.intervals, self.empty) = (0, 0);
        let (bytes, cause) = (ByteCount::ZERO, LossCause::Persistent);
        let loss = Loss { bytes, cause, new_episode: true, again: false, looks_corrupt: false };
        self.bbr.on_loss(path, &loss);
    }

    /// It empties the path to measure its round trip: its window and the queue say nothing.
    pub(super) fn measures(&self) -> bool {
        self.bbr.snapshot().phase == PROBE_RTT
    }

    /// Looks at an acknowledgement; gives the window.
    pub(super) fn acknowledge(&mut self, path: &PathView, ack: &Ack) -> f64 {
        self.bbr.on_ack(path, ack);
        self.window()
    }

    /// Looks at a loss; gives the window.
    pub(super) fn lose(&mut self, path: &PathView, loss: &Loss) -> f64 {
        if !loss.looks_corrupt && matches!(loss.cause, LossCause::Gap | LossCause::Nack) {
            self.lost += loss.bytes;
        }
        self.bbr.on_loss(path, loss);
        self.window()
    }

    /// What concerns BBR while it does not lead as well.
    pub(super) fn signal(&mut self, path: &PathView, signal: &Signal) {
        self.bbr.on_signal(path, signal);
    }

    pub(super) fn limits(&self) -> Limits {
        self.bbr.limits()
    }

    fn window(&self) -> f64 {
        self.limits().window.map_or(0.0, |window| window.get() as f64)
    }

    /// An interval ended, with an empty queue or not.
    pub(super) fn look(&mut self, delivered: ByteCount, is_empty: bool) -> Shown {
        if self.measures() {
            return Shown::Stay;
        }
        self.intervals += 1;
        self.empty = if is_empty { self.empty + 1 } else { self.empty.saturating_sub(1) };
        if self.empty > GONE {
            return Shown::Left;
        }
        let sent = (delivered - self.delivered + self.lost).get() as f64;
        let is_little = (self.lost.get() as f64) < LITTLE * sent;
        let shows = self.intervals == STARTUP + SHOWS;
        if shows || self.intervals == STARTUP {
            (self.intervals, self.lost, self.delivered) = (STARTUP, ByteCount::ZERO, delivered);
        }
        if shows && is_little { Shown::Answer } else { Shown::Stay }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;

    use super::*;
    use crate::testing::Play;

    const SEGMENT: ByteCount = ByteCount::new(1000);

    fn like_bbr() -> LikeBbr {
        let parameters = BTreeMap::new();
        LikeBbr::new(&Build {
            mss: SEGMENT,
            cwnd_init: SEGMENT * 10,
            cwnd_min: SEGMENT,
            cwnd_max: SEGMENT * 100_000,
            shared: None,
            parameters: &parameters,
        })
    }

    /// What is shown by intervals in each of which a hundred segments leave, of which so many are lost after startup, and a quarter
    /// before.
    fn shown(like_bbr: &mut LikeBbr, lost: u64, intervals: u32) -> Vec<(u32, Shown)> {
        let mut delivered = ByteCount::ZERO;
        let mut shown = Vec::new();
        for interval in 1..=intervals {
            let lost = if interval <= STARTUP { 25 } else { lost };
            like_bbr.lost += SEGMENT * lost;
            delivered += SEGMENT * (100 - lost);
            let shows = like_bbr.look(delivered, false);
            if shows != Shown::Stay {
                shown.push((interval, shows));
            }
        }
        shown
    }

    #[test]
    fn little_that_is_lost_shows_that_the_others_leave_room() {
        assert_eq!(shown(&mut like_bbr(), 1, 160), [(160, Shown::Answer)]);
        assert_eq!(shown(&mut like_bbr(), 4, 1000), []);
    }

    #[test]
    fn what_is_lost_is_looked_at_again_and_again() {
        let mut like_bbr = like_bbr();
        assert_eq!(shown(&mut like_bbr, 4, 160 + 112), []);
        like_bbr.begin(&Play::new("steady", &[]).path);
        assert_eq!(
            shown(&mut like_bbr, 1, 160 + 112),
            [(160, Shown::Answer), (272, Shown::Answer)]
        );
    }

    #[test]
    fn a_queue_that_is_mostly_empty_is_nobodys() {
        let mut like_bbr = like_bbr();
        // BBR looks at an empty path for a few round trips every ten seconds.
        for interval in 0..1000 {
            assert_eq!(like_bbr.look(ByteCount::ZERO, interval % 200 < 6), Shown::Stay);
        }
        let empty = (0..).find(|_| like_bbr.look(ByteCount::ZERO, true) == Shown::Left);
        assert_eq!(empty, Some(GONE));
    }

    #[test]
    fn bbr_begins_anew_each_time() {
        let (mut play, mut like_bbr) = (Play::new("steady", &[]), like_bbr());
        let segments = play.bytes(100);
        for _ in 0..20 {
            play.wait(0.1);
            (play.path.round, play.path.delivered) =
                (play.path.round + 1, play.path.delivered + segments);
            let ack = Ack {
                bytes: segments,
                advanced: segments,
                segments: 100,
                newest_sent_at: play.path.now.before(Span::from_millis(100)),
                rate_sample: None,
                acks: 1,
                in_recovery: false,
                repairing: false,
                lost: ByteCount::ZERO,
                marked: ByteCount::ZERO,
            };
            like_bbr.acknowledge(&play.path, &ack);
        }
        let rate = |like_bbr: &LikeBbr| like_bbr.bbr.snapshot().gauges[0].value;
        assert!(rate(&like_bbr) > 0.0);
        like_bbr.begin(&play.path);
        assert_eq!(rate(&like_bbr), 0.0);
    }
}
