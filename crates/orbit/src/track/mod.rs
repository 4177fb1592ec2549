//! Stations that move: times and places, and the way between them.

mod csv;
mod gpx;

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use bentpipe_units::{Degrees, Instant, Km, Span, Speed};

use crate::{Earth, OrbitError, Place, Vector};

/// The most points of a track: a day with one every 50 ms.
const MOST_POINTS: usize = 2_000_000;

/// A place of a track at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackPoint {
    /// When, counted from the start of the track.
    pub at: Instant,
    /// Where.
    pub place: Place,
    /// How high above the ground.
    pub altitude: Km,
}

/// Where something is over time. From each point to the next it moves along the great circle, at one speed and with a height
/// that changes evenly; before the first point it is there, and behind the last one it stays.
///
/// ```
/// use bentpipe_orbit::{Place, Track};
/// use bentpipe_units::{Instant, Span, Speed};
///
/// let [london, boston]: [Place; 2] = ["London", "Boston"].map(|city| city.parse().expect("a city"));
/// let track = Track::along(&[london, boston], Speed(900.0))?;
/// assert_eq!(track.at(Instant::ZERO).place, london);
/// let hours = track.length().as_secs_f64() / 3600.0;
/// assert!((5.8..5.9).contains(&hours), "{hours} h for 5,260 km");
/// # Ok::<(), bentpipe_orbit::OrbitError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    points: Arc<[TrackPoint]>,
    /// So much of the track lies before the start of the run.
    start: Span,
}

impl Track {
    /// The track through these points.
    ///
    /// # Errors
    /// When there is none, they are too many, or one is not later than the one before it.
    pub fn new(points: Vec<TrackPoint>) -> Result<Self, OrbitError> {
        let wrong = |message: String| Err(OrbitError::invalid("track", message));
        if points.is_empty() {
            return wrong("it has no points with times".to_owned());
        }
        if points.len() > MOST_POINTS {
            return wrong(format!("{} points: at most {MOST_POINTS}", points.len()));
        }
        if let Some(n) = points.windows(2).position(|pair| pair[1].at <= pair[0].at) {
            return wrong(format!("point {} is not later than the one before it", n + 2));
        }
        Ok(Self { points: points.into(), start: Span::ZERO })
    }

    /// Whether a text is the name of a track's file: `flight.gpx`, `ship.csv`.
    pub fn is_a_file(text: &str) -> bool {
        let extension = Path::new(text).extension().and_then(OsStr::to_str);
        extension
            .is_some_and(|end| ["gpx", "csv"].iter().any(|known| end.eq_ignore_ascii_case(known)))
    }

    /// The track in the text of a file: GPX with a time for each point, or CSV with a header line and the columns `time_s`,
    /// `latitude` and `longitude` in degrees and, if it is known, `altitude_m`. The first point of GPX is the start.
    ///
    /// # Errors
    /// When the text is neither, with the number of the line.
    pub fn read(text: &str) -> Result<Self, OrbitError> {
        if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') {
            gpx::read(text)
        } else {
            csv::read(text)
        }
    }

    /// The track along the great circles from one of these places to the next, at one speed over the ground, taken as a
    /// sphere with the radius of the equator.
    ///
    /// # Errors
    /// When there are fewer than two places, two in a row are the same, or the speed is not above zero.
    pub fn along(places: &[Place], speed: Speed) -> Result<Self, OrbitError> {
        if !(speed.0 > 0.0 && speed.0.is_finite()) {
            let message = format!("{speed}: above 0 km/h, such as 900 km/h");
            return Err(OrbitError::invalid("speed", message));
        }
        if places.len() < 2 {
            return Err(OrbitError::invalid("waypoints", "two places or more are needed"));
        }
        let mut at = Instant::ZERO;
        let mut points = vec![TrackPoint { at, place: places[0], altitude: Km(0.0) }];
        for pair in places.windows(2) {
            let distance = Earth::ideal().great_circle(pair[0], pair[1]);
            at += Span::from_secs_f64(distance.0 / speed.0 * 3600.0);
            points.push(TrackPoint { at, place: pair[1], altitude: Km(0.0) });
        }
        Self::new(points)
    }

    /// The same track for a run that begins when `start` of it has passed.
    #[must_use]
    pub fn starting_at(self, start: Span) -> Self {
        Self { start, ..self }
    }

    /// The time from its first point to its last.
    pub fn length(&self) -> Span {
        let ends = self.points.first().zip(self.points.last());
        ends.map_or(Span::ZERO, |(first, last)| last.at.since(first.at))
    }

    /// Where it is so long after the start of the run.
    pub fn at(&self, now: Instant) -> TrackPoint {
        let at = now + self.start;
        let next = self.points.partition_point(|point| point.at <= at);
        let before = self.points[next.saturating_sub(1)];
        let (Some(after), true) = (self.points.get(next), next > 0) else {
            return TrackPoint { at: now, ..before };
        };
        let length = after.at.since(before.at).as_secs_f64();
        let share = at.since(before.at).as_secs_f64() / length;
        let altitude = before.altitude.0 + share * (after.altitude.0 - before.altitude.0);
        let place = between(before.place, after.place, share);
        TrackPoint { at: now, place, altitude: Km(altitude) }
    }

    /// The places of its points.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.points.iter().map(|point| point.place)
    }
}

/// The place so far along the great circle from one place to another. Between two that are opposite each other there are
/// many; one of them is taken.
fn between(from: Place, to: Place, share: f64) -> Place {
    let unit = |p: Place| Vector::towards(p.latitude().radians(), p.longitude().radians());
    let (a, b) = (unit(from), unit(to));
    let half = libm::asin((a.distance(b) / 2.0).min(1.0));
    let arc = 2.0 * half;
    if arc < 1e-12 || share <= 0.0 {
        return from;
    }
    // The part of b that is at right angles to a.
    let aside = b + a * -a.dot(b);
    let length = aside.length();
    let across = if length > 1e-9 { aside * (1.0 / length) } else { any_across(a) };
    let (sin, cos) = libm::sincos(arc * share);
    let there = a * cos + across * sin;
    let latitude = libm::asin((there.z / there.length()).clamp(-1.0, 1.0));
    let longitude = libm::atan2(there.y, there.x);
    Place::wrapped(Degrees::from_radians(latitude), Degrees::from_radians(longitude))
}

/// A direction at right angles to another one: over the pole, or along the meridian of 0 degrees from there.
fn any_across(a: Vector) -> Vector {
    let pole = Vector::new(0.0, 0.0, 1.0);
    let aside = pole + a * -a.z;
    let length = aside.length();
    if length > 1e-9 { aside * (1.0 / length) } else { Vector::new(1.0, 0.0, 0.0) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place(latitude: f64, longitude: f64) -> Place {
        Place::new(Degrees(latitude), Degrees(longitude)).expect("a place")
    }

    fn secs(n: u64) -> Instant {
        Instant::ZERO + Span::from_secs(n)
    }

    fn point(at: u64, latitude: f64, longitude: f64) -> TrackPoint {
        TrackPoint { at: secs(at), place: place(latitude, longitude), altitude: Km(at as f64) }
    }

    fn near(a: Place, b: Place) -> bool {
        a.arc_to(b).0 < 1e-6
    }

    #[test]
    fn it_moves_along_the_great_circle_and_stays_at_its_ends() {
        let track = Track::new(vec![point(10, 0.0, 170.0), point(20, 0.0, -170.0)]);
        let track = track.expect("a track");
        for (at, longitude, altitude) in [
            (0, 170.0, 10.0),
            (10, 170.0, 10.0),
            (15, 180.0, 15.0),
            (20, -170.0, 20.0),
            (99, -170.0, 20.0),
        ] {
            let there = track.at(secs(at));
            assert!(near(there.place, place(0.0, longitude)), "{at} s: {there:?}");
            assert!((there.altitude.0 - altitude).abs() < 1e-9, "{at} s: {there:?}");
        }
        let later = track.starting_at(Span::from_secs(5));
        assert!(near(later.at(secs(10)).place, place(0.0, 180.0)));
    }

    #[test]
    fn a_way_between_opposite_places_leads_over_the_pole() {
        for (from, to) in [((0.0, 10.0), (0.0, -170.0)), ((90.0, 0.0), (-90.0, 0.0))] {
            let (from, to) = (place(from.0, from.1), place(to.0, to.1));
            let middle = between(from, to, 0.5);
            assert!((from.arc_to(middle).0 - 90.0).abs() < 1e-6, "{middle:?}");
            assert!((to.arc_to(middle).0 - 90.0).abs() < 1e-6, "{middle:?}");
        }
    }

    #[test]
    fn a_speed_makes_times_of_distances() {
        // A degree of the equator is 6378 km * pi / 180.
        let track =
            Track::along(&[place(0.0, 0.0), place(0.0, 1.0), place(1.0, 1.0)], Speed(111.3));
        let hours = track.expect("a track").length().as_secs_f64() / 3600.0;
        assert!((hours - 2.0 * 6378.0 * std::f64::consts::PI / 180.0 / 111.3).abs() < 1e-6);
    }

    #[test]
    fn what_is_no_track_says_why() {
        let (here, there) = (place(0.0, 0.0), place(1.0, 0.0));
        let said = |track: Result<Track, OrbitError>| track.expect_err("none").to_string();
        assert!(said(Track::new(Vec::new())).contains("no points"));
        let twice = vec![point(1, 0.0, 0.0), point(1, 1.0, 0.0)];
        assert!(said(Track::new(twice)).contains("point 2 is not later"));
        assert!(said(Track::along(&[here], Speed(1.0))).contains("two places"));
        assert!(said(Track::along(&[here, here], Speed(1.0))).contains("point 2 is not later"));
        for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(said(Track::along(&[here, there], Speed(speed))).starts_with("speed:"));
        }
    }

    proptest! {
        /// What is so far along a way is as far from one end as it is nearer to the other one.
        #[test]
        fn places_between_two_lie_on_the_way(
            from in (-89.0f64..89.0, -180.0f64..180.0),
            to in (-89.0f64..89.0, -180.0f64..180.0),
            share in 0.0f64..=1.0,
        ) {
            let (from, to) = (place(from.0, from.1), place(to.0, to.1));
            let all = from.arc_to(to).0;
            prop_assume!(all < 179.0);
            let there = between(from, to, share);
            prop_assert!((from.arc_to(there).0 - all * share).abs() < 1e-6);
            prop_assert!((there.arc_to(to).0 - all * (1.0 - share)).abs() < 1e-6);
        }
    }
}
