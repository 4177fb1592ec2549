//! Real satellites are where Skyfield has them. Without Skyfield, which `make setup` installs, the test
//! says so and passes.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use bentpipe_orbit::{Constellation, Earth, Epoch, IslRules, Vector};
use bentpipe_units::{Degrees, Instant, Span};

const START: &str = "2024-06-01T12:00:00";

/// One line of what the Python program prints: when and where a satellite is.
struct Expected {
    at: Instant,
    satellite: usize,
    place: Vector,
    latitude: f64,
    longitude: f64,
}

/// What Skyfield says; `None` when it is not there.
fn skyfield(elements: &Path) -> Option<Vec<Expected>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("../../.venv/bin/python");
    let there = Command::new(&python).args(["-c", "import skyfield"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let program = root.join("tests/data/skyfield_positions.py");
    let output = Command::new(python).arg(program).arg(elements).args([START, "30"]).output();
    let output = output.expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let expected = |line: &str| {
        let numbers = line.split(' ').map(|number| number.parse().expect(line));
        let [minute, satellite, x, y, z, latitude, longitude] = numbers.collect::<Vec<f64>>()[..]
        else {
            panic!("{line}")
        };
        let at = Instant::ZERO + Span::from_secs_f64(minute * 60.0);
        let satellite = satellite as usize;
        Expected { at, satellite, place: Vector { x, y, z }, latitude, longitude }
    };
    Some(text.lines().map(expected).collect())
}

#[test]
fn satellites_and_the_ground_below_them_are_where_skyfield_has_them_over_a_day() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/satellites.tle");
    let Some(expected) = skyfield(&path) else {
        let said = "SKIPPED: the test against Skyfield needs it: `make setup` installs it where there is a network";
        writeln!(std::io::stderr(), "{said}").expect("standard error");
        return;
    };
    assert_eq!(expected.len(), 49 * 5);
    let text = std::fs::read_to_string(&path).expect("the element sets");
    let start: Epoch = START.parse().expect("a time");
    let constellation =
        Constellation::from_elements("test", &text, Some(start), Degrees(10.0), IslRules::NONE);
    let constellation = constellation.expect("satellites");
    let mut positions = Vec::new();
    for Expected { at, satellite, place, latitude, longitude } in expected {
        constellation.positions(at, &mut positions).expect("in orbit");
        let here = positions[satellite];
        let off = here.distance(place);
        assert!(off < 0.01, "satellite {satellite} at {at}: {off} km in TEME");
        let off = ground_distance(constellation.earth(), here, at, latitude, longitude);
        assert!(off < 1.0, "satellite {satellite} at {at}: {off} km against the Earth");
    }
}

/// How far two places are from each other in the frame of the Earth, at the height of the satellite.
fn ground_distance(earth: &Earth, here: Vector, at: Instant, latitude: f64, longitude: f64) -> f64 {
    let below = earth.below(here, at);
    let toward = |latitude: f64, longitude: f64| {
        let (lat, lon) = (latitude.to_radians(), longitude.to_radians());
        let cos = lat.cos() * here.length();
        Vector { x: cos * lon.cos(), y: cos * lon.sin(), z: lat.sin() * here.length() }
    };
    toward(below.latitude().0, below.longitude().0).distance(toward(latitude, longitude))
}
