//! Tracks as tables.

use bentpipe_units::{Degrees, Instant, Km, Span};
use csv::{ReaderBuilder, StringRecord, Trim};

use super::{Track, TrackPoint};
use crate::{OrbitError, Place};

/// The columns, the last of which may be missing.
const COLUMNS: [&str; 4] = ["time_s", "latitude", "longitude", "altitude_m"];
const REQUIRED: usize = 3;
const METRES_IN_KM: f64 = 1000.0;
/// Further from the ground nothing flies that is no satellite, and nothing is lower.
const ALTITUDES: std::ops::RangeInclusive<f64> = -500.0..=100_000.0;

/// Reads a table with a header line.
pub(super) fn read(text: &str) -> Result<Track, OrbitError> {
    let mut reader = ReaderBuilder::new()
        .trim(Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let header = reader.headers().map_err(|error| broken(&error))?.clone();
    let mut columns = [None; COLUMNS.len()];
    for (column, name) in columns.iter_mut().zip(COLUMNS) {
        *column = header.iter().position(|found| found == name);
    }
    if let Some(missing) = columns[..REQUIRED].iter().position(Option::is_none) {
        let said = header.iter().collect::<Vec<_>>().join(",");
        let message = format!(
            "there is no column `{}` in `{said}`: a track has the columns {}, or is GPX",
            COLUMNS[missing],
            COLUMNS.join(",")
        );
        return Err(at_line(1, message));
    }
    let mut points = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| broken(&error))?;
        let line = record.position().map_or(1, csv::Position::line);
        points.push(point(&record, columns, line)?);
    }
    Track::new(points)
}

/// The point of a line.
fn point(
    record: &StringRecord,
    columns: [Option<usize>; COLUMNS.len()],
    line: u64,
) -> Result<TrackPoint, OrbitError> {
    let value = |number: usize| -> Result<Option<f64>, OrbitError> {
        let text = columns[number].and_then(|column| record.get(column)).unwrap_or_default();
        if text.is_empty() {
            return Ok(None);
        }
        let parsed = text.parse().ok().filter(|value: &f64| value.is_finite());
        let wrong = || at_line(line, format!("{}: `{text}` is no number", COLUMNS[number]));
        parsed.ok_or_else(wrong).map(Some)
    };
    let required = |number: usize| {
        value(number)?.ok_or_else(|| at_line(line, format!("{} is missing", COLUMNS[number])))
    };
    let time = required(0)?;
    let (latitude, longitude) = (required(1)?, required(2)?);
    let place = Place::new(Degrees(latitude), Degrees(longitude));
    let place = place.map_err(|error| at_line(line, error.to_string()))?;
    if time < 0.0 {
        return Err(at_line(line, format!("time_s: {time} is before the start, which is 0")));
    }
    let at = Span::from_secs_f64(time);
    let altitude = altitude(value(3)?.unwrap_or(0.0));
    let altitude = altitude.map_err(|message| at_line(line, format!("altitude_m: {message}")))?;
    Ok(TrackPoint { at: Instant::ZERO + at, place, altitude })
}

/// A height of so many metres.
pub(super) fn altitude(metres: f64) -> Result<Km, String> {
    if ALTITUDES.contains(&metres) {
        Ok(Km(metres / METRES_IN_KM))
    } else {
        Err(format!("{metres} m: {} m to {} m", ALTITUDES.start(), ALTITUDES.end()))
    }
}

/// What is wrong with a line.
pub(super) fn at_line(line: u64, message: String) -> OrbitError {
    OrbitError::Track { line: line as usize, message }
}

fn broken(error: &csv::Error) -> OrbitError {
    at_line(error.position().map_or(1, csv::Position::line), error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_a_track_whatever_the_order_of_its_columns() {
        let text = "# a flight\nlatitude, longitude, time_s, altitude_m, note\n51.5,-0.1,0,25,gate\n52,-10.5,3600.5,11000,\n";
        let track = read(text).expect("a track");
        let end = track.at(Instant::MAX);
        assert_eq!((end.place.latitude(), end.altitude), (Degrees(52.0), Km(11.0)));
        assert_eq!(track.length(), Span::from_millis(3_600_500));
        let ground = read("time_s,latitude,longitude\n0,1,2\n").expect("a track");
        assert_eq!(ground.at(Instant::ZERO).altitude, Km(0.0));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let said = |text: &str| read(text).expect_err(text).to_string();
        assert!(said("time_s,lat,lon\n0,1,2\n").contains("line 1: there is no column `latitude`"));
        let head = "time_s,latitude,longitude,altitude_m\n";
        for (line, what) in [
            ("0,91,0,0", "line 2: latitude: 91"),
            ("x,0,0,0", "line 2: time_s: `x` is no number"),
            ("-1,0,0,0", "line 2: time_s: -1 is before"),
            ("0,0,0,200000", "line 2: altitude_m: 200000 m"),
            ("0,,0,0", "line 2: latitude is missing"),
            ("0,0", "line 2"),
            ("", "no points"),
        ] {
            let found = said(&format!("{head}{line}\n"));
            assert!(found.contains(what), "{line}: {found}");
        }
        let found = said(&format!("{head}5,0,0,0\n4,0,0,0\n"));
        assert!(found.contains("point 2 is not later"), "{found}");
    }
}
