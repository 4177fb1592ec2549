//! Delays over time.

use std::error::Error;

use bentpipe_units::{Instant, Span};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::colour;
use super::time_axis::TimeAxis;
use crate::output::sim::figure::theme::{GRID, INK, MUTED, PAPER};
use crate::output::sim::figure::ticks::Ticks;

/// Parts of the time of which the shortest and the longest delay are drawn; more cannot be seen.
const BINS: usize = 1000;
/// More names than this would hide the lines.
const MOST_NAMES: usize = 10;

/// The delays of one route.
pub(crate) struct Delays {
    /// From where to where.
    pub(crate) name: String,
    /// The delays at the samples; `None` where there was no route.
    pub(crate) samples: Vec<(Instant, Option<Span>)>,
}

impl Delays {
    /// The least and the most of them.
    pub(super) fn in_words(&self) -> String {
        let delays = || self.samples.iter().filter_map(|(_, delay)| *delay);
        match (delays().min(), delays().max()) {
            (Some(low), Some(high)) => {
                let ms = |delay: Span| delay.as_secs_f64() * 1e3;
                format!("{}: {:.1} to {:.1} ms one way.", self.name, ms(low), ms(high))
            }
            _ => format!("{}: no route.", self.name),
        }
    }
}

pub(super) fn draw_delays(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    all: &[Delays],
) -> Result<(), Box<dyn Error>> {
    let samples = || all.iter().flat_map(|delays| &delays.samples);
    let (Some((begin, _)), Some((end, _))) = (samples().next(), samples().next_back()) else {
        return Ok(());
    };
    let (begin, end) = (begin.as_secs_f64(), end.as_secs_f64().max(begin.as_secs_f64() + 1.0));
    let high = samples().filter_map(|(_, delay)| *delay).max().unwrap_or(Span::ZERO);
    let high = (high.as_secs_f64() * 1e3 * 1.08).max(1e-3);
    let TimeAxis { unit, seconds, ticks } = TimeAxis::new(begin, end);
    let times = Ticks::new(begin / seconds..end / seconds, ticks);
    let mut chart = ChartBuilder::on(area)
        .margin(14)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(times, 0.0..high)?;
    chart
        .configure_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .x_desc(format!("time, {unit}"))
        .x_label_formatter(&|tick| tick.to_string())
        .y_label_formatter(&|delay| format!("{}", (delay * 1e6).round() / 1e6))
        .y_desc("one-way delay, ms")
        .axis_style(MUTED)
        .axis_desc_style(("sans-serif", 13, &INK))
        .label_style(("sans-serif", 12, &MUTED))
        .draw()?;
    for (number, Delays { name, samples }) in all.iter().enumerate() {
        let colour = colour(number);
        let every = samples.len().div_ceil(BINS).max(1);
        // A sample without a route ends a line.
        for (part, line) in samples.split(|(_, delay)| delay.is_none()).enumerate() {
            let points: Vec<_> =
                line.iter().filter_map(|(at, delay)| delay.map(|delay| (*at, delay))).collect();
            let point = |(at, delay): (Instant, Span)| {
                (at.as_secs_f64() / seconds, delay.as_secs_f64() * 1e3)
            };
            let points = extremes(&points, every).into_iter().map(point);
            let drawn = chart.draw_series(LineSeries::new(points, colour.stroke_width(1)))?;
            if part == 0 {
                drawn.label(name.as_str()).legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2))
                });
            }
        }
    }
    if (2..=MOST_NAMES).contains(&all.len()) {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .border_style(GRID)
            .background_style(PAPER.mix(0.85))
            .label_font(("sans-serif", 12, &INK))
            .draw()?;
    }
    Ok(())
}

/// Of each so many points the lowest and the highest, in the order of time: no extreme goes lost.
fn extremes(points: &[(Instant, Span)], every: usize) -> Vec<(Instant, Span)> {
    let both = |bin: &[(Instant, Span)]| {
        let low = bin.iter().copied().min_by_key(|(_, delay)| *delay);
        let high = bin.iter().copied().max_by_key(|(_, delay)| *delay);
        let mut both: Vec<_> = [low, high].into_iter().flatten().collect();
        both.sort_unstable();
        both.dedup();
        both
    };
    points.chunks(every).flat_map(both).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_delay_among_very_many_is_drawn() {
        let point = |second: u64| {
            let delay = Span::from_millis(if second == 777 { 90 } else { 40 + second % 3 });
            (Instant::ZERO + Span::from_secs(second), delay)
        };
        let points: Vec<_> = (0..10_000).map(point).collect();
        let drawn = extremes(&points, 43);
        assert!(drawn.contains(&point(777)) && drawn.len() <= 2 * 10_000_usize.div_ceil(43));
        assert!(drawn.is_sorted());
        assert_eq!(extremes(&points[..1], 1), points[..1]);
    }
}
