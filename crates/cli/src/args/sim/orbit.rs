//! `bentpipe orbit`.

use std::path::PathBuf;

use bentpipe_orbit::{Epoch, Policy, Slots};
use bentpipe_scenario::Spot;
use bentpipe_units::{Degrees, Span};
use clap::{Args as ClapArgs, ValueEnum};

pub(super) const ORBIT_EXAMPLES: &str = "Examples:
  bentpipe orbit iridium --from Berkeley --to Boston
  bentpipe orbit starlink --from London --to Singapore --duration \"10 min\" --svg map.svg
  bentpipe orbit iridium+geo --from 37.9,-122.3 --to Boston --policy highest-elevation --csv samples.csv
  bentpipe orbit my-shells.toml --from Oslo --to Tromso --update-interval \"1 s\" --json
  bentpipe orbit active.tle --from Paris --to Madrid --gateway Lisbon --mask 25
  bentpipe orbit starlink --from London --to Boston --to Tokyo --duration \"1 h\" --policy shortest-path
  bentpipe orbit active.tle --from Oslo --to Rome --isl 4 --duration \"1 h\" --czml scene.czml --geojson map.geojson

`bentpipe list constellations` names those that are known; geo:-101,12.5 puts satellites over other
longitudes. --svg and --geojson show the network at the first sample.";

/// The ends of one route.
#[derive(Debug, ClapArgs)]
pub(crate) struct Ends {
    /// Where the route begins: a city or LAT,LON in degrees
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    pub(crate) from: Spot,
    /// Where it ends
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    pub(crate) to: Spot,
}

/// `bentpipe orbit`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Orbit {
    /// A known constellation, a TOML file of shells, or a file of element sets (TLE or OMM)
    #[arg(value_name = "NAME|FILE")]
    pub(crate) constellation: String,
    /// Where the route begins: a city or LAT,LON in degrees; may be given several times
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true, required = true)]
    pub(crate) from: Vec<Spot>,
    /// Where it ends; may be given several times, which makes a table of all pairs
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true, required = true)]
    pub(crate) to: Vec<Spot>,
    /// A station that forwards, joined to the others by cable; may be given several times
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    pub(crate) gateway: Vec<Spot>,
    /// The time that is sampled
    #[arg(long, value_name = "TIME", default_value = "1 d", value_parser = duration)]
    pub(crate) duration: Span,
    /// Time from one sample to the next
    #[arg(long, value_name = "TIME", default_value = "1 s", value_parser = some_time)]
    pub(crate) step: Span,
    /// Time of the first sample
    #[arg(long, value_name = "TIME", default_value = "0 s")]
    pub(crate) first: Span,
    /// The places of --to are hosts on the ground, which cables join to the nearest point of presence
    #[arg(long)]
    pub(crate) to_host: bool,
    #[command(flatten)]
    pub(crate) ground: OnTheGround,
    /// Minimum elevation in degrees [default: that of the constellation, 10 for element sets]
    #[arg(long, value_name = "DEGREES", value_parser = mask)]
    pub(crate) mask: Option<Degrees>,
    /// Link each satellite of an element set to its N nearest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) isl: Option<u8>,
    /// When the run of element sets starts, in UTC [default: their latest epoch]
    #[arg(long, value_name = "TIME")]
    pub(crate) start: Option<Epoch>,
    /// Write each sample into this CSV file
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) csv: Option<PathBuf>,
    /// Write each handover into this CSV file
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) handovers: Option<PathBuf>,
    /// Draw a map and the delay over time
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// Write satellites and routes over time as a scene for Cesium
    #[arg(long, value_name = "FILE.czml")]
    pub(crate) czml: Option<PathBuf>,
    /// Write satellites, links and the route at the first sample as GeoJSON
    #[arg(long, value_name = "FILE.geojson")]
    pub(crate) geojson: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A policy of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroundPolicy {
    /// Keep a satellite until it is below the mask
    #[value(alias = "hold")]
    LongestHold,
    /// Take the highest at every check
    #[value(alias = "best")]
    HighestElevation,
    /// Take the one over which packets arrive first
    ShortestPath,
    /// Be assigned one every 15 s, as Starlink's terminals are
    Slots,
}

/// What stands on the ground, and how it is linked.
#[derive(Debug, ClapArgs)]
pub(crate) struct OnTheGround {
    /// How the ends choose satellites [default: as the operator's terminals do]
    #[arg(long, value_enum)]
    pub(crate) policy: Option<GroundPolicy>,
    /// Whether the gateways and points of presence of the operator are there [default: where they are known, unless there
    /// is a --gateway]
    #[arg(long, value_name = "operator|none", value_parser = ground_stations)]
    pub(crate) ground_stations: Option<bool>,
    /// Time from one check of the links to the next
    #[arg(long, alias = "check", value_name = "TIME", default_value = "10 s", value_parser = some_time)]
    pub(crate) update_interval: Span,
}

fn ground_stations(text: &str) -> Result<bool, String> {
    match text {
        "operator" => Ok(true),
        "none" => Ok(false),
        _ => Err("it is `operator` or `none`".to_owned()),
    }
}

pub(super) fn some_time(text: &str) -> Result<Span, String> {
    above_zero(days(text)?)
}

/// How long something takes that takes some time.
#[cfg(feature = "net")]
pub(super) fn some_duration(text: &str) -> Result<Span, String> {
    above_zero(duration(text)?)
}

fn above_zero(span: Span) -> Result<Span, String> {
    if span.is_zero() { Err("it must be more than 0 s".to_owned()) } else { Ok(span) }
}

/// How long something takes, which may be in days; a number alone is seconds.
pub(super) fn duration(text: &str) -> Result<Span, String> {
    match text.trim().parse::<u32>() {
        Ok(seconds) => Ok(Span::from_secs(u64::from(seconds))),
        Err(_) => days(text),
    }
}

/// A time, which may be in days.
fn days(text: &str) -> Result<Span, String> {
    const DAY: u64 = 86_400;
    let number = text.trim().strip_suffix('d').and_then(|days| days.trim_end().parse::<u32>().ok());
    match number {
        Some(days) => Ok(Span::from_secs(u64::from(days) * DAY)),
        None => text.parse().map_err(|error| format!("{error}, or days such as \"1 d\"")),
    }
}

impl From<GroundPolicy> for Policy {
    fn from(policy: GroundPolicy) -> Self {
        match policy {
            GroundPolicy::LongestHold => Self::LongestHold,
            GroundPolicy::HighestElevation => Self::HighestElevation,
            GroundPolicy::ShortestPath => Self::ShortestPath,
            GroundPolicy::Slots => Self::Slots(Slots::STARLINK),
        }
    }
}

fn mask(text: &str) -> Result<Degrees, String> {
    let degrees = text.parse().ok().filter(|degrees| (0.0..90.0).contains(degrees));
    degrees.map(Degrees).ok_or_else(|| format!("`{text}` is not an elevation in 0..90 degrees"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_without_a_unit_is_seconds_and_other_times_need_one() {
        for (text, seconds) in [("60", 60), ("60 s", 60), ("1 min", 60), ("2 d", 172_800)] {
            assert_eq!(duration(text), Ok(Span::from_secs(seconds)), "{text}");
        }
        for text in ["", "-1", "6 parsecs", "1.5"] {
            let error = duration(text).expect_err(text);
            assert!(error.contains("ns, us, ms, s, min, h"), "{error}");
        }
        assert!(some_time("20").is_err_and(|error| error.contains("250 ms")));
    }
}
