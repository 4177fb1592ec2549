//! How long the pieces of a file are. The receiver keeps whole ones only, so that a cut costs what was sent of the last one: over a
//! slow link they are short.

use bentpipe_units::Span;

use crate::frames::MOST_DATA;

/// The first piece, and the shortest.
const LEAST: usize = 1024;
/// Pieces that leave sooner than this may be longer, and those that take longer than that shorter.
const QUICK: Span = Span::from_millis(100);
const SLOW: Span = Span::from_secs(2);

/// The length of the next piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pieces(usize);

impl Default for Pieces {
    fn default() -> Self {
        Self(LEAST)
    }
}

impl Pieces {
    /// Bytes of the next one.
    pub(crate) const fn length(self) -> usize {
        self.0
    }

    /// The last one took so long to leave.
    pub(crate) fn took(&mut self, span: Span) {
        if span < QUICK {
            self.0 = (self.0 * 2).min(MOST_DATA);
        } else if span > SLOW {
            self.0 = (self.0 / 2).max(LEAST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a file over a link of so many bytes a second that takes nothing ahead. Returns the longest and the last piece.
    fn over(rate: u64, size: usize) -> (usize, usize) {
        let (mut pieces, mut left, mut longest, mut last) = (Pieces::default(), size, 0, 0);
        while left > 0 {
            last = pieces.length();
            longest = longest.max(last);
            pieces.took(Span::from_secs_f64(last as f64 / rate as f64));
            left = left.saturating_sub(last);
        }
        (longest, last)
    }

    #[test]
    fn a_piece_takes_two_seconds_at_most_once_the_link_is_known() {
        assert_eq!(over(80, 100_000), (LEAST, LEAST), "packet radio");
        let (longest, last) = over(8_000, 1_000_000);
        assert!(longest <= 16_000 && last >= 800, "{longest} and {last} at 64 kbit/s");
        assert_eq!(over(1 << 30, 100_000_000), (MOST_DATA, MOST_DATA));
    }

    #[test]
    fn pieces_become_short_where_a_full_buffer_shows_that_the_link_is_slow() {
        let mut pieces = Pieces(MOST_DATA);
        for _ in 0..9 {
            pieces.took(Span::from_secs(30));
        }
        assert_eq!(pieces.length(), LEAST);
    }
}
