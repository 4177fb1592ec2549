//! Named random streams.
//!
//! Each component draws from its own stream, named by the component and seeded from (run seed,
//! name). Adding a node or a model never shifts another one's draws.

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The source of every random stream of a run.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// The streams of the run with this seed.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The stream called `name`. The same name gives the same stream from its start.
    pub fn stream(&self, name: &str) -> Stream {
        // FNV-1a over the seed and the name; the generator's own seeding spreads the bits.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in self.seed.to_le_bytes().into_iter().chain(name.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Stream(Xoshiro256PlusPlus::seed_from_u64(hash))
    }
}

/// One random stream.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in [0, 1) with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with probability `p`. Draws nothing when `p` leaves no choice.
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && (p >= 1.0 || self.unit() < p)
    }

    /// A number in 0..`n`; 0 when `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        // Multiply-shift; the bias is below n / 2^64.
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A draw from the exponential distribution with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // 1 - unit() lies in (0, 1], so that the logarithm is finite.
        -mean * libm::log(1.0 - self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(seed: u64, name: &str) -> Vec<u64> {
        let mut stream = Streams::new(seed).stream(name);
        (0..8).map(|_| stream.bits()).collect()
    }

    #[test]
    fn the_same_seed_and_name_give_the_same_draws() {
        assert_eq!(draws(7, "up/loss"), draws(7, "up/loss"));
    }

    #[test]
    fn another_name_or_seed_gives_other_draws() {
        let names = ["", "a", "b", "ab", "ba", "up/loss", "down/loss", "up/loss 2"];
        let mut first: Vec<_> =
            (0..50).flat_map(|seed| names.map(|name| draws(seed, name)[0])).collect();
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), 50 * names.len());
    }

    #[test]
    fn exponential_draws_have_their_mean_and_spread() {
        const N: u32 = 200_000;
        let mut stream = Streams::new(1).stream("exponential");
        let x: Vec<f64> = (0..N).map(|_| stream.exponential(3.0)).collect();
        assert!(x.iter().all(|x| *x >= 0.0 && x.is_finite()));
        let mean = x.iter().sum::<f64>() / f64::from(N);
        assert!((mean / 3.0 - 1.0).abs() < 0.01, "{mean}");
        let longer = x.iter().filter(|x| **x > 3.0).count() as f64 / f64::from(N);
        assert!((longer - (-1f64).exp()).abs() < 0.005, "{longer}");
    }

    #[test]
    fn below_is_uniform_over_its_range() {
        let mut stream = Streams::new(1).stream("below");
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[stream.below(7) as usize] += 1;
        }
        // The standard deviation is 93.
        assert!(seen.iter().all(|n| n.abs_diff(10_000) < 400), "{seen:?}");
        assert_eq!((stream.below(0), stream.below(1)), (0, 0));
    }

    #[test]
    fn unit_draws_fill_the_interval_and_stay_in_it() {
        let mut stream = Streams::new(1).stream("unit");
        let x: Vec<f64> = (0..100_000).map(|_| stream.unit()).collect();
        assert!(x.iter().all(|x| (0.0..1.0).contains(x)));
        let tenth = x.iter().filter(|x| **x < 0.1).count();
        assert!(tenth.abs_diff(10_000) < 400, "{tenth}");
    }

    #[test]
    fn a_chance_that_leaves_no_choice_draws_nothing() {
        let mut stream = Streams::new(1).stream("chance");
        let mut untouched = stream.clone();
        assert!(!stream.chance(0.0) && !stream.chance(f64::NAN) && stream.chance(1.0));
        assert_eq!(stream.bits(), untouched.bits());
    }
}
