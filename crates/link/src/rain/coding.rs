//! Which modulation and coding a link uses: always the same (CCM), or one that follows the attenuation (ACM).

use std::ops::RangeInclusive;

use bentpipe_units::{Decibels, Span};

use super::error::RainError;
use super::modcod::Modcod;

const CLEAR_SKY: RangeInclusive<f64> = -10.0..=50.0;
const MARGINS: RangeInclusive<f64> = 0.0..=20.0;
const MOST_DELAY: Span = Span::from_secs(60);

/// How a link is coded.
#[derive(Clone, Debug, PartialEq)]
pub enum Coding {
    /// Constant coding and modulation: the rate stays, and what rain does to it is loss.
    Constant(Modcod),
    /// Adaptive coding and modulation: the rate follows the attenuation.
    Adaptive(Acm),
}

/// How adaptive coding and modulation follows the attenuation.
#[derive(Clone, Debug, PartialEq)]
pub struct Acm {
    /// What it has to choose from.
    pub modcods: Vec<Modcod>,
    /// Es/N0 that it keeps above the threshold, 0 to 20 dB.
    pub margin: Decibels,
    /// Es/N0 that a better one takes on top of that to be taken again, 0 to 20 dB.
    pub hysteresis: Decibels,
    /// From a change of the attenuation to the modulation that answers it, up to 60 s: mostly the round trip.
    pub delay: Span,
}

impl Default for Acm {
    /// All of DVB-S2, 1 dB of margin, 0.5 dB of hysteresis, at once.
    fn default() -> Self {
        Self {
            modcods: Modcod::all().to_vec(),
            margin: Decibels(1.0),
            hysteresis: Decibels(0.5),
            delay: Span::ZERO,
        }
    }
}

/// What a link chooses from, the most robust first, and how.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ladder {
    rungs: Vec<Modcod>,
    margin: f64,
    hysteresis: f64,
    delay: Span,
    clear_sky: Decibels,
}

impl Ladder {
    /// The ladder of a link that has this Es/N0 without rain.
    pub(super) fn new(coding: &Coding, clear_sky: Decibels) -> Result<Self, RainError> {
        between("clear_sky", clear_sky, CLEAR_SKY)?;
        let ladder = match coding {
            Coding::Constant(modcod) => Self {
                rungs: vec![*modcod],
                margin: 0.0,
                hysteresis: 0.0,
                delay: Span::ZERO,
                clear_sky,
            },
            Coding::Adaptive(Acm { modcods, margin, hysteresis, delay }) => {
                between("acm.margin", *margin, MARGINS)?;
                between("acm.hysteresis", *hysteresis, MARGINS)?;
                if *delay > MOST_DELAY {
                    let problem = format!("{delay}: it must lie in 0 s to {MOST_DELAY}");
                    return Err(RainError::new("acm.delay", problem));
                }
                let (margin, hysteresis, delay) = (margin.0, hysteresis.0, *delay);
                let rungs = Modcod::ladder(modcods);
                Self { rungs, margin, hysteresis, delay, clear_sky }
            }
        };
        let Some(robust) = ladder.rungs.first() else {
            return Err(RainError::new("acm.modcods", "there is none to choose from"));
        };
        let needs = robust.threshold().0 + ladder.margin;
        if clear_sky.0 < needs {
            let name = robust.name();
            let problem = format!("{clear_sky} carries nothing: {name} needs {needs} dB");
            return Err(RainError::new("clear_sky", problem));
        }
        Ok(ladder)
    }

    /// What there is to choose from.
    pub(super) fn rungs(&self) -> &[Modcod] {
        &self.rungs
    }

    /// From a choice to its use.
    pub(super) const fn delay(&self) -> Span {
        self.delay
    }

    /// The Es/N0 behind so much attenuation.
    pub(super) fn es_n0(&self, attenuation: Decibels) -> Decibels {
        Decibels(self.clear_sky.0 - attenuation.0)
    }

    /// The rung in clear sky.
    pub(super) fn clear(&self) -> usize {
        self.highest(|needs| needs <= self.clear_sky.0)
    }

    /// The rung for an Es/N0 where it was `now`. Below the lowest one it stays on that.
    pub(super) fn choose(&self, now: usize, es_n0: Decibels) -> usize {
        let down = self.highest(|needs| needs <= es_n0.0);
        if down < now {
            return down;
        }
        // The clear sky is enough for its own rung, whatever the hysteresis.
        let up = self.highest(|needs| {
            needs <= self.clear_sky.0 && (needs + self.hysteresis).min(self.clear_sky.0) <= es_n0.0
        });
        up.max(now)
    }

    /// The highest rung of which `fits` says that it can have what it needs; the lowest one if there is none.
    fn highest(&self, fits: impl Fn(f64) -> bool) -> usize {
        let needs = |modcod: &Modcod| modcod.threshold().0 + self.margin;
        self.rungs.iter().rposition(|modcod| fits(needs(modcod))).unwrap_or(0)
    }
}

fn between(
    field: &'static str,
    value: Decibels,
    range: RangeInclusive<f64>,
) -> Result<(), RainError> {
    if range.contains(&value.0) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    Err(RainError::new(field, format!("{value}: it must lie in {least} to {most} dB")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ladder(margin: f64, hysteresis: f64, clear_sky: f64) -> Ladder {
        let (margin, hysteresis) = (Decibels(margin), Decibels(hysteresis));
        let acm = Acm { margin, hysteresis, ..Acm::default() };
        Ladder::new(&Coding::Adaptive(acm), Decibels(clear_sky)).expect("a ladder")
    }

    fn name(ladder: &Ladder, rung: usize) -> &'static str {
        ladder.rungs()[rung].name()
    }

    #[test]
    fn each_step_is_taken_at_its_threshold_and_back_a_hysteresis_above() {
        let ladder = ladder(1.0, 0.5, 12.5);
        let clear = ladder.clear();
        // 11.03 dB and the margin are less, 11.61 and the margin are more than there is.
        assert_eq!(name(&ladder, clear), "16APSK 4/5");
        let mut rung = clear;
        for (es_n0, expected) in [
            (12.04, "16APSK 4/5"),
            (12.02, "16APSK 3/4"),
            (8.95, "8PSK 3/4"),
            // It would fit, and is not yet taken again.
            (9.98, "8PSK 3/4"),
            (10.48, "16APSK 2/3"),
            (-5.0, "QPSK 1/4"),
            (12.4, "16APSK 3/4"),
            (12.5, "16APSK 4/5"),
        ] {
            rung = ladder.choose(rung, Decibels(es_n0));
            assert_eq!(name(&ladder, rung), expected, "{es_n0} dB");
        }
    }

    #[test]
    fn the_clear_sky_is_reached_again_however_large_the_hysteresis_is() {
        let ladder = ladder(0.0, 20.0, 12.5);
        let low = ladder.choose(ladder.clear(), Decibels(3.0));
        assert_eq!(ladder.choose(low, Decibels(12.4)), low);
        assert_eq!(ladder.choose(low, Decibels(12.5)), ladder.clear());
    }

    #[test]
    fn constant_coding_stays_where_it_is() {
        let coding = Coding::Constant(Modcod::named("8PSK 3/4").expect("it is there"));
        let ladder = Ladder::new(&coding, Decibels(10.0)).expect("a ladder");
        assert_eq!([-5.0, 10.0].map(|es_n0| ladder.choose(0, Decibels(es_n0))), [0, 0]);
    }

    #[test]
    fn what_carries_nothing_in_clear_sky_is_refused() {
        let refused = |coding: Coding, clear_sky: f64| {
            Ladder::new(&coding, Decibels(clear_sky)).expect_err("refused").to_string()
        };
        let adaptive = |acm| Coding::Adaptive(acm);
        let error = refused(adaptive(Acm::default()), -2.0);
        assert_eq!(error, "`clear_sky`: -2 dB carries nothing: QPSK 1/4 needs -1.35 dB");
        let constant = Coding::Constant(Modcod::named("8PSK 3/4").expect("it is there"));
        assert!(refused(constant, 7.0).ends_with("8PSK 3/4 needs 7.91 dB"));
        let none = Acm { modcods: Vec::new(), ..Acm::default() };
        assert!(refused(adaptive(none), 10.0).starts_with("`acm.modcods`"));
        let margin = Acm { margin: Decibels(-1.0), ..Acm::default() };
        assert_eq!(
            refused(adaptive(margin), 10.0),
            "`acm.margin`: -1 dB: it must lie in 0 to 20 dB"
        );
        let slow = Acm { delay: Span::from_secs(61), ..Acm::default() };
        assert!(refused(adaptive(slow), 10.0).starts_with("`acm.delay`: 61 s"));
    }
}
