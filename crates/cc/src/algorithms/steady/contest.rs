//! The window beside others who fill the queue: CUBIC (RFC 9438, section 4), which they most likely are.

use bentpipe_units::{Instant, Span};

const C: f64 = 0.4;
const BETA: f64 = 0.85;
/// Segments a round trip that give Reno's share (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// A stage of growth between two losses. Windows in segments, times in seconds.
#[derive(Debug, Default)]
pub(super) struct Contest {
    w_max: f64,
    epoch: Option<Epoch>,
}

#[derive(Debug)]
struct Epoch {
    began: Instant,
    k: f64,
    w_max: f64,
    w_est: f64,
}

impl Contest {
    /// Segments by which a window of `cwnd` of them grows when `acked` arrived.
    pub(super) fn growth(&mut self, now: Instant, srtt: Span, cwnd: f64, acked: f64) -> f64 {
        let w_max = self.w_max.max(cwnd);
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            began: now,
            k: libm::cbrt((w_max - cwnd) / C),
            w_max,
            w_est: cwnd,
        });
        let t = now.since(epoch.began).as_secs_f64();
        epoch.w_est += ALPHA * acked / cwnd;
        let cube = |t: f64| {
            let d = t - epoch.k;
            C * d * d * d + epoch.w_max
        };
        if cube(t) < epoch.w_est {
            return (epoch.w_est - cwnd).max(0.0);
        }
        let target = cube(t + srtt.as_secs_f64()).max(cwnd).min(1.5 * cwnd);
        (target - cwnd) * acked / cwnd
    }

    /// What a loss leaves of the window.
    pub(super) fn reduced(&mut self, cwnd: f64) -> f64 {
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.epoch = None;
        cwnd * BETA
    }
}
