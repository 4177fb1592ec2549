//! When simulated time is shown.

use std::time::Duration;

use tokio::time::Instant;

use super::asked::Control;

/// The slowest and the quickest pace that is kept: simulated seconds in a second.
const SLOWEST: f64 = 1e-3;
const QUICKEST: f64 = 1e6;
/// Nothing is waited for longer than this at once.
const LONGEST: Duration = Duration::from_secs(3600);

/// When something is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Due {
    Now,
    At(Instant),
    /// Not before somebody says so.
    Never,
}

/// How quickly simulated time is shown, from some moment on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    factor: Option<f64>,
    paused: bool,
    /// While it is paused, what is shown up to here.
    until: f64,
    /// Simulated seconds that were shown last.
    shown: f64,
    /// From this simulated and this real time on the factor holds.
    base: (f64, Instant),
}

impl Pace {
    pub(super) fn new(speed: Option<f64>, paused: bool, now: Instant) -> Self {
        Self { factor: kept(speed), paused, until: f64::NEG_INFINITY, shown: 0.0, base: (0.0, now) }
    }

    /// When this moment of the run is shown.
    pub(super) fn due(&self, at: f64, now: Instant) -> Due {
        if self.paused {
            return if at <= self.until { Due::Now } else { Due::Never };
        }
        let Some(factor) = self.factor else { return Due::Now };
        let (simulated, real) = self.base;
        let seconds = ((at - simulated) / factor).clamp(0.0, LONGEST.as_secs_f64());
        let time = real + Duration::from_secs_f64(seconds);
        if time <= now { Due::Now } else { Due::At(time) }
    }

    /// It has been shown up to here.
    pub(super) fn shown(&mut self, at: f64) {
        self.shown = at;
    }

    /// Does what the page says.
    pub(super) fn heed(&mut self, control: Control, now: Instant) {
        match control {
            Control::Pause => (self.paused, self.until) = (true, f64::NEG_INFINITY),
            Control::Resume => self.paused = false,
            Control::Step { seconds } => {
                (self.paused, self.until) = (true, self.shown + seconds.max(0.0));
            }
            Control::Speed { factor } => self.factor = kept(factor),
        }
        self.base = (self.shown, now);
    }
}

/// A pace that can be kept.
fn kept(factor: Option<f64>) -> Option<f64> {
    factor.filter(|factor| factor.is_finite()).map(|factor| factor.clamp(SLOWEST, QUICKEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_kept_from_where_it_was_said() {
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        let mut pace = Pace::new(Some(10.0), false, start);
        assert_eq!(pace.due(1.0, start), Due::At(after(100)));
        assert_eq!(pace.due(1.0, after(100)), Due::Now);
        pace.shown(1.0);
        pace.heed(Control::Speed { factor: Some(1.0) }, after(200));
        assert_eq!(pace.due(1.5, after(200)), Due::At(after(700)));
        pace.heed(Control::Speed { factor: None }, after(200));
        assert_eq!(pace.due(1e9, after(200)), Due::Now);
    }

    #[test]
    fn while_it_is_paused_steps_alone_show_something() {
        let now = Instant::now();
        let mut pace = Pace::new(None, true, now);
        assert_eq!(pace.due(0.0, now), Due::Never);
        pace.heed(Control::Step { seconds: 0.2 }, now);
        assert_eq!((pace.due(0.2, now), pace.due(0.3, now)), (Due::Now, Due::Never));
        pace.shown(0.2);
        pace.heed(Control::Step { seconds: 0.1 }, now);
        assert_eq!((pace.due(0.3, now), pace.due(0.4, now)), (Due::Now, Due::Never));
        pace.heed(Control::Pause, now);
        assert_eq!(pace.due(0.25, now), Due::Never);
        pace.heed(Control::Resume, now);
        assert_eq!(pace.due(7.0, now), Due::Now);
    }

    #[test]
    fn whatever_a_page_says_is_a_pace() {
        let now = Instant::now();
        for factor in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
            let mut pace = Pace::new(Some(factor), false, now);
            let _ = pace.due(1e12, now);
            pace.heed(Control::Step { seconds: factor }, now);
            let _ = pace.due(f64::MAX, now);
        }
    }
}
