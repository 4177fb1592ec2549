//! What rain takes on the way to a satellite, and for how much of the year: Recommendation ITU-R P.618-14, section 2.2.1.1.

use std::ops::RangeInclusive;

use bentpipe_units::{Decibels, Degrees, Gigahertz, Km, Percent, RainRate};

use super::error::RainError;
use super::specific::{Polarization, SpecificAttenuation};

/// Parts of the year for which the method is valid.
pub(super) const EXCEEDED: RangeInclusive<f64> = 0.001..=5.0;
const FREQUENCIES: RangeInclusive<f64> = 1.0..=55.0;
/// P.1853-1, annex 1, section 2: lower ones have no time series.
const ELEVATIONS: RangeInclusive<f64> = 5.0..=90.0;
const LATITUDES: RangeInclusive<f64> = -90.0..=90.0;
const HEIGHTS: RangeInclusive<f64> = -0.5..=6.0;
const RAIN_HEIGHTS: RangeInclusive<f64> = 0.1..=8.0;
const RAIN_RATES: RangeInclusive<f64> = 0.1..=250.0;
/// The part of the year, in percent, to which the rain rate belongs.
const REFERENCE: f64 = 0.01;

/// The way from a station to a satellite, and the climate there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlantPath {
    /// Of the wave, 1 to 55 GHz.
    pub frequency: Gigahertz,
    /// Of the satellite above the horizon, 5 to 90 degrees.
    pub elevation: Degrees,
    /// Of the wave.
    pub polarization: Polarization,
    /// Of the station, -90 to 90 degrees.
    pub latitude: Degrees,
    /// Of the station above the sea, -0.5 to 6 km.
    pub station_height: Km,
    /// Height above the sea below which it rains, 0.1 to 8 km; [`rain_height`] where no map is at hand.
    pub rain_height: Km,
    /// Rain rate that is exceeded for 0.01 % of an average year, 0.1 to 250 mm/h: P.837.
    pub rain_rate: RainRate,
}

/// The mean height of rain at a latitude: the formula of Recommendation ITU-R P.839-2, which knows no longitudes. The
/// map of P.839-4 is better where it is at hand.
pub fn rain_height(latitude: Degrees) -> Km {
    let Degrees(latitude) = latitude;
    let km = match latitude {
        north if north > 23.0 => 5.0 - 0.075 * (north - 23.0),
        south if south < -21.0 => 5.0 + 0.1 * (south + 21.0),
        _ => 5.0,
    };
    Km(km.max(0.0))
}

/// What rain takes on a way for how much of an average year.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RainStatistics {
    /// Exceeded for 0.01 % of the year: A0.01, in dB.
    reference: f64,
    latitude: f64,
    elevation: f64,
    sine: f64,
}

impl SlantPath {
    /// Steps 1 to 9.
    ///
    /// # Errors
    /// When a value is out of its range, or the station stands above the rain.
    pub fn statistics(&self) -> Result<RainStatistics, RainError> {
        self.check()?;
        let sine = libm::sin(self.elevation.radians());
        let cosine = libm::cos(self.elevation.radians());
        let rise = self.rain_height.0 - self.station_height.0;
        // Steps 2 and 3: the way below the rain height, and its length on the ground.
        let ground = rise / sine * cosine;
        // Step 5.
        let law = SpecificAttenuation::new(self.frequency, self.elevation, self.polarization);
        let specific = law.per_km(self.rain_rate).0;
        // Step 6: it rains that much on a part of the way only.
        let Gigahertz(frequency) = self.frequency;
        let horizontal = 1.0
            / (1.0 + 0.78 * libm::sqrt(ground * specific / frequency)
                - 0.38 * (1.0 - libm::exp(-2.0 * ground)));
        // Step 7: and up to another height.
        let zeta = Degrees::from_radians(libm::atan2(rise, ground * horizontal));
        let rainy = if zeta > self.elevation { ground * horizontal / cosine } else { rise / sine };
        let latitude = self.latitude.0.abs();
        let chi = (36.0 - latitude).max(0.0);
        let Degrees(elevation) = self.elevation;
        let vertical = 1.0
            / (1.0
                + libm::sqrt(sine)
                    * (31.0
                        * (1.0 - libm::exp(-(elevation / (1.0 + chi))))
                        * libm::sqrt(rainy * specific)
                        / (frequency * frequency)
                        - 0.45));
        // Steps 8 and 9.
        let reference = specific * rainy * vertical;
        Ok(RainStatistics { reference, latitude, elevation, sine })
    }

    fn check(&self) -> Result<(), RainError> {
        let ranges = [
            ("frequency", self.frequency.0, FREQUENCIES, "GHz"),
            ("elevation", self.elevation.0, ELEVATIONS, "deg"),
            ("latitude", self.latitude.0, LATITUDES, "deg"),
            ("station_height", self.station_height.0, HEIGHTS, "km"),
            ("rain_height", self.rain_height.0, RAIN_HEIGHTS, "km"),
            ("rain_rate", self.rain_rate.0, RAIN_RATES, "mm/h"),
        ];
        for (field, value, range, unit) in ranges {
            if !range.contains(&value) {
                let (least, most) = range.into_inner();
                let problem = format!("{value} {unit}: it must lie in {least} to {most} {unit}");
                return Err(RainError::new(field, problem));
            }
        }
        if self.rain_height.0 <= self.station_height.0 {
            let problem = format!(
                "{}: it must lie below the rain height, {}; above it never rains",
                self.station_height, self.rain_height
            );
            return Err(RainError::new("station_height", problem));
        }
        Ok(())
    }
}

impl RainStatistics {
    /// What is exceeded for this part of an average year, 0.001 to 5 %: step 10.
    pub fn exceeded(&self, part: Percent) -> Decibels {
        let p = part.0.clamp(*EXCEEDED.start(), *EXCEEDED.end());
        let beta = if p >= 1.0 || self.latitude >= 36.0 {
            0.0
        } else if self.elevation >= 25.0 {
            -0.005 * (self.latitude - 36.0)
        } else {
            -0.005 * (self.latitude - 36.0) + 1.8 - 4.25 * self.sine
        };
        let exponent = 0.655 + 0.033 * libm::log(p)
            - 0.045 * libm::log(self.reference)
            - beta * (1.0 - p) * self.sine;
        Decibels(self.reference * libm::pow(p / REFERENCE, -exponent))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::path;
    use super::*;

    #[test]
    fn attenuations_agree_with_the_validation_examples() {
        // ITU-R Study Group 3, validation examples for P.618-13 (the method of P.618-14 is the same), as ITU-Rpy has them
        // in `test/test_data/618/ITURP618-13_A_rain.csv`: latitude, station height, frequency, elevation, polarization,
        // R0.01, the way below the rain height, and A at 1, 0.1, 0.01 and 0.001 %.
        #[rustfmt::skip]
        let examples = [
            (51.5, 0.031382984, 14.25, 31.07699124, Polarization::Horizontal, 26.48052, 4.690817392, [0.495317069, 2.185847422, 6.798072267, 14.89982248]),
            (41.9, 0.046122988, 29.0, 40.232036, Polarization::Horizontal, 33.936232, 4.646913874, [2.823465634, 10.73100773, 28.74272193, 54.25561152]),
            (22.9, 0.0, 14.25, 22.27833468, Polarization::Horizontal, 50.639304, 10.96995451, [1.706901281, 8.271647438, 18.94410356, 29.91171296]),
            (25.78, 0.00861728, 29.0, 52.67898486, Polarization::Horizontal, 78.2994993, 5.735098894, [6.654855651, 25.56295492, 58.47438336, 93.39562548]),
            (3.133, 0.051251456, 14.25, 85.80459566, Polarization::Vertical, 99.15117186, 4.91990658, [2.001026654, 11.00145492, 21.61057916, 28.81950409]),
            (9.05, 2.539861878, 29.0, 20.14335809, Polarization::Vertical, 42.91007183, 6.516372436, [3.70158394, 19.23910378, 35.97037673, 45.67419098]),
        ];
        for (latitude, height, ghz, elevation, polarization, rain, way, attenuations) in examples {
            let elevation = Degrees(elevation);
            let path = SlantPath {
                frequency: Gigahertz(ghz),
                elevation,
                polarization,
                latitude: Degrees(latitude),
                station_height: Km(height),
                rain_height: Km(height + way * elevation.radians().sin()),
                rain_rate: RainRate(rain),
            };
            let statistics = path.statistics().expect("a way");
            for (part, expected) in [1.0, 0.1, 0.01, 0.001].into_iter().zip(attenuations) {
                let Decibels(db) = statistics.exceeded(Percent(part));
                assert!((db / expected - 1.0).abs() < 1e-5, "{latitude}, {part} %: {db}");
            }
        }
    }

    #[test]
    fn attenuations_are_those_of_the_table_in_the_documentation() {
        for (ghz, table) in
            [(20.0, [17.2, 6.1, 3.3, 1.5, 0.7]), (30.0, [33.2, 12.6, 7.0, 3.4, 1.6])]
        {
            let path = SlantPath {
                frequency: Gigahertz(ghz),
                elevation: Degrees(37.0),
                polarization: Polarization::Circular,
                latitude: Degrees(45.5),
                station_height: Km(0.1),
                rain_height: Km(3.1),
                rain_rate: RainRate(40.0),
            };
            let statistics = path.statistics().expect("a way");
            let exceeded =
                [0.01, 0.1, 0.3, 1.0, 3.0].map(|part| statistics.exceeded(Percent(part)).0);
            assert_eq!(exceeded.map(|db| (10.0 * db).round() / 10.0), table, "{ghz} GHz");
        }
    }

    #[test]
    fn the_rain_height_falls_towards_the_poles() {
        for (latitude, km) in
            [(0.0, 5.0), (23.0, 5.0), (-21.0, 5.0), (51.5, 2.8625), (-34.0, 3.7), (-80.0, 0.0)]
        {
            assert!((rain_height(Degrees(latitude)).0 - km).abs() < 1e-9, "{latitude}");
        }
    }

    #[test]
    fn values_out_of_their_range_are_named() {
        let good = path(20.0);
        assert!(good.statistics().is_ok());
        let refused = |path: SlantPath| path.statistics().expect_err("refused").to_string();
        let high = SlantPath { frequency: Gigahertz(60.0), ..good };
        assert_eq!(refused(high), "`frequency`: 60 GHz: it must lie in 1 to 55 GHz");
        let low = SlantPath { elevation: Degrees(4.0), ..good };
        assert_eq!(refused(low), "`elevation`: 4 deg: it must lie in 5 to 90 deg");
        let above = SlantPath { station_height: Km(4.0), ..good };
        assert!(refused(above).starts_with("`station_height`: 4 km: it must lie below the rain"));
    }
}
