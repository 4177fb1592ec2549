//! The sender's part: keeps what the last datagrams carried and makes parity of it when a burst ends.

use std::collections::VecDeque;

use bentpipe_units::{Instant, Span};
use bytes::Bytes;
use reed_solomon_simd::ReedSolomonEncoder;

use super::{MOST, MOST_BYTES, MOST_PARITY, Parity, SLICES, carried, check, fill};
use crate::secure::Index;

/// A burst has ended when nothing more was sent for so long.
const PAUSE: Span = Span::from_millis(5);
/// The peer is told once in this time that parity will come, so that it keeps what arrives.
const NOTICE: Span = Span::from_secs(1);

/// What was sent in the last round trip.
#[derive(Debug, Default)]
pub(super) struct FecEncoder {
    keys: Option<Index>,
    /// One for each number in a row; empty for what counts as nothing.
    sent: VecDeque<(Instant, Bytes)>,
    bytes: usize,
    /// When the last data were sent that no parity covers.
    open_since: Option<Instant>,
    /// Nothing waits to be sent.
    quiet: bool,
    /// Short objects were sent that no parity covers.
    objects: Option<Objects>,
    noticed_at: Option<Instant>,
}

/// When the first of some objects began to be sent, and when the last was.
#[derive(Clone, Copy, Debug)]
struct Objects {
    began: Instant,
    ended: Instant,
}

/// What is sealed.
#[derive(Clone, Copy, Debug)]
pub(in crate::endpoint) struct Sealed<'a> {
    /// Which keys.
    pub(in crate::endpoint) keys: Index,
    /// What it carries.
    pub(in crate::endpoint) plain: &'a [u8],
    /// It brings the peer's application on, so that its loss costs time.
    pub(in crate::endpoint) weighty: bool,
}

impl FecEncoder {
    /// A datagram is sealed. `round_trip` says how far back parity reaches.
    pub(super) fn sealed(&mut self, now: Instant, sealed: Sealed<'_>, round_trip: Span) {
        if self.keys != Some(sealed.keys) {
            self.clear();
            self.keys = Some(sealed.keys);
        }
        let plain = Bytes::copy_from_slice(sealed.plain);
        self.bytes += plain.len();
        self.sent.push_back((now, plain));
        if sealed.weighty {
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

    /// A short object that began to be sent then is sent.
    pub(super) fn object_ended(&mut self, now: Instant, began: Instant) {
        let began = self.objects.map_or(began, |objects| objects.began.min(began));
        self.objects = Some(Objects { began, ended: now });
    }

    /// When parity is to be sent.
    pub(super) fn due(&self) -> Option<Instant> {
        let burst = self.open_since.filter(|_| self.quiet).map(|at| at + PAUSE);
        Instant::earliest(burst, self.objects.map(|objects| objects.ended + PAUSE))
    }

    /// Nothing is kept any more.
    pub(super) fn clear(&mut self) {
        self.sent = VecDeque::new();
        (self.bytes, self.open_since, self.objects) = (0, None, None);
    }

    /// The parity of what was sent: `count` says how much for how many datagrams, `room` are the bytes
    /// that one carries.
    pub(super) fn parity(&mut self, count: impl Fn(usize) -> u16, room: usize) -> Vec<Parity> {
        if let Some(objects) = self.objects.filter(|_| !self.quiet) {
            let before = self.sent.partition_point(|(at, _)| *at < objects.began);
            self.sent.drain(..before);
        }
        let longest = self.sent.iter().map(|(_, plain)| plain.len()).max().unwrap_or(0);
        let count = count(self.sent.len());
        let shard = |slices: u8| (longest + 1).div_ceil(slices.into()).next_multiple_of(2);
        let fits = |slices: &u8| carried(*slices) * shard(*slices) <= room;
        let parity = match [1, SLICES].into_iter().find(fits) {
            Some(slices) if longest > 0 && count > 0 => self.encode(count, slices, shard(slices)),
            _ => Ok(Vec::new()),
        };
        self.clear();
        parity.unwrap_or_default()
    }

    fn encode(
        &self,
        count: u16,
        slices: u8,
        len: usize,
    ) -> Result<Vec<Parity>, reed_solomon_simd::Error> {
        let of = self.sent.len();
        let (each, carried) = (usize::from(slices), carried(slices));
        // A lost datagram lacks more shards than a parity datagram brings.
        let count = (usize::from(count) * each).div_ceil(carried).min(MOST_PARITY.into());
        let mut encoder = ReedSolomonEncoder::new(of * each, count * carried, len)?;
        let mut filled = Vec::with_capacity(each * len);
        for (_, plain) in &self.sent {
            fill(plain, each * len, &mut filled);
            for shard in filled.chunks_exact(len) {
                encoder.add_original_shard(shard)?;
            }
        }
        let encoded = encoder.encode()?;
        let mut shards = encoded.recovery_iter();
        let (of, count) = (of as u16, count as u16);
        let check = check(self.sent.iter().map(|(_, plain)| &plain[..]));
        let datagram = |index| {
            let shards: Vec<&[u8]> = shards.by_ref().take(carried).collect();
            Parity { of, count, index, slices, check, shards: shards.concat().into() }
        };
        Ok((0..count).map(datagram).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(encoder: &mut FecEncoder, millis: u64, plain: &[u8], weighty: bool) {
        let now = Instant::ZERO + Span::from_millis(millis);
        let sealed = Sealed { keys: Index::new(1), plain, weighty };
        encoder.sealed(now, sealed, Span::from_millis(600));
    }

    #[test]
    fn parity_is_due_a_little_after_the_last_data_and_once() {
        let mut encoder = FecEncoder::default();
        send(&mut encoder, 0, b"report", false);
        encoder.set_quiet(true);
        assert_eq!(encoder.due(), None);
        send(&mut encoder, 3, b"data", true);
        assert_eq!(encoder.due(), Some(Instant::ZERO + Span::from_millis(8)));
        encoder.set_quiet(false);
        assert_eq!(encoder.due(), None);
        encoder.set_quiet(true);
        let parity = encoder.parity(|_| 1, 100);
        assert_eq!((parity.len(), parity[0].of), (1, 2));
        assert_eq!((encoder.due(), encoder.parity(|_| 1, 100).len()), (None, 0));
    }

    #[test]
    fn parity_covers_an_object_that_ends_while_others_go_on() {
        let mut encoder = FecEncoder::default();
        for millis in 0..30 {
            send(&mut encoder, millis, b"data", true);
        }
        assert_eq!(encoder.due(), None);
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        encoder.object_ended(at(29), at(20));
        for millis in 30..40 {
            send(&mut encoder, millis, b"data", true);
        }
        assert_eq!(encoder.due(), Some(at(34)));
        assert_eq!(encoder.parity(|_| 1, 100)[0].of, 20);
        assert_eq!(encoder.due(), None);
    }

    #[test]
    fn parity_reaches_a_round_trip_back() {
        let mut encoder = FecEncoder::default();
        for millis in 0..2000 {
            send(&mut encoder, millis, b"data", true);
        }
        assert_eq!(encoder.parity(|_| 1, 100)[0].of, 751);
    }

    #[test]
    fn what_is_a_little_too_long_for_a_parity_datagram_is_cut() {
        for (len, slices, parity) in [(99, 1, 3), (100, 4, 4), (127, 4, 4)] {
            let mut encoder = FecEncoder::default();
            send(&mut encoder, 0, &vec![1; len], true);
            let sent = encoder.parity(|_| 3, 100);
            assert_eq!((sent.len(), sent[0].slices), (parity, slices), "{len}");
            assert!(sent.iter().all(|parity| parity.shards.len() <= 100));
        }
        let mut encoder = FecEncoder::default();
        send(&mut encoder, 0, &[1; 150], true);
        assert_eq!(encoder.parity(|_| 3, 100), []);
    }
}
