//! A constellation on a map, and the delays of routes below it.

mod delays;
mod labels;
mod land;
mod time_axis;
mod tracks;

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use bentpipe_orbit::{Network, Node, Place, Route};
use bentpipe_scenes::{split, watched};
use bentpipe_units::Instant;
use plotters::coord::Shift;
use plotters::prelude::*;
use serde_json::json;

pub(crate) use delays::Delays;

use crate::output::sim::figure::theme::{COAST, GRID, INK, ISL, LAND, MUTED, PAPER, series};
use crate::output::sim::figure::ticks::Ticks;
use crate::output::sim::figure::{About, told};
use labels::Labels;

const WIDTH: u32 = 1000;
const MAP_HEIGHT: u32 = 520;
const DELAYS_HEIGHT: u32 = 260;
/// More stations than this stand there without their names, which would hide the rest.
const MOST_NAMES: usize = 20;
/// With more satellites than this their marks are points.
const MANY: u32 = 400;
const SATELLITE: RGBColor = series(0);
const DIMMED: f64 = 0.35;
const STATION: RGBColor = INK;
/// Pieces of a line on the map: enough to look round.
const PIECES: u16 = 12;

type Map<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Ticks, Ticks>>;

/// Words of this size.
fn ink(size: u32) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).color(&INK)
}

/// Of a route: that of the satellites is none.
const fn colour(route: usize) -> RGBColor {
    series(route + 1)
}

/// A picture of the network and the routes between pairs of stations as they are at `at`, with the delays
/// over time below.
pub(crate) fn svg(
    mut network: Network,
    pairs: &[(u32, u32)],
    at: Instant,
    delays: &[Delays],
) -> Result<String, Box<dyn Error>> {
    network.advance(at, |_, _| {})?;
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, (WIDTH, MAP_HEIGHT + DELAYS_HEIGHT));
    let root = root.into_drawing_area();
    root.fill(&PAPER)?;
    let (above, below) = root.split_vertically(MAP_HEIGHT);
    draw_map(&above, &mut network, pairs, at)?;
    delays::draw_delays(&below, delays)?;
    root.present()?;
    drop((above, below, root));
    Ok(told(&text, &about(&network, at, delays)))
}

/// Draws a network as it is at its start.
pub(crate) fn write_network(path: &Path, mut network: Network) -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    let root = SVGBackend::with_string(&mut text, (WIDTH, MAP_HEIGHT)).into_drawing_area();
    root.fill(&PAPER)?;
    draw_map(&root, &mut network, &[], Instant::ZERO)?;
    root.present()?;
    drop(root);
    Ok(std::fs::write(path, told(&text, &about(&network, Instant::ZERO, &[])))?)
}

/// What a picture of a network says of itself.
fn about(network: &Network, at: Instant, delays: &[Delays]) -> About {
    let constellation = network.constellation();
    let stations: Vec<&str> = network.stations().iter().map(|s| s.name.as_str()).collect();
    let delays: Vec<String> = delays.iter().map(Delays::in_words).collect();
    let description = format!(
        "A map of {} satellites and the stations {}. {}",
        constellation.satellites(),
        stations.join(", "),
        delays.join(" ")
    );
    let start = constellation.start().map(|start| start.to_string());
    let source = json!({
        "constellation": constellation.name(),
        "start": start,
        "at_s": at.as_secs_f64(),
    });
    About { title: caption(network, at), description, source }
}

/// What is drawn, and when.
fn caption(network: &Network, at: Instant) -> String {
    let constellation = network.constellation();
    let seconds = at.as_secs_f64();
    match constellation.start() {
        None => format!("{} at {seconds} s", constellation.name()),
        Some(start) => {
            // A path would leave no room for the rest.
            let name = Path::new(constellation.name()).file_name().unwrap_or_default();
            let start = start.to_string().replace('T', " ");
            let start = start.split('.').next().unwrap_or_default().trim_end_matches('Z');
            format!("{} at {seconds} s, start {start} UTC", name.to_string_lossy())
        }
    }
}

fn draw_map(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    network: &mut Network,
    pairs: &[(u32, u32)],
    at: Instant,
) -> Result<(), Box<dyn Error>> {
    let every_30 = |end: i32| (-end..=end).step_by(30).map(f64::from).collect();
    let longitudes = Ticks::new(-180.0..180.0, every_30(180));
    let latitudes = Ticks::new(-90.0..90.0, every_30(90));
    let mut map = ChartBuilder::on(area)
        .caption(caption(network, at), ("sans-serif", 19, &INK))
        .margin(14)
        .x_label_area_size(24)
        .y_label_area_size(44)
        .build_cartesian_2d(longitudes, latitudes)?;
    draw_land(&mut map)?;
    map.configure_mesh()
        .bold_line_style(GRID)
        .axis_style(MUTED)
        .label_style(("sans-serif", 12, &MUTED))
        .x_label_formatter(&|east| format!("{east:.0}"))
        .y_label_formatter(&|north| format!("{north:.0}"))
        .draw()?;
    let mut routes = Vec::new();
    for (from, to) in pairs {
        routes.push(network.route(Node::Station(*from), Node::Station(*to), at)?);
    }
    draw_links(&mut map, network, at)?;
    let ends: BTreeSet<u32> = pairs.iter().flat_map(|(from, to)| [*from, *to]).collect();
    let in_view = network.constellation().in_view(&watched(network, pairs), at)?;
    draw_satellites(&mut map, network, at, |satellite| !in_view[satellite], SATELLITE.mix(DIMMED))?;
    draw_satellites(&mut map, network, at, |satellite| in_view[satellite], SATELLITE.mix(1.0))?;
    for (number, route) in routes.iter().enumerate() {
        draw_route(&mut map, network, route.as_ref(), colour(number), at)?;
    }
    let used = draw_used(&mut map, network, &routes, at)?;
    tracks::draw_tracks(&mut map, network)?;
    draw_stations(&mut map, network, &ends, used, at)
}

fn draw_land(map: &mut Map<'_, '_>) -> Result<(), Box<dyn Error>> {
    for polygon in land::land()? {
        for (number, ring) in polygon.into_iter().enumerate() {
            let fill = if number == 0 { LAND } else { PAPER };
            let coast = PathElement::new(ring.clone(), COAST.stroke_width(1));
            map.draw_series(std::iter::once(Polygon::new(ring, fill.filled())))?;
            map.draw_series(std::iter::once(coast))?;
        }
    }
    Ok(())
}

fn draw_links(
    map: &mut Map<'_, '_>,
    network: &mut Network,
    at: Instant,
) -> Result<(), Box<dyn Error>> {
    let links: Vec<(Node, Node)> = network.links().collect();
    // Thousands of links hide land and satellites.
    let shade = if network.constellation().satellites() as u32 > MANY { 0.4 } else { 1.0 };
    for (a, b) in links {
        let ground = matches!(a, Node::Station(_)) || matches!(b, Node::Station(_));
        let style = if ground { SATELLITE.mix(0.5) } else { ISL.mix(shade) };
        for line in split(&points(&network.track(a, b, PIECES, at)?)) {
            map.draw_series(std::iter::once(PathElement::new(line, style.stroke_width(1))))?;
        }
    }
    Ok(())
}

fn draw_route(
    map: &mut Map<'_, '_>,
    network: &mut Network,
    route: Option<&Route>,
    colour: RGBColor,
    at: Instant,
) -> Result<(), Box<dyn Error>> {
    for pair in route.iter().flat_map(|route| route.nodes.windows(2)) {
        for line in split(&points(&network.track(pair[0], pair[1], PIECES, at)?)) {
            map.draw_series(std::iter::once(PathElement::new(line, colour.stroke_width(3))))?;
        }
    }
    Ok(())
}

fn draw_satellites(
    map: &mut Map<'_, '_>,
    network: &mut Network,
    at: Instant,
    which: impl Fn(usize) -> bool,
    colour: RGBAColor,
) -> Result<(), Box<dyn Error>> {
    let satellites = network.constellation().satellites() as u32;
    let size = if satellites > MANY { 1 } else { 3 };
    for number in (0..satellites).filter(|number| which(*number as usize)) {
        if let Some(place) = network.place(Node::Satellite(number), at)? {
            let dot = Circle::new(point(place), size, colour.filled());
            map.draw_series(std::iter::once(dot))?;
        }
    }
    Ok(())
}

/// The satellites on routes stand out from all others. Tells where in the picture they are.
fn draw_used(
    map: &mut Map<'_, '_>,
    network: &mut Network,
    routes: &[Option<Route>],
    at: Instant,
) -> Result<Vec<(i32, i32)>, Box<dyn Error>> {
    let size = if network.constellation().satellites() as u32 > MANY { 3 } else { 4 };
    let nodes = routes.iter().flatten().flat_map(|route| route.nodes.iter().copied());
    let used: BTreeSet<Node> = nodes.filter(|n| matches!(n, Node::Satellite(_))).collect();
    let mut marks = Vec::new();
    for node in used {
        if let Some(place) = network.place(node, at)? {
            let dot = Circle::new(point(place), size, SATELLITE.filled());
            let ring = Circle::new(point(place), size + 1, PAPER.filled());
            map.draw_series(std::iter::once(ring))?;
            map.draw_series(std::iter::once(dot))?;
            marks.push(map.backend_coord(&point(place)));
        }
    }
    Ok(marks)
}

fn draw_stations(
    map: &mut Map<'_, '_>,
    network: &Network,
    ends: &BTreeSet<u32>,
    mut marks: Vec<(i32, i32)>,
    at: Instant,
) -> Result<(), Box<dyn Error>> {
    let stations = network.stations();
    let all = stations.len() <= MOST_NAMES;
    let (large, small): (Vec<_>, Vec<_>) =
        (0..).zip(stations).partition(|(number, _)| all || ends.contains(number));
    for (_, station) in small {
        let triangle = TriangleMarker::new(point(station.place_at(at)), 3, STATION.filled());
        map.draw_series(std::iter::once(triangle))?;
    }
    marks.extend(large.iter().map(|(_, station)| map.backend_coord(&point(station.place_at(at)))));
    let mut labels = Labels::new(WIDTH as i32, &marks);
    for (_, station) in large {
        let place = point(station.place_at(at));
        let [corner, other] = labels.place(&station.name, map.backend_coord(&place));
        let mark = EmptyElement::at(place)
            + TriangleMarker::new((0, 0), 6, STATION.filled())
            + Rectangle::new([corner, other], PAPER.mix(0.5).filled())
            + Text::new(station.name.clone(), corner, ink(14));
        map.draw_series(std::iter::once(mark))?;
    }
    Ok(())
}

fn point(place: Place) -> (f64, f64) {
    (place.longitude().0, place.latitude().0)
}

fn points(places: &[Place]) -> Vec<(f64, f64)> {
    places.iter().copied().map(point).collect()
}
