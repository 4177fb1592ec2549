//! Which flows send little, and which short datagrams.

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

/// Datagrams of a flow are short whose mean length, over so many of them, is no more than this.
const SHORT: u32 = 256;
const MEAN_OF: u32 = 16;

/// How long a flow's datagrams are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Length(Option<u32>);

impl Length {
    /// The flow sends one of so many bytes. Returns whether they are short: acknowledgements, games, sound.
    pub(crate) fn sends(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u32;
        let mean = self.0.map_or(bytes, |mean| (mean * (MEAN_OF - 1) + bytes) / MEAN_OF);
        self.0 = Some(mean);
        mean <= SHORT
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

    #[test]
    fn acknowledgements_are_short_and_downloads_are_not_whatever_either_begins_with() {
        let (mut acks, mut download) = (Length::default(), Length::default());
        assert!(!acks.sends(1_200));
        let later = (0..100).map(|_| acks.sends(40)).collect::<Vec<_>>();
        assert!(later[40..].iter().all(|short| *short));
        download.sends(50);
        assert!((0..100).all(|n| !download.sends(if n % 5 == 4 { 60 } else { 1_400 }) || n < 3));
    }
}
