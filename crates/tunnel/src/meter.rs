//! Which flows send little.

use bentpipe_units::{ByteCount, Instant, Span};

/// A sparse flow sends no more than this at once, and the second number in a second.
const BURST: ByteCount = ByteCount::new(3_000);
const A_SECOND: ByteCount = ByteCount::new(20_000);

/// What a flow has sent lately.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    level: ByteCount,
    at: Instant,
}

impl Meter {
    /// The flow sends so much. Returns whether it is a sparse one.
    pub(crate) fn sends(&mut self, now: Instant, bytes: ByteCount) -> bool {
        let passed = now.since(self.at).as_nanos().min(Span::from_secs(1).as_nanos());
        let drained = A_SECOND.get() * passed / Span::from_secs(1).as_nanos();
        if drained > 0 {
            (self.level, self.at) = (self.level - ByteCount::new(drained), now);
        }
        // A flow that sends more stays above the line for as long as it does.
        self.level = (self.level + bytes).min(BURST * 2);
        self.level <= BURST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_sparse_and_a_download_is_not_once_it_has_begun() {
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        let mut call = Meter::default();
        assert!((0..500).all(|n| call.sends(at(20 * n), ByteCount::new(172))));
        let mut download = Meter::default();
        let sparse = (0..500).filter(|n| download.sends(at(*n), ByteCount::new(1_200))).count();
        assert_eq!(sparse, 2);
        assert!(download.sends(at(2_000), ByteCount::new(1_200)), "it has paused");
    }
}
