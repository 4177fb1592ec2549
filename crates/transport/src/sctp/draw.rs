//! Numbers that a peer must not guess and that spread timers, drawn from what the caller gives.

use super::auth::Random;

/// A generator of Steele, Lea and Flood (SplitMix64), seeded by the caller's entropy.
#[derive(Clone, Debug)]
pub(super) struct Draw(u64);

impl Draw {
    pub(super) const fn new(entropy: u64) -> Self {
        Self(entropy)
    }

    pub(super) const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Random bytes for the key of AUTH.
    pub(super) fn random(&mut self) -> Random {
        let mut random = Random::default();
        for part in random.chunks_exact_mut(8) {
            part.copy_from_slice(&self.bits().to_be_bytes());
        }
        random
    }

    /// A verification tag, which is never 0.
    pub(super) const fn tag(&mut self) -> u32 {
        match self.bits() as u32 {
            0 => 1,
            tag => tag,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_entropy_gives_the_same_numbers_and_no_tag_is_zero() {
        let (mut a, mut b) = (Draw::new(7), Draw::new(7));
        for _ in 0..100 {
            let tag = a.tag();
            assert_eq!(tag, b.tag());
            assert_ne!(tag, 0);
        }
        assert_ne!(a.bits(), Draw::new(8).bits());
    }
}
