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
    /// Intervals in a row with many losses.
    lossy: u32,
    /// A larger window was to blame for losses, so many intervals without losses ago.
    carries: Option<(f64, u32)>,
    /// With a smaller window: what was lost before, since then, and in how many intervals.
    asked: Option<(f64, f64, u32)>,
}

impl Noise {
    /// An interval ended in which so much was lost.
    pub(super) fn take(&mut self, lost: f64) {
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

    /// So much shows that the path does not carry what is sent.
    pub(super) fn is_hopeless(&self, lost: f64) -> bool {
        lost > self.noise + HOPELESS
    }

    /// Much was lost for so long that it is to be looked into.
    pub(super) const fn doubts(&self) -> bool {
        self.lossy >= DOUBTS_AFTER
    }

    /// The window becomes smaller; so much was lost.
    pub(super) fn ask(&mut self, lost: f64) {
        (self.asked, self.lossy) = (Some((lost, 0.0, 0)), 0);
    }

    /// An interval with the smaller window ended. Whether losses are noise, once that is known.
    pub(super) fn answer(&mut self, lost: f64, cwnd: f64) -> Option<bool> {
        let (before, sum, count) = self.asked?;
        let (sum, count) = (sum + lost, count + 1);
        if count < ASKS_FOR && lost <= MOST {
            self.asked = Some((before, sum, count));
            return None;
        }
        let stays = sum / f64::from(count);
        let is_noise = stays >= STAYS * before && stays <= MOST;
        if is_noise {
            self.noise = self.noise.max(stays);
            self.usual = self.usual.max(stays);
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
