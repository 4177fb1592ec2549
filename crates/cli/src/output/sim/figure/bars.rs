//! A comparison as SVG: a bar for each variant, with its value and 95 % interval.

use std::error::Error;

use bentpipe_record::{Comparison, ComparisonRow};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde_json::json;

use super::lines::text;
use super::scale::Scale;
use super::si::Si;
use super::theme::{GRID, INK, MUTED, PAPER, series};
use super::ticks::Ticks;
use super::{About, told};

const WIDTH: i32 = 860;
/// Space around the bars: titles above, the axis below, values at the right.
const ABOVE: i32 = 66;
const BELOW: i32 = 50;
const RIGHT: i32 = 150;
/// Height of a bar with its gap.
const BAR: i32 = 32;
/// Width of a letter of a name.
const LETTER: i32 = 8;

/// Draws the goodput of each variant, the best one at the top.
pub(crate) fn svg(result: &Comparison) -> Result<String, Box<dyn Error>> {
    let count = result.rows.len();
    let high = result.rows.iter().map(|row| row.goodput.mean + interval(row)).fold(1.0, f64::max);
    let unit = Si::new("goodput, bit/s", high);
    let x = Scale::linear(0.0, high * 1.02 / unit.scale, 8);
    let longest = result.rows.iter().map(|row| row.variant.chars().count()).max().unwrap_or(0);
    let left = (longest as i32 * LETTER + 24).clamp(80, WIDTH / 3);
    let mut drawing = String::new();
    let size = (WIDTH as u32, (ABOVE + BELOW + BAR * count as i32) as u32);
    let root = SVGBackend::with_string(&mut drawing, size).into_drawing_area();
    root.fill(&PAPER)?;
    text(&root, &title(result), (16, 14), 19, INK)?;
    text(&root, &subtitle(result), (16, 38), 13, MUTED)?;
    let rows = Ticks::new(0.0..count.max(1) as f64, Vec::new());
    let mut chart = ChartBuilder::on(&root)
        .margin_top(ABOVE)
        .margin_right(RIGHT)
        .x_label_area_size(BELOW)
        .y_label_area_size(left)
        .build_cartesian_2d(x.axis(), rows)?;
    chart
        .configure_mesh()
        .disable_y_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(MUTED)
        .x_desc(unit.label.as_str())
        .x_label_formatter(&|at| x.label(*at))
        .axis_desc_style(("sans-serif", 14, &INK))
        .label_style(("sans-serif", 13, &MUTED))
        .draw()?;
    for (place, row) in result.rows.iter().enumerate() {
        let middle = count as f64 - place as f64 - 0.5;
        let (mean, half) = (row.goodput.mean / unit.scale, interval(row) / unit.scale);
        let bar = [(0.0, middle - 0.34), (mean, middle + 0.34)];
        chart.draw_series([Rectangle::new(bar, series(0).mix(0.75).filled())])?;
        let ends = [((mean - half).max(0.0), middle), (mean + half, middle)];
        if half > 0.0 {
            chart.draw_series([PathElement::new(ends, INK.stroke_width(2))])?;
        }
        let write = |words: String, at: (i32, i32), side: HPos, color: &RGBColor| {
            let style = TextStyle::from(("sans-serif", 14).into_font()).color(color);
            root.draw(&Text::new(words, at, style.pos(Pos::new(side, VPos::Center))))
        };
        let at = chart.backend_coord(&(0.0, middle));
        write(row.variant.clone(), (at.0 - 8, at.1), HPos::Right, &INK)?;
        let at = chart.backend_coord(&(mean + half, middle));
        write(value(row, unit.scale), (at.0 + 8, at.1), HPos::Left, &MUTED)?;
    }
    root.present()?;
    drop((chart, root));
    let lines =
        result.rows.iter().map(|row| format!("{}: {}", row.variant, value(row, unit.scale)));
    let description =
        format!("{}. {}. {}.", unit.label, subtitle(result), lines.collect::<Vec<_>>().join("; "));
    let source = json!({
        "scenario": result.scenario,
        "flows": result.flows,
        "seeds": seeds(result.replications),
    });
    Ok(told(&drawing, &About { title: title(result), description, source }))
}

fn title(result: &Comparison) -> String {
    format!("{}: goodput", result.scenario)
}

fn subtitle(result: &Comparison) -> String {
    match result.replications {
        1 if !result.chance => "one run: there is no chance in it".to_owned(),
        1 => "one run".to_owned(),
        n => format!("mean of {n} runs and its 95 % interval"),
    }
}

/// The seeds of so many runs.
pub(crate) fn seeds(runs: u64) -> String {
    if runs > 1 { format!("1-{runs}") } else { "1".to_owned() }
}

fn interval(row: &ComparisonRow) -> f64 {
    row.goodput.ci95.filter(|half| half.is_finite()).unwrap_or(0.0)
}

/// A mean with its interval.
fn value(row: &ComparisonRow, scale: f64) -> String {
    let mean = row.goodput.mean / scale;
    match row.goodput.ci95 {
        Some(half) => format!("{mean:.2} ± {:.2}", half / scale),
        None => format!("{mean:.2}"),
    }
}
