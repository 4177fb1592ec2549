//! From the `[constellation]` of a scenario file to what moves in a run.

use std::path::Path;

use bentpipe_link::{HandoverSpec, ModelSpec, Streams};
use bentpipe_orbit::{Cable, Epoch, Network, OrbitError, Policy, Role, Site, Station, Track};
use bentpipe_sim::{GroundSpec, LinkSpec, SatelliteNetworkSpec};
use bentpipe_units::{Instant, Span};

use super::constellation_file::{ConstellationOptions, open_constellation};
use super::ground_stations::{self, sites};
use super::link::{Origin, direction};
use super::places;
use super::track;
use crate::problem::{Problem, problem};
use crate::schema::constellation::{
    ConstellationTable, HandoverTable, OneOrTwo, SatelliteLinkTable, StationTable,
};
use crate::schema::file::ScenarioFile;
use crate::schema::link::LinkTable;
use crate::schema::named::Named;
use crate::schema::queue::QueueTable;

const TABLE: &str = "constellation";
/// Time from one check of the links to the next.
const CHECK: Span = Span::from_secs(10);
/// Losses after a handover end so long after the outage.
const LOSS_TIME: Span = Span::from_secs(1);
/// Numbers of nodes have sixteen bits in a run.
const MOST_NODES: usize = u16::MAX as usize;

/// The scenario with the stations of its constellation as its nodes.
pub(crate) fn with_stations(file: &ScenarioFile) -> Result<ScenarioFile, Problem> {
    let mut file = file.clone();
    match &file.constellation {
        Some(_) if !file.nodes.is_empty() => {
            let message = "the stations of the constellation are the nodes: leave the key out";
            return problem(&["nodes"], message);
        }
        Some(table) => {
            let own = table.stations.keys().cloned();
            let operators = sites(table)?.iter().map(|site| site.station().name);
            file.nodes = own.chain(operators).collect();
        }
        None if file.nodes.is_empty() => {
            return problem(&["nodes"], "missing: the names of the nodes, or a [constellation]");
        }
        None if file.links.is_empty() => {
            return problem(&["links"], "missing: without links nothing would arrive");
        }
        None => {}
    }
    Ok(file)
}

/// The constellation of a scenario that came from `source`, with its links as cables, to which those of the operator are
/// added. Cables without a delay of their own get that of the way through glass.
pub(crate) fn constellation(
    table: &ConstellationTable,
    origin: Origin<'_>,
    links: &mut Vec<LinkSpec>,
    seed: u64,
) -> Result<SatelliteNetworkSpec, Problem> {
    let streams = Streams::new(seed);
    let (key, name) = match (&table.name, &table.file) {
        (Some(name), None) => ("name", name.clone()),
        (None, Some(file)) => {
            let beside = Path::new(origin.source).parent().unwrap_or(Path::new(""));
            ("file", beside.join(file).to_string_lossy().into_owned())
        }
        _ => return problem(&[TABLE], "either a `name` or a `file` is needed"),
    };
    let start = match table.start.as_ref().map(|start| start.parse::<Epoch>()).transpose() {
        Ok(start) => start,
        Err(message) => return problem(&[TABLE, "start"], message.to_string()),
    };
    let mask = table.elevation_mask.map(|mask| mask.0);
    let options = ConstellationOptions { mask, nearest: table.nearest, start };
    let constellation = open_constellation(&name, &options).or_else(|error| {
        let message = error.to_string();
        let known = message.strip_prefix(&format!("{name}: ")).unwrap_or(&message);
        problem(&[TABLE, key], known)
    })?;
    if table.stations.is_empty() {
        return problem(&[TABLE, "stations"], "there is none: flows begin and end at stations");
    }
    let sites = sites(table)?;
    let (stations, satellites) = (table.stations.len() + sites.len(), constellation.satellites());
    if stations + satellites > MOST_NODES {
        let message = format!(
            "{satellites} satellites and {stations} stations: a run has at most {MOST_NODES} of both"
        );
        return problem(&[TABLE, key], message);
    }
    let stations: Result<Vec<_>, _> = table
        .stations
        .iter()
        .map(|(name, at)| station(table, name, at, &streams, origin))
        .collect();
    let mut stations = stations?;
    if sites.is_empty() {
        hosts_have_cables(&stations, links)?;
    } else {
        stations.extend(sites.iter().map(Site::station));
        links.extend(ground_stations::cables(&stations));
    }
    let cables: Vec<Cable> = links.iter().map(cable).collect();
    let check = table.update_interval.map_or(CHECK, |interval| interval.0);
    let network = Network::new(constellation, stations, &cables, check).or_else(|error| {
        let (path, message): (Vec<&str>, String) = match &error {
            OrbitError::NoCoverage { station, .. } => {
                (vec![TABLE, "stations", station], error.to_string())
            }
            OrbitError::Invalid { field, message } => match field.strip_prefix("station ") {
                Some(station) => (vec![TABLE, "stations", station], message.clone()),
                None => (vec![TABLE, field], message.clone()),
            },
            other => (vec![TABLE], other.to_string()),
        };
        problem(&path, message)
    })?;
    for (link, delay) in links.iter_mut().zip(network.cable_delays()) {
        for models in [&mut link.forward_link, &mut link.return_link] {
            if !models.iter().any(|model| matches!(model, ModelSpec::Delay(_))) {
                models.push(ModelSpec::Delay(delay));
            }
        }
    }
    let ground: Result<Vec<_>, _> =
        table.stations.iter().map(|(name, station)| ground(table, name, station, origin)).collect();
    let mut ground = ground?;
    if !sites.is_empty() {
        let of = |key| models(&["gateway_links"], key, &table.gateway_links, origin);
        let gateway = GroundSpec { up: of("up")?, down: of("down")? };
        ground.resize(ground.len() + sites.len(), gateway);
    }
    downlinks_are_there(table, &ground)?;
    Ok(SatelliteNetworkSpec {
        network,
        ground,
        shared_downlinks: table.shared_downlinks,
        isl: models(&["isl"], "isl", &table.isl, origin)?,
        handover: handover(&table.handover)?,
    })
}

/// Each host has a cable: no operator's network reaches it.
fn hosts_have_cables(stations: &[Station], links: &[LinkSpec]) -> Result<(), Problem> {
    for (number, station) in stations.iter().enumerate() {
        let cable = links.iter().any(|link| link.ends.contains(&number));
        if station.policy == Policy::CablesOnly && !cable {
            let message = "no cable reaches it: without `ground_stations` it needs one of `links` to a gateway";
            return problem(&[TABLE, "stations", &station.name, "host"], message);
        }
    }
    Ok(())
}

/// What is to be shared has a rate, which no handover changes.
fn downlinks_are_there(table: &ConstellationTable, ground: &[GroundSpec]) -> Result<(), Problem> {
    let has_line = |ground: &GroundSpec| matches!(ground.down[..], [ModelSpec::Rate { .. }, ..]);
    let message = if !table.shared_downlinks {
        return Ok(());
    } else if !ground.iter().any(has_line) {
        "there is nothing to share: no link to a station has a `rate` (and no `fades`)"
    } else if table.handover.rate.is_some() {
        "with a `rate` of `handover` each station has a transmitter of its own: leave one of them out"
    } else {
        return Ok(());
    };
    problem(&[TABLE, "shared_downlinks"], message)
}

fn handover(table: &HandoverTable) -> Result<HandoverSpec, Problem> {
    let usual = HandoverSpec::default();
    let outage = table.outage.map_or(usual.outage, |outage| outage.both().map(|span| span.0));
    let rate = table.rate.map_or(usual.rate, OneOrTwo::both);
    if outage[0] > outage[1] {
        return problem(&[TABLE, "handover", "outage"], "the shorter one comes first");
    }
    if !(rate[0] > 0.0 && rate[0] <= rate[1] && rate[1] <= 1.0) {
        let message = format!(
            "{} to {}: shares of the rate are above 0 and at most 1, the smaller one first",
            rate[0], rate[1]
        );
        return problem(&[TABLE, "handover", "rate"], message);
    }
    Ok(HandoverSpec {
        outage,
        loss: table.loss.map_or(usual.loss, |loss| loss.0),
        loss_time: table.loss_time.map_or(LOSS_TIME, |span| span.0),
        rate,
    })
}

fn station(
    constellation: &ConstellationTable,
    name: &str,
    table: &StationTable,
    streams: &Streams,
    origin: Origin<'_>,
) -> Result<Station, Problem> {
    let track = moving(constellation, name, table, origin)?;
    let place = match &track {
        Some(track) => track.at(Instant::ZERO).place,
        None => places::place(constellation, name, table, streams)?,
    };
    if table.host && (table.gateway || table.policy.is_some() || table.ground.is_some()) {
        let message =
            "a host uses no satellites: it is no `gateway` and has no `policy` and no `ground`";
        return problem(&[TABLE, "stations", name, "host"], message);
    }
    let policy = match table.policy.or(constellation.policy) {
        _ if table.host => Policy::CablesOnly,
        None if table.gateway => Policy::All,
        named => {
            let draws = streams.stream("slots").bits();
            ground_stations::policy(constellation, named, draws)?
        }
    };
    Ok(Station {
        name: name.to_owned(),
        place,
        track,
        role: if table.gateway { Role::Gateway } else { Role::Terminal },
        policy,
        links: table.links.unwrap_or(1),
        shells: table.shells.clone(),
        mask: table.elevation_mask.map(|mask| mask.0),
    })
}

/// The track of a station, if it moves: its own, or that of the one that it stands beside.
fn moving(
    constellation: &ConstellationTable,
    name: &str,
    table: &StationTable,
    origin: Origin<'_>,
) -> Result<Option<Track>, Problem> {
    let beside = table.beside.as_ref().filter(|_| table.place.is_none() && table.track.is_none());
    let there = beside.and_then(|other| constellation.stations.get_key_value(other));
    let (name, table) = there
        .filter(|(_, there)| there.track.is_some())
        .map_or((name, table), |(name, there)| (name.as_str(), there));
    let Some(Named(track)) = &table.track else { return Ok(None) };
    let at = |key| [TABLE, "stations", name, key];
    let refused = [
        ("place", table.place.is_some()),
        ("beside", table.beside.is_some()),
        ("latitudes", table.latitudes.is_some()),
        ("host", table.host),
    ];
    if let Some((key, _)) = refused.into_iter().find(|(_, said)| *said) {
        return problem(&at(key), "not with a `track`, which says where the station is");
    }
    track::track(&at("track"), track, origin.source).map(Some)
}

/// The cable that a link between two stations is. The delay of its forward link counts for routes.
fn cable(link: &LinkSpec) -> Cable {
    let delays = link.forward_link.iter().filter_map(|model| match model {
        ModelSpec::Delay(delay) => Some(*delay),
        _ => None,
    });
    let [a, b] = link.ends.map(|end| end as u32);
    Cable { a, b, delay: delays.reduce(|sum, delay| sum + delay) }
}

/// The links between a station and satellites.
fn ground(
    constellation: &ConstellationTable,
    name: &str,
    station: &StationTable,
    origin: Origin<'_>,
) -> Result<GroundSpec, Problem> {
    let Some(own) = &station.ground else {
        let of = |key| models(&["ground"], key, &constellation.ground, origin);
        return Ok(GroundSpec { up: of("up")?, down: of("down")? });
    };
    let all = &constellation.ground;
    let table = SatelliteLinkTable {
        rate: own.rate.or(all.rate),
        queue: own.queue.or(all.queue),
        ber: own.ber.or(all.ber),
        loss: own.loss.or(all.loss),
        up: own.up.clone().or_else(|| all.up.clone()),
        down: own.down.clone().or_else(|| all.down.clone()),
    };
    let of = |key| models(&["stations", name, "ground"], key, &table, origin);
    Ok(GroundSpec { up: of("up")?, down: of("down")? })
}

/// The models of moving links: `part` and `key` are the keys of their tables.
fn models(
    part: &[&str],
    key: &str,
    table: &SatelliteLinkTable,
    origin: Origin<'_>,
) -> Result<Vec<ModelSpec>, Problem> {
    let both = LinkTable {
        rate: table.rate,
        queue: table.queue.map(|room| Named(QueueTable::Eager(room.0))),
        ber: table.ber,
        loss: table.loss,
        ..LinkTable::default()
    };
    let own = match key {
        "up" => table.up.as_ref(),
        "down" => table.down.as_ref(),
        _ => None,
    };
    let queue = own.and_then(|own| own.queue.as_ref());
    if queue.is_some_and(|Named(queue)| !matches!(queue, QueueTable::Eager(_))) {
        let path = [&[TABLE], part, &[key, "queue"]].concat();
        return problem(&path, "links to satellites have drop-tail queues");
    }
    if own.is_some_and(|own| own.rain.is_some()) {
        let path = [&[TABLE], part, &[key, "rain"]].concat();
        return problem(&path, "there is no rain on links of constellations and of agents");
    }
    let models =
        direction(part[part.len() - 1], key, &both, own, false, origin).map_err(|problem| {
            // The table stands elsewhere than one of `links`.
            let above = [&[TABLE], part].concat().into_iter().map(str::to_owned);
            let path = above.chain(problem.path.into_iter().skip(2)).collect();
            Problem { path, ..problem }
        })?;
    if !models.iter().all(ModelSpec::keeps_order) {
        let path = [&[TABLE], part, &[key]].concat();
        return problem(&path, "links to satellites keep packets in order");
    }
    Ok(models)
}
