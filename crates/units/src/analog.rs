//! Quantities that are real numbers, as people write them: `550 km`, `53 deg`, `12.5 dB`.

use std::fmt;
use std::str::FromStr;

/// A type over a finite number that is written before its unit.
macro_rules! analog {
    ($(#[$doc:meta])* $name:ident, $unit:literal, $article:literal, $quantity:literal, $example:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
        pub struct $name(pub f64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{} ", $unit), self.0)
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                before(text, $unit).map(Self).ok_or_else(|| {
                    format!(
                        "`{text}` is not {} {}: write it in {}, such as \"{}\"",
                        $article, $quantity, $unit, $example
                    )
                })
            }
        }
    };
}

analog!(
    /// A length in kilometres.
    Km, "km", "a", "length", "550 km"
);
analog!(
    /// An angle in degrees.
    Degrees, "deg", "an", "angle", "53 deg"
);
analog!(
    /// A ratio of powers, or an attenuation, in decibels.
    Decibels, "dB", "a", "ratio", "12.5 dB"
);
analog!(
    /// A frequency in gigahertz.
    Gigahertz, "GHz", "a", "frequency", "20 GHz"
);
analog!(
    /// A rain rate in millimetres per hour.
    RainRate, "mm/h", "a", "rain rate", "42 mm/h"
);
analog!(
    /// A part of a whole, mostly of the time, in percent.
    Percent, "%", "a", "percentage", "0.1 %"
);

/// A speed over the ground in kilometres an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Speed(pub f64);

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} km/h", self.0)
    }
}

impl FromStr for Speed {
    type Err = String;

    /// Reads kilometres an hour, metres a second or knots.
    fn from_str(text: &str) -> Result<Self, String> {
        const UNITS: [(&str, f64); 3] = [("km/h", 1.0), ("m/s", 3.6), ("kn", 1.852)];
        let speed = UNITS.iter().find_map(|(unit, factor)| Some(before(text, unit)? * factor));
        speed.map(Self).ok_or_else(|| {
            format!("`{text}` is not a speed: write it in km/h, m/s or kn, such as \"900 km/h\"")
        })
    }
}

impl Degrees {
    /// The same angle in radians.
    pub fn radians(self) -> f64 {
        self.0 * (std::f64::consts::PI / 180.0)
    }

    /// The angle of so many radians.
    pub fn from_radians(radians: f64) -> Self {
        Self(radians * (180.0 / std::f64::consts::PI))
    }
}

/// The finite number before `unit`.
fn before(text: &str, unit: &str) -> Option<f64> {
    let number = text.trim().strip_suffix(unit)?.trim_end();
    number.parse().ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_people_write_them() {
        assert_eq!("550 km".parse(), Ok(Km(550.0)));
        assert_eq!("-31.6deg".parse(), Ok(Degrees(-31.6)));
        assert_eq!("-2.35 dB".parse(), Ok(Decibels(-2.35)));
        assert_eq!("0.01%".parse(), Ok(Percent(0.01)));
        assert_eq!("42 mm/h".parse(), Ok(RainRate(42.0)));
        for value in [Degrees(86.4), Degrees(0.0)] {
            assert_eq!(value.to_string().parse(), Ok(value));
        }
        assert_eq!(Gigahertz(19.7).to_string().parse(), Ok(Gigahertz(19.7)));
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
        let error = "20 MHz".parse::<Gigahertz>().expect_err("megahertz");
        assert_eq!(error, "`20 MHz` is not a frequency: write it in GHz, such as \"20 GHz\"");
    }
}
