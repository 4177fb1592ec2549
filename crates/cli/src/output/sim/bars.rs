//! A comparison as SVG: a bar for each variant, with its confidence interval.

use std::error::Error;

use bentpipe_record::Comparison;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const WIDTH: u32 = 800;
/// Height of all but the bars, and of each bar with its gap.
const FRAME: u32 = 110;
const BAR: u32 = 34;
const COLOR: RGBColor = RGBColor(0, 114, 178);

/// Draws the goodput of each variant, the best one at the top.
pub(crate) fn svg(result: &Comparison) -> Result<String, Box<dyn Error>> {
    let count = result.rows.len();
    let mut text = String::new();
    let size = (WIDTH, FRAME + BAR * count as u32);
    let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
    root.fill(&WHITE)?;
    let rows = || result.rows.iter().map(|row| &row.goodput);
    let high = rows().map(|e| e.mean + e.ci95.unwrap_or(0.0)).fold(1.0, f64::max) / 1e6;
    let title = format!("{}: goodput, n = {}", result.scenario, result.replications);
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 20))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(190)
        .build_cartesian_2d(0.0..high * 1.05, 0.0..count as f64)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .disable_y_axis()
        .x_desc("goodput, Mbit/s (mean and 95 % interval)")
        .axis_desc_style(("sans-serif", 15))
        .label_style(("sans-serif", 13))
        .draw()?;
    for (place, row) in result.rows.iter().enumerate() {
        let middle = count as f64 - place as f64 - 0.5;
        let (mean, ci95) = (row.goodput.mean / 1e6, row.goodput.ci95.unwrap_or(0.0) / 1e6);
        let bar = [(0.0, middle - 0.35), (mean, middle + 0.35)];
        chart.draw_series([Rectangle::new(bar, COLOR.mix(0.6).filled())])?;
        let (low, high) = ((mean - ci95).max(0.0), mean + ci95);
        let line = [(low, middle), (high, middle)];
        chart.draw_series([PathElement::new(line, BLACK.stroke_width(2))])?;
        let at = chart.backend_coord(&(0.0, middle));
        let style = TextStyle::from(("sans-serif", 14).into_font())
            .pos(Pos::new(HPos::Right, VPos::Center));
        root.draw(&Text::new(row.variant.clone(), (at.0 - 8, at.1), style))?;
    }
    root.present()?;
    drop((chart, root));
    Ok(text)
}
