//! A constellation on a map, and the delay of a route below it.

use std::error::Error;
use std::path::Path;

use bentpipe_orbit::{Network, Node, Place};
use bentpipe_units::{Instant, Span};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

const WIDTH: u32 = 1000;
const MAP_HEIGHT: u32 = 520;
const DELAYS_HEIGHT: u32 = 260;
/// More stations than this stand there without their names, which would hide the rest.
const MOST_NAMES: usize = 20;
const ISL: RGBColor = RGBColor(190, 205, 220);
const SATELLITE: RGBColor = RGBColor(0, 114, 178);
const ROUTE: RGBColor = RGBColor(213, 94, 0);
const STATION: RGBColor = RGBColor(0, 0, 0);
const GRATICULE: RGBColor = RGBColor(235, 235, 235);
/// Pieces of a line on the map: enough to look round.
const PIECES: u16 = 12;
/// Parts of the time of which the shortest and the longest delay are drawn; more cannot be seen.
const BINS: usize = 1000;

type Map<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Draws the network and the route between two stations as they are at `at`, and the delays of
/// `samples` below.
pub(crate) fn write_svg(
    path: &Path,
    mut network: Network,
    ends: (u32, u32),
    at: Instant,
    samples: &[(Instant, Option<Span>)],
) -> Result<(), Box<dyn Error>> {
    network.advance(at, |_, _| {})?;
    let root = SVGBackend::new(path, (WIDTH, MAP_HEIGHT + DELAYS_HEIGHT)).into_drawing_area();
    root.fill(&WHITE)?;
    let (above, below) = root.split_vertically(MAP_HEIGHT);
    draw_map(&above, &mut network, Some(ends), at)?;
    draw_delays(&below, samples)?;
    root.present()?;
    Ok(())
}

/// Draws a network as it is at its start.
pub(crate) fn write_network(path: &Path, mut network: Network) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(path, (WIDTH, MAP_HEIGHT)).into_drawing_area();
    root.fill(&WHITE)?;
    draw_map(&root, &mut network, None, Instant::ZERO)?;
    root.present()?;
    Ok(())
}

fn draw_map(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    network: &mut Network,
    route: Option<(u32, u32)>,
    at: Instant,
) -> Result<(), Box<dyn Error>> {
    let caption = format!("{} at {} s", network.constellation().name(), at.as_secs_f64());
    let mut map = ChartBuilder::on(area)
        .caption(caption, ("sans-serif", 20))
        .margin(14)
        .x_label_area_size(24)
        .y_label_area_size(44)
        .build_cartesian_2d(-180.0..180.0, -90.0..90.0)?;
    map.configure_mesh()
        .x_labels(13)
        .y_labels(7)
        .bold_line_style(GRATICULE)
        .light_line_style(WHITE)
        .label_style(("sans-serif", 12))
        .draw()?;
    draw_links(&mut map, network, at)?;
    if let Some(ends) = route {
        draw_route(&mut map, network, ends, at)?;
    }
    draw_nodes(&mut map, network, at)
}

fn draw_links(
    map: &mut Map<'_, '_>,
    network: &mut Network,
    at: Instant,
) -> Result<(), Box<dyn Error>> {
    let links: Vec<(Node, Node)> = network.links().collect();
    for (a, b) in links {
        let ground = matches!(a, Node::Station(_)) || matches!(b, Node::Station(_));
        let style = if ground { SATELLITE.mix(0.5) } else { ISL.mix(1.0) };
        for line in lines(&network.track(a, b, PIECES, at)?) {
            map.draw_series(std::iter::once(PathElement::new(line, style.stroke_width(1))))?;
        }
    }
    Ok(())
}

fn draw_route(
    map: &mut Map<'_, '_>,
    network: &mut Network,
    (from, to): (u32, u32),
    at: Instant,
) -> Result<(), Box<dyn Error>> {
    let Some(route) = network.route(Node::Station(from), Node::Station(to), at)? else {
        return Ok(());
    };
    for pair in route.nodes.windows(2) {
        for line in lines(&network.track(pair[0], pair[1], PIECES, at)?) {
            map.draw_series(std::iter::once(PathElement::new(line, ROUTE.stroke_width(3))))?;
        }
    }
    Ok(())
}

fn draw_nodes(
    map: &mut Map<'_, '_>,
    network: &mut Network,
    at: Instant,
) -> Result<(), Box<dyn Error>> {
    let satellites = network.constellation().satellites() as u32;
    let size = if satellites > 400 { 1 } else { 3 };
    for number in 0..satellites {
        if let Some(place) = network.place(Node::Satellite(number), at)? {
            let dot = Circle::new(point(place), size, SATELLITE.filled());
            map.draw_series(std::iter::once(dot))?;
        }
    }
    let stations: Vec<_> = network.stations().iter().map(|s| (s.name.clone(), s.place)).collect();
    let named = stations.len() <= MOST_NAMES;
    for (name, place) in stations {
        let name = if named { name } else { String::new() };
        let mark = EmptyElement::at(point(place))
            + TriangleMarker::new((0, 0), 6, STATION.filled())
            + Text::new(name, (8, -6), ("sans-serif", 14));
        map.draw_series(std::iter::once(mark))?;
    }
    Ok(())
}

fn draw_delays(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    samples: &[(Instant, Option<Span>)],
) -> Result<(), Box<dyn Error>> {
    let (Some((begin, _)), Some((end, _))) = (samples.first(), samples.last()) else {
        return Ok(());
    };
    let (begin, end) = (begin.as_secs_f64(), end.as_secs_f64().max(begin.as_secs_f64() + 1.0));
    let high = samples.iter().filter_map(|(_, delay)| *delay).max().unwrap_or(Span::ZERO);
    let high = (high.as_secs_f64() * 1e3 * 1.08).max(1e-3);
    let mut chart = ChartBuilder::on(area)
        .margin(14)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(begin..end, 0.0..high)?;
    chart
        .configure_mesh()
        .light_line_style(GRATICULE)
        .x_desc("time, s")
        .y_desc("one-way delay, ms")
        .label_style(("sans-serif", 12))
        .draw()?;
    // A sample without a route ends a line.
    for line in samples.split(|(_, delay)| delay.is_none()) {
        let points: Vec<_> =
            line.iter().filter_map(|(at, delay)| delay.map(|delay| (*at, delay))).collect();
        let points = extremes(&points, samples.len().div_ceil(BINS).max(1));
        let points =
            points.into_iter().map(|(at, delay)| (at.as_secs_f64(), delay.as_secs_f64() * 1e3));
        chart.draw_series(LineSeries::new(points, ROUTE.stroke_width(1)))?;
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

fn point(place: Place) -> (f64, f64) {
    (place.longitude().0, place.latitude().0)
}

/// The places as lines that do not jump from one edge of the map to the other.
fn lines(places: &[Place]) -> Vec<Vec<(f64, f64)>> {
    let points: Vec<(f64, f64)> = places.iter().copied().map(point).collect();
    let near = |a: &(f64, f64), b: &(f64, f64)| (a.0 - b.0).abs() < 180.0;
    points.chunk_by(near).filter(|line| line.len() > 1).map(<[_]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use bentpipe_orbit::Degrees;

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

    #[test]
    fn a_line_over_the_edge_of_the_map_is_drawn_in_two_parts() {
        let place = |east| Place::new(Degrees(10.0), Degrees(east)).expect("a place");
        let places = [160.0, 170.0, 180.0, -170.0, -160.0].map(place);
        let lengths: Vec<_> = lines(&places).iter().map(Vec::len).collect();
        assert_eq!(lengths, [3, 2]);
    }
}
