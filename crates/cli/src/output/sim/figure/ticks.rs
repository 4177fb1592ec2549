//! An axis with ticks where it is told.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;

/// Numbers along an axis, and its ticks. Those of plotters are in steps of 1, 2 and 5 only, and its own
/// axis of told ticks does not take a mesh.
pub(crate) struct Ticks {
    axis: RangedCoordf64,
    at: Vec<f64>,
}

impl Ticks {
    pub(crate) fn new(range: Range<f64>, at: Vec<f64>) -> Self {
        Self { axis: range.into(), at }
    }
}

impl Ranged for Ticks {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.axis.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.at.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.axis.range()
    }
}
