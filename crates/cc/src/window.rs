//! The window that most algorithms move: slow start, avoidance and reduction, written once.

use bentpipe_units::{BitRate, ByteCount, Span};

use crate::Ack;
use crate::row::{Build, Parameter, Row};

/// How many segments an acknowledgement counts for (RFC 3465).
pub(crate) const ABC_LIMIT: Parameter = Parameter {
    name: "abc_limit",
    unit: "segments",
    default: 2.0,
    range: (0.0, 1e6),
    summary: "most segments that one acknowledgement counts for in slow start (RFC 3465, L); 0 counts \
              acknowledgements instead of bytes, as RFC 5681 allows and ns-2 does",
};

/// The slow start threshold of a new connection.
pub(crate) const INITIAL_SSTHRESH: Parameter = Parameter {
    name: "initial_ssthresh",
    unit: "segments",
    default: 0.0,
    range: (0.0, 1e9),
    summary: "slow start threshold of a new connection; 0 for none",
};

/// The form that an algorithm has in Linux 2.6.22, where that is not the published one.
pub(crate) const LINUX: Parameter = Parameter {
    name: "linux",
    unit: "1",
    default: 0.0,
    range: (0.0, 1.0),
    summary: "1: as Linux 2.6.22: whole segments, slow start to one segment above the threshold, a window \
              that falls further while losses are repaired, and what the algorithm has of its own",
};

/// Linux 2.6.22 starts after a loss with so many segments more than are under way.
const LINUX_BURST: f64 = 3.0;

/// Which of the forms of [`LINUX`] is chosen: what lies between two of them is the nearer one.
pub(crate) fn linux_form(build: &Build<'_>, row: &Row) -> u8 {
    libm::round(build.parameter(row, LINUX.name)) as u8
}

/// A paced sender may be this much faster than its window divided by the round trip, so that the
/// window is used up in spite of small delays and headers (RFC 9002, section 7.7).
const PACING_GAIN: f64 = 1.25;

/// A congestion window and its slow start threshold, in bytes with their fractions.
///
/// Only sums, products, quotients and comparisons of `f64` are used, which every machine rounds alike.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    cwnd: f64,
    ssthresh: f64,
    mss: f64,
    init: f64,
    initial_ssthresh: f64,
    min: f64,
    max: f64,
    abc_limit: f64,
    /// Slow start after a timeout: an acknowledgement counts for one segment at most (RFC 3465, 2.3).
    after_timeout: bool,
    /// The window moves by whole segments, as in Linux 2.6.22; `count` is what was acknowledged since.
    whole: bool,
    count: f64,
    /// Window and threshold before the last reduction.
    before: Option<(f64, f64)>,
}

impl Window {
    /// The window of a new connection; `row` has [`ABC_LIMIT`] and [`INITIAL_SSTHRESH`] or not.
    pub(crate) fn new(build: &Build<'_>, row: &Row) -> Self {
        let mss = build.mss.get().max(1) as f64;
        let max = (build.cwnd_max.get() as f64).max(mss);
        let min = (build.cwnd_min.get() as f64).clamp(mss, max);
        let init = (build.cwnd_init.get() as f64).clamp(min, max);
        let wanted = build.parameter(row, INITIAL_SSTHRESH.name) * mss;
        let initial_ssthresh = if wanted > 0.0 { wanted } else { f64::INFINITY };
        Self {
            cwnd: init,
            ssthresh: initial_ssthresh,
            mss,
            init,
            initial_ssthresh,
            min,
            max,
            abc_limit: build.parameter(row, ABC_LIMIT.name),
            after_timeout: false,
            whole: linux_form(build, row) == 1,
            count: 0.0,
            before: None,
        }
    }

    /// The window in bytes.
    pub(crate) const fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// The window in segments, with its fraction.
    pub(crate) fn segments(&self) -> f64 {
        self.cwnd / self.mss
    }

    /// The window in whole bytes, as the sender obeys it.
    pub(crate) const fn bytes(&self) -> ByteCount {
        ByteCount::new(self.cwnd as u64)
    }

    /// The threshold in bytes; infinite for none.
    pub(crate) const fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// The threshold in whole bytes, `None` for none.
    pub(crate) fn ssthresh_bytes(&self) -> Option<ByteCount> {
        self.ssthresh.is_finite().then(|| ByteCount::new(self.ssthresh as u64))
    }

    /// Payload of a full segment in bytes.
    pub(crate) const fn mss(&self) -> f64 {
        self.mss
    }

    /// The window of a new connection in bytes.
    pub(crate) const fn init(&self) -> f64 {
        self.init
    }

    /// The largest window in bytes.
    pub(crate) const fn max(&self) -> f64 {
        self.max
    }

    /// The window is below the threshold; in Linux 2.6.22 also on it, as RFC 5681 allows.
    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh || self.whole && self.cwnd <= self.ssthresh
    }

    /// The window moves by whole segments, as in Linux 2.6.22.
    pub(crate) const fn is_whole(&self) -> bool {
        self.whole
    }

    /// Sets the window, within its limits.
    pub(crate) fn set(&mut self, bytes: f64) {
        // `max` first: it turns NaN into the smallest window.
        self.cwnd = bytes.max(self.min).min(self.max);
        if self.cwnd >= self.ssthresh {
            self.after_timeout = false;
        }
    }

    /// Enlarges the window by so many bytes, or makes it smaller.
    pub(crate) fn add(&mut self, bytes: f64) {
        self.set(self.cwnd + bytes);
    }

    /// Sets the threshold, at least two segments.
    pub(crate) fn set_ssthresh(&mut self, bytes: f64) {
        let bytes = if self.whole { self.whole_segments(bytes) } else { bytes };
        self.ssthresh = bytes.max(2.0 * self.mss);
    }

    /// So many bytes without the part of a segment.
    pub(crate) fn whole_segments(&self, bytes: f64) -> f64 {
        libm::floor(bytes / self.mss) * self.mss
    }

    /// The segments that an acknowledgement counts for outside slow start.
    pub(crate) fn acked(&self, ack: &Ack) -> f64 {
        let segments = ack.bytes.get() as f64 / self.mss;
        let acks = ack.acks as f64;
        if self.abc_limit > 0.0 {
            segments
        } else if segments < acks {
            segments.ceil()
        } else {
            acks
        }
    }

    /// The segments that an acknowledgement counts for in slow start.
    pub(crate) fn acked_in_slow_start(&self, ack: &Ack) -> f64 {
        let limit = if self.after_timeout { 1.0 } else { self.abc_limit.max(1.0) };
        self.acked(ack).min(limit * ack.acks as f64)
    }

    /// Slow start: one segment for each one acknowledged, up to the threshold. Gives the segments
    /// that are left for avoidance.
    pub(crate) fn slow_start(&mut self, ack: &Ack) -> f64 {
        self.slow_start_by(1.0, ack)
    }

    /// Slow start with so many segments for each one acknowledged.
    pub(crate) fn slow_start_by(&mut self, growth: f64, ack: &Ack) -> f64 {
        if !self.in_slow_start() {
            return self.acked(ack);
        }
        let segments = growth * self.acked_in_slow_start(ack);
        if self.whole {
            self.count = 0.0;
            self.add(segments * self.mss);
            return 0.0;
        }
        let room = (self.ssthresh - self.cwnd) / self.mss;
        if segments < room {
            self.add(segments * self.mss);
            return 0.0;
        }
        self.set(self.ssthresh);
        segments - room
    }

    /// Avoidance: `per_round` segments for each window acknowledged, of which `segments` are here.
    pub(crate) fn avoid(&mut self, per_round: f64, segments: f64) {
        if self.whole {
            return self.step(self.segments() / per_round, segments);
        }
        self.add(per_round * self.mss * segments * self.mss / self.cwnd);
    }

    /// A whole segment more once `needed` segments were acknowledged. Most modules of Linux count up to what
    /// is needed and step with the next acknowledgement: they ask for one more.
    pub(crate) fn step(&mut self, needed: f64, segments: f64) {
        self.count += segments;
        if self.count >= needed {
            self.count = 0.0;
            self.add(self.mss);
        }
    }

    /// Bytes that advanced while the window did not grow: where bytes are counted, they count for later.
    pub(crate) fn credit(&mut self, bytes: ByteCount) {
        self.count += bytes.get() as f64 / self.mss;
    }

    /// A whole segment more once the `parts` of a segment fill a window.
    pub(crate) fn gather(&mut self, parts: f64) {
        self.count += parts;
        if self.count >= self.segments() {
            self.count -= self.segments();
            self.add(self.mss);
        }
    }

    /// The window while losses are repaired, where that is not the threshold (Linux 2.6.22).
    pub(crate) fn fall_to(&mut self, bytes: f64) {
        self.count = 0.0;
        self.set(self.whole_segments(bytes));
    }

    /// The losses are repaired: Linux 2.6.22 goes back to the threshold, but not by a burst.
    pub(crate) fn recovered(&mut self, in_flight: ByteCount) {
        if self.whole && self.cwnd < self.ssthresh {
            let most = in_flight.get() as f64 + LINUX_BURST * self.mss;
            self.set(self.ssthresh.min(most));
        }
    }

    /// A loss or a mark: the threshold is `ssthresh` and the window not above it.
    pub(crate) fn reduce(&mut self, ssthresh: f64) {
        self.before = Some((self.cwnd, self.ssthresh));
        self.set_ssthresh(ssthresh);
        self.set(self.cwnd.min(self.ssthresh));
    }

    /// A timeout: slow start from `loss_window`, up to `ssthresh` if that is new.
    pub(crate) fn time_out(&mut self, ssthresh: Option<f64>, loss_window: f64) {
        if let Some(ssthresh) = ssthresh {
            self.before = Some((self.cwnd, self.ssthresh));
            self.set_ssthresh(ssthresh);
        }
        (self.after_timeout, self.count) = (true, 0.0);
        self.set(loss_window);
    }

    /// The last reduction was a mistake (as RFC 4015, section 3).
    pub(crate) fn undo(&mut self) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            self.ssthresh = ssthresh.max(self.ssthresh);
            self.set(cwnd.max(self.cwnd));
        }
    }

    /// Nothing known of the path is worth keeping.
    pub(crate) fn restart(&mut self) {
        (self.ssthresh, self.before, self.after_timeout) = (self.initial_ssthresh, None, false);
        self.set(self.init);
    }

    /// Window and threshold are what is known of the path (draft-ietf-tsvwg-careful-resume).
    pub(crate) fn resume(&mut self, window: ByteCount, ssthresh: Option<ByteCount>) {
        self.before = None;
        self.set_ssthresh(ssthresh.map_or(f64::INFINITY, |bytes| bytes.get() as f64));
        self.set(window.get() as f64);
    }

    /// The restart window after idle time (RFC 5681, section 4.1).
    pub(crate) fn idle(&mut self) {
        self.set(self.cwnd.min(self.init));
    }

    /// The window after a pause of so many timeouts (RFC 2861, section 3.1, as Linux has it): not less than that of a new
    /// connection, and where it was the threshold still knows.
    pub(crate) fn halve(&mut self, times: u32) {
        self.ssthresh = self.ssthresh.max(0.75 * self.cwnd);
        let least = self.cwnd.min(self.init);
        let halved = self.cwnd * libm::exp2(-f64::from(times));
        self.set(halved.max(least));
    }

    /// The payload of a full segment changed; the window keeps its bytes.
    pub(crate) fn change_mss(&mut self, mss: ByteCount) {
        self.mss = mss.get().max(1) as f64;
        self.min = self.min.max(self.mss).min(self.max);
        self.set(self.cwnd);
    }

    /// The rate that spreads the window over a round trip of `srtt`, and a little more.
    pub(crate) fn pacing(&self, srtt: Span) -> Option<BitRate> {
        (!srtt.is_zero()).then(|| bit_rate(PACING_GAIN * self.cwnd / srtt.as_secs_f64()))
    }
}

/// A rate of so many bytes a second.
pub(crate) fn bit_rate(bytes_per_second: f64) -> BitRate {
    BitRate::from_bps((bytes_per_second * 8.0) as u64)
}
