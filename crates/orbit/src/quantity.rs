//! Lengths and angles as people write them: `550 km`, `53 deg`.

use std::fmt;
use std::str::FromStr;

/// A length in kilometres.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Km(pub f64);

/// An angle in degrees.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Degrees(pub f64);

/// A speed over the ground in kilometres an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Speed(pub f64);

impl Degrees {
    /// The same angle in radians.
    pub(crate) fn radians(self) -> f64 {
        self.0 * (std::f64::consts::PI / 180.0)
    }

    /// The angle of so many radians.
    pub(crate) fn from_radians(radians: f64) -> Self {
        Self(radians * (180.0 / std::f64::consts::PI))
    }
}

impl fmt::Display for Km {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} km", self.0)
    }
}

impl fmt::Display for Degrees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} deg", self.0)
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} km/h", self.0)
    }
}

/// The finite number before `unit`.
fn before(text: &str, unit: &str) -> Option<f64> {
    let number = text.trim().strip_suffix(unit)?.trim_end();
    number.parse().ok().filter(|value: &f64| value.is_finite())
}

impl FromStr for Km {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a length: write it in km, such as \"550 km\"");
        before(text, "km").map(Self).ok_or_else(wrong)
    }
}

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        /// Kilometres an hour in a metre a second, and in a knot.
        const UNITS: [(&str, f64); 3] = [("km/h", 1.0), ("m/s", 3.6), ("kn", 1.852)];
        let speed = UNITS.iter().find_map(|(unit, factor)| Some(before(text, unit)? * factor));
        let wrong = || {
            format!("`{text}` is not a speed: write it in km/h, m/s or kn, such as \"900 km/h\"")
        };
        speed.map(Self).ok_or_else(wrong)
    }
}

impl FromStr for Degrees {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not an angle: write it in deg, such as \"53 deg\"");
        before(text, "deg").map(Self).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_angles_read_as_people_write_them() {
        assert_eq!("550 km".parse(), Ok(Km(550.0)));
        assert_eq!("-31.6deg".parse(), Ok(Degrees(-31.6)));
        for value in [Degrees(86.4), Degrees(0.0)] {
            assert_eq!(value.to_string().parse(), Ok(value));
        }
    }

    #[test]
    fn speeds_read_in_the_units_of_roads_physics_and_the_sea() {
        for (text, speed) in [("900 km/h", 900.0), ("10 m/s", 36.0), ("20 kn", 37.04)] {
            assert_eq!(text.parse(), Ok(Speed(speed)), "{text}");
        }
        assert!("900".parse::<Speed>().expect_err("no unit").contains("\"900 km/h\""));
    }

    #[test]
    fn a_quantity_without_its_unit_is_refused() {
        for wrong in ["550", "550 m", "inf km", "NaN km", "km", ""] {
            assert!(wrong.parse::<Km>().expect_err(wrong).contains("\"550 km\""));
        }
        assert!("53 km".parse::<Degrees>().is_err());
    }
}
