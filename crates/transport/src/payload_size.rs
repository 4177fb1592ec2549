//! How long a full segment, or packet, is: as long as the path carries, and shorter where bit errors damage long ones.
//!
//! Noise that hits every bit alike loses long packets more often than short ones, and the best length
//! follows from the rate of loss. Losses that do not depend on the length look the same at first, so
//! that each step is a test: if the losses do not fall with the length as bit errors would have it, the
//! segments become long again. Segments that are lost in a row are counted once: bit errors lose them one by one.

use bentpipe_units::Seq32;

/// Segments that a judgement needs, and after which the count starts over.
const SAMPLE: u32 = 1024;
/// So many lost are enough after fewer segments. A queue that overflows for a round trip loses fewer.
const SAMPLE_MIN: u32 = 256;
const LOST_MIN: u32 = 64;
/// Where more is lost the path is not there.
const MOST_NOISE: f64 = 0.95;
/// Smaller changes of length, in hundredths, are not worth a test, but the longest is always right where it is best.
const STEP_DOWN: u32 = 80;
const STEP_UP: u32 = 125;
/// The shortest payload of a full segment.
const SHORTEST: u16 = 256;
/// After a failed test the next one waits for so many samples, twice as many each time and so many at most: chance may fail a
/// test of some hundred losses.
const REST: u32 = 2;
const LONGEST_REST: u32 = 16;

/// What became of segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// So many arrived or were lost.
    pub segments: u32,
    /// Those of them that were lost.
    pub lost: u32,
    /// Runs of these: segments that follow each other.
    pub runs: u32,
}

/// The payload of a full segment, in bytes.
#[derive(Debug)]
pub struct PayloadSize {
    /// What the path carries.
    most: u16,
    now: u16,
    /// Bytes that travel with the payload.
    overhead: u16,
    adapts: bool,
    /// The first segment of this length.
    first: Seq32,
    judged: u32,
    /// Those of them that were lost, and in how many runs.
    lost: u32,
    runs: u32,
    /// Length and losses before the last step down, until the step is judged.
    test: Option<(u16, f64)>,
    /// Samples until the next test, and after the next one that fails.
    rest: u32,
    next_rest: u32,
}

impl PayloadSize {
    /// Full segments of `most` bytes, with `overhead` bytes of headers each, of which the next one is `first`. They stay as
    /// long as that unless their length `adapts` to losses.
    #[must_use]
    pub const fn new(most: u16, overhead: u16, adapts: bool, first: Seq32) -> Self {
        Self {
            most,
            now: most,
            overhead,
            adapts,
            first,
            judged: 0,
            lost: 0,
            runs: 0,
            test: None,
            rest: 0,
            next_rest: REST,
        }
    }

    /// Payload of a full segment.
    #[inline]
    #[must_use]
    pub const fn get(&self) -> u16 {
        self.now
    }

    /// The longest payload of a full segment.
    #[must_use]
    pub const fn most(&self) -> u16 {
        self.most
    }

    /// Another length is the longest from segment `next` on.
    pub fn limit(&mut self, most: u16, next: Seq32) {
        // Noise has made them shorter than that: they stay so.
        let adapted = self.now < self.most;
        self.most = most;
        self.step(if adapted { self.now.min(most) } else { most }, next);
        self.test = None;
    }

    /// It is known what became of full segments from `oldest` on, and new ones begin with `next`.
    pub fn judged(&mut self, oldest: Seq32, outcome: Outcome, next: Seq32) {
        if !self.adapts || oldest.is_before(self.first) {
            return;
        }
        self.judged += outcome.segments;
        (self.lost, self.runs) = (self.lost + outcome.lost, self.runs + outcome.runs);
        let share = self.lost_one_by_one();
        let are_many = share * f64::from(self.judged) >= f64::from(LOST_MIN);
        let many_lost = self.test.is_none() && self.judged >= SAMPLE_MIN && are_many;
        if self.judged < SAMPLE && !many_lost {
            return;
        }
        if self.judged >= SAMPLE {
            (self.judged, self.lost, self.runs) = (0, 0, 0);
            self.rest = self.rest.saturating_sub(1);
        }
        let wanted = self.judge(share);
        if wanted != self.now {
            self.step(wanted, next);
        }
    }

    /// The part of the segments that bit errors lose, each by itself. Where they lose a part of p, runs begin with p (1 - p) of the
    /// segments, which is as much for what is left of them. It is more than half if so many are lost, and in so many runs: an
    /// outage is one.
    fn lost_one_by_one(&self) -> f64 {
        let part = |count: u32| f64::from(count) / f64::from(self.judged.max(1));
        let (lost, runs) = (part(self.lost), part(self.runs));
        if (0.5..MOST_NOISE).contains(&lost) && runs > lost * (1.0 - lost) / 2.0 {
            return lost;
        }
        (1.0 - libm::sqrt((1.0 - 4.0 * runs).max(0.0))) / 2.0
    }

    /// The length to use after so many losses with the present one.
    fn judge(&mut self, share: f64) -> u16 {
        if let Some((before, share_before)) = self.test.take() {
            let rate = self.error_rate(before, share_before);
            let expected = -libm::expm1(-rate * f64::from(self.now + self.overhead));
            if share > f64::midpoint(expected, share_before) {
                self.rest = self.next_rest;
                self.next_rest = (self.next_rest * 2).min(LONGEST_REST);
                return self.most;
            }
            self.next_rest = REST;
        }
        let best = self.best(self.error_rate(self.now, share));
        let hundredths = u32::from(best) * 100 / u32::from(self.now);
        if hundredths < STEP_DOWN && self.rest == 0 {
            self.test = Some((self.now, share));
            best
        } else if hundredths > STEP_UP || best == self.most {
            best
        } else {
            self.now
        }
    }

    /// Losses per byte, if bit errors cause them.
    fn error_rate(&self, payload: u16, share: f64) -> f64 {
        -libm::log1p(-share.min(0.99)) / f64::from(payload + self.overhead)
    }

    /// The length with the most payload per byte sent. With h bytes of headers and losses per byte of
    /// n, L/(L+h) exp(-n(L+h)) is largest where L(L+h) = h/n.
    fn best(&self, rate: f64) -> u16 {
        let h = f64::from(self.overhead);
        let best = (libm::sqrt(h * h + 4.0 * h / rate.max(1e-12)) - h) / 2.0;
        (best.min(f64::from(u16::MAX)) as u16).clamp(SHORTEST.min(self.most), self.most)
    }

    fn step(&mut self, to: u16, next: Seq32) {
        self.now = to;
        self.first = next;
        (self.judged, self.lost, self.runs) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(segments: u32, lost: u32, runs: u32) -> Outcome {
        Outcome { segments, lost, runs }
    }

    /// Lets a link lose a share of the segments that depends on their length, for so many samples.
    fn run(sizes: &mut PayloadSize, samples: u32, share: impl Fn(u16) -> f64) -> Vec<u16> {
        let mut seen = Vec::new();
        let mut seq = Seq32::new(0);
        let (mut owed, mut owed_runs) = (0.0, 0.0);
        for _ in 0..samples * SAMPLE / 64 {
            let share = share(sizes.get());
            owed += 64.0 * share;
            let lost = owed as u32;
            owed -= f64::from(lost);
            // They are lost one by one.
            owed_runs += 64.0 * share * (1.0 - share);
            let runs = owed_runs as u32;
            owed_runs -= f64::from(runs);
            sizes.judged(seq, outcome(64, lost, runs), seq.plus(64));
            seq = seq.plus(64);
            if seen.last() != Some(&sizes.get()) {
                seen.push(sizes.get());
            }
        }
        seen
    }

    fn bit_errors(ber: f64) -> impl Fn(u16) -> f64 {
        move |payload| -libm::expm1(-8.0 * ber * f64::from(payload + 56))
    }

    fn sizes() -> PayloadSize {
        PayloadSize::new(1400, 56, true, Seq32::new(0))
    }

    #[test]
    fn noise_makes_segments_as_short_as_is_best() {
        let mut sizes = sizes();
        run(&mut sizes, 20, bit_errors(1e-5));
        assert!((700..=900).contains(&sizes.get()), "{}", sizes.get());
        run(&mut sizes, 20, bit_errors(1e-7));
        assert_eq!(sizes.get(), 1400);
    }

    #[test]
    fn noise_that_loses_most_long_segments_makes_them_short() {
        for (ber, most) in [(8e-5, 360), (1e-4, 320), (2e-4, 260)] {
            let mut sizes = sizes();
            run(&mut sizes, 20, bit_errors(ber));
            assert!(sizes.get() <= most, "{ber}: {}", sizes.get());
        }
    }

    #[test]
    fn an_outage_leaves_segments_long() {
        for after in [0, 20, 60, 500] {
            let mut sizes = sizes();
            let first = Seq32::new(0);
            sizes.judged(first, outcome(200, 0, 0), first.plus(200));
            sizes.judged(first.plus(200), outcome(600, 600, 1), first.plus(800));
            sizes.judged(first.plus(800), outcome(after, 0, 0), first.plus(900));
            assert_eq!(sizes.get(), 1400, "{after} segments after it");
        }
    }

    #[test]
    fn losses_that_do_not_depend_on_the_length_leave_segments_long() {
        let mut sizes = sizes();
        let seen = run(&mut sizes, 16, |_| 0.12);
        assert_eq!((seen.len(), sizes.get()), (7, 1400), "three tests: {seen:?}");
        let seen = run(&mut sizes, 36, |_| 0.12);
        assert_eq!((seen.len(), sizes.get()), (5, 1400), "two more: {seen:?}");
    }

    #[test]
    fn a_fifth_that_is_lost_ten_in_a_row_leaves_segments_long() {
        let mut sizes = sizes();
        let mut seq = Seq32::new(0);
        for _ in 0..500 {
            sizes.judged(seq, outcome(50, 10, 1), seq.plus(50));
            seq = seq.plus(50);
            assert_eq!(sizes.get(), 1400);
        }
    }

    #[test]
    fn a_queue_that_overflows_for_a_round_trip_changes_nothing() {
        let mut sizes = sizes();
        let mut seq = Seq32::new(0);
        for n in 0..200 {
            // Forty of five hundred, every five thousand.
            let lost = if n % 100 < 10 { 4 } else { 0 };
            sizes.judged(seq, outcome(50, lost, lost), seq.plus(50));
            seq = seq.plus(50);
            assert_eq!(sizes.get(), 1400);
        }
    }

    #[test]
    fn segments_that_are_a_little_shorter_become_long_when_the_noise_ends() {
        let mut sizes = sizes();
        run(&mut sizes, 20, bit_errors(1e-5));
        let noisy = sizes.get();
        sizes.limit(noisy + 50, Seq32::new(0));
        assert_eq!(sizes.get(), noisy);
        run(&mut sizes, 2, |_| 0.0);
        assert_eq!(sizes.get(), noisy + 50);
    }

    #[test]
    fn few_losses_change_nothing() {
        for ber in [0.0, 1e-7, 1e-6] {
            assert_eq!(run(&mut sizes(), 20, bit_errors(ber)), [1400]);
        }
    }
}
