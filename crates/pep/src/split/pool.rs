//! Memory that the connections of a proxy share.

use bentpipe_units::ByteCount;

/// Steps in which a connection's part is told: a change that is smaller is none.
const STEPS: u64 = 64;

/// Memory that all connections of a proxy share by dynamic thresholds (Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998): each may hold
/// so many times what is free. One that is alone has `threshold / (1 + threshold)` of all, and what is left over is there for those
/// that come, whose parts then become equal.
///
/// A window that was stated is not taken back, so that for a round trip all together may hold more than there is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pool {
    /// What there is for all.
    pub size: ByteCount,
    /// How many times what is free one may hold; above 0.
    pub threshold: f64,
}

impl Pool {
    /// What one connection may hold while all together hold so much. It is never nothing, or those without could not begin.
    pub fn allowance(&self, held: ByteCount) -> ByteCount {
        let size = self.size.get();
        let step = (size / STEPS).max(1);
        let free = size.saturating_sub(held.get());
        let most = (free as f64 * self.threshold) as u64;
        ByteCount::new((most.min(size) / step * step).max(step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_alone_leaves_room_for_another_one_and_n_have_equal_parts() {
        for threshold in [0.5, 1.0, 4.0] {
            let pool = Pool { size: ByteCount::new(640_000), threshold };
            for count in 1..=5 {
                // What each holds where all hold as much as they may.
                let is_enough = |each: &u64| {
                    pool.allowance(ByteCount::new(count * each)) <= ByteCount::new(*each)
                };
                let each = (0..640_000).step_by(1_000).find(is_enough).expect("there is an end");
                let share = threshold / (1.0 + count as f64 * threshold) * 640_000.0;
                assert!(
                    (each as f64 - share).abs() < 11_000.0,
                    "{threshold} {count}: {each} {share}"
                );
            }
        }
    }

    #[test]
    fn whoever_comes_to_a_full_pool_may_begin() {
        let pool = Pool { size: ByteCount::new(64_000), threshold: 1.0 };
        assert_eq!(pool.allowance(ByteCount::new(70_000)), ByteCount::new(1_000));
        assert_eq!(pool.allowance(ByteCount::ZERO), ByteCount::new(64_000));
    }
}
