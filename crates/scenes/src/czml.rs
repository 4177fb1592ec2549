//! A run as CZML, the scenes of Cesium: satellites that move and routes that come and go.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io::Write;

use bentpipe_orbit::{Epoch, Names, Network, Node, Place, Sample, Station};
use bentpipe_units::{Instant, Span};
use serde::Serializer;
use serde::ser::SerializeSeq;
use serde_json::{Value, json};

/// More positions than this, or samples of routes, make files that nothing opens any more.
const MOST: u64 = 4_000_000;
/// Between positions. Over a minute of a low orbit interpolation is off by centimetres.
const MOST_APART: Span = Span::from_secs(60);
/// Interpolation of degree 5 needs six positions; twice as many keep its ends exact.
const FEWEST_APART: u64 = 10;
const DEGREE: u8 = 5;
/// When ideal orbits start, which have no civil time.
const IDEAL_START: &str = "2000-01-01T12:00:00Z";
/// Seconds of the run in a second of the viewer.
const SPEED: u8 = 60;

/// A scene that nothing would open: what is too much, and the option that makes it less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge(String);

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for TooLarge {}

/// The time of a run.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The first sample.
    pub first: Instant,
    /// Samples are before this.
    pub end: Instant,
    /// From one sample to the next.
    pub step: Span,
}

impl Window {
    /// Times of positions: a multiple or a part of the step, a minute at most, and the end.
    fn apart(&self) -> Span {
        let length = self.end.since(self.first);
        let most = MOST_APART.min(length / FEWEST_APART).max(Span::from_nanos(1));
        if self.step <= most {
            self.step * (most.as_nanos() / self.step.as_nanos().max(1))
        } else {
            self.step / self.step.as_nanos().div_ceil(most.as_nanos())
        }
    }

    fn times(&self) -> impl Iterator<Item = Instant> + use<> {
        let Self { first, end, .. } = *self;
        let apart = self.apart();
        let inside = std::iter::successors(Some(first), move |at| Some(*at + apart));
        inside.take_while(move |at| *at < end).chain([end])
    }

    fn positions(&self) -> u64 {
        self.end.since(self.first).as_nanos().div_ceil(self.apart().as_nanos()) + 1
    }

    fn samples(&self) -> u64 {
        self.end.since(self.first).as_nanos().div_ceil(self.step.as_nanos().max(1))
    }
}

/// When something was there: from one time until another, over and over.
type Times = Vec<(Instant, Instant)>;

/// The routes of a run as they come and go.
pub struct Scene {
    window: Window,
    pairs: Vec<(u32, u32)>,
    /// For each pair: when which nodes were the route.
    routes: Vec<BTreeMap<Vec<Node>, Times>>,
}

impl Scene {
    /// An empty scene of a run.
    ///
    /// # Errors
    /// When it would be too large.
    pub fn new(window: Window, satellites: usize, pairs: &[(u32, u32)]) -> Result<Self, TooLarge> {
        let positions = window.positions().saturating_mul(satellites as u64);
        let samples = window.samples().saturating_mul(pairs.len() as u64);
        let refused =
            |flag: &str, what: String| Err(TooLarge(format!("{what}, more than {MOST}: {flag}")));
        if positions > MOST {
            let times = window.positions();
            let most = MOST / (satellites as u64).max(1);
            let seconds = window.apart().as_secs_f64() * most.saturating_sub(2) as f64;
            return refused(
                &format!("give a --duration of at most {} s", seconds.floor()),
                format!("{satellites} satellites at {times} times are {positions} positions"),
            );
        }
        if samples > MOST {
            return refused(
                "give a longer --step",
                format!("{} routes would be sampled {samples} times", pairs.len()),
            );
        }
        Ok(Self { window, pairs: pairs.to_vec(), routes: vec![BTreeMap::new(); pairs.len()] })
    }

    /// Takes note of the samples of all pairs at one time.
    pub fn see(&mut self, samples: &[Sample]) {
        for (seen, sample) in self.routes.iter_mut().zip(samples) {
            let Some(route) = &sample.route else { continue };
            let until = (sample.at + self.window.step).min(self.window.end);
            match seen.get_mut(&route.nodes) {
                None => {
                    seen.insert(route.nodes.clone(), vec![(sample.at, until)]);
                }
                Some(times) => match times.last_mut() {
                    Some((_, end)) if *end == sample.at => *end = until,
                    _ => times.push((sample.at, until)),
                },
            }
        }
    }

    /// Writes the scene. Who wants it no longer says so where it asks whether it goes on, which it does at each moment.
    pub fn write(
        &self,
        out: &mut impl Write,
        network: &Network,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), Box<dyn Error>> {
        let start = network.constellation().start().map_or_else(|| IDEAL_START.parse(), Ok)?;
        let names = Names::of(network);
        let mut serializer = serde_json::Serializer::new(&mut *out);
        let mut packets = serializer.serialize_seq(None)?;
        packets.serialize_element(&self.document(network, start))?;
        for (number, positions) in (0..).zip(self.satellites(network, goes_on)?) {
            wanted(goes_on)?;
            packets.serialize_element(&self.satellite(number, &positions, &names, start))?;
        }
        for (number, station) in network.stations().iter().enumerate() {
            packets.serialize_element(&json!({
                "id": format!("station/{number}"), "name": station.name,
                "position": self.position(station, start),
                "point": {"pixelSize": 9, "color": {"rgba": [255, 255, 255, 255]}},
                "label": {
                    "text": station.name, "font": "14px sans-serif", "horizontalOrigin": "LEFT",
                    "pixelOffset": {"cartesian2": [10.0, 0.0]},
                },
            }))?;
        }
        for (pair, routes) in self.routes.iter().enumerate() {
            for (number, (nodes, times)) in routes.iter().enumerate() {
                let route = self.route((pair, number), nodes, times, &names, start);
                packets.serialize_element(&route)?;
            }
        }
        packets.end()?;
        writeln!(out)?;
        Ok(out.flush()?)
    }

    fn document(&self, network: &Network, start: Epoch) -> Value {
        let Window { first, end, .. } = self.window;
        json!({
            "id": "document", "name": network.constellation().name(), "version": "1.0",
            "clock": {
                "interval": interval(start, first, end), "currentTime": time(start, first),
                "multiplier": SPEED, "range": "LOOP_STOP", "step": "SYSTEM_CLOCK_MULTIPLIER",
            },
        })
    }

    /// For each satellite seconds after the start and metres, over and over.
    fn satellites(
        &self,
        network: &Network,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
        let constellation = network.constellation();
        let mut all = vec![Vec::new(); constellation.satellites()];
        let mut positions = Vec::new();
        let metres = |km: f64| (km * 1e4).round() / 10.0;
        for at in self.window.times() {
            wanted(goes_on)?;
            constellation.positions(at, &mut positions)?;
            for (satellite, position) in all.iter_mut().zip(&positions) {
                let fixed = constellation.earth().fixed(*position, at);
                let [x, y, z] = [fixed.x, fixed.y, fixed.z].map(metres);
                satellite.extend([at.as_secs_f64(), x, y, z]);
            }
        }
        Ok(all)
    }

    /// Where a station is; of one that moves seconds, degrees and metres, over and over.
    fn position(&self, station: &Station, start: Epoch) -> Value {
        let degrees = |place: Place| (place.longitude().0, place.latitude().0);
        let Some(track) = &station.track else {
            let (east, north) = degrees(station.place);
            return json!({"cartographicDegrees": [east, north, 0.0]});
        };
        let points = self.window.times().flat_map(|at| {
            let point = track.at(at);
            let (east, north) = degrees(point.place);
            [at.as_secs_f64(), east, north, point.altitude.0 * 1000.0]
        });
        let points: Vec<f64> = points.collect();
        json!({"epoch": start.to_string(), "cartographicDegrees": points})
    }

    fn satellite(&self, number: u32, positions: &[f64], names: &Names, start: Epoch) -> Value {
        let Window { first, end, .. } = self.window;
        json!({
            "id": format!("satellite/{number}"), "name": names.node(Node::Satellite(number)),
            "availability": interval(start, first, end),
            "position": {
                "interpolationAlgorithm": "LAGRANGE", "interpolationDegree": DEGREE,
                "referenceFrame": "FIXED", "epoch": start.to_string(), "cartesian": positions,
            },
            "point": {"pixelSize": 4, "color": {"rgba": [86, 180, 233, 255]}},
        })
    }

    fn route(
        &self,
        (pair, number): (usize, usize),
        nodes: &[Node],
        times: &[(Instant, Instant)],
        names: &Names,
        start: Epoch,
    ) -> Value {
        let (from, to) = self.pairs[pair];
        let [from, to] = [from, to].map(|station| names.node(Node::Station(station)));
        let position = |node: &Node| match node {
            Node::Satellite(number) => format!("satellite/{number}#position"),
            Node::Station(number) => format!("station/{number}#position"),
        };
        let available = times.iter().map(|(first, end)| interval(start, *first, *end));
        json!({
            "id": format!("route/{pair}/{number}"), "name": format!("{from} to {to}"),
            "availability": available.collect::<Vec<_>>(),
            "polyline": {
                "positions": {"references": nodes.iter().map(position).collect::<Vec<_>>()},
                "arcType": "NONE", "width": 3,
                "material": {"solidColor": {"color": {"rgba": [213, 94, 0, 255]}}},
            },
        })
    }
}

fn time(start: Epoch, at: Instant) -> String {
    start.after(at.since(Instant::ZERO)).to_string()
}

fn interval(start: Epoch, first: Instant, end: Instant) -> String {
    format!("{}/{}", time(start, first), time(start, end))
}

/// An error when nobody wants the scene any more.
fn wanted(goes_on: &dyn Fn() -> bool) -> Result<(), Box<dyn Error>> {
    if goes_on() { Ok(()) } else { Err("nobody waits for it any more".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(step: u64, length: u64) -> Window {
        let first = Instant::ZERO + Span::from_secs(5);
        Window { first, end: first + Span::from_secs(length), step: Span::from_secs(step) }
    }

    #[test]
    fn positions_are_at_samples_and_at_the_end_and_a_minute_apart_at_most() {
        let times = |step, length| window(step, length).times().collect::<Vec<_>>();
        let gap = |times: &[Instant]| times[1].since(times[0]).as_secs_f64();
        assert_eq!((gap(&times(1, 86_400)), times(1, 86_400).len()), (60.0, 1441));
        assert_eq!(gap(&times(7, 86_400)), 56.0);
        assert_eq!(gap(&times(600, 86_400)), 60.0);
        assert_eq!(gap(&times(1, 60)), 6.0);
        for (step, length) in [(7, 100), (1, 1), (50, 3), (3600, 86_400)] {
            let window = window(step, length);
            let times: Vec<_> = window.times().collect();
            assert_eq!(times.last(), Some(&window.end));
            assert_eq!((times[0], times.len() as u64), (window.first, window.positions()));
            assert!(times.is_sorted_by(|a, b| a < b) && times.len() > 10);
        }
    }

    #[test]
    fn a_scene_that_is_too_large_says_which_flag_to_change() {
        let said = |window, satellites, pairs: &[_]| match Scene::new(window, satellites, pairs) {
            Err(TooLarge(message)) => message,
            Ok(_) => String::new(),
        };
        let message = said(window(1, 86_400), 4000, &[(0, 1)]);
        assert!(message.contains("4000 satellites at 1441 times"), "{message}");
        assert!(message.contains("a --duration of at most 59880 s"), "{message}");
        assert_eq!(said(window(1, 59_880), 4000, &[(0, 1)]), "");
        let message = said(window(1, 86_400), 66, &[(0, 1); 50]);
        assert!(message.contains("give a longer --step"), "{message}");
    }
}
