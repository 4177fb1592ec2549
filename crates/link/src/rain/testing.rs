//! The way to a satellite that tests look along.

use bentpipe_units::{Degrees, Gigahertz, Km, RainRate};

use super::slant_path::SlantPath;
use super::specific::Polarization;

/// A station in the middle latitudes.
pub(super) fn path(frequency: f64) -> SlantPath {
    SlantPath {
        frequency: Gigahertz(frequency),
        elevation: Degrees(35.0),
        polarization: Polarization::Circular,
        latitude: Degrees(45.0),
        station_height: Km(0.2),
        rain_height: Km(3.0),
        rain_rate: RainRate(40.0),
    }
}
