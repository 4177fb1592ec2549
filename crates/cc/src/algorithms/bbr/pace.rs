//! The pace, and the bursts that keep it.

use bentpipe_units::ByteCount;

use super::{Bbr, Repairs, STARTUP_GAIN};
use crate::Limits;
use crate::window::bit_rate;

/// The pace is so much below what the gain says, so that a queue that was built up drains.
const MARGIN: f64 = 0.99;
/// A burst has what the pace brings in so many seconds, at least two segments and at most so many bytes.
const BURST_TIME: f64 = 1.0 / 1024.0;
const LONGEST_BURST: f64 = 65_000.0;
/// Below this pace in bytes per second a burst is a segment.
const SLOW: f64 = 150_000.0;
/// The round trip where none is known.
const FIRST_RTT: f64 = 0.001;

impl Bbr {
    /// The pace follows the gain and the rate. It does not fall while the rate is not known.
    pub(super) fn move_pace(&mut self) {
        let rate = self.used_rate();
        if rate > 0.0 {
            let wanted = MARGIN * self.gain() * rate;
            if self.full || wanted > self.pace() {
                self.pace = wanted;
            }
        }
    }

    /// Bytes of payload per second.
    pub(super) fn pace(&self) -> f64 {
        if self.pace > 0.0 {
            return self.pace;
        }
        let rtt = self.srtt.as_secs_f64();
        MARGIN * STARTUP_GAIN * self.window.init() / if rtt > 0.0 { rtt } else { FIRST_RTT }
    }

    /// Segments of a burst.
    pub(super) fn burst_segments(&self) -> f64 {
        let (mss, pace) = (self.window.mss(), self.pace());
        let least = if pace < SLOW { 1.0 } else { 2.0 };
        let bytes = (pace * BURST_TIME).min(LONGEST_BURST);
        libm::floor(bytes / mss).max(least)
    }

    /// The window and the pace.
    pub(super) fn paced_limits(&self) -> Limits {
        let burst = self.burst_segments() * self.window.mss();
        Limits {
            window: Some(self.window.bytes()),
            pacing: Some(bit_rate(self.pace())),
            of_payload: true,
            burst: Some(ByteCount::new(burst as u64)),
            groups: true,
        }
    }

    /// All is repaired: the window is what it was.
    pub(super) fn end_repairs(&mut self) {
        if self.repairs != Repairs::None {
            self.window.set(self.prior.max(self.window.cwnd()));
        }
        (self.repairs, self.conserves) = (Repairs::None, false);
    }
}
