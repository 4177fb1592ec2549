//! The track of a station, from its file or its waypoints.

use std::path::Path;

use bentpipe_orbit::{Place, Track, cities};
use bentpipe_trace::read_regular;

use crate::error::did_you_mean;
use crate::problem::{Problem, problem};
use crate::schema::track::TrackTable;

/// The track of a station at `path`, in a scenario that came from `source`.
pub(super) fn track(path: &[&str], table: &TrackTable, source: &str) -> Result<Track, Problem> {
    let at = |key| [path, &[key]].concat();
    let track = match (&table.file, &table.waypoints[..]) {
        (Some(_), [_, ..]) => return problem(&at("waypoints"), "either these or a `file`"),
        (None, []) => return problem(path, "either a `file` or `waypoints` are needed"),
        (Some(file), []) => {
            if table.speed.is_some() {
                return problem(&at("speed"), "only for `waypoints`: a file has times");
            }
            let beside = Path::new(source).parent().unwrap_or(Path::new("")).join(file);
            let text = read_regular(&beside);
            let text = text.or_else(|error| problem(&at("file"), format!("{file}: {error}")))?;
            Track::read(&text).or_else(|error| problem(&at("file"), format!("{file}: {error}")))?
        }
        (None, waypoints) => {
            let Some(speed) = table.speed else {
                return problem(
                    &at("speed"),
                    "it is needed with `waypoints`, such as \"900 km/h\"",
                );
            };
            let places = waypoints.iter().map(|text| {
                text.parse::<Place>().or_else(|message| {
                    let hint = did_you_mean(text, cities().map(|(city, _)| city));
                    problem(&at("waypoints"), format!("{message}{hint}"))
                })
            });
            let places: Vec<Place> = places.collect::<Result<_, _>>()?;
            Track::along(&places, speed.0).or_else(|error| problem(path, error.to_string()))?
        }
    };
    Ok(track.starting_at(table.start.map(|start| start.0).unwrap_or_default()))
}
