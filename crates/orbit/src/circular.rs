//! Ideal circular orbits: planes of evenly spaced satellites, and satellites that stand still.

use std::f64::consts::TAU;

use bentpipe_units::{Degrees, Instant, Km};

use crate::earth::{GEOSTATIONARY_ALTITUDE, MU};
use crate::{Earth, OrbitError, Vector};

/// Most satellites of one shell: more is a slip of the pen.
const MOST_SATELLITES: u32 = 100_000;

/// Planes of satellites at one altitude.
///
/// Satellite `j` of plane `k` has number `k * per_plane + j`. The ascending node of plane `k` is
/// `k * plane_spacing` east of longitude 0 at the start; satellite `j` is then `j / per_plane` of a turn
/// past it, plus what `phasing` says.
#[derive(Clone, Debug, PartialEq)]
pub struct Planes {
    /// Height above the ground; above zero.
    pub altitude: Km,
    /// Angle between the planes and the equator, 0..=180 degrees.
    pub inclination: Degrees,
    /// Number of planes, at least 1.
    pub planes: u16,
    /// Satellites of each plane, at least 1.
    pub per_plane: u16,
    /// Angle between the ascending nodes of neighbouring planes. 360 degrees over `planes` makes a
    /// Walker delta, about 180 over `planes` a Walker star with a seam.
    pub plane_spacing: Degrees,
    /// How satellites of neighbouring planes stand to each other.
    pub phasing: Phasing,
}

/// How satellites of neighbouring planes stand to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phasing {
    /// Every other plane is ahead by this angle; zero for none at all.
    Stagger(Degrees),
    /// Each plane is ahead of the one before it by so many of `planes * per_plane` equal parts of a
    /// turn: the `F` of Walker's notation.
    Walker(u16),
}

impl Planes {
    pub(crate) fn check(&self) -> Result<(), OrbitError> {
        let whole = |field: &str, value: u16| match value {
            0 => Err(OrbitError::invalid(field, "0 is too few: there must be at least 1")),
            _ => Ok(()),
        };
        whole("planes", self.planes)?;
        whole("satellites_per_plane", self.per_plane)?;
        let count = u32::from(self.planes) * u32::from(self.per_plane);
        if count > MOST_SATELLITES {
            let message = format!("{count} satellites in a shell: at most {MOST_SATELLITES}");
            return Err(OrbitError::invalid("planes", message));
        }
        let altitude = self.altitude.0;
        if !(altitude > 0.0 && altitude <= 1e6) {
            let message =
                format!("{} is no orbit: more than 0 km, at most 1000000 km", self.altitude);
            return Err(OrbitError::invalid("altitude", message));
        }
        within("inclination", self.inclination, 0.0, 180.0)?;
        within("plane_spacing", self.plane_spacing, -360.0, 360.0)?;
        match self.phasing {
            Phasing::Stagger(angle) => within("stagger", angle, -360.0, 360.0),
            Phasing::Walker(parts) if parts < self.planes => Ok(()),
            Phasing::Walker(parts) => {
                let message = format!("{parts} is not in 0..{}, the number of planes", self.planes);
                Err(OrbitError::invalid("walker_phasing", message))
            }
        }
    }

    /// How many places along the plane a satellite of plane 0 is behind the one of the same number
    /// that would be in a plane after the last: what closes a Walker delta.
    pub(crate) fn slots_around(&self) -> u16 {
        match self.phasing {
            Phasing::Stagger(_) => 0,
            Phasing::Walker(parts) => parts % self.per_plane,
        }
    }
}

/// Refuses an angle outside of a range.
pub(crate) fn within(field: &str, angle: Degrees, low: f64, high: f64) -> Result<(), OrbitError> {
    if (low..=high).contains(&angle.0) {
        return Ok(());
    }
    Err(OrbitError::invalid(field, format!("{angle} lies outside {low}..={high} deg")))
}

/// Where the satellites of circular orbits are.
#[derive(Clone, Debug)]
pub(crate) struct Circles {
    /// For each satellite where it is at the start and where it is a quarter of a turn later.
    circles: Vec<(Vector, Vector)>,
    pace: Pace,
}

/// How fast the satellites go round.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// Once in so many seconds.
    Period(f64),
    /// With the Earth.
    WithTheEarth,
}

impl Circles {
    pub(crate) fn of_planes(planes: &Planes, earth: &Earth) -> Self {
        let radius = earth.radius().0 + planes.altitude.0;
        let period = TAU * libm::sqrt(radius * radius * radius / MU);
        let (sin_i, cos_i) = libm::sincos(planes.inclination.radians());
        let count = u32::from(planes.planes) * u32::from(planes.per_plane);
        let mut circles = Vec::with_capacity(count as usize);
        for plane in 0..planes.planes {
            let node = Degrees(planes.plane_spacing.0 * f64::from(plane)).radians();
            let (sin_node, cos_node) = libm::sincos(node);
            let to_node = Vector::new(cos_node, sin_node, 0.0);
            let to_north = Vector::new(-sin_node * cos_i, cos_node * cos_i, sin_i);
            let ahead = match planes.phasing {
                Phasing::Stagger(angle) => angle.radians() * f64::from(plane % 2),
                Phasing::Walker(parts) => {
                    TAU * f64::from(u32::from(parts) * u32::from(plane) % count) / f64::from(count)
                }
            };
            for slot in 0..planes.per_plane {
                let along = TAU * f64::from(slot) / f64::from(planes.per_plane) + ahead;
                let (sin, cos) = libm::sincos(along);
                circles.push((
                    (to_node * cos + to_north * sin) * radius,
                    (to_north * cos - to_node * sin) * radius,
                ));
            }
        }
        Self { circles, pace: Pace::Period(period) }
    }

    pub(crate) fn geostationary(longitudes: &[Degrees], earth: &Earth) -> Self {
        let radius = earth.radius().0 + GEOSTATIONARY_ALTITUDE;
        let place = |east: f64| Vector::towards(0.0, east) * radius;
        let circle = |longitude: &Degrees| {
            let east = longitude.radians();
            (place(east), place(east + TAU / 4.0))
        };
        let circles = longitudes.iter().map(circle).collect();
        Self { circles, pace: Pace::WithTheEarth }
    }

    pub(crate) fn len(&self) -> usize {
        self.circles.len()
    }

    /// Appends where all the satellites are.
    pub(crate) fn positions(&self, earth: &Earth, at: Instant, out: &mut Vec<Vector>) {
        let (sin, cos) = self.turned(earth, at);
        out.extend(self.circles.iter().map(|(start, quarter)| *start * cos + *quarter * sin));
    }

    /// Where one of the satellites is.
    pub(crate) fn position(&self, index: usize, earth: &Earth, at: Instant) -> Option<Vector> {
        let (sin, cos) = self.turned(earth, at);
        self.circles.get(index).map(|(start, quarter)| *start * cos + *quarter * sin)
    }

    /// Sine and cosine of the angle by which the satellites have moved on.
    fn turned(&self, earth: &Earth, at: Instant) -> (f64, f64) {
        let angle = match self.pace {
            Pace::Period(period) => {
                let turns = at.as_nanos() as f64 / (period * 1e9);
                (turns - libm::floor(turns)) * TAU
            }
            Pace::WithTheEarth => earth.angle(at),
        };
        libm::sincos(angle)
    }
}

#[cfg(test)]
mod tests {
    use bentpipe_units::Span;

    use super::*;

    fn iridium() -> Planes {
        Planes {
            altitude: Km(780.0),
            inclination: Degrees(86.4),
            planes: 6,
            per_plane: 11,
            plane_spacing: Degrees(31.6),
            phasing: Phasing::Stagger(Degrees(180.0 / 11.0)),
        }
    }

    fn positions(circles: &Circles, secs: f64) -> Vec<Vector> {
        let mut out = Vec::new();
        let at = Instant::ZERO + Span::from_secs_f64(secs);
        circles.positions(&Earth::ideal(), at, &mut out);
        out
    }

    #[test]
    fn the_periods_are_those_of_the_tables() {
        for (altitude, period) in [(780.0, 6026.96), (1375.0, 6793.8)] {
            let planes = Planes { altitude: Km(altitude), ..iridium() };
            let circles = Circles::of_planes(&planes, &Earth::ideal());
            let (start, turned) = (positions(&circles, 0.0), positions(&circles, period));
            // A satellite makes 7.4 km/s; the table has its last digit right.
            assert!(start[0].distance(turned[0]) < 0.05 * 7.5, "{altitude}");
            assert!(start[0].distance(positions(&circles, period / 2.0)[0]) > 14_000.0);
        }
    }

    #[test]
    fn satellites_stay_at_their_altitude_and_within_their_inclination() {
        let circles = Circles::of_planes(&iridium(), &Earth::ideal());
        let highest = 7158.0 * libm::sin(Degrees(86.4).radians());
        for secs in [0.0, 100.0, 86_399.9, 1e6] {
            for satellite in positions(&circles, secs) {
                assert!((satellite.length() - 7158.0).abs() < 1e-8);
                assert!(satellite.z.abs() <= highest + 1e-8);
            }
        }
    }

    #[test]
    fn neighbours_of_a_plane_are_as_far_as_the_tables_say() {
        let circles = Circles::of_planes(&iridium(), &Earth::ideal());
        let places = positions(&circles, 1234.5);
        assert!((places[0].distance(places[1]) - 4033.0).abs() < 1.0);
        assert!((places[0].distance(places[10]) - 4033.0).abs() < 1.0);
    }

    #[test]
    fn planes_go_east_and_satellites_go_north_from_the_node() {
        let circles = Circles::of_planes(&iridium(), &Earth::ideal());
        let start = positions(&circles, 0.0);
        assert_eq!(start[0], Vector::new(7158.0, 0.0, 0.0));
        let third = Vector::towards(0.0, Degrees(63.2).radians()) * 7158.0;
        assert!(start[22].distance(third) < 1e-6);
        assert!(positions(&circles, 10.0)[0].z > 70.0);
        // Odd planes are half a place ahead.
        assert!((start[11].z / 7158.0 - 0.998_026_7 * 0.281_732_6).abs() < 1e-6);
    }

    #[test]
    fn geostationary_satellites_stay_above_their_longitude() {
        let earth = Earth::ideal();
        let longitudes = [Degrees(-90.0), Degrees(30.0), Degrees(150.0)];
        let circles = Circles::geostationary(&longitudes, &earth);
        for secs in [0, 10_000, 86_400] {
            let at = Instant::ZERO + Span::from_secs(secs);
            for (satellite, longitude) in positions(&circles, secs as f64).iter().zip(longitudes) {
                assert!((earth.below(*satellite, at).longitude().0 - longitude.0).abs() < 1e-9);
                assert!((satellite.length() - 42_164.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn a_walker_delta_closes_after_all_its_planes() {
        let planes = Planes {
            altitude: Km(550.0),
            inclination: Degrees(53.0),
            planes: 72,
            per_plane: 22,
            plane_spacing: Degrees(5.0),
            phasing: Phasing::Walker(39),
        };
        assert_eq!(planes.slots_around(), 17);
        let one_more = Planes { planes: 73, ..planes.clone() };
        let places = positions(&Circles::of_planes(&planes, &Earth::ideal()), 0.0);
        // What the next plane would be, were the parts of a turn still those of 72 planes.
        let step = TAU * 39.0 * 72.0 / (72.0 * 22.0);
        let slot = (step / (TAU / 22.0)).round() as usize % 22;
        assert_eq!(slot, usize::from(planes.slots_around()));
        assert!(one_more.check().is_ok() && places.len() == 1584);
    }

    #[test]
    fn shells_that_can_not_be_built_name_the_field() {
        let field = |planes: Planes| match planes.check() {
            Err(OrbitError::Invalid { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(field(Planes { planes: 0, ..iridium() }), "planes");
        assert_eq!(field(Planes { per_plane: 0, ..iridium() }), "satellites_per_plane");
        assert_eq!(field(Planes { altitude: Km(-3.0), ..iridium() }), "altitude");
        assert_eq!(field(Planes { altitude: Km(f64::NAN), ..iridium() }), "altitude");
        assert_eq!(field(Planes { inclination: Degrees(181.0), ..iridium() }), "inclination");
        assert_eq!(field(Planes { plane_spacing: Degrees(400.0), ..iridium() }), "plane_spacing");
        assert_eq!(field(Planes { phasing: Phasing::Walker(6), ..iridium() }), "walker_phasing");
        assert_eq!(field(Planes { planes: 400, per_plane: 400, ..iridium() }), "planes");
    }
}
