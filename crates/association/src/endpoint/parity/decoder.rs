//! The receiver's part: keeps what the last datagrams carried, and makes those that were lost of it and of
//! parity.

use std::collections::VecDeque;

use bentpipe_units::{Instant, Span};
use bytes::Bytes;
use reed_solomon_simd::ReedSolomonDecoder;

use super::{MOST, MOST_BYTES, MOST_PARITY, Parity, SLICES, carried, check, fill, strip};
use crate::secure::Index;

/// What arrives is kept for so long after the peer said that parity will come.
const KEEP: Span = Span::from_secs(5);

/// Bytes of arithmetic that each byte of the peer is worth, with so many around what it carries.
const WORTH: usize = 2;
const AROUND: usize = 64;
/// Most bytes of arithmetic that were done and are not made good.
const MOST_DEBT: usize = 2 * MOST_BYTES;
/// After more datagrams in a row that did not come nothing can be recovered: it begins anew.
const LEAP: u64 = MOST_PARITY as u64;
/// What the allocator takes for a slot besides its bytes.
const SLOT: usize = 48;

/// What has arrived.
#[derive(Debug)]
pub(super) struct FecDecoder {
    /// Most bytes that are kept.
    room: usize,
    keep_until: Option<Instant>,
    keys: Option<Index>,
    /// Number of the first slot.
    first: u64,
    /// What came under each number; empty for what counts as nothing.
    slots: VecDeque<Option<Bytes>>,
    /// Bytes that the slots take.
    bytes: usize,
    block: Option<Block>,
    /// Bytes of arithmetic that were done, less what the datagrams that came are worth: who sends parity that is
    /// never right takes no more of this host's processor than who sends data.
    debt: usize,
}

/// What parity covers, and the parity that came.
#[derive(Debug)]
struct Block {
    first: u64,
    of: u16,
    count: u16,
    slices: u8,
    check: u64,
    /// Bytes of a shard.
    len: usize,
    parity: Vec<(u16, Bytes)>,
    /// Nothing is lacking any more.
    done: bool,
}

impl FecDecoder {
    /// Nothing has arrived; no more than so many bytes will be kept.
    pub(super) fn new(room: usize) -> Self {
        let (slots, debt) = (VecDeque::new(), 0);
        let room = room.min(MOST_BYTES);
        Self { room, keep_until: None, keys: None, first: 0, slots, bytes: 0, block: None, debt }
    }

    /// The peer says that parity will come.
    pub(super) fn expect(&mut self, now: Instant) {
        self.keep_until = Some(now + KEEP);
    }

    /// When what is kept may be forgotten.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.keep_until
    }

    /// Forgets what is old.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.keep_until.is_some_and(|until| until <= now) {
            *self = Self { debt: self.debt, ..Self::new(self.room) };
        }
    }

    /// A datagram of this number came and carries this; nothing if it is not protected. Returns what
    /// was lost and can be recovered now.
    pub(super) fn received(&mut self, keys: Index, number: u64, plain: &[u8]) -> Vec<Bytes> {
        if self.keep_until.is_none() {
            return Vec::new();
        }
        self.debt = self.debt.saturating_sub(WORTH * (plain.len() + AROUND));
        let next = self.first + self.slots.len() as u64;
        if self.keys != Some(keys) || number > next + LEAP {
            (self.slots, self.bytes, self.block) = (VecDeque::new(), 0, None);
            (self.keys, self.first) = (Some(keys), number);
        }
        let Some(offset) = number.checked_sub(self.first) else { return Vec::new() };
        let offset = offset as usize;
        if offset >= self.slots.len() {
            self.bytes += (offset + 1 - self.slots.len()) * SLOT;
            self.slots.resize(offset + 1, None);
        }
        self.bytes += plain.len();
        // What came beside it in one piece of memory is not held with it.
        let before = self.slots[offset].replace(Bytes::copy_from_slice(plain));
        self.bytes -= before.map_or(0, |before| before.len());
        while self.slots.len() > MOST || self.bytes > self.room {
            let Some(first) = self.slots.pop_front() else { break };
            self.bytes -= first.map_or(0, |first| first.len()) + SLOT;
            self.first += 1;
        }
        // Only one that was late can complete a block.
        let late =
            self.block.as_ref().is_some_and(|block| number < block.first + u64::from(block.of));
        if late { self.recover() } else { Vec::new() }
    }

    /// Parity came in the datagram of this number. Returns what was lost and can be recovered now.
    pub(super) fn parity(&mut self, now: Instant, number: u64, parity: Parity) -> Vec<Bytes> {
        self.expect(now);
        let Some(block) = Block::of(number, &parity) else { return Vec::new() };
        let before = self.block.take().filter(|before| before.same(&block));
        let block = self.block.insert(before.unwrap_or(block));
        if !block.done && block.parity.iter().all(|(index, _)| *index != parity.index) {
            block.parity.push((parity.index, parity.shards));
        }
        self.recover()
    }

    /// What the block lacks, if enough of it is there.
    fn recover(&mut self) -> Vec<Bytes> {
        let Some(block) = self.block.as_ref().filter(|block| !block.done) else {
            return Vec::new();
        };
        let came = |offset: &u64| self.slot(block.first + offset).is_some();
        let missing = (0..u64::from(block.of)).filter(|offset| !came(offset)).count();
        if missing * usize::from(block.slices) > block.parity.len() * carried(block.slices) {
            return Vec::new();
        }
        let cost = block.work();
        if missing > 0 && self.debt + cost > MOST_DEBT {
            return Vec::new();
        }
        let recovered = if missing == 0 { Ok(Vec::new()) } else { self.decode(block) };
        if missing > 0 {
            self.debt += cost;
        }
        if let Some(block) = &mut self.block {
            (block.done, block.parity) = (true, Vec::new());
        }
        recovered.unwrap_or_default()
    }

    fn slot(&self, number: u64) -> Option<&Bytes> {
        let offset = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.slots.get(offset)?.as_ref()
    }

    fn decode(&self, block: &Block) -> Result<Vec<Bytes>, reed_solomon_simd::Error> {
        let (of, len) = (usize::from(block.of), block.len);
        let (each, carried) = (usize::from(block.slices), carried(block.slices));
        let recovery = usize::from(block.count) * carried;
        let mut decoder = ReedSolomonDecoder::new(of * each, recovery, len)?;
        for (index, shards) in &block.parity {
            for (at, shard) in (usize::from(*index) * carried..).zip(shards.chunks_exact(len)) {
                decoder.add_recovery_shard(at, shard)?;
            }
        }
        let mut filled = Vec::with_capacity(each * len);
        let mut missing = Vec::new();
        for offset in 0..of {
            let Some(plain) = self.slot(block.first + offset as u64) else {
                missing.push(offset);
                continue;
            };
            let fits = plain.len() < each * len;
            fill(if fits { plain } else { &[] }, each * len, &mut filled);
            for (at, shard) in (offset * each..).zip(filled.chunks_exact(len)) {
                decoder.add_original_shard(at, shard)?;
            }
        }
        let decoded = decoder.decode()?;
        let recovered: Vec<Bytes> = missing
            .iter()
            .map(|offset| {
                let shards = offset * each..(offset + 1) * each;
                let whole: Vec<_> = shards.filter_map(|at| decoded.restored_original(at)).collect();
                strip(&whole.concat()).map(Bytes::copy_from_slice).unwrap_or_default()
            })
            .collect();
        let mut lost = recovered.iter();
        let all = (0..of).filter_map(|offset| {
            self.slot(block.first + offset as u64).or_else(|| lost.next()).map(|plain| &plain[..])
        });
        if check(all) != block.check {
            tracing::debug!("parity does not match the datagrams");
            return Ok(Vec::new());
        }
        Ok(recovered.into_iter().filter(|plain| !plain.is_empty()).collect())
    }
}

impl Block {
    /// The block of parity that came under this number; `None` if there can be no such block.
    fn of(number: u64, parity: &Parity) -> Option<Self> {
        let &Parity { of, count, index, slices, check, ref shards } = parity;
        let sane = (1..=MOST).contains(&usize::from(of))
            && index < count
            && count <= MOST_PARITY
            && (1..=SLICES).contains(&slices);
        let behind = u64::from(index) + u64::from(of);
        let first = number.checked_sub(behind).filter(|_| sane)?;
        let len = shards.len() / carried(slices);
        let whole = len > 0 && len.is_multiple_of(2) && len * carried(slices) == shards.len();
        let block = Self { first, of, count, slices, check, len, parity: Vec::new(), done: false };
        (whole && block.work() <= MOST_DEBT).then_some(block)
    }

    /// Bytes of arithmetic, and of memory, that decoding takes: shards are transformed by powers of two.
    fn work(&self) -> usize {
        let originals = usize::from(self.of) * usize::from(self.slices);
        let recovery = usize::from(self.count) * carried(self.slices);
        (originals.next_power_of_two() + recovery.next_power_of_two()) * self.len
    }

    /// Whether both are one.
    fn same(&self, other: &Self) -> bool {
        let shape = |block: &Self| (block.first, block.of, block.count, block.slices, block.len);
        shape(self) == shape(other) && self.check == other.check
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::encoder::{FecEncoder, Sealed};
    use super::*;

    const KEYS: Index = Index::new(1);
    const ROOM: usize = 64;

    fn plain(number: u64) -> Bytes {
        // Some carry nothing.
        let len = if number % 5 == 4 { 0 } else { number as usize * 7 % (ROOM - 1) + 1 };
        Bytes::from(vec![number as u8 | 1; len])
    }

    /// What was sent under numbers from `first` on, and its parity.
    fn burst(first: u64, of: u64, count: u16) -> Vec<Parity> {
        let mut encoder = FecEncoder::default();
        for number in first..first + of {
            let sealed = Sealed { keys: KEYS, plain: &plain(number), weighty: true };
            encoder.sealed(Instant::ZERO, sealed, Span::from_secs(1));
        }
        // In one shard each, or in four.
        encoder.parity(|_| count, if first.is_multiple_of(2) { ROOM } else { ROOM - 8 })
    }

    fn sorted(bytes: Vec<Bytes>) -> Vec<Bytes> {
        let mut bytes = bytes;
        bytes.sort();
        bytes
    }

    proptest! {
        #[test]
        fn what_was_lost_is_recovered_if_as_much_parity_came_and_never_anything_else(
            first in 0u64..1 << 40,
            of in 1u64..200,
            count in 1u16..20,
            lost in prop::collection::btree_set(0u64..220, 0..30),
            late in prop::collection::btree_set(0u64..220, 0..5),
        ) {
            let parity = burst(first, of, count);
            let mut decoder = FecDecoder::new(MOST_BYTES);
            decoder.expect(Instant::ZERO);
            // The first one shows where numbers begin.
            let lost: BTreeSet<u64> = lost.into_iter().filter(|offset| *offset != 0).collect();
            let late: Vec<u64> =
                late.into_iter().filter(|offset| *offset < of && lost.contains(offset)).collect();
            for offset in (0..of).filter(|offset| !lost.contains(offset)) {
                let number = first + offset;
                prop_assert!(decoder.received(KEYS, number, &plain(number)).is_empty());
            }
            let mut recovered = Vec::new();
            let mut came = 0;
            let enough = |missing: usize, came: usize| {
                parity.first().is_some_and(|parity| {
                    missing * usize::from(parity.slices) <= came * carried(parity.slices)
                })
            };
            for parity in parity.clone() {
                let offset = of + u64::from(parity.index);
                if !lost.contains(&offset) {
                    came += 1;
                    recovered.extend(decoder.parity(Instant::ZERO, first + offset, parity));
                }
            }
            let mut missing: BTreeSet<u64> = lost.iter().copied().filter(|l| *l < of).collect();
            for &offset in &late {
                if enough(missing.len(), came) {
                    break;
                }
                missing.remove(&offset);
                let number = first + offset;
                recovered.extend(decoder.received(KEYS, number, &plain(number)));
            }
            let expected = missing.iter().map(|offset| plain(first + offset));
            let expected: Vec<Bytes> = expected.filter(|plain| !plain.is_empty()).collect();
            let expected = if enough(missing.len(), came) { sorted(expected) } else { Vec::new() };
            prop_assert_eq!(sorted(recovered), expected);
        }

        #[test]
        fn parity_may_say_anything(
            number in any::<u64>(),
            of in any::<u16>(),
            count in any::<u16>(),
            index in any::<u16>(),
            slices in any::<u8>(),
            shards in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut decoder = FecDecoder::new(MOST_BYTES);
            decoder.expect(Instant::ZERO);
            decoder.received(KEYS, number.saturating_sub(3), &plain(1));
            let parity = Parity { of, count, index, slices, check: 7, shards: shards.into() };
            decoder.parity(Instant::ZERO, number, parity.clone());
            decoder.parity(Instant::ZERO, number, parity);
        }
    }

    #[test]
    fn what_does_not_fit_what_was_covered_is_not_recovered() {
        let mut decoder = FecDecoder::new(MOST_BYTES);
        decoder.expect(Instant::ZERO);
        // The numbers of this end are one off.
        for number in (0..20).filter(|number| *number != 5) {
            decoder.received(KEYS, number + 1, &plain(number));
        }
        for parity in burst(0, 20, 2) {
            assert_eq!(decoder.parity(Instant::ZERO, 20, parity), Vec::<Bytes>::new());
        }
    }

    #[test]
    fn nothing_is_kept_unless_parity_will_come_and_not_longer_than_needed() {
        let mut decoder = FecDecoder::new(MOST_BYTES);
        decoder.received(KEYS, 0, &plain(0));
        assert!(decoder.slots.is_empty());
        decoder.expect(Instant::ZERO);
        decoder.received(KEYS, 1, &plain(1));
        let end = decoder.deadline().expect("an end");
        decoder.handle_timeout(end);
        assert!(decoder.slots.is_empty() && decoder.deadline().is_none());
    }

    #[test]
    fn parity_that_is_never_right_costs_no_more_than_what_came_is_worth() {
        let mut decoder = FecDecoder::new(MOST_BYTES);
        decoder.expect(Instant::ZERO);
        let (of, len) = (1_000u16, 1_400);
        for number in 1..u64::from(of) {
            decoder.received(KEYS, number, &[1; 1_400]);
        }
        let mut decoded = 0;
        for check in 0..100 {
            // Each is a block of its own, in which one datagram is lacking.
            let shards = Bytes::from(vec![7; len]);
            let parity = Parity { of, count: 1, index: 0, slices: 1, check, shards };
            let before = decoder.debt;
            decoder.parity(Instant::ZERO, u64::from(of), parity);
            decoded += u32::from(decoder.debt > before);
        }
        let most = MOST_DEBT / (1_025 * len);
        assert_eq!(decoded as usize, most);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut decoder = FecDecoder::new(MOST_BYTES);
        decoder.expect(Instant::ZERO);
        for number in 0..2 * MOST as u64 {
            decoder.received(KEYS, number, &[1; 2000]);
        }
        assert!(decoder.bytes <= MOST_BYTES && decoder.slots.len() <= MOST);
        decoder.received(KEYS, 1 << 50, &plain(1));
        assert_eq!(decoder.slots.len(), 1);
    }
}
