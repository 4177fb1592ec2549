//! Orbit mean-elements messages (CCSDS 502.0-B) as text, in JSON or as lines of `KEY = value`.

use serde_json::{Map, Value};
use sgp4::Elements;

use crate::OrbitError;
use crate::elements::Satellite;

/// Reads an object or a list of objects of JSON.
///
/// # Errors
/// The object that is wrong, counted from 1, and its field.
pub(crate) fn read_json(text: &str) -> Result<Vec<Satellite>, OrbitError> {
    let value: Value = serde_json::from_str(text).map_err(|error| wrong(1, error.to_string()))?;
    let objects = match value {
        Value::Array(objects) => objects,
        one => vec![one],
    };
    objects.into_iter().enumerate().map(|(index, object)| satellite(index + 1, object)).collect()
}

/// Reads messages of lines `KEY = value`; each begins with its `CCSDS_OMM_VERS`.
///
/// # Errors
/// The message that is wrong, counted from 1, and its field.
pub(crate) fn read_kvn(text: &str) -> Result<Vec<Satellite>, OrbitError> {
    let mut objects: Vec<Map<String, Value>> = Vec::new();
    for line in text.lines() {
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim();
        if key == "CCSDS_OMM_VERS" || objects.is_empty() {
            objects.push(Map::new());
        }
        // A value may have its unit in brackets behind it.
        let value = value.split(" [").next().unwrap_or_default().trim();
        if let Some(object) = objects.last_mut() {
            object.insert(key.to_owned(), Value::from(value));
        }
    }
    let objects = objects.into_iter().map(Value::Object).enumerate();
    objects.map(|(index, object)| satellite(index + 1, object)).collect()
}

fn wrong(object: usize, message: impl Into<String>) -> OrbitError {
    OrbitError::Omm { object, message: message.into() }
}

fn satellite(number: usize, mut object: Value) -> Result<Satellite, OrbitError> {
    // What does not touch the orbit need not be there.
    if let Value::Object(fields) = &mut object {
        for (field, value) in [
            ("OBJECT_ID", Value::Null),
            ("OBJECT_NAME", Value::Null),
            ("CLASSIFICATION_TYPE", Value::from("U")),
            ("ELEMENT_SET_NO", Value::from(0)),
            ("REV_AT_EPOCH", Value::from(0)),
            ("EPHEMERIS_TYPE", Value::from(0)),
            ("MEAN_MOTION_DOT", Value::from(0)),
            ("MEAN_MOTION_DDOT", Value::from(0)),
        ] {
            fields.entry(field).or_insert(value);
        }
        if let Some(Value::String(epoch)) = fields.get_mut("EPOCH") {
            epoch.truncate(epoch.trim_end_matches('Z').len());
        }
    }
    let elements: Elements =
        serde_json::from_value(object).map_err(|error| wrong(number, error.to_string()))?;
    let finite = [
        ("BSTAR", elements.drag_term),
        ("INCLINATION", elements.inclination),
        ("RA_OF_ASC_NODE", elements.right_ascension),
        ("ECCENTRICITY", elements.eccentricity),
        ("ARG_OF_PERICENTER", elements.argument_of_perigee),
        ("MEAN_ANOMALY", elements.mean_anomaly),
        ("MEAN_MOTION", elements.mean_motion),
    ];
    if let Some((field, value)) = finite.iter().find(|(_, value)| !value.is_finite()) {
        return Err(wrong(number, format!("{field} is {value}, which is not a finite number")));
    }
    Satellite::new(&elements).map_err(|error| wrong(number, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Epoch;

    const STATION: &str = r#"{"OBJECT_NAME": "ISS (ZARYA)", "OBJECT_ID": "1998-067A",
        "EPOCH": "2020-07-12T21:16:01.000416", "MEAN_MOTION": 15.49507896, "ECCENTRICITY": 0.0001413,
        "INCLINATION": 51.6461, "RA_OF_ASC_NODE": 221.2784, "ARG_OF_PERICENTER": 89.1723,
        "MEAN_ANOMALY": 280.4612, "NORAD_CAT_ID": 25544, "BSTAR": -3.1515e-5}"#;

    fn kvn() -> String {
        let object: Map<String, Value> = serde_json::from_str(STATION).expect("JSON");
        let line = |(key, value): (&String, &Value)| {
            format!("{key} = {}\n", value.to_string().trim_matches('"'))
        };
        let lines: String = object.iter().map(line).collect();
        format!("CCSDS_OMM_VERS = 2.0\nCOMMENT a station\n{lines}")
            .replace("51.6461", "51.6461 [deg]")
    }

    #[test]
    fn the_same_satellite_in_json_in_lines_and_as_an_element_set_is_in_the_same_place() {
        let noon: Epoch = "2020-07-13T12:00:00".parse().expect("a time");
        let there = |read: Vec<Satellite>| read[0].position(noon).expect("a position");
        let json = there(read_json(&format!("[{STATION}]")).expect("JSON"));
        assert_eq!(there(read_json(STATION).expect("JSON")), json);
        assert_eq!(there(read_kvn(&kvn()).expect("lines")), json);
        let set = there(crate::tle::read(crate::tle::tests::STATION).expect("an element set"));
        assert!(set.distance(json) < 0.01, "{} km", set.distance(json));
    }

    #[test]
    fn a_missing_or_wrong_field_is_named_with_its_object() {
        let both = |wrong: &str| format!("[{STATION}, {wrong}]");
        let said = |text: &str| read_json(text).expect_err(text).to_string();
        let without = both(&STATION.replace("\"MEAN_ANOMALY\"", "\"MEAN\""));
        assert!(said(&without).starts_with("object 2 "), "{}", said(&without));
        assert!(said(&without).contains("MEAN_ANOMALY"));
        assert!(said(&both(&STATION.replace("2020-07-12T", "12 July "))).starts_with("object 2 "));
        assert!(said(&both(&STATION.replace("0.0001413", "1.5"))).contains("eccentricity"));
        assert!(said(&both(&STATION.replace("51.6461", "\"NaN\""))).contains("INCLINATION is NaN"));
        assert!(said("[{").contains("line 1"));
    }
}
