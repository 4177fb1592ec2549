//! Figures with a line for each variant: marks, bands or bars of the 95 % intervals, and names at the ends of the lines. Where
//! there is one place only, variants stand side by side.

use std::error::Error;

use bentpipe_record::{Figure, Point};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::end_labels::spread;
use super::scale::Scale;
use super::si::Si;
use super::theme::{GRID, INK, MUTED, PAPER, series};
use super::ticks::Ticks;
use super::{About, marker, told};
use crate::output::sim::table::thousands;

const WIDTH: i32 = 860;
const HEIGHT: i32 = 500;
/// Space above the plot for titles, below and left of it for the axes, right of it for names at least.
const ABOVE: i32 = 62;
const BELOW: i32 = 54;
const LEFT: i32 = 74;
const RIGHT: i32 = 90;
/// Width of a letter and height of a line of names.
const LETTER: i32 = 8;
const LINE: i32 = 17;
/// With more lines than this bands hide each other, and the intervals are bars.
const MOST_BANDS: usize = 4;
/// No more marks than this on a line: it is a curve then.
const MOST_MARKS: usize = 40;

type Root<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plot<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Ticks, Ticks>>;

/// The lines of a figure.
struct Lines<'f> {
    figure: &'f Figure,
    /// Each variant with its points from left to right.
    all: Vec<(&'f str, Vec<&'f Point>)>,
    x: Scale,
    y: Scale,
    /// Unit of the y axis.
    unit: Si,
    is_one_place: bool,
}

/// Draws a figure. `y_label` names the metric with its unit, `source` what was run.
pub(crate) fn svg(
    figure: &Figure,
    y_label: &str,
    source: serde_json::Value,
) -> Result<String, Box<dyn Error>> {
    let lines = Lines::new(figure, y_label);
    let mut text = String::new();
    let root =
        SVGBackend::with_string(&mut text, (WIDTH as u32, HEIGHT as u32)).into_drawing_area();
    root.fill(&PAPER)?;
    lines.draw(&root)?;
    root.present()?;
    drop(root);
    let about = About { title: title(figure), description: lines.description(), source };
    Ok(told(&text, &about))
}

/// What is written above a figure.
pub(crate) fn title(figure: &Figure) -> String {
    if figure.figure.starts_with(char::is_numeric) {
        format!("Figure {}: {}", figure.figure, figure.title)
    } else {
        figure.title.clone()
    }
}

/// The points that a figure draws, by variant.
pub(super) fn drawn(figure: &Figure) -> Vec<(&str, Vec<&Point>)> {
    let mut all: Vec<(&str, Vec<&Point>)> = Vec::new();
    let shown = |point: &&Point| point.metric == figure.metric && point.mean.is_finite();
    for point in figure.points.iter().filter(shown) {
        match all.iter_mut().find(|(variant, _)| *variant == point.variant) {
            Some((_, points)) => points.push(point),
            None => all.push((&point.variant, vec![point])),
        }
    }
    all.iter_mut().for_each(|(_, points)| points.sort_by(|a, b| a.x.total_cmp(&b.x)));
    all
}

impl<'f> Lines<'f> {
    fn new(figure: &'f Figure, y_label: &str) -> Self {
        let all = drawn(figure);
        let points = || all.iter().flat_map(|(_, points)| points.iter().copied());
        let high = points().map(|p| p.mean + interval(p)).fold(0.0, f64::max);
        let low = points().map(|p| p.mean - interval(p)).fold(0.0, f64::min);
        // What cannot be negative has no interval below zero either.
        let low = if points().all(|p| p.mean >= 0.0) { 0.0 } else { low };
        let unit = Si::new(y_label, high);
        let y = Scale::linear(low / unit.scale, high * 1.05 / unit.scale, 8);
        let places: Vec<f64> = points().map(|p| p.x).collect();
        let x = Scale::of_places(&places, 12);
        let is_one_place = places.iter().all(|place| Some(place) == places.first());
        Self { figure, all, x, y, unit, is_one_place }
    }

    fn draw(&self, root: &Root<'_>) -> Result<(), Box<dyn Error>> {
        text(root, &title(self.figure), (16, 14), 19, INK)?;
        text(root, &self.subtitle(), (16, 38), 13, MUTED)?;
        if self.all.is_empty() {
            return Ok(());
        }
        let longest = self.all.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let right = RIGHT.max(longest as i32 * LETTER + 36).min(WIDTH / 3);
        let mut plot = ChartBuilder::on(root)
            .margin_top(ABOVE)
            .margin_left(8)
            .margin_right(right)
            .x_label_area_size(BELOW)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(self.x.axis(), self.y.axis())?;
        plot.configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(MUTED)
            .disable_x_mesh()
            .x_desc(self.figure.x_label.as_str())
            .y_desc(self.unit.label.as_str())
            .axis_desc_style(("sans-serif", 14, &INK))
            .label_style(("sans-serif", 13, &MUTED))
            .x_label_formatter(&|x| self.x.label(*x))
            .y_label_formatter(&|y| self.y.label(*y))
            .draw()?;
        for (number, (_, points)) in self.all.iter().enumerate() {
            self.draw_line(root, &mut plot, number, points)?;
        }
        let end = |(number, (_, points)): (usize, &(&str, Vec<&Point>))| {
            let last = points.last().map(|last| self.place(number, last.x, last.mean));
            plot.backend_coord(&last.unwrap_or_default())
        };
        let ends: Vec<(i32, i32)> = self.all.iter().enumerate().map(end).collect();
        self.draw_names(root, &ends, WIDTH - right + 8)
    }

    /// Where a point of a line is on the axes.
    fn place(&self, line: usize, x: f64, y: f64) -> (f64, f64) {
        let aside = if self.is_one_place {
            let count = self.all.len() as f64;
            self.x.width() * 0.8 * ((line as f64 + 0.5) / count - 0.5)
        } else {
            0.0
        };
        (self.x.at(x) + aside, y / self.unit.scale)
    }

    fn draw_line(
        &self,
        root: &Root<'_>,
        plot: &mut Plot<'_, '_>,
        number: usize,
        points: &[&Point],
    ) -> Result<(), Box<dyn Error>> {
        let color = series(number);
        let edge = |sign: f64, p: &Point| {
            self.place(number, p.x, self.bounded(p.mean + sign * interval(p)))
        };
        let has_interval = |p: &&&Point| interval(p) > 0.0;
        if self.is_one_place || self.all.len() > MOST_BANDS {
            for p in points.iter().filter(has_interval) {
                let bar = ErrorBar::new_vertical(
                    edge(0.0, p).0,
                    edge(-1.0, p).1,
                    edge(0.0, p).1,
                    edge(1.0, p).1,
                    color.mix(0.7).stroke_width(1),
                    8,
                );
                plot.draw_series([bar])?;
            }
        } else if points.iter().any(|p| interval(p) > 0.0) {
            let above = points.iter().map(|p| edge(1.0, p));
            let below = points.iter().rev().map(|p| edge(-1.0, p));
            let band: Vec<(f64, f64)> = above.chain(below).collect();
            plot.draw_series([Polygon::new(band, color.mix(0.15).filled())])?;
        }
        let line = points.iter().map(|p| edge(0.0, p));
        plot.draw_series(LineSeries::new(line, color.stroke_width(2)))?;
        if points.len() <= MOST_MARKS {
            for p in points {
                let at = plot.backend_coord(&edge(0.0, p));
                marker::draw(root, at, number, color)?;
            }
        }
        Ok(())
    }

    /// A value that the y axis has.
    fn bounded(&self, value: f64) -> f64 {
        let can_be_negative =
            self.all.iter().any(|(_, points)| points.iter().any(|p| p.mean < 0.0));
        if can_be_negative { value } else { value.max(0.0) }
    }

    /// The names of the lines at their ends; one that had to move is led to.
    fn draw_names(
        &self,
        root: &Root<'_>,
        ends: &[(i32, i32)],
        x: i32,
    ) -> Result<(), Box<dyn Error>> {
        let wanted: Vec<i32> = ends.iter().map(|(_, y)| *y).collect();
        let heights = spread(&wanted, LINE, ABOVE, HEIGHT - BELOW);
        for (number, ((name, _), (end, height))) in
            self.all.iter().zip(ends.iter().zip(&heights)).enumerate()
        {
            let color = series(number);
            let lead = [(end.0 + 7, end.1), (x, *height)];
            root.draw(&PathElement::new(lead, color.mix(0.5).stroke_width(1)))?;
            marker::draw(root, (x + 8, *height), number, color)?;
            let style = TextStyle::from(("sans-serif", 14).into_font())
                .color(&INK)
                .pos(Pos::new(HPos::Left, VPos::Center));
            root.draw(&Text::new((*name).to_owned(), (x + 18, *height), style))?;
        }
        Ok(())
    }

    /// What lines and bands are.
    fn subtitle(&self) -> String {
        let n = self.figure.points.iter().map(|p| p.n).max().unwrap_or(0);
        match (n, self.figure.points.iter().any(|p| interval(p) > 0.0)) {
            (0, _) => "nothing was measured".to_owned(),
            (1, _) => "one run".to_owned(),
            (n, false) => format!("mean of {n} runs"),
            (n, true) => format!("mean of {n} runs and its 95 % interval"),
        }
    }

    /// The figure in words and numbers.
    fn description(&self) -> String {
        let line = |(name, points): &(&str, Vec<&Point>)| {
            let point = |p: &&Point| {
                let value = p.mean / self.unit.scale;
                let digits = if value.abs() >= 100.0 { 0 } else { 2 };
                format!("{} at {}", thousands(value, digits), p.x)
            };
            let few = points.iter().take(MOST_MARKS).map(point).collect::<Vec<_>>().join(", ");
            format!("{name}: {few}")
        };
        let lines = self.all.iter().map(line).collect::<Vec<_>>().join("; ");
        format!("{} over {}. {}. {lines}.", self.unit.label, self.figure.x_label, self.subtitle())
    }
}

/// Half the 95 % interval; none of one run.
fn interval(point: &Point) -> f64 {
    if point.n > 1 && point.ci95.is_finite() { point.ci95 } else { 0.0 }
}

/// Text whose upper left corner is at `at`.
pub(super) fn text(
    root: &Root<'_>,
    words: &str,
    at: (i32, i32),
    size: u32,
    color: RGBColor,
) -> Result<(), Box<dyn Error>> {
    let style = TextStyle::from(("sans-serif", size).into_font()).color(&color);
    root.draw(&Text::new(words.to_owned(), at, style))?;
    Ok(())
}
