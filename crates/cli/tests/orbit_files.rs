//! `bentpipe orbit`: several pairs of places, and the files for maps and globes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin_cmd;
use bentpipe_orbit::{Constellation, Epoch, IslRules, Network, Node, Station, known};
use bentpipe_testkit::elements::walker_shell;
use bentpipe_units::{Degrees, Instant, Span};
use predicates::prelude::*;
use serde_json::Value;

fn orbit(args: &[&str]) -> Command {
    let mut command = cargo_bin_cmd!("bentpipe");
    command.arg("orbit").args(args);
    command
}

fn stdout(args: &[&str]) -> String {
    let output = orbit(args).assert().success().stderr("").get_output().stdout.clone();
    String::from_utf8(output).expect("text")
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[args, &["--json"]].concat())).expect("JSON")
}

fn refused(args: &[&str], said: &str) {
    orbit(args).assert().code(2).stdout("").stderr(predicate::str::contains(said));
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

/// A constellation with a station, to ask where satellites are.
fn network(constellation: Constellation) -> Network {
    let station = Station::terminal("London", "London".parse().expect("a city"));
    Network::new(constellation, vec![station], &[], Span::from_secs(10)).expect("a network")
}

fn iridium() -> Network {
    let spec = known("iridium").expect("known").expect("a constellation");
    network(Constellation::new(&spec).expect("a constellation"))
}

fn shell(dir: &Path, planes: u32, per_plane: u32) -> String {
    let path = dir.join("shell.tle");
    fs::write(&path, walker_shell(planes, per_plane)).expect("a file");
    path.to_str().expect("a path").to_owned()
}

#[test]
fn each_of_several_pairs_has_the_document_that_it_has_alone() {
    let more = ["--duration", "20 min", "--step", "5 s"];
    let alone = |from, to| json(&[&["iridium", "--from", from, "--to", to], &more[..]].concat());
    let several =
        ["iridium", "--from", "Berkeley", "--from", "London", "--to", "Boston", "--to", "Lima"];
    let together = json(&[&several[..], &more].concat());
    let pairs =
        [("Berkeley", "Boston"), ("Berkeley", "Lima"), ("London", "Boston"), ("London", "Lima")];
    let expected: Vec<Value> = pairs.iter().map(|(from, to)| alone(from, to)).collect();
    assert_eq!(list(&together["pairs"]), &expected);
}

#[test]
fn several_pairs_are_a_table_with_the_great_circle_and_its_delay_in_fibre() {
    let args = ["starlink", "--from", "London", "--to", "Boston", "--to", "Tokyo"];
    let more = ["--duration", "2 min", "--policy", "shortest-path"];
    let args = [&args[..], &more].concat();
    let table = stdout(&args);
    let document = json(&args);
    for (place, km) in [("Boston", "5,276"), ("Tokyo", "9,570")] {
        let row = table.lines().find(|line| line.contains(place)).expect(place);
        let cells: Vec<_> = row.split_whitespace().collect();
        let pair = list(&document["pairs"]).iter().find(|p| p["to"]["name"] == place).expect(place);
        let median = number(&pair["delay_ms"]["median"]);
        let fibre = km.replace(',', "").parse::<f64>().expect("km") / 299_793.0 * 1.5e3;
        let expected = [
            "London".to_owned(),
            place.to_owned(),
            km.to_owned(),
            format!("{:.3}", number(&pair["delay_ms"]["min"])),
            format!("{median:.3}"),
            format!("{:.3}", number(&pair["delay_ms"]["max"])),
            format!("{:.2}", median / fibre),
        ];
        assert_eq!(cells[..expected.len()], expected, "{table}");
        assert!(row.contains("100.000"), "{row}");
        let handovers = pair["handover_count"]["from"].to_string();
        assert_eq!(cells.last(), Some(&handovers.as_str()), "{row}");
    }
}

#[test]
fn the_csv_files_of_several_pairs_say_which_pair_a_line_is_of() {
    let dir = tempfile::tempdir().expect("a directory");
    let [samples, handovers] = ["s.csv", "h.csv"].map(|name| dir.path().join(name));
    let files = [
        "--csv",
        samples.to_str().expect("a path"),
        "--handovers",
        handovers.to_str().expect("a path"),
    ];
    let args = ["iridium", "--from", "Berkeley", "--to", "Boston", "--to", "Lima"];
    let more = ["--duration", "20 min", "--step", "10 s"];
    let document = json(&[&args[..], &more, &files].concat());
    let lines = |path: &Path| -> Vec<Vec<String>> {
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).from_path(path).expect("a file");
        reader.records().map(|r| r.expect("a record").iter().map(str::to_owned).collect()).collect()
    };
    let samples = lines(&samples);
    assert_eq!(samples[0], ["from", "to", "time_s", "delay_ms", "hops", "route"]);
    let to = |place: &str| samples.iter().filter(|l| l[0] == "Berkeley" && l[1] == place).count();
    assert_eq!((to("Boston"), to("Lima"), samples.len()), (120, 120, 241));
    let handovers = lines(&handovers);
    assert_eq!(handovers[0], ["route_from", "route_to", "time_s", "station", "from", "to"]);
    let listed: usize = list(&document["pairs"]).iter().map(|p| list(&p["handovers"]).len()).sum();
    assert!(listed > 4);
    assert_eq!(handovers.len(), listed + 1);
}

#[test]
fn a_pair_without_a_route_leaves_the_others_their_figures() {
    let args =
        ["geo:-95", "--from", "Lima", "--to", "Miami", "--to", "Honolulu", "--duration", "1 min"];
    let document = json(&args);
    assert!(list(&document["pairs"]).iter().all(|pair| pair["connected"] == 60));
    let dir = tempfile::tempdir().expect("a directory");
    let name = shell(dir.path(), 24, 20);
    let args =
        [&name, "--from", "London", "--to", "Paris", "--to", "Sydney", "--duration", "1 min"];
    let document = json(&args);
    let far = &document["pairs"][1];
    assert_eq!(
        (&far["connected"], &far["delay_ms"], &far["hops"]),
        (&0.into(), &Value::Null, &Value::Null)
    );
    assert_eq!(document["pairs"][0]["connected"], 60);
    let row = stdout(&args).lines().find(|line| line.contains("Sydney")).expect("a row").to_owned();
    assert!(row.split_whitespace().filter(|cell| *cell == "-").count() == 5, "{row}");
    refused(
        &[&name, "--from", "London", "--from", "Oslo", "--to", "Sydney", "--duration", "1 min"],
        "no route between any of 2 pairs of places",
    );
}

#[test]
fn a_place_is_not_paired_with_itself_and_not_given_twice() {
    let args = ["iridium", "--from", "Oslo", "--from", "Rome", "--to", "Rome", "--to", "Oslo"];
    let document = json(&[&args[..], &["--duration", "1 min"]].concat());
    let names =
        |pair: &Value| [&pair["from"]["name"], &pair["to"]["name"]].map(|n| text(n).to_owned());
    let pairs: Vec<_> = list(&document["pairs"]).iter().map(names).collect();
    assert_eq!(pairs, [["Oslo", "Rome"], ["Rome", "Oslo"]]);
    let twice = ["iridium", "--from", "Oslo", "--to", "Rome", "--to", "rome"];
    refused(&twice, "--to: rome is given twice");
}

#[test]
fn the_picture_has_land_all_routes_the_start_and_a_round_axis_of_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.svg");
    let svg = path.to_str().expect("a path");
    let draw = |args: &[&str]| {
        stdout(&[args, &["--svg", svg]].concat());
        fs::read_to_string(&path).expect("a picture")
    };
    let texts = |svg: &str| -> Vec<String> {
        let document = roxmltree::Document::parse(svg).expect("SVG");
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        texts.filter_map(|node| node.text().map(|text| text.trim().to_owned())).collect()
    };
    let one = draw(&["iridium", "--from", "Berkeley", "--to", "Boston", "--step", "1 min"]);
    let document = roxmltree::Document::parse(&one).expect("SVG");
    let land = document.descendants().filter(|node| node.has_tag_name("polygon")).count();
    assert!(land > 100, "{land}");
    let said = texts(&one);
    let hours = ["0", "2", "4", "22"].map(str::to_owned);
    assert!(said.contains(&"time, h".to_owned()) && hours.iter().all(|hour| said.contains(hour)));
    assert!(said.contains(&"iridium at 0 s".to_owned()), "{said:?}");

    let name = shell(dir.path(), 24, 20);
    let args = [&name, "--from", "London", "--to", "Paris", "--to", "Rome", "--isl", "4"];
    let several = draw(&[&args[..], &["--duration", "2 min"]].concat());
    let said = texts(&several);
    assert!(
        said.contains(&"shell.tle at 0 s, start 2026-01-01 00:00:00 UTC".to_owned()),
        "{said:?}"
    );
    for wanted in ["time, s", "London to Paris", "London to Rome"] {
        assert!(said.contains(&wanted.to_owned()), "{said:?}");
    }
}

/// The place below a position in the frame that turns with the Earth.
fn below(position: &[f64]) -> (f64, f64) {
    let [x, y, z] = position else { panic!("{position:?}") };
    let length = (x * x + y * y + z * z).sqrt();
    (y.atan2(*x).to_degrees(), (z / length).asin().to_degrees())
}

/// A polynomial through the six points around a time, as viewers do it.
fn lagrange(samples: &[Vec<f64>], at: f64) -> Vec<f64> {
    let after = samples.iter().position(|sample| sample[0] > at).unwrap_or(samples.len());
    let first = after.saturating_sub(3).min(samples.len() - 6);
    let near = &samples[first..first + 6];
    let weight = |this: &Vec<f64>| {
        let others = near.iter().filter(|other| other[0] != this[0]);
        others.map(|other| (at - other[0]) / (this[0] - other[0])).product::<f64>()
    };
    (1..4).map(|axis| near.iter().map(|sample| sample[axis] * weight(sample)).sum()).collect()
}

fn check_positions(packets: &[Value], network: &mut Network) {
    let satellites = network.constellation().satellites() as u32;
    for number in (0..satellites).step_by(5) {
        let id = format!("satellite/{number}");
        let packet = packets.iter().find(|packet| packet["id"] == id).expect("a satellite");
        let position = &packet["position"];
        assert_eq!(position["referenceFrame"], "FIXED");
        let numbers: Vec<f64> = list(&position["cartesian"]).iter().map(number_of).collect();
        let samples: Vec<Vec<f64>> = numbers.chunks(4).map(<[f64]>::to_vec).collect();
        for sample in &samples {
            let at = Instant::ZERO + Span::from_secs_f64(sample[0]);
            let place =
                network.place(Node::Satellite(number), at).expect("in orbit").expect("there");
            let (east, north) = below(&sample[1..]);
            let off = (east - place.longitude().0 + 540.0).rem_euclid(360.0) - 180.0;
            assert!(
                off.abs() < 1e-4 && (north - place.latitude().0).abs() < 1e-5,
                "{id} {sample:?}"
            );
        }
        let mut positions = Vec::new();
        for pair in samples.windows(2) {
            let middle = f64::midpoint(pair[0][0], pair[1][0]);
            let at = Instant::ZERO + Span::from_secs_f64(middle);
            network.constellation().positions(at, &mut positions).expect("in orbit");
            let exact = network.constellation().earth().fixed(positions[number as usize], at);
            let between = lagrange(&samples, middle);
            let off = [exact.x, exact.y, exact.z].into_iter().zip(&between);
            let off = off.map(|(exact, at)| (exact * 1e3 - at).abs()).fold(0.0, f64::max);
            assert!(off < 10.0, "{id} at {middle} s: {off} m");
        }
    }
}

fn number_of(value: &Value) -> f64 {
    number(value)
}

/// Seconds from `start` to both ends of an interval.
fn seconds(interval: &Value, start: &str) -> (f64, f64) {
    let start: Epoch = start.parse().expect("a time");
    let after = |time: &str| {
        let time: Epoch = time.parse().expect("a time");
        (0..100_000).find(|s| start.after(Span::from_secs(*s)) == time).expect("within a day")
            as f64
    };
    let (first, end) = text(interval).split_once('/').expect("two ends");
    (after(first), after(end))
}

#[test]
fn a_scene_has_satellites_where_they_are_and_routes_while_they_are_used() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, csv) = (dir.path().join("scene.czml"), dir.path().join("samples.csv"));
    let files = ["--czml", path.to_str().expect("a path"), "--csv", csv.to_str().expect("a path")];
    let args = ["iridium", "--from", "London", "--to", "Boston", "--mask", "20"];
    let time = ["--duration", "30 min", "--step", "10 s", "--first", "1 min"];
    stdout(&[&args[..], &time, &files].concat());
    let scene = read(&path);
    let packets = list(&scene);
    assert_eq!((&packets[0]["id"], &packets[0]["version"]), (&"document".into(), &"1.0".into()));
    let start = "2000-01-01T12:00:00Z";
    assert_eq!(seconds(&packets[0]["clock"]["interval"], start), (60.0, 1860.0));
    assert_eq!(packets[0]["clock"]["currentTime"], "2000-01-01T12:01:00Z");
    let ids: BTreeSet<&str> = packets.iter().map(|packet| text(&packet["id"])).collect();
    assert_eq!(ids.len(), packets.len());
    assert_eq!(ids.iter().filter(|id| id.starts_with("satellite/")).count(), 66);
    check_positions(packets, &mut iridium());

    // Which nodes are the route in each ten seconds, by the scene and by the samples.
    let mut by_scene: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for route in packets.iter().filter(|packet| text(&packet["id"]).starts_with("route/")) {
        assert_eq!(route["name"], "London to Boston");
        let references = list(&route["polyline"]["positions"]["references"]);
        let nodes = references
            .iter()
            .map(|node| text(node).strip_suffix("#position").expect("a reference"));
        let nodes: Vec<&str> = nodes.collect();
        assert!(nodes.iter().all(|node| ids.contains(node)), "{nodes:?}");
        for interval in list(&route["availability"]) {
            let (first, end) = seconds(interval, start);
            assert!(first < end && (60.0..=1860.0).contains(&first) && end <= 1860.0);
            for at in (first as u64..end as u64).step_by(10) {
                assert!(by_scene.insert(at, nodes.clone()).is_none(), "two routes at {at}");
            }
        }
    }
    let names: BTreeMap<&str, &str> =
        packets.iter().skip(1).map(|packet| (text(&packet["id"]), text(&packet["name"]))).collect();
    let mut reader = csv::Reader::from_path(&csv).expect("samples");
    let mut without = 0;
    for record in reader.records() {
        let record = record.expect("a record");
        let at: u64 = record[0].parse().expect("whole seconds");
        let route =
            by_scene.get(&at).map(|nodes| nodes.iter().map(|node| names[node]).collect::<Vec<_>>());
        assert_eq!(route.unwrap_or_default().join(" > "), record[3], "at {at}");
        without += usize::from(record[3].is_empty());
    }
    assert!(by_scene.len() > 10 && without > 10, "{} {without}", by_scene.len());
}

#[test]
fn a_scene_of_element_sets_starts_at_their_epoch() {
    let dir = tempfile::tempdir().expect("a directory");
    let name = shell(dir.path(), 5, 4);
    let path = dir.path().join("scene.czml");
    let args = [&name, "--from", "London", "--to", "Paris", "--mask", "1", "--isl", "4"];
    let files = ["--czml", path.to_str().expect("a path"), "--duration", "3 h", "--step", "1 min"];
    stdout(&[&args[..], &files].concat());
    let scene = read(&path);
    let packets = list(&scene);
    let start = "2026-01-01T00:00:00Z";
    assert_eq!(seconds(&packets[0]["clock"]["interval"], start), (0.0, 10_800.0));
    let elements = fs::read_to_string(&name).expect("a file");
    let constellation =
        Constellation::from_elements("shell", &elements, None, Degrees(1.0), IslRules::NONE);
    check_positions(packets, &mut network(constellation.expect("elements")));
}

#[test]
fn a_scene_that_would_be_too_large_is_refused_before_the_run_and_leaves_no_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let name = shell(dir.path(), 60, 50);
    let path = dir.path().join("scene.czml");
    let scene = path.to_str().expect("a path");
    refused(
        &[&name, "--from", "London", "--to", "Paris", "--czml", scene],
        "--czml: 3000 satellites at 1441 times are 4323000 positions, more than 4000000: give a \
         --duration of at most",
    );
    assert!(!path.exists());
}

/// All positions of a geometry.
fn positions(geometry: &Value) -> Vec<Vec<(f64, f64)>> {
    let pair = |at: &Value| (number(&at[0]), number(&at[1]));
    let line = |line: &Value| list(line).iter().map(pair).collect::<Vec<_>>();
    let coordinates = &geometry["coordinates"];
    match text(&geometry["type"]) {
        "Point" => vec![vec![pair(coordinates)]],
        "LineString" => vec![line(coordinates)],
        "MultiLineString" => list(coordinates).iter().map(line).collect(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_map_in_geojson_stays_on_the_globe_and_lines_end_at_the_antimeridian() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.geojson");
    let args = [
        "iridium",
        "--from",
        "Auckland",
        "--to",
        "Honolulu",
        "--duration",
        "1 min",
        "--first",
        "25 s",
    ];
    stdout(&[&args[..], &["--geojson", path.to_str().expect("a path")]].concat());
    let map = read(&path);
    assert_eq!(map["type"], "FeatureCollection");
    let features = list(&map["features"]);
    let kind = |kind: &str| {
        features.iter().filter(|f| f["properties"]["kind"] == kind).collect::<Vec<_>>()
    };
    assert_eq!((kind("satellite").len(), kind("station").len(), kind("route").len()), (66, 2, 1));
    assert!(kind("link").len() > 80, "{}", kind("link").len());
    let mut cut = 0;
    for feature in features {
        assert_eq!(feature["type"], "Feature");
        let parts = positions(&feature["geometry"]);
        for (east, north) in parts.iter().flatten() {
            assert!(east.abs() <= 180.0 && north.abs() <= 90.0, "{feature}");
        }
        for line in &parts {
            assert!(
                line.windows(2).all(|pair| (pair[0].0 - pair[1].0).abs() <= 180.0),
                "{feature}"
            );
        }
        for pair in parts.windows(2) {
            let (end, begin) = (pair[0].last().expect("an end"), pair[1].first().expect("a begin"));
            assert_eq!((end.0.abs(), end.0, end.1), (180.0, -begin.0, begin.1), "{feature}");
            cut += 1;
        }
    }
    assert!(cut > 2, "{cut}");
    let mut network = iridium();
    let at = Instant::ZERO + Span::from_secs(25);
    for (number, satellite) in (0..).zip(kind("satellite")) {
        let place = network.place(Node::Satellite(number), at).expect("in orbit").expect("there");
        let (east, north) = positions(&satellite["geometry"])[0][0];
        assert!(
            (east - place.longitude().0).abs() < 1e-4 && (north - place.latitude().0).abs() < 1e-4
        );
        assert_eq!(satellite["properties"]["altitude_km"], 780.0);
    }
    let ends = ["Auckland", "Honolulu"];
    let ends = ends.map(|name| Station::terminal(name, name.parse().expect("a city")));
    let in_view = network.constellation().in_view(&ends, at).expect("in orbit");
    let told: Vec<bool> =
        kind("satellite").iter().map(|s| s["properties"]["in_view"] == true).collect();
    assert_eq!(told, in_view);
    assert!((2..12).contains(&in_view.iter().filter(|seen| **seen).count()));
}

#[test]
fn the_gateways_of_an_operator_make_no_satellite_be_in_view() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("map.geojson");
    let args = ["starlink", "--from", "London", "--to", "Boston", "--duration", "1 s"];
    stdout(&[&args[..], &["--geojson", path.to_str().expect("a path")]].concat());
    let map = read(&path);
    let seen = |feature: &&Value| feature["properties"]["in_view"] == true;
    let seen = list(&map["features"]).iter().filter(seen).count();
    assert!((5..60).contains(&seen), "{seen}");
}

#[test]
fn no_file_is_written_over_the_constellation_or_over_another_result() {
    let dir = tempfile::tempdir().expect("a directory");
    let name = shell(dir.path(), 24, 20);
    let before = fs::read(&name).expect("a file");
    let fixed = [&name, "--from", "London", "--to", "Paris", "--duration", "1 min"];
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&name, &link).expect("a link");
    for flag in ["--csv", "--handovers", "--svg", "--czml", "--geojson"] {
        for path in [&name, link.to_str().expect("a path")] {
            refused(&[&fixed[..], &[flag, path]].concat(), "the same file: name another one");
        }
    }
    assert_eq!(fs::read(&name).expect("a file"), before);
    let out = dir.path().join("out");
    let out = out.to_str().expect("a path");
    refused(&[&fixed[..], &["--czml", out, "--geojson", out]].concat(), "the same file");
}

const FLIGHT: &str = "time_s,latitude,longitude,altitude_m\n\
                      0,51.47,-0.45,0\n1200,53,-5,11000\n18000,45,-65,11000\n21000,42.36,-71,0\n";

#[test]
fn a_flight_is_followed_in_every_result_and_its_file_is_never_written_over() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_str().expect("a path").to_owned();
    let (flight, scene, map) = (path("flight.csv"), path("scene"), path("map"));
    fs::write(&flight, FLIGHT).expect("written");
    let fixed = ["starlink", "--from", &flight, "--to", "London", "--step", "10 min"];
    let fixed = [&fixed[..], &["--duration", "6 h", "--ground-stations", "none"]].concat();
    for flag in ["--csv", "--handovers", "--svg", "--czml", "--geojson"] {
        refused(&[&fixed[..], &[flag, &flight]].concat(), "the same file: name another one");
    }
    assert_eq!(fs::read_to_string(&flight).expect("a file"), FLIGHT);
    let document = json(&[&fixed[..], &["--czml", &scene, "--geojson", &map]].concat());
    assert_eq!(
        (text(&document["from"]["name"]), text(&document["from"]["track"])),
        ("flight", &*flight)
    );
    assert!(number(&document["delay_ms"]["max"]) > number(&document["delay_ms"]["min"]) + 10.0);
    let scene = read(dir.path().join("scene").as_path());
    let plane = list(&scene).iter().find(|packet| packet["name"] == "flight").expect("a station");
    let points: Vec<f64> =
        list(&plane["position"]["cartographicDegrees"]).iter().map(number).collect();
    let (first, last) = (&points[..4], &points[points.len() - 4..]);
    assert_eq!(first, [0.0, -0.45, 51.47, 0.0]);
    assert!(last[0] == 21_600.0 && (last[1] + 71.0).abs() < 1e-9 && last[3] == 0.0, "{last:?}");
    let host = ["starlink", "--from", "London", "--to", &flight, "--to-host"];
    refused(&[&host[..], &fixed[5..]].concat(), "no cable reaches it");
}

#[test]
fn a_track_that_cannot_be_read_is_named_with_its_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("bad.gpx");
    fs::write(&file, "<gpx>\n<trk><trkseg><trkpt lat=\"1\" lon=\"2\"/></trkseg></trk></gpx>")
        .expect("written");
    let from = ["starlink", "--from", file.to_str().expect("a path"), "--to", "Paris"];
    for said in ["bad.gpx", "line 2: a point without `time`"] {
        refused(&from, said);
    }
}

#[test]
fn four_thousand_element_sets_are_linked_and_have_a_route() {
    let dir = tempfile::tempdir().expect("a directory");
    let name = shell(dir.path(), 72, 56);
    let args =
        [&name, "--from", "London", "--to", "Boston", "--isl", "4", "--policy", "shortest-path"];
    let document = json(&[&args[..], &["--duration", "2 s"]].concat());
    assert_eq!((&document["satellites"], &document["connected"]), (&4032.into(), &2.into()));
    let least = number(&document["delay_ms"]["min"]);
    assert!((18.0..40.0).contains(&least), "{least}");
}

#[test]
fn a_run_without_a_route_leaves_the_last_results_as_they_were() {
    let dir = tempfile::tempdir().expect("a directory");
    let name = shell(dir.path(), 24, 20);
    let fixed = [&name, "--from", "London", "--to", "Sydney", "--duration", "1 min"];
    for flag in ["--handovers", "--svg", "--czml", "--geojson"] {
        let path = dir.path().join("last");
        fs::write(&path, "the last result").expect("a file");
        let asked = [&fixed[..], &[flag, path.to_str().expect("a path")]].concat();
        refused(&asked, "no route from London to Sydney");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "the last result", "{flag}");
    }
    let path = dir.path().join("map.geojson");
    fs::write(&path, " ".repeat(10_000_000)).expect("a file");
    let asked = [&name, "--from", "London", "--to", "Paris", "--duration", "1 min"];
    stdout(&[&asked[..], &["--geojson", path.to_str().expect("a path")]].concat());
    assert!(fs::metadata(&path).expect("a file").len() < 1_000_000, "it was emptied");
    stdout(&[&asked[..], &["--svg", "/dev/null", "--czml", "/dev/null"]].concat());
    read(&path);
}
