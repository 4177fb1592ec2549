//! The Earth: its size and shape, how it turns, and what a place on it sees.

use std::f64::consts::TAU;

use bentpipe_units::{Degrees, Instant, Km, Span};

use crate::{Epoch, Place, Vector};

/// The Earth as one model of orbits sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Earth {
    /// Radius of the equator.
    radius: f64,
    /// Square of the eccentricity of a meridian; zero for a sphere.
    eccentricity_squared: f64,
    /// Speed of light in km/s.
    light: f64,
    /// Time of one turn against the stars.
    turn: Span,
    /// How far longitude 0 is from `x` at the start of the run, in radians.
    start_angle: f64,
}

/// Share of the speed of light at which signals go through glass.
const FIBRE: f64 = 2.0 / 3.0;
/// Product of the gravitational constant and the mass of the Earth, km^3/s^2, as in ns-2.
pub(crate) const MU: f64 = 398_601.2;
/// Altitude of satellites that stand above one point of the equator, km, as in ns-2.
pub(crate) const GEOSTATIONARY_ALTITUDE: f64 = 35_786.0;

impl Earth {
    /// A sphere with the constants of ns-2 (`satgeometry.h`): 6378 km, 299,793 km/s, one turn in
    /// 86,164 s, longitude 0 on the `x` axis at the start of the run.
    pub const fn ideal() -> Self {
        Self {
            radius: 6378.0,
            eccentricity_squared: 0.0,
            light: 299_793.0,
            turn: Span::from_secs(86_164),
            start_angle: 0.0,
        }
    }

    /// The ellipsoid WGS 84, turned as it is at `start`: Greenwich mean sidereal time of 1982. UT1 is
    /// taken to be UTC and the pole not to move, which is wrong by less than 0.5 km on the ground.
    pub fn real(start: Epoch) -> Self {
        const FLATTENING: f64 = 1.0 / 298.257_223_563;
        Self {
            radius: 6378.137,
            eccentricity_squared: FLATTENING * (2.0 - FLATTENING),
            light: 299_792.458,
            turn: Span::from_nanos(86_164_090_530_833),
            start_angle: start.sidereal_angle(),
        }
    }

    /// Radius of the equator.
    pub const fn radius(&self) -> Km {
        Km(self.radius)
    }

    /// The time that light takes over a distance.
    pub fn delay(&self, distance: Km) -> Span {
        Span::from_secs_f64(distance.0 / self.light)
    }

    /// The time that a signal takes over a distance in a glass fibre, at two thirds of the speed of light.
    pub fn fibre_delay(&self, distance: Km) -> Span {
        self.delay(Km(distance.0 / FIBRE))
    }

    /// The distance between two places on the ground, taken as a sphere with the radius of the equator.
    pub fn great_circle(&self, a: Place, b: Place) -> Km {
        Km(a.arc_to(b).radians() * self.radius)
    }

    /// How far longitude 0 is from `x`, in radians in 0..2 pi.
    pub(crate) fn angle(&self, at: Instant) -> f64 {
        let turn = self.turn.as_nanos();
        let angle = self.start_angle + (at.as_nanos() % turn) as f64 / turn as f64 * TAU;
        if angle < TAU { angle } else { angle - TAU }
    }

    /// A place on the ground, at a time.
    pub(crate) fn sight(&self, place: Place, at: Instant) -> Sight {
        let latitude = place.latitude().radians();
        let up = Vector::towards(latitude, place.longitude().radians() + self.angle(at));
        let e2 = self.eccentricity_squared;
        let curvature = self.radius / libm::sqrt(1.0 - e2 * up.z * up.z);
        let position = up * curvature;
        Sight { position: Vector { z: position.z * (1.0 - e2), ..position }, up }
    }

    /// The place at which a satellite stands in the zenith of a sphere.
    pub fn below(&self, satellite: Vector, at: Instant) -> Place {
        let latitude = libm::asin((satellite.z / satellite.length()).clamp(-1.0, 1.0));
        let east = libm::atan2(satellite.y, satellite.x) - self.angle(at);
        Place::wrapped(Degrees::from_radians(latitude), Degrees::from_radians(east))
    }

    /// The same position in the frame that turns with the Earth, whose `x` points to longitude 0.
    pub fn fixed(&self, position: Vector, at: Instant) -> Vector {
        let (sin, cos) = libm::sincos(self.angle(at));
        let Vector { x, y, z } = position;
        Vector::new(x * cos + y * sin, y * cos - x * sin, z)
    }

    /// How far a position is above the ground below it, along the line to the centre.
    pub fn altitude(&self, position: Vector) -> Km {
        let radius = position.length();
        let sine = position.z / radius;
        let e2 = self.eccentricity_squared;
        let ground = self.radius * libm::sqrt((1.0 - e2) / (1.0 - e2 * (1.0 - sine * sine)));
        Km(radius - ground)
    }
}

/// What one place on the ground sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    /// Where the place is.
    pub(crate) position: Vector,
    /// Where up is there.
    pub(crate) up: Vector,
}

impl Sight {
    /// The same from above the place.
    pub(crate) fn raised(self, altitude: Km) -> Self {
        Self { position: self.position + self.up * altitude.0, ..self }
    }

    /// Sine of the elevation of a satellite, at least -1; negative below the horizon.
    pub(crate) fn sin_elevation(&self, satellite: Vector) -> f64 {
        let range = satellite - self.position;
        range.dot(self.up) / range.length()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(latitude: f64, longitude: f64) -> Place {
        Place::new(Degrees(latitude), Degrees(longitude)).expect("a place")
    }

    #[test]
    fn a_place_returns_after_one_turn_against_the_stars() {
        let earth = Earth::ideal();
        let berkeley = place(37.9, -122.3);
        let there = |secs| earth.sight(berkeley, Instant::ZERO + Span::from_secs(secs)).position;
        assert_eq!(there(0), there(86_164));
        assert!((there(0).distance(there(43_082)) - 2.0 * 6378.0 * 0.789_084).abs() < 0.01);
    }

    #[test]
    fn the_poles_of_the_real_earth_are_21_km_nearer_to_its_centre() {
        let earth = Earth::real("2026-11-21".parse().expect("a day"));
        let radius = |lat| earth.sight(place(lat, 10.0), Instant::ZERO).position.length();
        assert!((radius(0.0) - 6378.137).abs() < 1e-9);
        assert!((radius(90.0) - 6_356.752_314).abs() < 1e-5);
    }

    #[test]
    fn the_place_below_a_satellite_moves_west_as_the_earth_turns() {
        let earth = Earth::ideal();
        let satellite = Vector::towards(0.5, 1.0) * 7000.0;
        let below = earth.below(satellite, Instant::ZERO);
        assert!((below.latitude().radians() - 0.5).abs() < 1e-12);
        assert!((below.longitude().radians() - 1.0).abs() < 1e-12);
        let quarter = earth.below(satellite, Instant::ZERO + Span::from_secs(21_541));
        assert!((below.longitude().0 - quarter.longitude().0 - 90.0).abs() < 1e-9);
    }

    #[test]
    fn a_place_on_the_ground_stands_still_in_the_frame_that_turns() {
        for earth in [Earth::ideal(), Earth::real("2026-11-21".parse().expect("a day"))] {
            for secs in [0, 10_000, 50_000] {
                let at = Instant::ZERO + Span::from_secs(secs);
                let there = earth.sight(place(30.0, 60.0), at).position;
                let fixed = earth.fixed(there, at);
                assert!((libm::atan2(fixed.y, fixed.x).to_degrees() - 60.0).abs() < 1e-9);
                assert!((fixed.z - there.z).abs() < 1e-12 && earth.altitude(there).0.abs() < 1e-6);
                assert!((earth.altitude(there * 1.1).0 - there.length() * 0.1).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn a_satellite_in_the_zenith_stands_at_ninety_degrees() {
        for earth in [Earth::ideal(), Earth::real("2026-11-21".parse().expect("a day"))] {
            let sight = earth.sight(place(52.0, 4.0), Instant::ZERO);
            let overhead = sight.position + sight.up * 550.0;
            assert!((sight.sin_elevation(overhead) - 1.0).abs() < 1e-12);
            assert!((earth.delay(Km(550.0)).as_secs_f64() - 0.001_834_6).abs() < 1e-7);
        }
    }
}
