//! Figures as SVG: one line for each variant, with its confidence intervals.

use std::error::Error;
use std::path::Path;

use bentpipe_record::{Figure, Point};
use plotters::prelude::*;

const SIZE: (u32, u32) = (800, 500);
/// Colours that can be told apart without seeing red and green (Okabe and Ito).
const COLORS: [RGBColor; 4] =
    [RGBColor(213, 94, 0), RGBColor(0, 114, 178), RGBColor(0, 158, 115), RGBColor(204, 121, 167)];

/// Draws a figure into a file. `y_label` names the metric with its unit.
pub(crate) fn write_svg(path: &Path, figure: &Figure, y_label: &str) -> Result<(), Box<dyn Error>> {
    Ok(std::fs::write(path, svg(figure, y_label)?)?)
}

/// Draws a figure. `y_label` names the metric with its unit.
pub(crate) fn svg(figure: &Figure, y_label: &str) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    draw(figure, y_label, &SVGBackend::with_string(&mut text, SIZE).into_drawing_area())?;
    Ok(text)
}

fn draw(
    figure: &Figure,
    y_label: &str,
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
) -> Result<(), Box<dyn Error>> {
    let points: Vec<&Point> =
        figure.points.iter().filter(|p| p.metric == figure.metric && p.mean.is_finite()).collect();
    root.fill(&WHITE)?;
    let high = points.iter().map(|p| p.mean + p.ci95).fold(0.0, f64::max);
    let (left, right) = points
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, r), p| (l.min(p.x), r.max(p.x)));
    if points.is_empty() {
        root.present()?;
        return Ok(());
    }
    let margin = ((right - left) * 0.04).max(0.5);
    let title = if figure.figure.starts_with(char::is_numeric) {
        format!("Figure {}: {}", figure.figure, figure.title)
    } else {
        figure.title.clone()
    };
    let mut chart = ChartBuilder::on(root)
        .caption(title, ("sans-serif", 20))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(84)
        .build_cartesian_2d(left - margin..right + margin, 0.0..(high * 1.08).max(1e-9))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(225, 225, 225))
        .x_desc(&figure.x_label)
        .y_desc(y_label)
        .axis_desc_style(("sans-serif", 15))
        .label_style(("sans-serif", 13))
        .y_label_formatter(&|y| super::table::thousands(*y, digits(high)))
        .draw()?;
    let mut variants: Vec<&str> = Vec::new();
    for point in &points {
        if !variants.contains(&point.variant.as_str()) {
            variants.push(&point.variant);
        }
    }
    for (number, variant) in variants.iter().enumerate() {
        let color = COLORS[number % COLORS.len()];
        let line: Vec<&&Point> = points.iter().filter(|p| p.variant == **variant).collect();
        chart
            .draw_series(LineSeries::new(
                line.iter().map(|p| (p.x, p.mean)),
                color.stroke_width(2),
            ))?
            .label(*variant)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 24, y)], color.stroke_width(2)));
        let bar = |p: &&&Point| {
            let (low, high) = ((p.mean - p.ci95).max(0.0), p.mean + p.ci95);
            ErrorBar::new_vertical(p.x, low, p.mean, high, color.filled(), 8)
        };
        chart.draw_series(line.iter().filter(|p| p.ci95 > 0.0).map(bar))?;
    }
    chart
        .configure_series_labels()
        .position(emptiest_corner(&points, [left, right], high))
        .border_style(RGBColor(200, 200, 200))
        .background_style(WHITE.mix(0.85))
        .label_font(("sans-serif", 14))
        .draw()?;
    root.present()?;
    Ok(())
}

/// Digits behind the point where the largest value is this one.
fn digits(high: f64) -> usize {
    match high {
        h if h >= 20.0 => 0,
        h if h >= 2.0 => 1,
        _ => 2,
    }
}

/// The corner in which the legend hides the fewest points; the upper right one if others are no emptier.
fn emptiest_corner(points: &[&Point], [left, right]: [f64; 2], high: f64) -> SeriesLabelPosition {
    // The legend takes up to about a third of either axis.
    let in_corner = |upper: bool, at_right: bool| {
        let (x_share, y_share) = (
            |p: &Point| (p.x - left) / (right - left).max(f64::MIN_POSITIVE),
            |p: &Point| p.mean / high.max(f64::MIN_POSITIVE),
        );
        let beside = |share: f64, far: bool| if far { share > 0.65 } else { share < 0.35 };
        let hidden = |p: &&&Point| beside(x_share(p), at_right) && beside(y_share(p), upper);
        points.iter().filter(hidden).count()
    };
    let corners = [
        (in_corner(true, true), SeriesLabelPosition::UpperRight),
        (in_corner(true, false), SeriesLabelPosition::UpperLeft),
        (in_corner(false, true), SeriesLabelPosition::LowerRight),
        (in_corner(false, false), SeriesLabelPosition::LowerLeft),
    ];
    let [first, others @ ..] = corners;
    let emptiest =
        others.into_iter().fold(first, |best, next| if next.0 < best.0 { next } else { best });
    emptiest.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_legend_stands_where_the_fewest_points_are() {
        let point = |x, mean| Point {
            x,
            variant: "a".into(),
            metric: "m".into(),
            mean,
            sd: 0.0,
            ci95: 0.0,
            n: 1,
        };
        let place = |points: &[Point]| {
            let points: Vec<&Point> = points.iter().collect();
            emptiest_corner(&points, [0.0, 4.0], 3.0)
        };
        let rising = [point(0.0, 1.2), point(2.0, 1.5), point(4.0, 3.0)];
        assert!(matches!(place(&rising), SeriesLabelPosition::UpperLeft));
        let falling = [point(0.0, 3.0), point(4.0, 0.5)];
        assert!(matches!(place(&falling), SeriesLabelPosition::UpperRight));
    }
}
