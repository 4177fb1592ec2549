//! Small multiples: panels above one another that share their x axis.

use std::error::Error;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::end_labels::spread;
use super::lines::text;
use super::scale::Scale;
use super::si::Si;
use super::theme::{GRID, INK, MUTED, PAPER, series};
use super::{About, told};
use crate::output::sim::table::thousands;

const WIDTH: i32 = 860;
/// Height of a panel, of one that is alone, and of the space above and below all.
const PANEL: i32 = 170;
const ALONE: i32 = 340;
const ABOVE: i32 = 62;
const BELOW: i32 = 54;
const LEFT: i32 = 74;
const RIGHT: i32 = 40;
/// Width of a letter and height of a line of names.
const LETTER: i32 = 8;
const LINE: i32 = 17;
/// A name this near to the end of its line is led to.
const NEAR: i32 = 90;

/// A quantity over what all panels share.
#[derive(Debug)]
pub(crate) struct Panel {
    /// What it is, with its unit.
    pub(crate) label: &'static str,
    /// The points of each line of the figure, from left to right. One that is not finite interrupts the line.
    pub(crate) lines: Vec<Vec<(f64, f64)>>,
}

/// Panels above one another.
#[derive(Debug)]
pub(crate) struct Panels {
    /// What it shows.
    pub(crate) title: String,
    /// How it came about.
    pub(crate) subtitle: String,
    /// What all panels share, with its unit.
    pub(crate) x_label: String,
    /// The names of the lines, which have the same colours in all panels.
    pub(crate) names: Vec<String>,
    /// From above.
    pub(crate) panels: Vec<Panel>,
}

/// Draws them. `source` is what was run.
pub(crate) fn svg(figure: &Panels, source: serde_json::Value) -> Result<String, Box<dyn Error>> {
    let count = figure.panels.len() as i32;
    let height = if count == 1 { ALONE } else { PANEL };
    let mut drawing = String::new();
    let size = (WIDTH as u32, (ABOVE + BELOW + height * count) as u32);
    let root = SVGBackend::with_string(&mut drawing, size).into_drawing_area();
    root.fill(&PAPER)?;
    text(&root, &figure.title, (16, 14), 19, INK)?;
    text(&root, &figure.subtitle, (16, 38), 13, MUTED)?;
    let finite = |panel: &Panel| {
        let points = panel.lines.iter().flatten().copied();
        points.filter(|(x, y)| x.is_finite() && y.is_finite()).collect::<Vec<_>>()
    };
    let places = || figure.panels.iter().flat_map(finite).map(|(x, _)| x);
    let least = places().fold(f64::INFINITY, f64::min);
    let x_unit = Si::new(&figure.x_label, places().fold(0.0, f64::max));
    let (low, high) = (least.min(f64::MAX), places().fold(0.0, f64::max));
    // Axes begin at zero unless all is far from it.
    let low = if low < 0.7 * high { low.min(0.0) } else { low };
    let x = Scale::linear(low / x_unit.scale, high / x_unit.scale, 10);
    let longest = figure.names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as i32;
    let named = figure.names.len() > 1;
    let right = if named { (longest * LETTER + 30).clamp(RIGHT, WIDTH / 3) } else { RIGHT };
    for (number, panel) in (0..).zip(&figure.panels) {
        let is_last = number + 1 == count;
        let top = ABOVE + number * height;
        let below = if is_last { BELOW } else { 0 };
        let area = root.clone().shrink((0, top), (WIDTH, height + below));
        let highest = finite(panel).iter().map(|(_, y)| *y).fold(0.0, f64::max);
        let unit = Si::new(panel.label, highest);
        let y = Scale::linear(0.0, highest * 1.05 / unit.scale, if count == 1 { 8 } else { 4 });
        let mut chart = ChartBuilder::on(&area)
            .margin_left(8)
            .margin_right(right)
            .margin_top(10)
            .margin_bottom(if is_last { 0 } else { 8 })
            .x_label_area_size(below)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(x.axis(), y.axis())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(MUTED)
            .y_desc(unit.label.as_str())
            .axis_desc_style(("sans-serif", 14, &INK))
            .label_style(("sans-serif", 13, &MUTED))
            .x_label_formatter(&|at| x.label(*at))
            .y_label_formatter(&|at| y.label(*at))
            .x_desc(if is_last { x_unit.label.as_str() } else { "" })
            .draw()?;
        let mut ends = Vec::new();
        for (line, points) in panel.lines.iter().enumerate() {
            let scaled: Vec<(f64, f64)> =
                points.iter().map(|(at, value)| (at / x_unit.scale, value / unit.scale)).collect();
            for part in scaled.split(|(at, value)| !at.is_finite() || !value.is_finite()) {
                let path = part.iter().copied();
                chart.draw_series(LineSeries::new(path, series(line).stroke_width(2)))?;
            }
            let last = scaled.iter().rev().find(|(_, value)| value.is_finite());
            ends.extend(last.map(|last| (line, chart.backend_coord(last))));
        }
        if named && number == 0 {
            // As many as the first panel has room for; the last place says how many more there are.
            let room = ((height - 20) / LINE) as usize;
            let at = WIDTH - right + 8;
            if ends.len() > room {
                let more = format!("and {} more", ends.len() + 1 - room);
                text(&root, &more, (at + 4, top + height - 20), 14, MUTED)?;
                ends.truncate(room - 1);
            }
            let wanted: Vec<i32> = ends.iter().map(|(_, (_, y))| *y).collect();
            let heights = spread(&wanted, LINE, top + 10, top + height - 28);
            for ((line, end), height) in ends.iter().zip(heights) {
                let color = series(*line);
                // A name that is far from the end of its line is known by its colour.
                if at - end.0 < NEAR {
                    let lead = [(end.0, end.1), (at, height)];
                    root.draw(&PathElement::new(lead, color.mix(0.5).stroke_width(1)))?;
                }
                let style = TextStyle::from(("sans-serif", 14).into_font())
                    .color(&color)
                    .pos(Pos::new(HPos::Left, VPos::Center));
                root.draw(&Text::new(figure.names[*line].clone(), (at + 4, height), style))?;
            }
        }
    }
    root.present()?;
    drop(root);
    let about = About { title: figure.title.clone(), description: described(figure), source };
    Ok(told(&drawing, &about))
}

/// The figure in words: the last and the largest value of each line.
fn described(figure: &Panels) -> String {
    let panel = |panel: &Panel| {
        let line = |(name, points): (&String, &Vec<(f64, f64)>)| {
            let values = || points.iter().map(|(_, y)| *y).filter(|y| y.is_finite());
            let (most, last) = (values().fold(0.0, f64::max), values().next_back()?);
            let unit = Si::new(panel.label, most);
            let number = |value: f64| thousands(value / unit.scale, 2);
            Some(format!("{name}: at most {}, at the end {}", number(most), number(last)))
        };
        let highest = panel.lines.iter().flatten().map(|(_, y)| *y).filter(|y| y.is_finite());
        let unit = Si::new(panel.label, highest.fold(0.0, f64::max));
        let lines: Vec<String> = figure.names.iter().zip(&panel.lines).filter_map(line).collect();
        format!("{}: {}.", unit.label, lines.join("; "))
    };
    let panels: Vec<String> = figure.panels.iter().map(panel).collect();
    format!("{} Over {}.", panels.join(" "), figure.x_label)
}
