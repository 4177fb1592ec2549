//! Where ticks stand, and what is written at them.

use std::ops::Range;

use super::ticks::Ticks;

/// An axis: linear, or of decades where the places are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    is_log: bool,
    low: f64,
    high: f64,
    ticks: Vec<f64>,
    /// Digits behind the point.
    digits: usize,
}

impl Scale {
    /// From `low` to a round number above `high`, with at most so many ticks. `low` is the lesser one.
    pub(super) fn linear(low: f64, high: f64, most: usize) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let (ticks, step) = steps(low, high, most);
        let digits = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
        Self { is_log: false, low, high, ticks, digits }
    }

    /// For places on an x axis: each has a tick if they are few. Those that lie in decades get an axis of decades.
    pub(super) fn of_places(places: &[f64], most: usize) -> Self {
        let mut places = places.to_vec();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let (Some(first), Some(last)) = (places.first().copied(), places.last().copied()) else {
            return Self::linear(0.0, 1.0, most);
        };
        let is_log = places.len() > 2 && first > 0.0 && last / first >= 50.0;
        let at = |x: f64| if is_log { x.log10() } else { x };
        let width = at(last) - at(first);
        let apart = width / most as f64;
        let roomy = places.windows(2).all(|two| at(two[1]) - at(two[0]) >= apart);
        let margin = if width > 0.0 { 0.04 * width } else { 0.5 };
        let (low, high) = (at(first) - margin, at(last) + margin);
        if roomy && places.len() <= most {
            let digits = places.iter().map(|x| decimals(*x)).max().unwrap_or(0);
            let ticks = places.iter().map(|x| at(*x)).collect();
            return Self { is_log, low, high, ticks, digits };
        }
        if is_log {
            let decades = low.ceil() as i32..=high.floor() as i32;
            let ticks: Vec<f64> = decades.map(f64::from).collect();
            return Self { is_log, low, high, ticks, digits: 0 };
        }
        Self { low, high, ..Self::linear(first, last, most) }
    }

    /// Where a value is along the axis.
    pub(super) fn at(&self, value: f64) -> f64 {
        if self.is_log { value.log10() } else { value }
    }

    /// The axis for plotters.
    pub(super) fn axis(&self) -> Ticks {
        Ticks::new(self.range(), self.ticks.clone())
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }

    /// Its length, in what [`at`](Self::at) counts.
    pub(super) fn width(&self) -> f64 {
        self.high - self.low
    }

    /// What is written at a tick.
    pub(super) fn label(&self, tick: f64) -> String {
        let value = if self.is_log { 10_f64.powf(tick) } else { tick };
        let small = value != 0.0 && value.abs() < 1e-3;
        if small || value.abs() >= 1e6 {
            // 1e-5 and not 0.00001; what a power of ten was rounded by does not show.
            return format!("{:e}", format!("{value:.3e}").parse::<f64>().unwrap_or(value));
        }
        let digits = if self.is_log { decimals(value) } else { self.digits };
        format!("{value:.digits$}")
    }
}

/// Ticks in steps of 1, 2 or 5 times a power of ten, and the step.
fn steps(low: f64, high: f64, most: usize) -> (Vec<f64>, f64) {
    let least = (high - low) / most.max(1) as f64;
    let decade = 10_f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * decade);
    let step = step.into_iter().find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(10.0 * decade);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    ((first..=last).map(|number| number as f64 * step).collect(), step)
}

/// Digits behind the point that a number needs, at most 3.
fn decimals(value: f64) -> usize {
    let is_round = |digits: &usize| {
        let scaled = value * 10_f64.powi(*digits as i32);
        (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().max(1.0)
    };
    (0..3).find(is_round).unwrap_or(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<String> {
        scale.ticks.iter().map(|tick| scale.label(*tick)).collect()
    }

    #[test]
    fn whole_numbers_have_no_point() {
        assert_eq!(labels(&Scale::linear(0.0, 8.3, 6)), ["0", "2", "4", "6", "8"]);
        assert_eq!(labels(&Scale::linear(0.0, 0.83, 6)), ["0.0", "0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(labels(&Scale::linear(-2.5, 1.0, 6)), ["-2", "-1", "0", "1"]);
        assert_eq!(labels(&Scale::linear(0.0, 0.0, 5)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    }

    #[test]
    fn few_places_have_a_tick_each() {
        assert_eq!(labels(&Scale::of_places(&[4.0, 1.0, 2.0, 3.0], 8)), ["1", "2", "3", "4"]);
        assert_eq!(labels(&Scale::of_places(&[0.25, 0.5, 1.0], 8)), ["0.25", "0.50", "1.00"]);
        let many: Vec<f64> = (0..=40).map(f64::from).collect();
        assert_eq!(
            labels(&Scale::of_places(&many, 8)),
            ["0", "5", "10", "15", "20", "25", "30", "35", "40"]
        );
    }

    #[test]
    fn places_in_decades_have_an_axis_of_decades() {
        let errors = Scale::of_places(&[1e-7, 1e-6, 1e-5], 8);
        assert!(errors.is_log);
        assert_eq!(labels(&errors), ["1e-7", "1e-6", "1e-5"]);
        let sizes = Scale::of_places(&[1.0, 10.0, 20.0, 100.0, 1000.0], 8);
        assert_eq!(labels(&sizes), ["1", "10", "100", "1000"]);
        assert!(!Scale::of_places(&[0.0, 1e-6, 1e-4], 8).is_log, "no decade has a zero");
    }
}
