//! What the page is told of a sky.

use bentpipe_orbit::{Network, Node, Role, Route};
use serde::Serialize;

use super::asked::Asked;

/// What the page is told.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Told<'a> {
    Sky(Sky<'a>),
    Course(Part),
}

/// What does not change.
#[derive(Serialize)]
pub(super) struct Sky<'a> {
    constellation: &'a str,
    /// The names of the satellites, which have the numbers 0, 1, ...
    satellites: Vec<String>,
    /// For each satellite the elevation above which it is used, in degrees.
    masks_deg: Vec<f64>,
    /// The stations, which have the numbers behind those of the satellites; the route is from the first to the second.
    stations: Vec<Station<'a>>,
    /// When element sets start, in UTC.
    start: Option<String>,
    earth_radius_km: f64,
    duration_s: f64,
    step_s: f64,
    /// Links between satellites at the start: two numbers each.
    isls: Vec<u32>,
}

#[derive(Serialize)]
struct Station<'a> {
    name: &'a str,
    latitude: f64,
    longitude: f64,
    forwards: bool,
}

impl<'a> Sky<'a> {
    pub(super) fn of(asked: &'a Asked, network: &'a Network) -> Self {
        let constellation = network.constellation();
        let numbers = 0..constellation.satellites() as u32;
        let station = |station: &'a bentpipe_orbit::Station| Station {
            name: &station.name,
            latitude: station.place.latitude().0,
            longitude: station.place.longitude().0,
            forwards: station.role == Role::Gateway,
        };
        let between = network.links().filter_map(|link| match link {
            (Node::Satellite(a), Node::Satellite(b)) => Some([a, b]),
            _ => None,
        });
        Self {
            constellation: &asked.constellation,
            satellites: numbers.clone().map(|n| constellation.satellite_name(n)).collect(),
            masks_deg: numbers.map(|n| constellation.mask(n).0).collect(),
            stations: network.stations().iter().map(station).collect(),
            start: constellation.start().map(|start| start.to_string()),
            earth_radius_km: constellation.earth().radius().0,
            duration_s: asked.duration_s,
            step_s: asked.step_s,
            isls: between.flatten().collect(),
        }
    }
}

/// A part of what changes, in the order of time.
#[derive(Default, Serialize)]
pub(super) struct Part {
    pub(super) samples: Vec<Sample>,
    pub(super) handovers: Vec<Handover>,
    /// Links between satellites that come up or go down.
    pub(super) isls: Vec<IslChange>,
    /// The route is followed to its end.
    pub(super) is_last: bool,
}

/// The route at one time; none where there is none.
#[derive(Serialize)]
pub(super) struct Sample {
    time_s: f64,
    delay_s: Option<f64>,
    route: Vec<u32>,
}

impl Sample {
    pub(super) fn of(time_s: f64, route: Option<&Route>, satellites: u32) -> Self {
        let number = |node: &Node| match node {
            Node::Satellite(number) => *number,
            Node::Station(number) => satellites + number,
        };
        let nodes = route.map(|route| route.nodes.iter().map(number).collect());
        let delay_s = route.map(|route| route.delay.as_secs_f64());
        Self { time_s, delay_s, route: nodes.unwrap_or_default() }
    }
}

/// A station takes another satellite.
#[derive(Serialize)]
pub(super) struct Handover {
    pub(super) time_s: f64,
    pub(super) station: u32,
    pub(super) from: Option<u32>,
    pub(super) to: Option<u32>,
}

/// A link between satellites comes up or goes down.
#[derive(Serialize)]
pub(super) struct IslChange {
    pub(super) time_s: f64,
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) up: bool,
}
