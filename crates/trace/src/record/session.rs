//! What a responder knows of one recorder.

use std::collections::VecDeque;

use bentpipe_units::{ByteCount, Instant, Span};

use super::message::{BIN, MOST_BINS, SEEN_WORDS};
use super::pace::Pacer;

/// Bins that a session remembers: a minute.
const REMEMBERED: usize = 600;

/// One session.
#[derive(Debug)]
pub(super) struct Session {
    heard: Instant,
    sent: ByteCount,
    load: Option<(Pacer, Instant)>,
    latest: u64,
    seen: [u64; SEEN_WORDS],
    counts: Counts,
}

impl Session {
    /// One that begins, with a load until a time.
    pub(super) fn new(now: Instant, load: Option<(Pacer, Instant)>) -> Self {
        let seen = [0; SEEN_WORDS];
        let counts = Counts::new(now);
        Self { heard: now, sent: ByteCount::ZERO, load, latest: 0, seen, counts }
    }

    /// Its recorder sent a datagram of this size on the wire.
    pub(super) fn heard(&mut self, now: Instant, size: ByteCount) {
        self.heard = now;
        self.counts.came(now, size);
    }

    /// When it was heard of last.
    pub(super) const fn last_heard(&self) -> Instant {
        self.heard
    }

    /// A probe with this number came.
    pub(super) fn probed(&mut self, seq: u64) {
        if seq > self.latest {
            self.seen = shifted(self.seen, seq - self.latest);
            self.latest = seq;
        }
        let before = self.latest - seq;
        if let Some(word) = self.seen.get_mut((before / 64) as usize) {
            *word |= 1 << (before % 64);
        }
    }

    /// The latest probe that came and which of those before it did.
    pub(super) const fn seen(&self) -> (u64, [u64; SEEN_WORDS]) {
        (self.latest, self.seen)
    }

    /// The counts of complete bins from the first one on that is wanted and known, `most` at most.
    pub(super) fn counts(&mut self, now: Instant, want: u64, most: usize) -> (u64, Vec<u32>) {
        self.counts.from(now, want, most.min(MOST_BINS))
    }

    /// Its load ends at this time at the latest.
    pub(super) fn end_load(&mut self, at: Instant) {
        if let Some((_, until)) = &mut self.load {
            *until = at.min(*until);
        }
    }

    /// The load that it is being sent.
    pub(super) fn load(&self) -> Option<&Pacer> {
        self.load.as_ref().filter(|(pacer, until)| pacer.next() < *until).map(|(pacer, _)| pacer)
    }

    /// The number of the datagram of its load that leaves now, if one does.
    pub(super) fn take_load(&mut self, now: Instant, size: ByteCount) -> Option<u64> {
        let (pacer, until) = self.load.as_mut()?;
        if now >= *until {
            self.load = None;
            return None;
        }
        pacer.take(now, size)
    }

    /// Takes bytes to send out of those that it may have; `false` if there are no more.
    pub(super) fn spend(&mut self, size: ByteCount, most: ByteCount) -> bool {
        let fits = self.sent + size <= most;
        if fits {
            self.sent += size;
        } else {
            self.load = None;
        }
        fits
    }
}

/// Bits of later probes come in at the low end.
fn shifted(seen: [u64; SEEN_WORDS], by: u64) -> [u64; SEEN_WORDS] {
    let (words, bits) = ((by / 64) as usize, by % 64);
    let word = |place: usize| place.checked_sub(words).and_then(|from| seen.get(from)).copied();
    std::array::from_fn(|place| {
        let high = word(place).unwrap_or(0) << bits;
        let carried = place.checked_sub(1).and_then(word).filter(|_| bits > 0);
        high | carried.map_or(0, |low| low >> (64 - bits))
    })
}

/// Bytes that came in each bin of the responder's clock.
#[derive(Debug)]
struct Counts {
    first: u64,
    bins: VecDeque<u32>,
}

impl Counts {
    /// The bin that has begun already counts for nothing.
    fn new(now: Instant) -> Self {
        Self { first: now.as_nanos() / BIN.as_nanos() + 1, bins: VecDeque::new() }
    }

    fn came(&mut self, now: Instant, size: ByteCount) {
        let Some(place) = self.advance(now) else { return };
        if let Some(bin) = self.bins.get_mut(place) {
            *bin = bin.saturating_add(u32::try_from(size.get()).unwrap_or(u32::MAX));
        }
    }

    /// Makes the bins until now, of which the last is still open, and says where that one is.
    fn advance(&mut self, now: Instant) -> Option<usize> {
        let open = (now.as_nanos() / BIN.as_nanos()).checked_sub(self.first)?;
        // A client that is silent for longer has no session: this is short.
        while (self.bins.len() as u64) <= open && self.bins.len() <= REMEMBERED {
            self.bins.push_back(0);
        }
        let mut place = open as usize;
        while self.bins.len() > REMEMBERED {
            self.bins.pop_front();
            self.first += 1;
            place = place.saturating_sub(1);
        }
        Some(place)
    }

    fn from(&mut self, now: Instant, want: u64, most: usize) -> (u64, Vec<u32>) {
        let complete = self.advance(now).unwrap_or(0);
        let from = want.max(self.first);
        let skipped = usize::try_from(from - self.first).unwrap_or(usize::MAX);
        let counts = self.bins.iter().take(complete).skip(skipped).take(most).copied().collect();
        (from, counts)
    }
}

/// A load for as long as a recorder says.
pub(super) fn until(now: Instant, remaining: u64) -> Instant {
    now + Span::from_nanos(remaining)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn complete_bins_are_told_from_the_one_on_that_is_wanted() {
        let mut session = Session::new(at(5_050), None);
        for (ms, bytes) in [(5_060, 1), (5_100, 10), (5_190, 10), (5_320, 30), (5_410, 5)] {
            session.heard(at(ms), ByteCount::new(bytes));
        }
        assert_eq!(session.counts(at(5_410), 0, 16), (51, vec![20, 0, 30]));
        assert_eq!(session.counts(at(5_510), 53, 16), (53, vec![30, 5]));
        assert_eq!(session.counts(at(5_510), 0, 1), (51, vec![20]));
        assert_eq!(session.counts(at(5_510), u64::MAX, 16), (u64::MAX, vec![]));
    }

    #[test]
    fn a_session_remembers_a_minute() {
        let mut session = Session::new(at(0), None);
        (0..200_000).step_by(50).for_each(|ms| session.heard(at(ms), ByteCount::new(1)));
        let (first, counts) = session.counts(at(200_000), 0, 16);
        assert_eq!((first, counts), (2_001 - REMEMBERED as u64, vec![2; 16]));
        assert_eq!(session.counts(at(200_000), 1_998, 16), (1_998, vec![2, 2]));
    }

    proptest! {
        #[test]
        fn the_probes_that_came_are_told(numbers in proptest::collection::vec(0u64..600, 1..60)) {
            let mut session = Session::new(at(0), None);
            numbers.iter().for_each(|seq| session.probed(*seq));
            let (latest, seen) = session.seen();
            prop_assert_eq!(Some(latest), numbers.iter().copied().max());
            for before in 0..=latest.min(255) {
                let told = seen[(before / 64) as usize] >> (before % 64) & 1 == 1;
                prop_assert_eq!(told, numbers.contains(&(latest - before)));
            }
        }
    }
}
