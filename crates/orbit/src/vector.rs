//! Vectors in space.

use std::ops::{Add, Mul, Sub};

/// A place or a direction in an Earth-centred frame that does not rotate; kilometres for places.
///
/// `z` points to the north pole. For ideal orbits `x` points to where longitude 0 is at the start
/// of the run; for orbits from element sets the frame is TEME (true equator, mean equinox of date).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vector {
    /// Towards the zero direction of the equator.
    pub x: f64,
    /// Along the equator, 90 degrees east of `x`.
    pub y: f64,
    /// Towards the north pole.
    pub z: f64,
}

impl Vector {
    pub(crate) const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }

    /// The unit vector at this latitude and this angle east of `x`, both in radians.
    pub(crate) fn towards(latitude: f64, east: f64) -> Self {
        let (sin_lat, cos_lat) = libm::sincos(latitude);
        let (sin_east, cos_east) = libm::sincos(east);
        Self::new(cos_lat * cos_east, cos_lat * sin_east, sin_lat)
    }

    pub(crate) fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// Length of the vector.
    pub fn length(self) -> f64 {
        libm::sqrt(self.dot(self))
    }

    /// Distance between two places.
    pub fn distance(self, other: Self) -> f64 {
        (self - other).length()
    }

    /// How near the straight line between two places comes to the centre of the Earth.
    pub(crate) fn closest_to_centre(self, other: Self) -> f64 {
        let range = other - self;
        let length_squared = range.dot(range);
        if length_squared == 0.0 {
            return self.length();
        }
        let share = (-self.dot(range) / length_squared).clamp(0.0, 1.0);
        (self + range * share).length()
    }
}

impl Add for Vector {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }
}

impl Sub for Vector {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }
}

impl Mul<f64> for Vector {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self::new(self.x * factor, self.y * factor, self.z * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_between_two_places_grazes_the_earth_at_its_middle_or_at_an_end() {
        let (left, right) = (Vector::new(-5.0, 3.0, 0.0), Vector::new(5.0, 3.0, 0.0));
        assert_eq!(left.closest_to_centre(right), 3.0);
        let further = Vector::new(15.0, 3.0, 0.0);
        assert_eq!(right.closest_to_centre(further), right.length());
        assert_eq!(right.closest_to_centre(right), right.length());
    }
}
