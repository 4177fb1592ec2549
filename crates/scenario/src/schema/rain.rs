//! Rain on a link in a scenario file.

use bentpipe_link::rain;
use bentpipe_units::{Decibels, Degrees, Gigahertz, Km, Percent, RainRate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::named::{Choice, Named};
use super::quantity::Quantity;

/// Rain on the way between a station and a satellite: a file of its attenuation, or what the climate of the station is like;
/// and what the modem does about it. What a direction leaves out is that of the link.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RainTable {
    /// A file of the attenuation over time, in place of the climate.
    pub attenuation: Option<Named<AttenuationTable>>,
    /// Frequency of the wave, 1 to 55 GHz.
    pub frequency: Option<Quantity<Gigahertz>>,
    /// Elevation of the satellite, 5 to 90 deg.
    pub elevation: Option<Quantity<Degrees>>,
    /// Polarization of the wave (default: circular).
    pub polarization: Option<PolarizationName>,
    /// Latitude of the station, -90 to 90 deg.
    pub latitude: Option<Quantity<Degrees>>,
    /// Height of the station above the sea, -0.5 to 6 km (default: 0 km).
    pub station_height: Option<Quantity<Km>>,
    /// Height above the sea below which it rains, 0.1 to 8 km (default: by the latitude).
    pub rain_height: Option<Quantity<Km>>,
    /// Rain rate that is exceeded for 0.01 % of an average year, 0.1 to 250 mm/h.
    pub rain_rate: Option<Quantity<RainRate>>,
    /// Part of the year in which it rains on the way, 0.1 to 20 % (default: 5 %).
    pub rain_probability: Option<Quantity<Percent>>,
    /// The run begins at the attenuation that is exceeded for this part of the year, 0.001 to 5 % (default: drawn).
    pub exceeded: Option<Quantity<Percent>>,
    /// Time from one value of the attenuation to the next, 10 ms to 10 min (default: 1 s).
    pub step: Option<Quantity<Span>>,
    /// Es/N0 without rain, -10 to 50 dB; `rate` is that of the modulation that it carries.
    pub clear_sky: Option<Quantity<Decibels>>,
    /// Modulation and coding that never changes, such as "8PSK 3/4"; in place of `acm`.
    pub modcod: Option<String>,
    /// How modulation and coding follow the attenuation.
    pub acm: Option<AcmTable>,
}

/// A file of attenuation: its name alone, or a table with it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttenuationTable {
    /// The file, beside the scenario file: CSV with the columns time_s and attenuation_db.
    pub file: String,
    /// So much of it is over when the run begins (default: nothing).
    pub start: Option<Quantity<Span>>,
    /// It begins anew at its end (default: true).
    #[serde(rename = "loop")]
    pub repeats: Option<bool>,
    /// Its decibels are multiplied by this (default: 1).
    pub scale: Option<f64>,
}

impl Choice for AttenuationTable {
    const KEY: &'static str = "file";
    const EXPECTED: &'static str =
        "the file of an attenuation such as \"storm.csv\", or a table with it";
    const SHORT: Option<&'static str> = Some(".+");

    fn short(text: &str) -> Option<Result<Self, String>> {
        let (file, start, repeats, scale) = (text.to_owned(), None, None, None);
        Some(Ok(Self { file, start, repeats, scale }))
    }
}

/// How the field of a wave lies to the horizon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PolarizationName {
    /// Along the horizon.
    Horizontal,
    /// Across it.
    Vertical,
    /// It turns.
    #[default]
    Circular,
}

impl From<PolarizationName> for rain::Polarization {
    fn from(name: PolarizationName) -> Self {
        match name {
            PolarizationName::Horizontal => Self::Horizontal,
            PolarizationName::Vertical => Self::Vertical,
            PolarizationName::Circular => Self::Circular,
        }
    }
}

/// Adaptive coding and modulation.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcmTable {
    /// Those of DVB-S2 to choose from (default: all).
    pub modcods: Option<Vec<String>>,
    /// Es/N0 that is kept above the threshold, 0 to 20 dB (default: 1 dB).
    pub margin: Option<Quantity<Decibels>>,
    /// Es/N0 on top of that until a better one is taken again, 0 to 20 dB (default: 0.5 dB).
    pub hysteresis: Option<Quantity<Decibels>>,
    /// From a change of the attenuation to the modulation that answers it, up to 60 s (default: the round trip over the
    /// link by its `delay`).
    pub delay: Option<Quantity<Span>>,
}

/// Keys that say what the climate is like.
const CLIMATE: [&str; 10] = [
    "frequency",
    "elevation",
    "polarization",
    "latitude",
    "station_height",
    "rain_height",
    "rain_rate",
    "rain_probability",
    "exceeded",
    "step",
];

impl RainTable {
    /// This table, with the values of another one where it has none.
    pub(crate) fn or(&self, other: &Self) -> Self {
        Self {
            attenuation: self.attenuation.clone().or_else(|| other.attenuation.clone()),
            frequency: self.frequency.or(other.frequency),
            elevation: self.elevation.or(other.elevation),
            polarization: self.polarization.or(other.polarization),
            latitude: self.latitude.or(other.latitude),
            station_height: self.station_height.or(other.station_height),
            rain_height: self.rain_height.or(other.rain_height),
            rain_rate: self.rain_rate.or(other.rain_rate),
            rain_probability: self.rain_probability.or(other.rain_probability),
            exceeded: self.exceeded.or(other.exceeded),
            step: self.step.or(other.step),
            clear_sky: self.clear_sky.or(other.clear_sky),
            modcod: self.modcod.clone().or_else(|| other.modcod.clone()),
            acm: self.acm.clone().or_else(|| other.acm.clone()),
        }
    }

    /// Whether it has a value under a key.
    pub(crate) fn has(&self, key: &str) -> bool {
        match key {
            "attenuation" => self.attenuation.is_some(),
            "frequency" => self.frequency.is_some(),
            "elevation" => self.elevation.is_some(),
            "polarization" => self.polarization.is_some(),
            "latitude" => self.latitude.is_some(),
            "station_height" => self.station_height.is_some(),
            "rain_height" => self.rain_height.is_some(),
            "rain_rate" => self.rain_rate.is_some(),
            "rain_probability" => self.rain_probability.is_some(),
            "exceeded" => self.exceeded.is_some(),
            "step" => self.step.is_some(),
            "clear_sky" => self.clear_sky.is_some(),
            "modcod" => self.modcod.is_some(),
            "acm" => self.acm.is_some(),
            _ => false,
        }
    }

    /// A key that says what the climate is like, if there is one.
    pub(crate) fn climate(&self) -> Option<&'static str> {
        CLIMATE.into_iter().find(|key| self.has(key))
    }
}
