//! Places on the ground, by coordinates or by the name of a city.

use std::fmt;
use std::str::FromStr;

use bentpipe_units::Degrees;

use crate::OrbitError;

/// A place on the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    latitude: Degrees,
    longitude: Degrees,
}

impl Place {
    /// The place at a latitude in -90..=90 and a longitude in -180..=180; north and east are
    /// positive.
    ///
    /// # Errors
    /// When one of them is out of range.
    pub fn new(latitude: Degrees, longitude: Degrees) -> Result<Self, OrbitError> {
        for (name, value, limit) in
            [("latitude", latitude.0, 90.0), ("longitude", longitude.0, 180.0)]
        {
            if value.is_nan() || value.abs() > limit {
                let message = format!("{value} lies outside -{limit}..={limit} degrees");
                return Err(OrbitError::invalid(name, message));
            }
        }
        Ok(Self { latitude, longitude })
    }

    /// The place at a latitude that is right and a longitude of any number of turns.
    pub(crate) fn wrapped(latitude: Degrees, longitude: Degrees) -> Self {
        let turns = libm::floor((longitude.0 + 180.0) / 360.0);
        Self { latitude, longitude: Degrees(longitude.0 - 360.0 * turns) }
    }

    pub(crate) const fn known(latitude: f64, longitude: f64) -> Self {
        Self { latitude: Degrees(latitude), longitude: Degrees(longitude) }
    }

    /// Degrees north of the equator.
    pub const fn latitude(self) -> Degrees {
        self.latitude
    }

    /// Degrees east of Greenwich.
    pub const fn longitude(self) -> Degrees {
        self.longitude
    }

    /// The angle between two places, seen from the centre of the Earth.
    pub fn arc_to(self, other: Self) -> Degrees {
        let unit = |p: Self| crate::Vector::towards(p.latitude.radians(), p.longitude.radians());
        let (a, b) = (unit(self), unit(other));
        let half_chord = a.distance(b) / 2.0;
        Degrees::from_radians(2.0 * libm::asin(half_chord.min(1.0)))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.latitude.0, self.longitude.0)
    }
}

impl FromStr for Place {
    type Err = String;

    /// Reads `LAT,LON` in degrees or the name of one of [`cities`], whatever its capital letters.
    fn from_str(text: &str) -> Result<Self, String> {
        let same = |name: &str| name.eq_ignore_ascii_case(text.trim());
        if let Some((_, place)) = CITIES.iter().find(|(name, _)| same(name)) {
            return Ok(*place);
        }
        let numbers = text.split_once(',').and_then(|(latitude, longitude)| {
            Some((latitude.trim().parse().ok()?, longitude.trim().parse().ok()?))
        });
        let (latitude, longitude) = numbers.ok_or_else(|| {
            format!("`{text}` is neither a city that is known nor LAT,LON such as 37.9,-122.3")
        })?;
        Self::new(Degrees(latitude), Degrees(longitude)).map_err(|error| error.to_string())
    }
}

/// The cities whose names are known, in the order of the alphabet.
pub fn cities() -> impl Iterator<Item = (&'static str, Place)> {
    CITIES.iter().copied()
}

/// Berkeley and Boston stand where the satellite examples of ns-2 have them.
static CITIES: &[(&str, Place)] = &[
    ("Accra", Place::known(5.6, -0.19)),
    ("Amsterdam", Place::known(52.37, 4.9)),
    ("Anchorage", Place::known(61.22, -149.9)),
    ("Athens", Place::known(37.98, 23.73)),
    ("Atlanta", Place::known(33.75, -84.39)),
    ("Auckland", Place::known(-36.85, 174.76)),
    ("Bangkok", Place::known(13.76, 100.5)),
    ("Beijing", Place::known(39.9, 116.4)),
    ("Berkeley", Place::known(37.9, -122.3)),
    ("Berlin", Place::known(52.52, 13.4)),
    ("Bogota", Place::known(4.71, -74.07)),
    ("Boston", Place::known(42.3, -71.1)),
    ("Brasilia", Place::known(-15.79, -47.88)),
    ("Buenos Aires", Place::known(-34.6, -58.38)),
    ("Cairo", Place::known(30.04, 31.24)),
    ("Cape Town", Place::known(-33.92, 18.42)),
    ("Chicago", Place::known(41.88, -87.63)),
    ("Dakar", Place::known(14.69, -17.45)),
    ("Dallas", Place::known(32.78, -96.8)),
    ("Delhi", Place::known(28.61, 77.21)),
    ("Denver", Place::known(39.74, -104.99)),
    ("Dubai", Place::known(25.2, 55.27)),
    ("Dublin", Place::known(53.35, -6.26)),
    ("Frankfurt", Place::known(50.11, 8.68)),
    ("Helsinki", Place::known(60.17, 24.94)),
    ("Hong Kong", Place::known(22.32, 114.17)),
    ("Honolulu", Place::known(21.31, -157.86)),
    ("Istanbul", Place::known(41.01, 28.98)),
    ("Jakarta", Place::known(-6.21, 106.85)),
    ("Johannesburg", Place::known(-26.2, 28.05)),
    ("Lagos", Place::known(6.52, 3.38)),
    ("Lima", Place::known(-12.05, -77.04)),
    ("Lisbon", Place::known(38.72, -9.14)),
    ("London", Place::known(51.51, -0.13)),
    ("Los Angeles", Place::known(34.05, -118.24)),
    ("Madrid", Place::known(40.42, -3.7)),
    ("Manila", Place::known(14.6, 120.98)),
    ("Mexico City", Place::known(19.43, -99.13)),
    ("Miami", Place::known(25.76, -80.19)),
    ("Montreal", Place::known(45.5, -73.57)),
    ("Moscow", Place::known(55.76, 37.62)),
    ("Mumbai", Place::known(19.08, 72.88)),
    ("Nairobi", Place::known(-1.29, 36.82)),
    ("New York", Place::known(40.71, -74.01)),
    ("Osaka", Place::known(34.69, 135.5)),
    ("Oslo", Place::known(59.91, 10.75)),
    ("Ottawa", Place::known(45.42, -75.7)),
    ("Paris", Place::known(48.86, 2.35)),
    ("Perth", Place::known(-31.95, 115.86)),
    ("Reykjavik", Place::known(64.15, -21.94)),
    ("Rio de Janeiro", Place::known(-22.91, -43.17)),
    ("Rome", Place::known(41.9, 12.5)),
    ("San Francisco", Place::known(37.77, -122.42)),
    ("Santiago", Place::known(-33.45, -70.67)),
    ("Sao Paulo", Place::known(-23.55, -46.63)),
    ("Seattle", Place::known(47.61, -122.33)),
    ("Seoul", Place::known(37.57, 126.98)),
    ("Shanghai", Place::known(31.23, 121.47)),
    ("Singapore", Place::known(1.35, 103.82)),
    ("Stockholm", Place::known(59.33, 18.07)),
    ("Sydney", Place::known(-33.87, 151.21)),
    ("Tehran", Place::known(35.69, 51.39)),
    ("Tokyo", Place::known(35.68, 139.69)),
    ("Toronto", Place::known(43.65, -79.38)),
    ("Tromso", Place::known(69.65, 18.96)),
    ("Vancouver", Place::known(49.28, -123.12)),
    ("Warsaw", Place::known(52.23, 21.01)),
    ("Washington", Place::known(38.91, -77.04)),
    ("Wellington", Place::known(-41.29, 174.78)),
    ("Zurich", Place::known(47.37, 8.54)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_as_coordinates_or_as_cities() {
        let berkeley = Place::known(37.9, -122.3);
        assert_eq!("37.9,-122.3".parse(), Ok(berkeley));
        assert_eq!(" 37.9 , -122.3 ".parse(), Ok(berkeley));
        assert_eq!("berkeley".parse(), Ok(berkeley));
        assert_eq!("NEW YORK".parse(), Ok(Place::known(40.71, -74.01)));
    }

    #[test]
    fn a_place_off_the_globe_says_which_number_is_wrong() {
        let said = |text: &str| text.parse::<Place>().expect_err(text);
        assert!(said("91,0").starts_with("latitude: 91"));
        assert!(said("0,181").starts_with("longitude: 181"));
        assert!(said("NaN,0").starts_with("latitude"));
        assert!(said("Atlantis").contains("37.9,-122.3"));
        assert!(said("1;2").contains("LAT,LON"));
    }

    #[test]
    fn the_cities_are_sorted_and_lie_on_the_globe() {
        assert!(CITIES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (name, place) in cities() {
            assert!(Place::new(place.latitude, place.longitude).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_quarter_of_the_globe_is_ninety_degrees() {
        let arc = Place::known(0.0, 170.0).arc_to(Place::known(0.0, -100.0));
        assert!((arc.0 - 90.0).abs() < 1e-9);
        assert!((Place::known(90.0, 0.0).arc_to(Place::known(-90.0, 50.0)).0 - 180.0).abs() < 1e-6);
    }
}
