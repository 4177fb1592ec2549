//! Forward error correction: bit errors become rare, and hit whole blocks.

use bentpipe_units::Instant;

use crate::{Fate, Model, Passing, Stream};

/// A block code that corrects so many wrong bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FecConfig {
    /// Bits of a block on the link, n.
    pub block: u32,
    /// Bits of a block that carry packets, k; at most `block`.
    pub payload: u32,
    /// Wrong bits that are corrected in a block, t.
    pub corrects: u32,
}

impl FecConfig {
    /// The probability that a block has more wrong bits than are corrected when each bit is wrong with probability
    /// `ber`, independently: the upper tail of a binomial distribution. `ber` outside 0..=1 counts as the nearer end.
    pub fn block_error_rate(&self, ber: f64) -> f64 {
        let (n, first) = (f64::from(self.block), f64::from(self.corrects) + 1.0);
        let p = ber.clamp(0.0, 1.0);
        if p == 0.0 || first > n {
            return 0.0;
        }
        if p == 1.0 {
            return 1.0;
        }
        // Terms from the first one that counts on: one minus the others would lose all digits of a small rate.
        let choose =
            libm::lgamma(n + 1.0) - libm::lgamma(first + 1.0) - libm::lgamma(n - first + 1.0);
        let mut term = libm::exp(choose + first * libm::log(p) + (n - first) * libm::log1p(-p));
        let (mut sum, mut wrong) = (0.0, first);
        while wrong <= n {
            sum += term;
            term *= (n - wrong) / (wrong + 1.0) * p / (1.0 - p);
            wrong += 1.0;
            if wrong > n * p && term < sum * 1e-17 {
                break;
            }
        }
        sum.min(1.0)
    }
}

/// Packets one after another in the blocks of a code: whoever shares a block that cannot be corrected is damaged.
#[derive(Clone, Debug)]
pub struct Fec {
    payload: u64,
    block_error_rate: f64,
    stream: Stream,
    /// Bits left in the block that was begun, and whether it will be corrected.
    left: u64,
    fails: bool,
}

impl Fec {
    /// Packets in blocks of this code, with wrong bits at rate `ber` on the link.
    pub fn new(config: FecConfig, ber: f64, stream: Stream) -> Self {
        Self {
            payload: u64::from(config.payload.max(1)),
            block_error_rate: config.block_error_rate(ber),
            stream,
            left: 0,
            fails: false,
        }
    }
}

impl Model for Fec {
    fn pass(&mut self, at: Instant, packet: &Passing) -> Fate {
        let mut bits = packet.bytes.bits();
        let mut damaged = false;
        while bits > 0 {
            if self.left == 0 {
                self.left = self.payload;
                self.fails = self.stream.chance(self.block_error_rate);
            }
            damaged |= self.fails;
            let taken = bits.min(self.left);
            (bits, self.left) = (bits - taken, self.left - taken);
        }
        if damaged { Fate::LeavesCorrupt(at) } else { Fate::Leaves(at) }
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::ByteCount;
    use bentpipe_wire::Kind;

    use super::*;
    use crate::Streams;

    const fn code(block: u32, payload: u32, corrects: u32) -> FecConfig {
        FecConfig { block, payload, corrects }
    }

    fn damaged(config: FecConfig, ber: f64, bytes: u64, packets: u32) -> Vec<bool> {
        let mut fec = Fec::new(config, ber, Streams::new(1).stream("fec"));
        let packet = Passing { bytes: ByteCount::new(bytes), kind: Kind::DATA };
        let pass = |_| matches!(fec.pass(Instant::ZERO, &packet), Fate::LeavesCorrupt(_));
        (0..packets).map(pass).collect()
    }

    #[test]
    fn the_rate_of_blocks_is_the_tail_of_a_binomial_distribution() {
        let near = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
        };
        // One bit of three wrong is corrected: 3 p^2 (1 - p) + p^3.
        for p in [1e-9, 1e-3, 0.3, 0.9] {
            near(code(3, 1, 1).block_error_rate(p), 3.0 * p * p * (1.0 - p) + p * p * p);
        }
        // Nothing is corrected: 1 - (1 - p)^n.
        near(code(1000, 1000, 0).block_error_rate(1e-6), -libm::expm1(1000.0 * libm::log1p(-1e-6)));
        // A binomial of 2,000 bits with a mean of 20 in the limit of many bits.
        let half = code(2000, 1000, 19).block_error_rate(0.01);
        assert!((0.52..0.55).contains(&half), "{half}");
        for (ber, expected) in [(0.0, 0.0), (-1.0, 0.0), (1.0, 1.0), (2.0, 1.0)] {
            assert_eq!(code(100, 50, 10).block_error_rate(ber), expected);
        }
        assert_eq!(code(100, 50, 100).block_error_rate(0.5), 0.0);
    }

    #[test]
    fn packets_in_one_block_share_its_fate() {
        // Ten packets of 100 bytes fill a block, of which one in five fails.
        let config = code(16_000, 8_000, 0);
        let ber = 1.0 - libm::pow(0.8, 1.0 / 16_000.0);
        let damaged = damaged(config, ber, 100, 100_000);
        for block in damaged.chunks(10) {
            assert!(block.iter().all(|one| *one == block[0]));
        }
        let share = damaged.iter().filter(|one| **one).count() as f64 / 1e5;
        assert!((share - 0.2).abs() < 0.02, "{share}");
    }

    #[test]
    fn a_packet_over_several_blocks_needs_all_of_them() {
        let config = code(2_000, 1_000, 0);
        let ber = 1.0 - libm::pow(0.9, 1.0 / 2_000.0);
        let hit = damaged(config, ber, 1_000, 10_000).iter().filter(|one| **one).count() as f64;
        // Eight blocks: 1 - 0.9^8.
        assert!((hit / 1e4 - 0.57).abs() < 0.02, "{hit}");
    }

    #[test]
    fn a_code_makes_a_noisy_link_clean() {
        // DVB-S2's outer code: twelve wrong bits of a normal frame are corrected.
        let config = code(58_320, 58_128, 12);
        assert!(damaged(config, 1e-5, 1_500, 10_000).iter().all(|one| !one));
        let bare = code(58_320, 58_320, 0);
        assert!(damaged(bare, 1e-5, 1_500, 10_000).iter().filter(|one| **one).count() > 3_000);
    }
}
