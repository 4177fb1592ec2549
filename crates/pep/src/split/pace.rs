//! Room that came at once, told step by step.

use bentpipe_units::{Instant, Span};

/// Share of a new sample in the mean time between acknowledgements, as in TCP's round-trip time.
const GAIN: u64 = 8;

/// Spreads the room that one acknowledgement makes over the time until the next is due.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Mean time between acknowledgements that made room.
    gap: Option<Span>,
    latest: Option<Instant>,
    /// The longest piece that was read: what a step is.
    segment: u64,
    /// When the next step is due, and the time from one to the next.
    due: Option<Instant>,
    interval: Span,
}

impl Pace {
    /// A piece of this length was read.
    pub(super) fn saw(&mut self, length: u64) {
        self.segment = self.segment.max(length);
    }

    /// An acknowledgement made room: only `occupied` bytes of the `stated` ones take any. Returns what
    /// is to be stated now.
    pub(super) fn release(&mut self, now: Instant, stated: u64, occupied: u64) -> u64 {
        let since = self.latest.map(|latest| now.since(latest)).filter(|since| !since.is_zero());
        if let Some(since) = since {
            self.gap = Some(match self.gap {
                Some(gap) => (gap * (GAIN - 1) + since) / GAIN,
                None => since,
            });
        }
        self.latest = Some(now);
        let segments = (stated - occupied).div_ceil(self.segment.max(1));
        let Some(gap) = self.gap.filter(|_| segments > 1) else {
            self.due = None;
            return occupied;
        };
        self.interval = gap / segments;
        match self.due {
            Some(due) if due <= now + self.interval => stated,
            _ => self.next_step(now, stated, occupied),
        }
    }

    /// Time has passed. Returns what is to be stated now.
    pub(super) fn step(&mut self, now: Instant, stated: u64, occupied: u64) -> u64 {
        if self.due.is_none_or(|due| due > now) {
            return stated;
        }
        self.next_step(now, stated, occupied)
    }

    fn next_step(&mut self, now: Instant, stated: u64, occupied: u64) -> u64 {
        let stated = stated.saturating_sub(self.segment).max(occupied);
        self.due = (stated > occupied).then(|| now + self.interval);
        stated
    }

    /// When [`Pace::step`] must be called.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_room_of_four_segments_is_told_in_four_steps_until_the_next_acknowledgement() {
        let mut pace = Pace::default();
        pace.saw(512);
        assert_eq!(pace.release(at(0), 4096, 4096 - 2048), 2048, "no gap is known yet");
        let mut stated = pace.release(at(40), 4096, 2048);
        let mut told = vec![(40, stated)];
        while let Some(due) = pace.deadline() {
            stated = pace.step(due, stated, 2048);
            told.push((due.as_nanos() / 1_000_000, stated));
        }
        assert_eq!(told, [(40, 3584), (50, 3072), (60, 2560), (70, 2048)]);
    }

    #[test]
    fn room_of_a_single_segment_is_told_at_once() {
        let mut pace = Pace::default();
        pace.saw(512);
        pace.release(at(0), 4096, 3584);
        assert_eq!(pace.release(at(40), 4096, 3584), 3584);
        assert_eq!(pace.deadline(), None);
    }
}
