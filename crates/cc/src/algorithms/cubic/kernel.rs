//! CUBIC as tcp_cubic of Linux 6 does it: whole windows in ticks of its clock, and the start that ends by trains of
//! acknowledgements or by delay.

use bentpipe_units::{Instant, Span};

use crate::PathView;
use crate::window::Window;

/// What a loss leaves: 717/1024.
pub(super) const BETA: f64 = 717.0 / 1024.0;
/// Segments acknowledged in Reno's share for one more segment, for each segment of the window: 3 (1 + BETA) / (1 - BETA) / 8
/// in eighths.
const FRIENDLY: f64 = 15.0 / 8.0;
/// An answer holds as long as the window stays, but not longer.
const RECOUNT: Span = Span::from_micros(31_250);
/// Growth before the first loss: a segment for so many acknowledgements at most.
const BEFORE_A_LOSS: f64 = 20.0;
/// A segment takes so many acknowledgements at least.
const FASTEST: f64 = 2.0;
/// Samples of the round trip are not taken so soon after a loss.
const YOUNG: Span = Span::from_secs(1);

/// The state of the module. Windows in segments.
#[derive(Debug)]
pub(super) struct Kernel {
    c: f64,
    needed: f64,
    last_max: f64,
    last: Option<(f64, Instant)>,
    epoch: Option<Epoch>,
    least_rtt: Option<Span>,
    acked: f64,
    reno: f64,
    /// Segments acknowledged towards the next one.
    count: f64,
    start: Start,
}

/// A stage of avoidance: when it began, the time to its plateau in seconds, and the plateau.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Instant,
    k: f64,
    plateau: f64,
}

impl Kernel {
    pub(super) const fn new(c: f64) -> Self {
        Self {
            c,
            needed: 0.0,
            last_max: 0.0,
            last: None,
            epoch: None,
            least_rtt: None,
            acked: 0.0,
            reno: 0.0,
            count: 0.0,
            start: Start::new(),
        }
    }

    /// Every acknowledgement of new data.
    pub(super) fn measure(&mut self, window: &mut Window, path: &PathView) {
        if self.epoch.is_some_and(|epoch| path.now.since(epoch.began) < YOUNG) {
            return;
        }
        let rtt = path.latest_rtt;
        let least = self.least_rtt.map_or(rtt, |least| least.min(rtt));
        self.least_rtt = Some(least);
        if window.in_slow_start() && self.start.ends(window.segments(), path, least) {
            window.set_ssthresh(window.cwnd());
        }
    }

    /// So many segments were acknowledged: the whole segments by which the window grows.
    pub(super) fn grow(&mut self, now: Instant, cwnd: f64, acked: f64) -> f64 {
        let needed = self.needed(now, libm::floor(cwnd), acked);
        let mut more = 0.0;
        if self.count >= needed {
            (self.count, more) = (0.0, 1.0);
        }
        self.count += acked;
        let whole = libm::floor(self.count / needed);
        self.count -= whole * needed;
        more + whole
    }

    /// How many segments must be acknowledged for the next one; `acked` were just now.
    fn needed(&mut self, now: Instant, cwnd: f64, acked: f64) -> f64 {
        self.acked += acked;
        let holds = |(window, at): (f64, Instant)| window == cwnd && now.since(at) <= RECOUNT;
        if self.last.is_some_and(holds) {
            return self.needed;
        }
        self.last = Some((cwnd, now));
        let epoch = *self.epoch.get_or_insert_with(|| {
            (self.acked, self.reno) = (acked, cwnd);
            let below = (self.last_max - cwnd).max(0.0);
            Epoch { began: now, k: libm::cbrt(below / self.c), plateau: self.last_max.max(cwnd) }
        });
        let ahead = self.least_rtt.map_or(0.0, Span::as_secs_f64);
        let t = now.since(epoch.began).as_secs_f64() + ahead - epoch.k;
        let target = epoch.plateau + libm::trunc(self.c * t * t * t);
        let ratio = libm::floor(cwnd / (target - cwnd));
        let mut needed = if target > cwnd { ratio } else { 100.0 * cwnd };
        if self.last_max == 0.0 {
            needed = needed.min(BEFORE_A_LOSS);
        }
        self.needed = needed.min(self.needed_by_reno(cwnd)).max(FASTEST);
        self.needed
    }

    /// Reno's share with this decrease.
    fn needed_by_reno(&mut self, cwnd: f64) -> f64 {
        let share = libm::floor(FRIENDLY * cwnd).max(1.0);
        // More than the share, not as much.
        let more = (libm::ceil(self.acked / share) - 1.0).max(0.0);
        self.acked -= more * share;
        self.reno += more;
        if self.reno > cwnd { libm::floor(cwnd / (self.reno - cwnd)) } else { f64::INFINITY }
    }

    /// A loss with this window.
    pub(super) fn lose(&mut self, cwnd: f64) {
        let shrank = cwnd < self.last_max;
        let kept = libm::floor(cwnd * (1.0 + BETA) / 2.0);
        self.last_max = if shrank { kept } else { cwnd };
        (self.epoch, self.count) = (None, 0.0);
    }

    /// A timeout: everything is forgotten.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.c);
    }

    /// Time in which nothing was sent does not count.
    pub(super) fn rest(&mut self, span: Span) {
        if let Some(epoch) = &mut self.epoch {
            epoch.began += span;
        }
    }

    /// Seconds from the start of the stage to its plateau.
    pub(super) fn k(&self) -> f64 {
        self.epoch.map_or(0.0, |epoch| epoch.k)
    }

    /// The window before the last loss in segments.
    pub(super) const fn last_max(&self) -> f64 {
        self.last_max
    }
}

/// Below this window the start does not end by itself.
const LEAST_WINDOW: f64 = 16.0;
/// Acknowledgements of a train are no further apart.
const TRAIN: Span = Span::from_millis(2);
/// A receiver may keep acknowledgements back for so long.
const HELD_BACK: Span = Span::from_millis(1);
/// Round trips that are compared.
const SAMPLES: u32 = 8;
/// By how much they may grow: an eighth of the shortest one, within these bounds.
const DELAY: (Span, Span) = (Span::from_millis(4), Span::from_millis(16));

/// HyStart (Ha and Rhee, 2011): slow start ends when a train of acknowledgements is half as long as the shortest round
/// trip, or when round trips grow.
#[derive(Debug)]
struct Start {
    round: Option<u64>,
    began: Instant,
    last: Instant,
    current: Span,
    samples: u32,
    over: bool,
}

impl Start {
    const fn new() -> Self {
        let (began, last) = (Instant::ZERO, Instant::ZERO);
        Self { round: None, began, last, current: Span::MAX, samples: 0, over: false }
    }

    /// Looks at an acknowledgement. True when slow start is to end.
    fn ends(&mut self, cwnd: f64, path: &PathView, least: Span) -> bool {
        if self.over {
            return false;
        }
        if self.round != Some(path.round) {
            (self.round, self.began, self.last) = (Some(path.round), path.now, path.now);
            (self.current, self.samples) = (Span::MAX, 0);
        }
        if cwnd < LEAST_WINDOW {
            return false;
        }
        if path.now.since(self.last) <= TRAIN {
            self.last = path.now;
            self.over = path.now.since(self.began) > (least + HELD_BACK) / 2;
        }
        self.current = self.current.min(path.latest_rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            self.over |= self.current > least + (least / 8).clamp(DELAY.0, DELAY.1);
        }
        self.over
    }
}

#[cfg(test)]
mod tests {
    use crate::LossCause;
    use crate::testing::Play;

    fn play() -> Play {
        Play::new("cubic", &[("linux", 2.0), ("abc_limit", 1e6)])
    }

    #[test]
    fn slow_start_ends_when_round_trips_grow_by_an_eighth_or_16_ms() {
        let mut play = play();
        play.rounds(6);
        assert!(play.controller.snapshot().ssthresh.is_none());
        play.set_rtt(0.615);
        play.round();
        assert!(play.controller.snapshot().ssthresh.is_none(), "15 ms more");
        play.set_rtt(0.617);
        play.round();
        assert!(play.controller.snapshot().ssthresh.is_some());
    }

    #[test]
    fn slow_start_ends_at_a_train_of_half_a_round_trip() {
        let mut play = play();
        play.rounds(5);
        play.path.round += 1;
        for n in 0..151 {
            assert!(play.controller.snapshot().ssthresh.is_none(), "{n}");
            play.wait(0.002);
            play.ack_at_once(1);
        }
        play.wait(0.002);
        play.ack_at_once(1);
        assert!(play.controller.snapshot().ssthresh.is_some(), "300.5 ms");
    }

    #[test]
    fn a_loss_leaves_717_of_1024_and_the_window_is_back_after_k_seconds() {
        let mut play = Play::new("cubic", &[("linux", 2.0), ("initial_ssthresh", 1024.0)]);
        play.rounds(9);
        let before = play.segments();
        play.lose(LossCause::Gap);
        play.recovered();
        assert_eq!(play.segments(), libm::floor(before * 717.0 / 1024.0));
        let began = play.path.now;
        play.round();
        let k = play.gauge("k_s");
        let left = libm::floor(before * 717.0 / 1024.0);
        assert!((k - libm::cbrt((libm::floor(before) - left) / 0.4)).abs() < 1e-3, "{k}");
        while play.path.now.since(began).as_secs_f64() < k {
            play.round();
        }
        assert!((play.segments() - before).abs() < 5.0, "{}", play.segments());
    }
}
