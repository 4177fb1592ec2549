//! The constellation of a scenario file, and its stations.

use bentpipe_units::{BitRate, Degrees, Span};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::link::LinkDirection;
use super::named::Named;
use super::quantity::{Probability, Quantity, Room};
use super::track::TrackTable;

/// Satellites that carry the flows, and the stations on the ground.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstellationTable {
    /// A constellation that is known by name, as in `bentpipe orbit`: iridium, starlink, geo:-101, ...
    pub name: Option<String>,
    /// Or a file: shells in TOML, or element sets of real satellites; beside the scenario file.
    pub file: Option<String>,
    /// Satellites are used above this elevation (default: that of the constellation).
    pub elevation_mask: Option<Quantity<Degrees>>,
    /// When the run of element sets starts, in UTC (default: at their latest epoch).
    pub start: Option<String>,
    /// Satellites of element sets are linked to so many nearest ones (default: to none).
    pub nearest: Option<u8>,
    /// Time from one check of the links to the next (default: 10 s).
    #[serde(alias = "check")]
    pub update_interval: Option<Quantity<Span>>,
    /// How stations choose satellites (default: as the operator's terminals do, `longest-hold` where there is none, and
    /// `all` for gateways).
    pub policy: Option<PolicyName>,
    /// The slots of time of the policy `slots`.
    #[serde(default)]
    pub slots: SlotsTable,
    /// Whether the gateways and points of presence of the operator are there (default: `operator` where they are known).
    pub ground_stations: Option<GroundStationsName>,
    /// Links between the operator's gateways and satellites; without a rate unless it is given.
    #[serde(default)]
    pub gateway_links: SatelliteLinkTable,
    /// What a handover does to the links of a station.
    #[serde(default)]
    pub handover: HandoverTable,
    /// Links between stations and satellites.
    #[serde(default)]
    pub ground: SatelliteLinkTable,
    /// A satellite sends to all stations with the same `rate` and `queue` by one transmitter, as in ns-2, in place of one for
    /// each station.
    #[serde(default)]
    pub shared_downlinks: bool,
    /// Links between satellites.
    #[serde(default)]
    pub isl: SatelliteLinkTable,
    /// The stations by name: the nodes of the scenario.
    pub stations: IndexMap<String, StationTable>,
}

/// How a station chooses satellites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyName {
    /// Keeps a satellite while it is above the mask.
    #[serde(alias = "hold")]
    LongestHold,
    /// Takes the highest one at every check.
    #[serde(alias = "best")]
    HighestElevation,
    /// Takes the highest but one at every check.
    Second,
    /// Uses all that are above the mask.
    All,
    /// Packets take the satellite over which they arrive first.
    ShortestPath,
    /// Is assigned a satellite for each slot of time.
    Slots,
}

/// Slots of time for which satellites are assigned.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotsTable {
    /// From one assignment to the next (default: 15 s).
    pub period: Option<Quantity<Span>>,
    /// The second of each minute at which one assignment begins (default: 12 s).
    pub first: Option<Quantity<Span>>,
    /// Least angle to the arc of the geostationary satellites (default: 18 deg).
    pub geo_separation: Option<Quantity<Degrees>>,
}

/// Which gateways and points of presence there are besides the stations of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GroundStationsName {
    /// Those of the operator.
    Operator,
    /// None.
    None,
}

/// What happens to the links of a station when it takes another satellite.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoverTable {
    /// Nothing passes for so long: a time, or two between which it is drawn evenly (default: 0 s).
    pub outage: Option<OneOrTwo<Quantity<Span>>>,
    /// Probability that a packet is lost after the outage (default: 0).
    pub loss: Option<Probability>,
    /// Such losses end so long after the outage (default: 1 s).
    pub loss_time: Option<Quantity<Span>>,
    /// Until the next handover the station has this share of its rates: a number in 0..=1, or two between which it is
    /// drawn evenly (default: 1).
    pub rate: Option<OneOrTwo<f64>>,
}

/// A value, or two between which one is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "it is neither a value, such as \"20 ms\" or 0.5, nor a list of two")]
pub enum OneOrTwo<T> {
    /// Always the same.
    One(T),
    /// Drawn evenly.
    Two([T; 2]),
}

impl<T: Copy> OneOrTwo<T> {
    /// The least and the most.
    pub(crate) const fn both(self) -> [T; 2] {
        match self {
            Self::One(value) => [value, value],
            Self::Two(values) => values,
        }
    }
}

/// Links to or between satellites; their delay is that of the distance.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SatelliteLinkTable {
    /// Line rate; none sends at once.
    pub rate: Option<Quantity<BitRate>>,
    /// What may wait for the line: drop-tail.
    pub queue: Option<Quantity<Room>>,
    /// Probability that a bit is wrong.
    pub ber: Option<Probability>,
    /// Probability that a packet is lost.
    pub loss: Option<Probability>,
    /// What is different from stations to satellites; of no meaning between satellites.
    pub up: Option<LinkDirection>,
    /// What is different from satellites to stations; of no meaning between satellites.
    pub down: Option<LinkDirection>,
}

/// A station on the ground.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StationTable {
    /// A city that is known, or latitude and longitude in degrees such as "37.9,-122.3"
    /// [default: the name of the station]. "anywhere" is drawn anew with every seed.
    pub place: Option<String>,
    /// The southernmost and the northernmost latitude of "anywhere" (default: -60 deg and 60 deg).
    pub latitudes: Option<[Quantity<Degrees>; 2]>,
    /// It stands where this other station does, which has a place of its own.
    pub beside: Option<String>,
    /// It moves along a track, in place of `place`.
    pub track: Option<Named<TrackTable>>,
    /// Traffic of others passes through it.
    #[serde(default)]
    pub gateway: bool,
    /// It is a host on the ground that only cables reach: from the nearest point of presence of the operator, or those of
    /// `links`.
    #[serde(default)]
    pub host: bool,
    /// It uses satellites above this elevation (default: that of all).
    pub elevation_mask: Option<Quantity<Degrees>>,
    /// How it chooses satellites, if not as the others.
    pub policy: Option<PolicyName>,
    /// How many satellites of each shell it uses at a time (default: 1).
    pub links: Option<u8>,
    /// Names of the shells whose satellites it uses (default: all).
    #[serde(default)]
    pub shells: Vec<String>,
    /// Links between it and satellites, where they differ from those of the others.
    pub ground: Option<SatelliteLinkTable>,
}
