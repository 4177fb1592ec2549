//! The sender's part: keeps what the last datagrams carried and makes parity of it when a burst ends.

use std::collections::VecDeque;

use bentpipe_units::{Instant, Span};
use bytes::Bytes;
use reed_solomon_simd::ReedSolomonEncoder;

use super::{MOST, MOST_BYTES, Parity, fill};
use crate::association::Index;

/// A burst has ended when nothing more was sent for so long.
const PAUSE: Span = Span::from_millis(5);
/// The peer is told once in this time that parity will come, so that it keeps what arrives.
const NOTICE: Span = Span::from_secs(1);

/// What was sent in the last round trip.
#[derive(Debug, Default)]
pub(super) struct Protector {
    keys: Option<Index>,
    /// One for each number in a row; empty for what counts as nothing.
    sent: VecDeque<(Instant, Bytes)>,
    bytes: usize,
    /// When the last data were sent that no parity covers.
    open_since: Option<Instant>,
    /// Nothing waits to be sent.
    quiet: bool,
    noticed_at: Option<Instant>,
}

/// What is sealed.
#[derive(Clone, Copy, Debug)]
pub(in crate::hub) struct Sealed<'a> {
    /// Which keys.
    pub(in crate::hub) keys: Index,
    /// What it carries.
    pub(in crate::hub) plain: &'a [u8],
    /// It brings the peer's application on, so that its loss costs time.
    pub(in crate::hub) weighty: bool,
}

impl Protector {
    /// A datagram is sealed. `room` is that of a shard, `round_trip` how far back parity reaches.
    pub(super) fn sealed(
        &mut self,
        now: Instant,
        sealed: Sealed<'_>,
        room: usize,
        round_trip: Span,
    ) {
        if self.keys != Some(sealed.keys) {
            self.clear();
            self.keys = Some(sealed.keys);
        }
        let fits = sealed.plain.len() < room;
        let plain = if fits { Bytes::copy_from_slice(sealed.plain) } else { Bytes::new() };
        self.bytes += plain.len();
        self.sent.push_back((now, plain));
        if sealed.weighty && fits {
            self.open_since = Some(now);
        }
        // A report that names a loss comes up to a POLL's interval after a round trip.
        let reach = round_trip + round_trip / 4;
        while let Some((at, first)) = self.sent.front()
            && (*at + reach < now || self.sent.len() > MOST || self.bytes > MOST_BYTES)
        {
            self.bytes -= first.len();
            self.sent.pop_front();
        }
    }

    /// Whether the peer should be told that parity will come.
    pub(super) fn notice(&mut self, now: Instant) -> bool {
        let due = self.noticed_at.is_none_or(|at| at + NOTICE <= now);
        if due {
            self.noticed_at = Some(now);
        }
        due
    }

    /// Whether anything waits to be sent.
    pub(super) fn set_quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }

    /// When parity is to be sent.
    pub(super) fn due(&self) -> Option<Instant> {
        self.open_since.filter(|_| self.quiet).map(|at| at + PAUSE)
    }

    /// Nothing is kept any more.
    pub(super) fn clear(&mut self) {
        self.sent = VecDeque::new();
        (self.bytes, self.open_since) = (0, None);
    }

    /// The parity of what was sent: `count` says how much for how many datagrams, `room` is that of a
    /// shard.
    pub(super) fn parity(&mut self, count: impl Fn(usize) -> u16, room: usize) -> Vec<Parity> {
        let of = self.sent.len();
        let longest = self.sent.iter().map(|(_, plain)| plain.len()).max().unwrap_or(0);
        let len = (longest + 1).next_multiple_of(2);
        let count = count(of);
        let made = if longest == 0 || len > room || count == 0 {
            Vec::new()
        } else {
            self.encode(count, len).unwrap_or_default()
        };
        self.clear();
        made
    }

    fn encode(&self, count: u16, len: usize) -> Result<Vec<Parity>, reed_solomon_simd::Error> {
        let of = self.sent.len();
        let mut encoder = ReedSolomonEncoder::new(of, usize::from(count), len)?;
        let mut shard = Vec::with_capacity(len);
        for (_, plain) in &self.sent {
            fill(plain, len, &mut shard);
            encoder.add_original_shard(&shard)?;
        }
        let encoded = encoder.encode()?;
        let shards = (0..count).zip(encoded.recovery_iter());
        Ok(shards
            .map(|(index, shard)| {
                let shard = Bytes::copy_from_slice(shard);
                Parity { of: of as u16, count, index, shard }
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(protector: &mut Protector, millis: u64, plain: &[u8], weighty: bool) {
        let now = Instant::ZERO + Span::from_millis(millis);
        let sealed = Sealed { keys: Index::new(1), plain, weighty };
        protector.sealed(now, sealed, 100, Span::from_millis(600));
    }

    #[test]
    fn parity_is_due_a_little_after_the_last_data_and_once() {
        let mut protector = Protector::default();
        send(&mut protector, 0, b"report", false);
        protector.set_quiet(true);
        assert_eq!(protector.due(), None);
        send(&mut protector, 3, b"data", true);
        assert_eq!(protector.due(), Some(Instant::ZERO + Span::from_millis(8)));
        protector.set_quiet(false);
        assert_eq!(protector.due(), None);
        protector.set_quiet(true);
        let parity = protector.parity(|_| 1, 100);
        assert_eq!((parity.len(), parity[0].of), (1, 2));
        assert_eq!((protector.due(), protector.parity(|_| 1, 100).len()), (None, 0));
    }

    #[test]
    fn parity_reaches_a_round_trip_back() {
        let mut protector = Protector::default();
        for millis in 0..2000 {
            send(&mut protector, millis, b"data", true);
        }
        assert_eq!(protector.parity(|_| 1, 100)[0].of, 751);
    }

    #[test]
    fn what_does_not_fit_into_a_shard_is_not_protected() {
        let mut protector = Protector::default();
        send(&mut protector, 0, &[1; 100], true);
        protector.set_quiet(true);
        assert_eq!(protector.due(), None);
        send(&mut protector, 0, &[1; 99], true);
        let parity = protector.parity(|_| 1, 100);
        assert_eq!((parity[0].of, parity[0].shard.len()), (2, 100));
    }
}
