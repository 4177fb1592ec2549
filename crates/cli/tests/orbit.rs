//! `bentpipe orbit`: figures, files, and what cannot be.

use std::fs;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use predicates::prelude::*;
use serde_json::Value;

const STATION: &str = "ISS (ZARYA)
1 25544U 98067A   20194.88612269 -.00002218  00000-0 -31515-4 0  9992
2 25544  51.6461 221.2784 0001413  89.1723 280.4612 15.49507896236008
";

fn orbit(args: &[&str]) -> Command {
    let mut command = cargo_bin_cmd!("bentpipe");
    command.arg("orbit").args(args);
    command
}

fn stdout(args: &[&str]) -> String {
    let output = orbit(args).assert().success().stderr("").get_output().stdout.clone();
    String::from_utf8(output).expect("text")
}

/// Berkeley to Boston over iridium, and what else is asked.
fn berkeley_to_boston(more: &[&str]) -> Vec<String> {
    let fixed = ["iridium", "--from", "Berkeley", "--to", "42.3,-71.1", "--duration", "1 h"];
    fixed.iter().chain(more).map(|argument| (*argument).to_owned()).collect()
}

fn refused(args: &[&str], said: &str) {
    let said = predicate::str::contains(said);
    orbit(args).assert().code(2).stdout("").stderr(said);
}

#[test]
fn the_table_the_json_and_the_files_tell_the_same_story() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a path").to_owned();
    let (samples, handovers, map) = (path("samples.csv"), path("handovers.csv"), path("map.svg"));
    let files = ["--csv", &samples, "--handovers", &handovers, "--svg", &map];
    let asked = berkeley_to_boston(&files);
    let table = stdout(&asked.iter().map(String::as_str).collect::<Vec<_>>());
    let asked = berkeley_to_boston(&["--json"]);
    let json = stdout(&asked.iter().map(String::as_str).collect::<Vec<_>>());
    let json: Value = serde_json::from_str(&json).expect("JSON");

    let mut reader = csv::Reader::from_path(&samples).expect("samples");
    let delays: Vec<f64> = reader
        .records()
        .map(|record| record.expect("a record")[1].parse().expect("a delay"))
        .collect();
    assert_eq!(delays.len(), 3600);
    let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((json["delay_ms"]["min"].as_f64().expect("a number") - least).abs() < 1e-5);
    assert!(table.contains(&format!("{least:.3}")), "{table}");

    let listed = json["handovers"].as_array().expect("a list").len();
    let lines = fs::read_to_string(&handovers).expect("handovers").lines().count();
    assert_eq!(listed + 1, lines);
    assert!(listed >= 10 && table.contains("wrote "), "{table}");

    let svg = fs::read_to_string(&map).expect("a picture");
    let document = roxmltree::Document::parse(&svg).expect("SVG");
    let count = |name| document.descendants().filter(|node| node.has_tag_name(name)).count();
    assert!(
        count("circle") >= 66 && count("polyline") >= 96,
        "{} {}",
        count("circle"),
        count("polyline")
    );
    assert!(svg.contains("Berkeley") && svg.contains("one-way delay, ms"));
}

/// The table of `docs/orbits.md`, whose delays and counts are those of ns-2.
#[test]
fn handovers_as_packets_see_them_are_told_beside_those_of_every_check() {
    let args = ["teledesic-staggered", "--from", "Berkeley", "--to", "Boston"];
    let samples = ["--first", "0.5 s", "--step", "60 s", "--json"];
    let json: Value = serde_json::from_str(&stdout(&[&args[..], &samples].concat())).expect("JSON");
    let counts = |key: &str| [&json[key]["from"], &json[key]["to"]].map(|n| n.as_u64().expect(key));
    assert_eq!(counts("handovers_seen"), [318, 315]);
    assert_eq!(counts("handover_count"), [318, 316]);
}

#[test]
fn real_satellites_are_read_from_a_file_and_start_when_they_are_told_to() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("station.tle");
    fs::write(&path, STATION).expect("a file");
    let path = path.to_str().expect("a path");
    let args = [path, "--from", "Paris", "--to", "Madrid", "--step", "10 s", "--json"];
    let json: Value = serde_json::from_str(&stdout(&args)).expect("JSON");
    let start = json["start"].as_str().expect("a time");
    assert!(start.starts_with("2020-07-12T21:16:01"), "{start}");
    let (samples, connected) = (json["samples"].as_u64(), json["connected"].as_u64());
    assert_eq!(samples, Some(8640));
    assert!(connected.is_some_and(|count| (10..500).contains(&count)), "{connected:?}");
    let later = [&args[..], &["--start", "2020-07-13"]].concat();
    let json: Value = serde_json::from_str(&stdout(&later)).expect("JSON");
    assert_eq!(json["start"], "2020-07-13T00:00:00Z");
}

#[test]
fn shells_of_a_file_are_used_and_what_is_wrong_in_it_has_its_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("mine.toml");
    let text = "name = \"mine\"\n\n[[shells]]\nlongitudes = [-95]\nelevation_mask = \"5 deg\"\n";
    fs::write(&path, text).expect("a file");
    let name = path.to_str().expect("a path");
    let args = [name, "--from", "Lima", "--to", "Miami", "--duration", "10 s"];
    assert!(stdout(&args).contains("time with a route, %                      100.000"));
    fs::write(&path, text.replace("-95", "-950")).expect("a file");
    refused(&args, "mine.toml, line 4, `shells.0.longitudes`: -950 deg lies outside");
}

#[test]
fn what_can_not_be_is_refused_with_what_would_be_right() {
    refused(&["iridum", "--from", "Oslo", "--to", "Rome"], "did you mean `iridium`?");
    refused(&["iridium", "--from", "Olso", "--to", "Rome"], "did you mean `Oslo`?");
    refused(&["iridium", "--from", "91,0", "--to", "Rome"], "latitude: 91");
    refused(&["iridium", "--from", "Oslo", "--to", "Rome", "--step", "0 s"], "more than 0 s");
    refused(&["iridium", "--from", "Oslo", "--to", "Rome", "--mask", "90"], "0..90");
    refused(&["iridium", "--from", "Oslo", "--to", "Rome", "--isl", "4"], "are for element sets");
    refused(&["starlink", "--from", "80,0", "--to", "Rome"], "no satellite of starlink ever");
    refused(&["geo:east", "--from", "Oslo", "--to", "Rome"], "longitudes: `east`");
    let far = ["oneweb", "--from", "Oslo", "--to", "Sydney", "--duration", "1 min"];
    refused(&[&far[..], &["--ground-stations", "none"]].concat(), "need a --gateway");
    let high = ["iridium", "--from", "Berkeley", "--to", "Boston", "--mask", "60"];
    refused(
        &[&high[..], &["--duration", "2 h"]].concat(),
        "satellites above the mask that links join",
    );
    refused(
        &["iridium", "--from", "Oslo", "--to", "Rome", "--duration", "0 s"],
        "no time to sample",
    );
}

#[test]
fn broken_element_sets_are_refused_with_their_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("broken.tle");
    let name = path.to_str().expect("a path");
    let said = |text: String, message: &str| {
        fs::write(&path, text).expect("a file");
        refused(&[name, "--from", "Oslo", "--to", "Rome"], message);
    };
    said(STATION.replace("51.6461", "51.6462"), "line 3: the checksum is 8; that of the line is 9");
    said(STATION.replace("20194.88612269", "20494.88612269"), "line 2: the checksum");
    said(STATION.replace("20194.88612269", "20497.88612263"), "the epoch `20497.88612263`");
    said("no satellites".to_owned(), "line 1: neither");
    said(String::new(), "there is no satellite in it");
    said("OBJECT_NAME,EPOCH,MEAN_MOTION\n".to_owned(), "as CSV are not read: have them as JSON");
}

#[test]
fn terminals_of_an_operator_do_as_it_does_and_reach_hosts_over_its_ground_stations() {
    let ends = ["starlink", "--from", "London", "--duration", "2 min", "--json"];
    let run = |more: &[&str]| -> Value {
        serde_json::from_str(&stdout(&[&ends[..], more].concat())).expect("JSON")
    };
    let host = run(&["--to", "Frankfurt", "--to-host"]);
    let handovers = host["handovers"].as_array().expect("handovers");
    assert!(!handovers.is_empty());
    for handover in handovers {
        let second = handover["time_s"].as_f64().expect("a time");
        assert_eq!(second % 15.0, 12.0, "{handover}");
    }
    // Up, down and some 300 km of glass besides.
    let median = host["delay_ms"]["median"].as_f64().expect("a delay");
    assert!((3.7..12.0).contains(&median), "{median}");
    let alone = ["--ground-stations", "none", "--policy", "longest-hold"];
    let alone = run(&[&["--to", "Boston"], &alone[..]].concat());
    assert!(alone["delay_ms"]["median"].as_f64() > Some(50.0), "the long way round: {alone}");
    refused(
        &["iridium", "--from", "Rome", "--to", "Oslo", "--ground-stations", "operator"],
        "--ground-stations: none are known of iridium",
    );
}
