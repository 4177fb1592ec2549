//! Constellations in TOML.

use bentpipe_units::{Degrees, Km};
use serde::Deserialize;

use super::quantity::Quantity;

/// A constellation: its shells.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConstellationFile {
    pub(crate) name: String,
    /// What it is and where its parameters come from; for people.
    #[serde(default, rename = "description")]
    _description: String,
    pub(crate) shells: Vec<ShellTable>,
}

/// A shell: planes of circular orbits, or satellites above longitudes of the equator.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShellTable {
    pub(crate) name: Option<String>,
    pub(crate) elevation_mask: Quantity<Degrees>,
    pub(crate) longitudes: Option<Vec<f64>>,
    pub(crate) altitude: Option<Quantity<Km>>,
    pub(crate) inclination: Option<Quantity<Degrees>>,
    pub(crate) planes: Option<u16>,
    pub(crate) satellites_per_plane: Option<u16>,
    /// 360 degrees over the planes when left out.
    pub(crate) plane_spacing: Option<Quantity<Degrees>>,
    /// How far every other plane is ahead.
    pub(crate) stagger: Option<Quantity<Degrees>>,
    /// `F` of Walker's notation.
    pub(crate) walker_phasing: Option<u16>,
    pub(crate) isl: Option<IslTable>,
}

/// Links between satellites.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IslTable {
    pub(crate) pattern: PatternName,
    pub(crate) along: Option<u8>,
    pub(crate) across: Option<u8>,
    pub(crate) seam: Option<SeamName>,
    pub(crate) longitude_threshold: Option<Quantity<Degrees>>,
    pub(crate) nearest: Option<u8>,
    pub(crate) latitude_limit: Option<Quantity<Degrees>>,
    pub(crate) grazing_altitude: Option<Quantity<Km>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PatternName {
    Grid,
    Nearest,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SeamName {
    Open,
    Closed,
    Handover,
}
