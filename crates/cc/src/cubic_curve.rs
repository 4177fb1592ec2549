//! The window of CUBIC between losses (RFC 9438, section 4). Windows in segments, times in seconds.

use bentpipe_units::{Instant, Span};

/// The curve, and what the last loss left to know.
#[derive(Debug)]
pub(crate) struct CubicCurve {
    c: f64,
    beta: f64,
    fast_convergence: bool,
    w_max: f64,
    /// The window before the last reduction.
    prior: f64,
    epoch: Option<Epoch>,
}

/// A stage of avoidance between two losses.
#[derive(Debug)]
struct Epoch {
    began: Instant,
    k: f64,
    /// The window at which the cube is flat.
    w_max: f64,
    /// What Reno would have by now.
    w_est: f64,
}

impl CubicCurve {
    /// A curve that no loss has shaped yet.
    pub(crate) const fn new(c: f64, beta: f64, fast_convergence: bool) -> Self {
        Self { c, beta, fast_convergence, w_max: 0.0, prior: 0.0, epoch: None }
    }

    /// What a loss leaves of a window.
    pub(crate) const fn beta(&self) -> f64 {
        self.beta
    }

    /// The plateau.
    pub(crate) const fn w_max(&self) -> f64 {
        self.w_max
    }

    /// Seconds from the last loss to the plateau; 0 before the window has grown again.
    pub(crate) fn k(&self) -> f64 {
        self.epoch.as_ref().map_or(0.0, |epoch| epoch.k)
    }

    /// How long a window of `cwnd` takes to be as large again after a loss.
    pub(crate) fn recovers_within(&self, cwnd: f64) -> Span {
        Span::from_secs_f64(libm::cbrt((1.0 - self.beta) * cwnd / self.c))
    }

    /// Segments per round that give Reno's share with this `beta` (section 4.3).
    fn alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }

    /// The window that follows one of `cwnd` when so many `segments` arrived.
    pub(crate) fn next(&mut self, now: Instant, srtt: Span, cwnd: f64, segments: f64) -> f64 {
        let (c, alpha, prior) = (self.c, self.alpha(), self.prior);
        let fresh = self.begin(now, cwnd);
        let epoch = self.epoch.get_or_insert(fresh);
        let t = now.since(epoch.began).as_secs_f64();
        epoch.w_est += if epoch.w_est >= prior { 1.0 } else { alpha } * segments / cwnd;
        if epoch.cube(c, t) < epoch.w_est {
            cwnd.max(epoch.w_est)
        } else {
            let target = epoch.cube(c, t + srtt.as_secs_f64());
            cwnd + (target.max(cwnd).min(1.5 * cwnd) - cwnd) * segments / cwnd
        }
    }

    fn begin(&self, now: Instant, cwnd: f64) -> Epoch {
        let w_max = self.w_max.max(cwnd);
        let k = libm::cbrt((w_max - cwnd) / self.c);
        Epoch { began: now, k, w_max, w_est: cwnd }
    }

    /// So much time does not count.
    pub(crate) fn rest(&mut self, span: Span) {
        if let Some(epoch) = &mut self.epoch {
            epoch.began += span;
        }
    }

    /// The stage ends without a loss: the next one begins with the window that there is then.
    pub(crate) fn pause(&mut self) {
        self.epoch = None;
    }

    /// Something of a window of `cwnd` was lost.
    pub(crate) fn lose(&mut self, cwnd: f64) {
        let shrank = self.fast_convergence && cwnd < self.w_max;
        self.w_max = if shrank { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        self.prior = cwnd;
        self.epoch = None;
    }

    /// Section 4.8: the first stage after a timeout has its plateau where it begins.
    pub(crate) fn time_out(&mut self) {
        (self.w_max, self.epoch) = (0.0, None);
    }

    /// Nothing known of the path is worth keeping.
    pub(crate) fn forget(&mut self) {
        (self.w_max, self.prior, self.epoch) = (0.0, 0.0, None);
    }
}

impl Epoch {
    fn cube(&self, c: f64, t: f64) -> f64 {
        let d = t - self.k;
        c * d * d * d + self.w_max
    }
}
