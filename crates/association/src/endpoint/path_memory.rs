//! What the paths to peers carried, to be kept over a restart: a host that starts anew need not find it out again, nor does one whose
//! links are metered, which sends nothing to find it out (draft-ietf-tsvwg-careful-resume, section 2.1).

use std::collections::BTreeMap;

use bentpipe_cc::KnownPath;
use bentpipe_units::{BitRate, Span};

use super::links::LINKS;
use crate::key::PublicKey;

/// What was seen longer ago does not count: in nanoseconds, a day.
const VALID: u64 = 24 * 3_600 * 1_000_000_000;
/// No round trip is longer.
const LONGEST: Span = Span::from_secs(100);

/// What a path to a peer carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathRecord {
    /// What all that was sent by it came to, with the headers of all layers.
    pub rate: BitRate,
    /// The least round trip.
    pub round_trip: Span,
    /// When that was seen, in nanoseconds since 1970.
    pub seen: u64,
}

impl PathRecord {
    /// What it tells at a time, in nanoseconds since 1970. Nothing if it is old, of a time to come, or no path has such numbers.
    pub(super) fn path(self, calendar: u64) -> Option<KnownPath> {
        let Self { rate, round_trip, seen } = self;
        let is_sane = !round_trip.is_zero() && round_trip <= LONGEST;
        let is_valid = calendar.checked_sub(seen).is_some_and(|age| age <= VALID);
        (is_sane && is_valid).then_some(KnownPath {
            rate,
            round_trip,
            at_least: true,
            return_delay: None,
        })
    }
}

/// What the paths to peers carried, each by its link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathMemory(BTreeMap<(PublicKey, usize), PathRecord>);

impl PathMemory {
    /// As they were kept: peers, the number of the link, counted from 0, and what it carried. Links that no host has are left out.
    pub fn new(records: impl IntoIterator<Item = (PublicKey, usize, PathRecord)>) -> Self {
        let mut memory = Self::default();
        for (peer, link, record) in records {
            memory.note(peer, link, record);
        }
        memory
    }

    /// Peers, the number of the link, and what it carried.
    pub fn records(&self) -> impl Iterator<Item = (PublicKey, usize, PathRecord)> {
        self.0.iter().map(|((peer, link), record)| (*peer, *link, *record))
    }

    /// What was seen last of each path, here and there.
    #[must_use]
    pub fn with(mut self, others: &Self) -> Self {
        for (peer, link, record) in others.records() {
            if self.0.get(&(peer, link)).is_none_or(|own| own.seen < record.seen) {
                self.note(peer, link, record);
            }
        }
        self
    }

    /// A path carried this. What was seen before is forgotten.
    pub(super) fn note(&mut self, peer: PublicKey, link: usize, record: PathRecord) {
        if link < LINKS {
            self.0.insert((peer, link), record);
        }
    }

    /// What the paths to a peer carried, link by link.
    pub(super) fn of(&self, peer: PublicKey) -> [Option<PathRecord>; LINKS] {
        std::array::from_fn(|link| self.0.get(&(peer, link)).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000_000_000_000;
    const RECORD: PathRecord = PathRecord {
        rate: BitRate::from_bps(10_000_000),
        round_trip: Span::from_millis(600),
        seen: NOW,
    };

    #[test]
    fn what_is_old_or_of_a_time_to_come_or_of_no_path_tells_nothing() {
        assert!(RECORD.path(NOW).is_some_and(|path| path.at_least));
        assert!(RECORD.path(NOW + VALID).is_some());
        assert_eq!(RECORD.path(NOW + VALID + 1), None);
        assert_eq!(RECORD.path(NOW - 1), None, "the calendar went back");
        let lies = [
            PathRecord { round_trip: Span::ZERO, ..RECORD },
            PathRecord { round_trip: LONGEST + Span::from_nanos(1), ..RECORD },
        ];
        assert!(lies.iter().all(|lie| lie.path(NOW).is_none()));
    }

    #[test]
    fn a_link_that_no_host_has_is_left_out() {
        let peer = crate::SecretKey::from_bytes([1; 32]).public();
        let memory = PathMemory::new([(peer, 0, RECORD), (peer, LINKS, RECORD)]);
        assert_eq!(memory.records().collect::<Vec<_>>(), [(peer, 0, RECORD)]);
    }
}
