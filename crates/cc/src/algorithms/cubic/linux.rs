//! CUBIC as the module of Linux 2.6.22 does it: how many acknowledgements a segment takes.

use bentpipe_units::{Instant, Span};

use crate::{Ack, PathView};

/// What a loss leaves: 819/1024.
pub(super) const BETA: f64 = 819.0 / 1024.0;
/// Segments acknowledged in Reno's share for one more segment, for each segment of the window.
const FRIENDLY: f64 = 23.0 / 8.0;
/// Segments by which the window grows at most in 100 ms beyond the plateau.
const MOST_IN_100_MS: f64 = 16.0;
/// An answer holds as long as the window stays, but not longer.
const RECOUNT: Span = Span::from_micros(31_250);
/// Growth before the first loss: a segment for so many acknowledgements.
const BEFORE_A_LOSS: f64 = 50.0;

/// The state of the module. Windows in whole segments, times in seconds.
#[derive(Debug)]
pub(super) struct Module {
    c: f64,
    /// Acknowledgements that a segment takes.
    needed: f64,
    last_max: f64,
    lost_before: bool,
    last: Option<(f64, Instant)>,
    /// Start of the stage, time to its plateau, and the plateau.
    epoch: Option<(Instant, f64, f64)>,
    least_rtt: Option<f64>,
    acks: f64,
    reno: f64,
    /// Sixteenths of segments that an acknowledgement stands for. It starts at two and, being whole,
    /// stops just below two where every segment is acknowledged: the window grows nearly twice as fast.
    ratio: u64,
}

impl Module {
    pub(super) const fn new(c: f64) -> Self {
        Self {
            c,
            needed: 0.0,
            last_max: 0.0,
            lost_before: false,
            last: None,
            epoch: None,
            least_rtt: None,
            acks: 0.0,
            reno: 0.0,
            ratio: 32,
        }
    }

    /// Every acknowledgement of new data.
    pub(super) fn measure(&mut self, path: &PathView, ack: &Ack) {
        if !ack.in_recovery {
            self.ratio = self.ratio + ack.segments.min(1 << 16) - self.ratio / 16;
        }
        // Samples right after a loss are not taken.
        let young =
            self.epoch.is_some_and(|(began, ..)| path.now.since(began) < Span::from_secs(1));
        if !young {
            let rtt = path.latest_rtt.as_secs_f64();
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// How many acknowledgements the next segment takes.
    pub(super) fn needed(&mut self, now: Instant, cwnd: f64) -> f64 {
        self.acks += 1.0;
        let holds = |(window, at): (f64, Instant)| window == cwnd && now.since(at) <= RECOUNT;
        if self.last.is_some_and(holds) {
            return self.needed;
        }
        self.last = Some((cwnd, now));
        let (began, k, plateau) = self.epoch.unwrap_or_else(|| {
            (self.acks, self.reno) = (1.0, cwnd);
            let below = (self.last_max - cwnd).max(0.0);
            (now, libm::cbrt(below / self.c), self.last_max.max(cwnd))
        });
        self.epoch = Some((began, k, plateau));
        let rtt = self.least_rtt.unwrap_or(0.0);
        let t = now.since(began).as_secs_f64() + rtt;
        // The distance from the plateau in whole segments: less than one is none, on both sides.
        let target = plateau + libm::trunc(self.c * (t - k) * (t - k) * (t - k));
        let mut needed = 100.0 * cwnd;
        if target > cwnd {
            needed = libm::floor(cwnd / (target - cwnd));
        }
        if t >= k && rtt > 0.0 {
            needed = needed.max(libm::floor(cwnd * 0.1 / (MOST_IN_100_MS * rtt)));
        }
        if !self.lost_before {
            needed = BEFORE_A_LOSS;
        }
        needed = needed.min(self.needed_by_reno(cwnd));
        self.needed = libm::floor(16.0 * needed / self.ratio.max(1) as f64).max(1.0);
        self.needed
    }

    /// Reno's share with this decrease grows by a segment in about three round trips.
    fn needed_by_reno(&mut self, cwnd: f64) -> f64 {
        let share = (FRIENDLY * cwnd).max(1.0);
        let more = libm::floor(self.acks / share);
        self.acks -= more * share;
        self.reno += more;
        if self.reno > cwnd { libm::floor(cwnd / (self.reno - cwnd)) } else { f64::INFINITY }
    }

    /// A loss with this window.
    pub(super) fn lose(&mut self, cwnd: f64) {
        let shrank = cwnd < self.last_max;
        self.last_max = if shrank { libm::floor(cwnd * (1.0 + BETA) / 2.0) } else { cwnd };
        (self.epoch, self.lost_before) = (None, true);
    }

    /// A timeout: everything is forgotten.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LossCause;
    use crate::testing::Play;

    /// A window just above 400 segments that lost one; the window before.
    fn cubic() -> (Play, f64) {
        let mut play = Play::new("cubic", &[("initial_ssthresh", 400.0), ("linux", 1.0)]);
        play.rounds(8);
        let before = play.segments();
        assert!((401.0..410.0).contains(&before), "slow start passes the threshold: {before}");
        play.lose(LossCause::Gap);
        (play, before)
    }

    #[test]
    fn a_loss_leaves_four_fifths_in_whole_segments() {
        let (mut play, before) = cubic();
        let left = (before * 819.0 / 1024.0).floor();
        assert_eq!((play.segments(), play.ssthresh()), (left, left));
        play.recovered();
        play.ack_at_once(1);
        assert_eq!(play.segments(), left + 1.0);
    }

    #[test]
    fn every_segment_acknowledged_looks_like_almost_two_in_an_acknowledgement() {
        let play = Play::new("cubic", &[]);
        for (segments, ratio) in [(1, 31), (2, 32), (3, 48)] {
            let mut module = Module::new(0.4);
            for _ in 0..100 {
                let ack = Ack {
                    bytes: play.bytes(segments),
                    advanced: play.bytes(segments),
                    segments,
                    newest_sent_at: Instant::ZERO,
                    rate_sample: None,
                    acks: 1,
                    in_recovery: false,
                    repairing: false,
                    lost: play.bytes(0),
                    marked: play.bytes(0),
                };
                module.measure(&play.path, &ack);
            }
            assert_eq!(module.ratio, ratio);
        }
    }

    #[test]
    fn renos_share_is_a_segment_for_23_eighths_of_a_window() {
        let mut module = Module::new(0.4);
        (module.acks, module.reno) = (287.0, 100.0);
        assert_eq!(module.needed_by_reno(100.0), f64::INFINITY);
        module.acks = 288.0;
        assert_eq!((module.needed_by_reno(100.0), module.reno, module.acks), (100.0, 101.0, 0.5));
    }

    #[test]
    fn after_a_timeout_a_segment_takes_25_acknowledgements() {
        let (mut play, _) = cubic();
        play.lose(LossCause::Timeout);
        assert_eq!(play.segments(), 1.0);
        while play.segments() <= play.ssthresh() {
            play.round();
        }
        let before = play.segments();
        play.round();
        let grown = play.segments() - before;
        assert!((grown - before / 26.0).abs() <= 1.0, "{grown} for {before} acknowledgements");
    }
}
