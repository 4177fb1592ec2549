//! Figures: SVG in light and dark that says what it shows and where it comes from, and Vega-Lite.

mod about;
pub(crate) mod bars;
pub(crate) mod distribution;
mod end_labels;
pub(crate) mod lines;
mod marker;
pub(crate) mod panels;
mod scale;
mod si;
pub(crate) mod theme;
pub(crate) mod ticks;
pub(crate) mod vega;

pub(crate) use about::{About, told};
