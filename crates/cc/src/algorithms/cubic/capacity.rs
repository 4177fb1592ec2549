//! What the path is known to carry, and how long that is believed.

use bentpipe_units::{BitRate, Instant, Span};

use crate::PathView;

/// A queue of this part of the shortest round trip, and no shorter one, keeps a path full.
const QUEUE_SHARE: u64 = 16;
const QUEUE_MIN: Span = Span::from_millis(4);
/// The part of what a path carries that is all of it.
const ALL: f64 = 0.9;
/// A window that stands still tries a larger one after so long, or so many round trips if that is longer.
const REST: Span = Span::from_secs(5);
const REST_TRIPS: u64 = 12;
/// What it tries, and how many round trips show what became of it.
const TRY: f64 = 1.0 + 1.0 / 16.0;
const TRY_TRIPS: u64 = 3;
/// More than this part of what arrived before is more than the path was known to carry.
const MORE: f64 = 1.0 + 1.0 / 32.0;

/// The knowledge.
#[derive(Debug, Default)]
pub(super) struct Capacity {
    /// Bytes per second; nothing once it turned out to be wrong.
    known: Option<f64>,
    stage: Stage,
}

/// What a window does that has all of the path.
#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    /// It has not.
    #[default]
    Free,
    /// It stands still.
    Rests { since: Instant },
    /// It is larger since then, to see whether more arrives than so much. So large it was.
    Tries { since: Instant, arrived: f64, cwnd: f64 },
}

/// What becomes of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Advice {
    /// It grows as ever.
    Grow,
    /// It stays as it is.
    Stay,
    /// It has so many bytes from now on.
    Set(f64),
}

impl Capacity {
    /// The path was found to carry this, or nothing is known of it.
    pub(super) fn set(&mut self, capacity: Option<BitRate>) {
        *self = Self { known: capacity.map(|rate| rate.as_bps() as f64 / 8.0), stage: Stage::Free };
    }

    /// Whether time stands still for the window.
    pub(super) const fn is_resting(&self) -> bool {
        matches!(self.stage, Stage::Rests { .. } | Stage::Tries { .. })
    }

    /// A window was reduced: what it tried is over.
    pub(super) const fn reduced(&mut self) {
        self.stage = Stage::Free;
    }

    /// What becomes of a window of so many bytes when so much arrives in a second. Where the path is known to carry no more
    /// and the rest of the window stands in a queue, a larger one would win nothing. But the queue may be another one's,
    /// and the round trip longer for another reason: now and then a larger window is tried, and if more arrives nothing
    /// is known any more.
    pub(super) fn advise(&mut self, path: &PathView, arrives: f64, cwnd: f64) -> Advice {
        let Some(known) = self.known else { return Advice::Grow };
        let trips = |count: u64| path.latest_rtt * count;
        if let Stage::Tries { since, arrived, cwnd: before } = self.stage {
            if path.now.since(since) < trips(TRY_TRIPS) {
                return Advice::Stay;
            }
            if arrives > arrived * MORE {
                (self.known, self.stage) = (None, Stage::Free);
                return Advice::Grow;
            }
            self.stage = Stage::Rests { since: path.now };
            return Advice::Set(before);
        }
        let queue = path.latest_rtt.saturating_sub(path.min_rtt);
        let stands = queue > (path.min_rtt / QUEUE_SHARE).max(QUEUE_MIN);
        if !stands || arrives < ALL * known {
            self.stage = Stage::Free;
            return Advice::Grow;
        }
        match self.stage {
            Stage::Rests { since } if path.now.since(since) >= REST.max(trips(REST_TRIPS)) => {
                self.stage = Stage::Tries { since: path.now, arrived: arrives, cwnd };
                Advice::Set(cwnd * TRY)
            }
            Stage::Rests { .. } => Advice::Stay,
            _ => {
                self.stage = Stage::Rests { since: path.now };
                Advice::Stay
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;

    use super::*;

    const MB: f64 = 1e6;

    fn path(millis: u64, rtt: u64) -> PathView {
        PathView {
            now: Instant::ZERO + Span::from_millis(millis),
            mss: ByteCount::new(1_440),
            in_flight: ByteCount::new(600_000),
            peer_window: ByteCount::new(1 << 30),
            srtt: Span::from_millis(rtt),
            latest_rtt: Span::from_millis(rtt),
            min_rtt: Span::from_millis(600),
            return_delay: None,
            round: 1,
            delivered: ByteCount::ZERO,
            cwnd_limited: true,
        }
    }

    fn known() -> Capacity {
        let mut capacity = Capacity::default();
        capacity.set(Some(BitRate::from_bps(8_000_000)));
        capacity
    }

    #[test]
    fn a_window_that_has_the_path_stands_still_and_tries_a_sixteenth_more_now_and_then() {
        let mut capacity = known();
        assert_eq!(capacity.advise(&path(0, 610), MB, MB), Advice::Grow, "no queue");
        assert_eq!(capacity.advise(&path(0, 700), 0.8 * MB, MB), Advice::Grow, "not all of it");
        assert_eq!(capacity.advise(&path(0, 700), MB, MB), Advice::Stay);
        assert_eq!(capacity.advise(&path(8_300, 700), MB, MB), Advice::Stay);
        assert_eq!(capacity.advise(&path(8_500, 700), MB, MB), Advice::Set(1.0625 * MB));
        assert_eq!(capacity.advise(&path(9_800, 700), 2.0 * MB, 2.0 * MB), Advice::Stay);
        assert_eq!(capacity.advise(&path(10_700, 700), 1.02 * MB, 1.0625 * MB), Advice::Set(MB));
        assert_eq!(capacity.advise(&path(10_750, 700), MB, MB), Advice::Stay);
    }

    #[test]
    fn a_path_that_carries_more_than_was_known_is_a_path_of_which_nothing_is_known() {
        let mut capacity = known();
        assert_eq!(capacity.advise(&path(0, 700), MB, MB), Advice::Stay);
        assert_eq!(capacity.advise(&path(8_500, 700), MB, MB), Advice::Set(1.0625 * MB));
        assert_eq!(capacity.advise(&path(10_700, 700), 1.06 * MB, 1.0625 * MB), Advice::Grow);
        assert_eq!(capacity.advise(&path(10_800, 900), 1.06 * MB, MB), Advice::Grow);
        assert!(!capacity.is_resting());
    }
}
