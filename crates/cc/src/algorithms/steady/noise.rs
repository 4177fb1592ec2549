//! What is lost whatever the window is. A path that loses much looks like one that carries less than what is sent, until a
//! smaller window shows which it is.

/// The latest part of losses counts for one in so many.
const SMOOTH: f64 = 16.0;
/// A larger part of losses, above noise, is no sign of an empty queue, and one larger than the second none of a path that
/// carries the window.
const MUCH: f64 = 0.1;
const HOPELESS: f64 = 0.3;
/// So many intervals in a row with many losses are looked into.
const DOUBTS_AFTER: u32 = 3;
/// The smaller window is this part of one that loses nothing if the path carries less than what was sent, within bounds.
const FITS: f64 = 0.95;
const PART_LEAST: f64 = 0.5;
const PART_MOST: f64 = 0.85;
/// A smaller window is looked at for so many intervals; the losses are noise if so much of them stays.
const ASKS_FOR: u32 = 3;
const STAYS: f64 = 0.5;
/// No noise takes more.
const MOST: f64 = 0.4;
/// That a window was to blame is forgotten where one so much larger is not, and after so many intervals without losses.
const BEYOND: f64 = 1.25;
const CLEAN: u32 = 24;
/// Less is no loss.
const LITTLE: f64 = 0.005;
/// Noise is not much more than what is lost in the long run.
const ABOVE_USUAL: f64 = 1.25;

/// The account of losses, in parts of what was sent.
#[derive(Debug, Default)]
pub(super) struct Noise {
    usual: f64,
    noise: f64,
    /// In the last interval, and in the one before.
    latest: [f64; 2],
    /// Intervals in a row with many losses.
    lossy: u32,
    /// A larger window was to blame for losses, so many intervals without losses ago.
    carries: Option<(f64, u32)>,
    /// The window is smaller to see whether it is to blame.
    asked: Option<Question>,
}

/// What was before the window became smaller, and what is now.
#[derive(Clone, Copy, Debug)]
struct Question {
    /// What is left of the window.
    part: f64,
    lost: f64,
    rate: f64,
    seen: Seen,
}

/// Sums over some intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    lost: f64,
    rate: f64,
    intervals: u32,
}

impl Seen {
    fn with(self, lost: f64, rate: f64) -> Self {
        Self { lost: self.lost + lost, rate: self.rate + rate, intervals: self.intervals + 1 }
    }

    fn lost(self) -> f64 {
        self.lost / f64::from(self.intervals)
    }
}

impl Question {
    /// A path that carries less than what was sent delivers as much as before, and loses less. Either shows less and
    /// less where windows are small, so that it takes both.
    fn is_noise(self) -> bool {
        let (stays, rate) = (self.seen.lost(), self.seen.rate / f64::from(self.seen.intervals));
        let follows = rate <= self.rate * f64::midpoint(FITS, self.part);
        stays <= MOST && (stays >= STAYS * self.lost || follows)
    }
}

impl Noise {
    /// More is lost than usually.
    pub(super) fn is_more(&self, lost: f64) -> bool {
        lost > self.usual * ABOVE_USUAL + LITTLE
    }

    /// An interval ended in which so much was lost.
    pub(super) fn take(&mut self, lost: f64) {
        self.latest = [lost, self.latest[0]];
        self.usual += (lost - self.usual) / SMOOTH;
        self.noise = self.noise.min(ABOVE_USUAL * self.usual);
        self.lossy = if self.is_much(lost) { self.lossy + 1 } else { 0 };
        if let Some((_, clean)) = &mut self.carries {
            *clean = if lost > self.noise + LITTLE { 0 } else { *clean + 1 };
        }
    }

    /// What is lost in the long run.
    pub(super) const fn usual(&self) -> f64 {
        self.usual
    }

    /// How much is sent for each byte that arrives.
    pub(super) fn sent_for_each(&self) -> f64 {
        1.0 / (1.0 - self.noise)
    }

    /// So much is no sign of an empty queue.
    pub(super) fn is_much(&self, lost: f64) -> bool {
        lost >= self.noise + MUCH
    }

    /// So much shows that the path does not carry what is sent, unless it was a burst within one interval.
    pub(super) fn is_hopeless(&self, lost: f64) -> bool {
        let [last, before] = self.latest;
        lost.min(f64::midpoint(last, before)) > self.noise + HOPELESS
    }

    /// Much was lost for so long that it is to be looked into.
    pub(super) const fn doubts(&self) -> bool {
        self.lossy >= DOUBTS_AFTER
    }

    /// So much was lost, and so much arrived: gives what is left of the window to see what becomes of that.
    pub(super) fn ask(&mut self, lost: f64, rate: f64) -> f64 {
        let part = (FITS * (1.0 - lost)).clamp(PART_LEAST, PART_MOST);
        self.asked = Some(Question { part, lost, rate, seen: Seen::default() });
        self.lossy = 0;
        part
    }

    /// An interval with the smaller window ended. Whether losses are noise, once that is known.
    pub(super) fn answer(&mut self, lost: f64, rate: f64, cwnd: f64) -> Option<bool> {
        let question = self.asked.as_mut()?;
        let seen = question.seen.with(lost, rate);
        question.seen = seen;
        if seen.intervals < ASKS_FOR {
            return None;
        }
        let (stays, is_noise) = (seen.lost(), question.is_noise());
        if is_noise {
            self.noise = self.noise.max(stays.min(MOST));
            self.usual = self.usual.max(stays.min(MOST));
        }
        (self.asked, self.carries) = (None, (!is_noise).then_some((cwnd, 0)));
        Some(is_noise)
    }

    /// Whether a larger window than this one was to blame for losses not long ago.
    pub(super) fn is_bounded(&mut self, cwnd: f64) -> bool {
        let holds = |carries: f64, clean| cwnd <= BEYOND * carries && clean < CLEAN;
        self.carries = self.carries.filter(|&(carries, clean)| holds(carries, clean));
        self.carries.is_some_and(|(carries, _)| cwnd >= carries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_within_one_interval_is_not_hopeless() {
        let mut noise = Noise::default();
        let mut hopeless = |lost| {
            noise.take(lost);
            noise.is_hopeless(lost)
        };
        let seen = [0.0, 0.55, 0.0, 0.4, 0.4, 0.7, 0.1].map(&mut hopeless);
        assert_eq!(seen, [false, false, false, false, true, true, false]);
    }
}
