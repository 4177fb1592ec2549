//! What stations sent over a radio channel, and when, for the throughput that counts every bit.

use bentpipe_link::mac::MacSpec;
use bentpipe_sim::RunSpec;
use bentpipe_units::{BitRate, ByteCount, Instant};

/// The frames that got through on a radio channel, in the order in which they were sent.
#[derive(Clone, Debug)]
pub(super) struct Airtime {
    rate: BitRate,
    frames: Vec<(Instant, ByteCount)>,
}

impl Airtime {
    /// Of a run with a radio channel; of several the first one's rate counts.
    pub(super) fn new(spec: &RunSpec) -> Option<Self> {
        spec.macs.iter().find_map(|place| match place.mac {
            MacSpec::Radio { rate, .. } => Some(Self { rate, frames: Vec::new() }),
            MacSpec::Line { .. } | MacSpec::Uplink { .. } => None,
        })
    }

    /// A frame was sent.
    pub(super) fn sent(&mut self, at: Instant, bytes: ByteCount) {
        self.frames.push((at, bytes));
    }

    /// Bits per second of all frames that were sent within so many seconds of the start, headers and control included.
    pub(super) fn throughput(&self, seconds: f64) -> f64 {
        // The last frame ends at that moment, which as a float may be a little earlier.
        let within = |(at, _): &&(Instant, ByteCount)| at.as_secs_f64() <= seconds + 1e-9;
        let bits: u64 = self.frames.iter().filter(within).map(|(_, bytes)| bytes.bits()).sum();
        bits as f64 / seconds
    }

    /// Bit rate of the channel in bit/s.
    pub(super) fn rate(&self) -> f64 {
        self.rate.as_bps() as f64
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;

    use super::*;

    #[test]
    fn frames_count_up_to_the_moment_at_which_the_file_is_there() {
        let mut airtime = Airtime { rate: BitRate::from_bps(1200), frames: Vec::new() };
        for (seconds, bytes) in [(1, 100), (3, 200), (5, 400)] {
            airtime.sent(Instant::ZERO + Span::from_secs(seconds), ByteCount::new(bytes));
        }
        assert_eq!(airtime.throughput(3.0), 800.0);
        assert_eq!(airtime.throughput(4.0), 600.0);
        assert!(airtime.throughput(f64::NAN).is_nan());
    }
}
