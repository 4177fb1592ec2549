//! Lines of a log of which others can cause as many as they like.

use std::sync::Mutex;

use bentpipe_association::host::lock;

/// Lines let through in [`WINDOW`] seconds.
const LINES: u64 = 10;
const WINDOW: u64 = 10;

/// Lets a few lines through and counts the others.
#[derive(Debug, Default)]
pub struct LogLimit {
    counted: Mutex<Counted>,
}

#[derive(Debug, Default)]
struct Counted {
    /// When the first line of this window came, in seconds.
    began: u64,
    lines: u64,
    skipped: u64,
}

impl LogLimit {
    /// No line was let through yet.
    pub const fn new() -> Self {
        Self { counted: Mutex::new(Counted { began: 0, lines: 0, skipped: 0 }) }
    }

    /// Whether one more line may be written at this second, and how many were left out since the last one.
    pub fn admit(&self, second: u64) -> Option<u64> {
        let mut counted = lock(&self.counted);
        if second >= counted.began + WINDOW {
            (counted.began, counted.lines) = (second, 0);
        }
        if counted.lines >= LINES {
            counted.skipped += 1;
            return None;
        }
        counted.lines += 1;
        Some(std::mem::take(&mut counted.skipped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_lines_is_ten_in_ten_seconds_and_says_what_it_left_out() {
        let limit = LogLimit::new();
        let written = |second| (0..500).filter_map(|_| limit.admit(second)).collect::<Vec<_>>();
        assert_eq!(written(20), [0; 10]);
        assert!(written(29).is_empty());
        assert_eq!(limit.admit(30), Some(990));
        assert_eq!(limit.admit(30), Some(0));
    }
}
