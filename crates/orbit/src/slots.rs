//! Satellites that are assigned for slots of time, as Starlink does it.

use bentpipe_units::{Degrees, Instant, Span};

use crate::earth::{GEOSTATIONARY_ALTITUDE, Sight};
use crate::{Earth, Vector};

/// Directions from which the arc of the geostationary satellites is made: one for each degree of longitude.
const ARC_POINTS: u16 = 360;
/// What a satellite that stands towards the pole is worth, in degrees of elevation.
const POLEWARD: f64 = 15.0;
/// Latitude from which on that counts whole, in degrees; less of it nearer to the equator.
const MID_LATITUDE: f64 = 30.0;
/// Degrees of elevation by which a satellite is e times as likely as another one: chosen so that those assigned at
/// mid-latitudes stand 20 to 30 degrees higher than the median of those in view, as was measured (23 degrees).
const LIKELIHOOD: f64 = 12.0;

/// How satellites are assigned to terminals for slots of time.
///
/// All terminals change at the same moments. Which of the satellites in view a terminal is given is drawn: high ones
/// are likelier, at mid-latitudes those towards the pole too, and none stands near the arc of the geostationary
/// satellites, where a beam would disturb others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slots {
    /// From one assignment to the next; above zero.
    pub period: Span,
    /// The second of each minute (UTC) at which one assignment begins. Ideal orbits start at second 0.
    pub first: Span,
    /// Least angle to the arc of the geostationary satellites.
    pub geo_separation: Degrees,
    /// What the draws come from.
    pub seed: u64,
}

impl Slots {
    /// Every 15 s, at the seconds 12, 27, 42 and 57 of each minute, 18 degrees from the arc (Tanveer et al., "Making Sense
    /// of Constellations", CoNEXT 2023).
    pub const STARLINK: Self = Self {
        period: Span::from_secs(15),
        first: Span::from_secs(12),
        geo_separation: Degrees(18.0),
        seed: 0,
    };
}

impl Default for Slots {
    fn default() -> Self {
        Self::STARLINK
    }
}

/// A satellite that could be assigned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) satellite: u32,
    /// Where it is.
    pub(crate) position: Vector,
    /// Where it will be when the slot ends.
    pub(crate) at_end: Vector,
}

impl Slots {
    /// The number of the slot at a time; `clock` is the time of day at the start of the run.
    pub(crate) fn number(&self, at: Instant, clock: Span) -> u64 {
        let period = self.period.as_nanos().max(1);
        let begun = u128::from(clock.as_nanos()) + u128::from(at.as_nanos());
        let shift = u128::from(period - self.first.as_nanos() % period);
        ((begun + shift) / u128::from(period)) as u64
    }

    /// When the next slot begins after `at`.
    pub(crate) fn next(&self, at: Instant, clock: Span) -> Instant {
        let period = u128::from(self.period.as_nanos().max(1));
        let begins = u128::from(self.number(at, clock) + 1) * period;
        let shift = period - u128::from(self.first.as_nanos()) % period;
        let since_start = begins - shift - u128::from(clock.as_nanos());
        Instant::from_nanos(u64::try_from(since_start).unwrap_or(u64::MAX))
    }

    /// The satellite of a slot for a terminal, which is told from others by `terminal`: of those that stay above the
    /// mask until the slot ends, or else of all above it.
    pub(crate) fn assign(
        &self,
        slot: u64,
        terminal: u64,
        sights: [&Sight; 2],
        sin_mask: f64,
        earth: &Earth,
        candidates: &[Candidate],
    ) -> Option<u32> {
        let [now, end] = sights;
        let arc = geostationary_arc(now, earth);
        let allowed = |candidate: &&Candidate| {
            separation(direction(now, candidate.position), &arc) >= self.geo_separation.0
        };
        let stays = |candidate: &&Candidate| end.sin_elevation(candidate.at_end) > sin_mask;
        let allowed: Vec<_> = candidates.iter().filter(allowed).collect();
        let staying: Vec<_> = allowed.iter().copied().filter(stays).collect();
        let choice = if staying.is_empty() { allowed } else { staying };
        let weights: Vec<f64> =
            choice.iter().map(|candidate| likelihood(now, candidate.position)).collect();
        let mut drawn = unit(self.seed, terminal, slot) * weights.iter().sum::<f64>();
        let chosen = choice.iter().zip(&weights).find(|(_, weight)| {
            drawn -= **weight;
            drawn < 0.0
        });
        chosen.map(|(candidate, _)| candidate).or(choice.last()).map(|chosen| chosen.satellite)
    }
}

/// The unit vector from a place towards a satellite.
fn direction(sight: &Sight, satellite: Vector) -> Vector {
    let range = satellite - sight.position;
    range * (1.0 / range.length())
}

/// How likely a satellite is against others, from its direction.
fn likelihood(sight: &Sight, satellite: Vector) -> f64 {
    let direction = direction(sight, satellite);
    let sine = direction.dot(sight.up).clamp(-1.0, 1.0);
    let elevation = Degrees::from_radians(libm::asin(sine)).0;
    // Along the ground towards the nearer pole: the axis of the Earth without its part along `up`.
    let pole = if sight.up.z < 0.0 { -1.0 } else { 1.0 };
    let axis = Vector::new(0.0, 0.0, pole);
    let poleward = axis - sight.up * axis.dot(sight.up);
    let along = poleward.length() * libm::sqrt(1.0 - sine * sine);
    let cosine = if along > 0.0 { poleward.dot(direction) / along } else { 0.0 };
    let latitude = Degrees::from_radians(libm::asin(sight.up.z.clamp(-1.0, 1.0))).0.abs();
    let worth = elevation + POLEWARD * cosine * (latitude / MID_LATITUDE).min(1.0);
    libm::exp(worth / LIKELIHOOD)
}

/// The directions of the geostationary arc above the horizon.
fn geostationary_arc(sight: &Sight, earth: &Earth) -> Vec<Vector> {
    let radius = earth.radius().0 + GEOSTATIONARY_ALTITUDE;
    let point = |degree: u16| {
        let east = Degrees(f64::from(degree)).radians();
        direction(sight, Vector::towards(0.0, east) * radius)
    };
    (0..ARC_POINTS).map(point).filter(|point| point.dot(sight.up) > 0.0).collect()
}

/// The angle between a direction and the nearest of an arc, in degrees.
fn separation(direction: Vector, arc: &[Vector]) -> f64 {
    let nearest = arc.iter().map(|point| point.dot(direction)).fold(-1.0, f64::max);
    Degrees::from_radians(libm::acos(nearest.min(1.0))).0
}

/// A number in [0, 1) that three others determine (the mixer of SplitMix64, Steele et al. 2014).
fn unit(seed: u64, terminal: u64, slot: u64) -> f64 {
    let mix = |before: u64, next: u64| {
        let mut z = (before ^ next).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    let bits = mix(mix(mix(0, seed), terminal), slot);
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE: u64 = 60;

    fn begins(clock: u64, count: usize) -> Vec<u64> {
        let slots = Slots::default();
        let clock = Span::from_secs(clock);
        let next = |at: &Instant| Some(slots.next(*at, clock));
        let times = std::iter::successors(Some(slots.next(Instant::ZERO, clock)), next);
        times.map(|at| at.as_nanos() / 1_000_000_000).take(count).collect()
    }

    #[test]
    fn slots_begin_at_the_seconds_12_27_42_and_57_of_each_minute() {
        assert_eq!(begins(0, 5), [12, 27, 42, 57, 72]);
        assert_eq!(begins(7 * MINUTE + 50, 3), [7, 22, 37]);
        assert_eq!(begins(12, 2), [15, 30], "one that begins at the start has begun");
    }

    #[test]
    fn the_arc_stands_in_the_south_of_london_and_in_the_zenith_of_the_equator() {
        let earth = Earth::ideal();
        let sight = |latitude: f64| {
            let place = crate::Place::new(Degrees(latitude), Degrees(0.0)).expect("a place");
            earth.sight(place, Instant::ZERO)
        };
        let london = sight(51.5);
        let to_zenith = separation(london.up, &geostationary_arc(&london, &earth));
        // 90 degrees less an elevation of 30.9 for a satellite on the same meridian.
        assert!((to_zenith - 59.1).abs() < 0.2, "{to_zenith}");
        let equator = sight(0.0);
        assert!(separation(equator.up, &geostationary_arc(&equator, &earth)) < 1.0);
        assert!(geostationary_arc(&sight(85.0), &earth).is_empty());
        assert_eq!(separation(equator.up, &[]), 180.0);
    }

    proptest! {
        #[test]
        fn the_next_slot_is_the_first_moment_with_another_number(
            period in 1u64..100_000, first in 0u64..200_000, clock in 0u64..90_000_000, at in 0u64..1_000_000,
        ) {
            let millis = Span::from_millis;
            let slots = Slots { period: millis(period), first: millis(first), ..Slots::default() };
            let at = Instant::ZERO + millis(at);
            let number = slots.number(at, millis(clock));
            let next = slots.next(at, millis(clock));
            prop_assert!(next > at && next.since(at) <= millis(period));
            prop_assert_eq!(slots.number(next, millis(clock)), number + 1);
            prop_assert_eq!(slots.number(next.before(Span::from_nanos(1)), millis(clock)), number);
        }
    }
}
