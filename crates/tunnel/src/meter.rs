//! Which flows send little, and which short datagrams.

use bentpipe_units::{ByteCount, Instant, Span};

/// A sparse flow sends no more than this at once, and the second number in a second.
const BURST: ByteCount = ByteCount::new(3_000);
const A_SECOND: ByteCount = ByteCount::new(20_000);

/// A call does not pause for longer, and is one after so many datagrams.
const CALL_PAUSE: Span = Span::from_millis(200);
const CALL_FROM: u32 = 16;

/// What a flow has sent lately.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    level: ByteCount,
    at: Instant,
    /// Datagrams in a row that were sparse and close to each other, and when the last one came.
    run: (u32, Instant),
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
        let is_sparse = self.level <= BURST;
        let goes_on = is_sparse && now.since(self.run.1) <= CALL_PAUSE;
        self.run = (if goes_on { self.run.0.saturating_add(1) } else { 0 }, now);
        is_sparse
    }

    /// Whether the flow has been sparse for some time and never paused: somebody speaks, or plays.
    pub(crate) const fn is_call(&self) -> bool {
        self.run.0 >= CALL_FROM
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
    fn a_call_is_one_after_a_third_of_a_second_and_no_more_once_it_pauses() {
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        let mut call = Meter::default();
        let mut talks = |from: u64, bytes| {
            let is_call = |n: u64| {
                call.sends(at(from + 20 * n), ByteCount::new(bytes));
                call.is_call()
            };
            (0..50u64).map(is_call).collect::<Vec<_>>()
        };
        let first = talks(1_000, 172);
        assert!(!first[..16].contains(&true) && !first[16..].contains(&false), "{first:?}");
        assert!(!talks(2_300, 172)[0], "it paused for 320 ms");
        assert!(!talks(4_000, 1_200)[10..].contains(&true), "a download");
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
