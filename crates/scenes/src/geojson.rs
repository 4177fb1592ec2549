//! A network and its routes at one time as GeoJSON (RFC 7946).

use std::error::Error;
use std::io::Write;

use bentpipe_orbit::{Names, Network, Node, Place};
use bentpipe_units::{Instant, Span};
use serde_json::{Value, json};

use crate::{split, watched};

/// Pieces of a link: enough to look round on a map.
const PIECES: u16 = 12;

/// Writes satellites, stations, links and the routes between pairs of stations as they are at `at`.
pub fn write(
    out: &mut impl Write,
    mut network: Network,
    pairs: &[(u32, u32)],
    at: Instant,
) -> Result<(), Box<dyn Error>> {
    network.advance(at, |_, _| {})?;
    let names = Names::of(&network);
    let in_view = network.constellation().in_view(&watched(&network, pairs), at)?;
    let mut features = satellites(&mut network, &names, &in_view, at)?;
    features.extend(network.stations().iter().map(|station| {
        feature(&point(station.place_at(at)), &json!({"kind": "station", "name": station.name}))
    }));
    let links: Vec<(Node, Node)> = network.links().collect();
    for (a, b) in links {
        let delay = network.delay(a, b, at)?.unwrap_or(Span::ZERO);
        let way = way(&mut network, &[a, b], at)?;
        let told = json!({
            "kind": "link", "from": names.node(a), "to": names.node(b), "delay_ms": ms(delay),
        });
        features.extend(way.map(|way| feature(&way, &told)));
    }
    for (from, to) in pairs.iter().map(|(a, b)| (Node::Station(*a), Node::Station(*b))) {
        let Some(route) = network.route(from, to, at)? else { continue };
        let told = json!({
            "kind": "route", "from": names.node(from), "to": names.node(to),
            "delay_ms": ms(route.delay), "hops": route.hops(),
            "nodes": route.nodes.iter().map(|node| names.node(*node)).collect::<Vec<_>>(),
        });
        let way = way(&mut network, &route.nodes, at)?;
        features.extend(way.map(|way| feature(&way, &told)));
    }
    let collection = json!({"type": "FeatureCollection", "features": features});
    serde_json::to_writer(&mut *out, &collection)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

fn satellites(
    network: &mut Network,
    names: &Names,
    in_view: &[bool],
    at: Instant,
) -> Result<Vec<Value>, Box<dyn Error>> {
    let mut positions = Vec::new();
    network.constellation().positions(at, &mut positions)?;
    let mut features = Vec::new();
    for ((number, position), in_view) in (0..).zip(positions).zip(in_view) {
        let node = Node::Satellite(number);
        let Some(place) = network.place(node, at)? else { continue };
        let altitude = network.constellation().earth().altitude(position).0;
        let told = json!({
            "kind": "satellite", "name": names.node(node),
            "altitude_km": rounded(altitude, 1e3), "in_view": in_view,
        });
        features.push(feature(&point(place), &told));
    }
    Ok(features)
}

/// The way over some nodes, in parts on either side of the antimeridian; `None` when it has no length.
fn way(
    network: &mut Network,
    nodes: &[Node],
    at: Instant,
) -> Result<Option<Value>, Box<dyn Error>> {
    let mut places = Vec::new();
    for pair in nodes.windows(2) {
        places.extend(network.track(pair[0], pair[1], PIECES, at)?);
    }
    let line: Vec<(f64, f64)> = places.into_iter().map(degrees).collect();
    let parts = split(&line);
    Ok(match &parts[..] {
        [] => None,
        [line] => Some(json!({"type": "LineString", "coordinates": line})),
        lines => Some(json!({"type": "MultiLineString", "coordinates": lines})),
    })
}

fn feature(geometry: &Value, properties: &Value) -> Value {
    json!({"type": "Feature", "geometry": geometry, "properties": properties})
}

fn point(place: Place) -> Value {
    json!({"type": "Point", "coordinates": degrees(place)})
}

/// East and north, to some 10 m.
fn degrees(place: Place) -> (f64, f64) {
    (rounded(place.longitude().0, 1e4), rounded(place.latitude().0, 1e4))
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}

fn ms(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}
