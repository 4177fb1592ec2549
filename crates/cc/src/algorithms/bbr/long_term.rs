//! The rate of a policer, which lets bursts pass and then drops what is above its rate.

use bentpipe_units::{Instant, Span};

/// Rounds of an interval: at least, and at most.
const ROUNDS: (u64, u64) = (4, 16);
/// An interval counts when this part of what was delivered was lost.
const LOST: f64 = 50.0 / 256.0;
/// Two intervals have the same rate when they differ by so little: of the rate, or in bytes per second.
const ALIKE: (f64, f64) = (0.125, 500.0);
/// The rate of the policer is used for so many rounds.
const USED: u64 = 48;
const SHORTEST: Span = Span::from_millis(1);

/// What a round trip says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) now: Instant,
    /// A round begins.
    pub(super) begins: bool,
    pub(super) app_limited: bool,
    /// Bytes that were found lost just now.
    pub(super) lost: f64,
    /// Bytes delivered and lost since the connection began.
    pub(super) delivered: f64,
    pub(super) all_lost: f64,
}

/// Looks for two intervals in a row with many losses and the same rate.
#[derive(Debug)]
pub(super) struct LongTerm {
    rate: Option<f64>,
    used: bool,
    sampling: bool,
    rounds: u64,
    began: Instant,
    delivered: f64,
    lost: f64,
}

impl LongTerm {
    /// Nothing was lost.
    pub(super) const fn new() -> Self {
        let (rate, used, sampling, rounds) = (None, false, false, 0);
        let (began, delivered, lost) = (Instant::ZERO, 0.0, 0.0);
        Self { rate, used, sampling, rounds, began, delivered, lost }
    }

    /// The rate of the policer in bytes per second, while it is used.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate.filter(|_| self.used)
    }

    fn begin(&mut self, sample: &Sample) {
        (self.rounds, self.began) = (0, sample.now);
        (self.delivered, self.lost) = (sample.delivered, sample.all_lost);
    }

    fn reset(&mut self, sample: &Sample) {
        *self = Self::new();
        self.begin(sample);
    }

    /// Takes a sample; `probing` in the phase that looks for more rate. True when the rate was used long enough.
    pub(super) fn take(&mut self, sample: &Sample, probing: bool) -> bool {
        if self.used {
            self.rounds += u64::from(probing && sample.begins);
            let over = self.rounds >= USED;
            if over {
                self.reset(sample);
            }
            return over;
        }
        if !self.sampling {
            if sample.lost <= 0.0 {
                return false;
            }
            self.begin(sample);
            self.sampling = true;
        }
        if sample.app_limited {
            self.reset(sample);
            return false;
        }
        self.rounds += u64::from(sample.begins);
        if self.rounds < ROUNDS.0 {
            return false;
        }
        if self.rounds > ROUNDS.1 {
            self.reset(sample);
        } else if sample.lost > 0.0 {
            self.end_interval(sample);
        }
        false
    }

    fn end_interval(&mut self, sample: &Sample) {
        let (lost, delivered) = (sample.all_lost - self.lost, sample.delivered - self.delivered);
        let time = sample.now.since(self.began);
        if delivered <= 0.0 || lost < LOST * delivered || time < SHORTEST {
            return;
        }
        let rate = delivered / time.as_secs_f64();
        match self.rate {
            Some(before) if (rate - before).abs() <= (ALIKE.0 * before).max(ALIKE.1) => {
                (self.rate, self.used, self.rounds) = (Some((rate + before) / 2.0), true, 0);
            }
            _ => {
                self.rate = Some(rate);
                self.begin(sample);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 100 ms in which 100 kB arrive and `lost` get lost.
    fn rounds(long_term: &mut LongTerm, from: u64, many: u64, lost: f64) {
        for n in from..from + many {
            let sample = Sample {
                now: Instant::ZERO + Span::from_millis(100 * n),
                begins: true,
                app_limited: false,
                lost,
                delivered: 1e5 * n as f64,
                all_lost: lost * n as f64,
            };
            long_term.take(&sample, true);
        }
    }

    #[test]
    fn two_intervals_with_many_losses_and_the_same_rate_show_a_policer() {
        let mut long_term = LongTerm::new();
        rounds(&mut long_term, 1, 5, 3e4);
        assert_eq!(long_term.rate(), None, "one interval does not");
        rounds(&mut long_term, 6, 5, 3e4);
        assert!(long_term.rate().is_some_and(|rate| (rate - 1e6).abs() < 1.0));
        rounds(&mut long_term, 11, 48, 0.0);
        assert_eq!(long_term.rate(), None, "it is looked for anew");
    }

    #[test]
    fn few_losses_do_not() {
        let mut long_term = LongTerm::new();
        rounds(&mut long_term, 1, 40, 1e4);
        assert_eq!(long_term.rate(), None);
    }
}
