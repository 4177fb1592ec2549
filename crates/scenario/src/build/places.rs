//! Where stations stand.

use bentpipe_link::Streams;
use bentpipe_orbit::Place;
use bentpipe_units::Degrees;

use crate::error::did_you_mean;
use crate::problem::{Problem, problem};
use crate::schema::constellation::{ConstellationTable, StationTable};

/// The word for a place that is drawn.
const ANYWHERE: &str = "anywhere";
/// Latitudes of places that are drawn, if nothing is said: most people live there.
const LATITUDES: [Degrees; 2] = [Degrees(-60.0), Degrees(60.0)];

/// The place of a station. One that is drawn is drawn from a stream of its own, evenly in latitude and
/// longitude.
pub(crate) fn place(
    constellation: &ConstellationTable,
    name: &str,
    table: &StationTable,
    streams: &Streams,
) -> Result<Place, Problem> {
    let at = |key| ["constellation", "stations", name, key];
    if let Some(other) = &table.beside {
        return match constellation.stations.get(other) {
            _ if table.place.is_some() => problem(&at("beside"), "either this or a `place`"),
            Some(there) if there.beside.is_none() => place(constellation, other, there, streams),
            Some(_) => problem(&at("beside"), format!("`{other}` has no place of its own")),
            None => {
                let hint = did_you_mean(other, constellation.stations.keys().map(String::as_str));
                problem(&at("beside"), format!("there is no station `{other}`{hint}"))
            }
        };
    }
    let text = table.place.as_deref().unwrap_or(name);
    if text != ANYWHERE {
        if table.latitudes.is_some() {
            return problem(&at("latitudes"), format!("only for the place `{ANYWHERE}`"));
        }
        return text.parse().or_else(|message: String| {
            let hint = did_you_mean(text, bentpipe_orbit::cities().map(|(city, _)| city));
            problem(&at("place"), format!("{message}{hint}"))
        });
    }
    let [south, north] = table.latitudes.map_or(LATITUDES, |both| both.map(|degrees| degrees.0));
    if !(-90.0 <= south.0 && south.0 <= north.0 && north.0 <= 90.0) {
        let message = "the southernmost first, and both in -90..=90 deg";
        return problem(&at("latitudes"), message);
    }
    let mut stream = streams.stream(&format!("place/{name}"));
    let latitude = south.0 + (north.0 - south.0) * stream.unit();
    let longitude = -180.0 + 360.0 * stream.unit();
    Place::new(Degrees(latitude), Degrees(longitude))
        .or_else(|message| problem(&at("latitudes"), message.to_string()))
}
