//! Marks of points, so that series can be told apart without colours.

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::theme::PAPER;

/// Draws the mark of a series around a point of the picture.
pub(super) fn draw(
    root: &DrawingArea<SVGBackend<'_>, Shift>,
    (x, y): (i32, i32),
    series: usize,
    color: RGBColor,
) -> Result<(), Box<dyn Error>> {
    let corners: &[(i32, i32)] = match series % 6 {
        0 => {
            root.draw(&Circle::new((x, y), 4, color.filled()))?;
            return Ok(());
        }
        1 => &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
        2 => &[(0, -5), (5, 4), (-5, 4)],
        3 => &[(0, -5), (5, 0), (0, 5), (-5, 0)],
        4 => &[(0, 5), (5, -4), (-5, -4)],
        _ => {
            root.draw(&Circle::new((x, y), 4, PAPER.filled()))?;
            root.draw(&Circle::new((x, y), 4, color.stroke_width(2)))?;
            return Ok(());
        }
    };
    let corners: Vec<(i32, i32)> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
    root.draw(&Polygon::new(corners, color.filled()))?;
    Ok(())
}
