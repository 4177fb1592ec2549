//! The gateways and points of presence of a constellation's operator.

use bentpipe_orbit::{KNOWN, Operator, Policy, Site, Slots, Station, connect, operator};
use bentpipe_sim::LinkSpec;
use bentpipe_units::Span;

use crate::problem::{Problem, problem};
use crate::schema::constellation::{
    ConstellationTable, GroundStationsName, PolicyName, SlotsTable,
};

/// Shortest slot of time.
const LEAST_PERIOD: Span = Span::from_millis(1);

/// How the constellation is operated, if one is named that has an operator.
fn known_operator(table: &ConstellationTable) -> Option<&'static Operator> {
    table.name.as_deref().and_then(operator)
}

/// The stations of the operator that stand beside those of the file.
pub(super) fn sites(table: &ConstellationTable) -> Result<&'static [Site], Problem> {
    let sites = known_operator(table).map_or(&[][..], |operator| operator.sites);
    match table.ground_stations {
        Some(GroundStationsName::None) => Ok(&[]),
        Some(GroundStationsName::Operator) if sites.is_empty() => {
            let known = KNOWN.iter().filter(|known| {
                operator(known.name).is_some_and(|operator| !operator.sites.is_empty())
            });
            let known: Vec<&str> = known.map(|known| known.name).collect();
            let message =
                format!("none are known of this constellation; they are of {}", known.join(", "));
            problem(&["constellation", "ground_stations"], message)
        }
        Some(GroundStationsName::Operator) | None => Ok(sites),
    }
}

/// How a station chooses satellites when its own table and that of all say `named`.
pub(super) fn policy(
    table: &ConstellationTable,
    named: Option<PolicyName>,
    seed: u64,
) -> Result<Policy, Problem> {
    let usual = known_operator(table).map_or(Policy::LongestHold, |operator| operator.policy);
    Ok(match named {
        Some(PolicyName::LongestHold) => Policy::LongestHold,
        Some(PolicyName::HighestElevation) => Policy::HighestElevation,
        Some(PolicyName::Second) => Policy::Second,
        Some(PolicyName::All) => Policy::All,
        Some(PolicyName::ShortestPath) => Policy::ShortestPath,
        Some(PolicyName::Slots) => Policy::Slots(slots(&table.slots, seed)?),
        None => match usual {
            Policy::Slots(_) => Policy::Slots(slots(&table.slots, seed)?),
            other => other,
        },
    })
}

fn slots(table: &SlotsTable, seed: u64) -> Result<Slots, Problem> {
    let usual = Slots::STARLINK;
    let slots = Slots {
        period: table.period.map_or(usual.period, |span| span.0),
        first: table.first.map_or(usual.first, |span| span.0),
        geo_separation: table.geo_separation.map_or(usual.geo_separation, |angle| angle.0),
        seed,
    };
    let at = |key| ["constellation", "slots", key];
    if slots.period < LEAST_PERIOD {
        let message = format!("{} is too short: 1 ms or more, such as 15 s", slots.period);
        return problem(&at("period"), message);
    }
    if !(0.0..=90.0).contains(&slots.geo_separation.0) {
        let message = format!("{} deg does not lie in 0..=90 deg", slots.geo_separation.0);
        return problem(&at("geo_separation"), message);
    }
    Ok(slots)
}

/// The cables between the stations of an operator, and to those of the file that cables reach. They have no rate.
pub(super) fn cables(stations: &[Station]) -> Vec<LinkSpec> {
    let cable = |ends: [usize; 2]| LinkSpec {
        name: ends.map(|end| stations[end].name.as_str()).join(" - "),
        ends,
        forward_link: Vec::new(),
        return_link: Vec::new(),
        mtu: None,
        tells_state: false,
        becn: false,
    };
    connect(stations).iter().map(|c| cable([c.a as usize, c.b as usize])).collect()
}
