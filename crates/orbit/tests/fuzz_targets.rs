//! Any text as element sets: satellites that have a place, or an error.

use std::sync::atomic::{AtomicU64, Ordering};

use bentpipe_orbit::{Constellation, IslRules};
use bentpipe_testkit::fuzz::bounded_runs;
use bentpipe_units::{Degrees, Instant, Span};

#[test]
fn ten_thousand_texts_are_satellites_or_have_an_error() {
    let file = include_str!("data/satellites.tle");
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    let lines: Vec<&str> = file.lines().filter(|line| !line.starts_with('#')).collect();
    seeds.extend(lines.chunks(3).map(|set| set.join("\n").into_bytes()));
    seeds.push(OMM.as_bytes().to_vec());
    static READ: AtomicU64 = AtomicU64::new(0);
    bounded_runs(10_000, &seeds, |data| {
        let Ok(text) = std::str::from_utf8(data) else { return };
        let mask = Degrees(10.0);
        let read = Constellation::from_elements("file.tle", text, None, mask, IslRules::NONE);
        let Ok(constellation) = read else { return };
        READ.fetch_add(1, Ordering::Relaxed);
        let mut places = Vec::new();
        for days in [0, 1, 1_000] {
            // A satellite that has fallen is an error too.
            let at = Instant::ZERO + Span::from_secs(days * 86_400);
            if constellation.positions(at, &mut places).is_ok() {
                assert_eq!(places.len(), constellation.satellites());
            }
        }
    });
    assert!(READ.load(Ordering::Relaxed) > 500, "{READ:?}");
}

/// An orbit mean-elements message.
const OMM: &str = r#"[{"OBJECT_NAME": "ISS", "OBJECT_ID": "1998-067A", "EPOCH": "2020-07-12T21:16:01.000416",
"MEAN_MOTION": 15.49507896, "ECCENTRICITY": 0.0001413, "INCLINATION": 51.6461, "RA_OF_ASC_NODE": 221.2784,
"ARG_OF_PERICENTER": 89.1723, "MEAN_ANOMALY": 280.4612, "EPHEMERIS_TYPE": 0, "CLASSIFICATION_TYPE": "U",
"NORAD_CAT_ID": 25544, "ELEMENT_SET_NO": 999, "REV_AT_EPOCH": 23600, "BSTAR": -3.1515e-05,
"MEAN_MOTION_DOT": -2.218e-05, "MEAN_MOTION_DDOT": 0}]"#;
