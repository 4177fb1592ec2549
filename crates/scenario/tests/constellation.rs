//! Scenarios whose network is a constellation.

use bentpipe_link::ModelSpec;
use bentpipe_orbit::Policy;
use bentpipe_scenario::{Scenario, ScenarioError};
use bentpipe_sim::{RunSpec, Silent, run};
use bentpipe_units::{Instant, Span};

const SMALL: &str = r#"
name = "small"
encapsulation = "udp"
duration = "10 min"

[constellation]
name = "iridium"
update_interval = "10 s"

[constellation.ground]
rate = "1.5 Mbit/s"
queue = "50 packets"

[constellation.isl]
rate = "25 Mbit/s"

[constellation.stations]
west = { place = "Berkeley" }
Boston = {}

[flows.file]
from = "west"
to = "Boston"
size = "100 kB"
"#;

fn spec(text: &str) -> RunSpec {
    let scenario = Scenario::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}"));
    scenario.run_spec(None, false).expect("a run")
}

fn refused(old: &str, new: &str) -> ScenarioError {
    let text = SMALL.replacen(old, new, 1);
    assert_ne!(text, SMALL, "{old}");
    Scenario::parse("test.toml", &text).expect_err(new)
}

#[test]
fn stations_are_the_nodes_and_links_have_what_their_tables_say() {
    let with_up = format!("{SMALL}\n[constellation.ground.up]\nrate = \"500 kbit/s\"\n");
    let spec = spec(&with_up);
    assert_eq!(spec.nodes, ["west", "Boston"]);
    let constellation = spec.constellation.as_ref().expect("a constellation");
    let rate = |models: &[ModelSpec]| match models {
        [ModelSpec::Rate { rate, .. }] => rate.as_bps(),
        other => panic!("{other:?}"),
    };
    assert_eq!(rate(&constellation.ground[0].up), 500_000);
    assert_eq!(
        (rate(&constellation.ground[0].down), rate(&constellation.isl)),
        (1_500_000, 25_000_000)
    );
    let summary = run(&spec, &mut Silent).expect("a run");
    assert!(summary.flows[0].complete, "{:?}", summary.flows[0]);
    let names: Vec<_> = summary.links.iter().map(|link| (&*link.name, &*link.from)).collect();
    assert_eq!(names[0], ("ground", "west"));
    assert_eq!((names.len(), names[4]), (5, ("isl", "satellite")));
}

#[test]
fn bent_pipes_reach_each_other_over_gateways_and_the_cable_between_them() {
    let text = SMALL
        .replace("\"iridium\"", "\"oneweb\"\nground_stations = \"none\"")
        .replace("Berkeley", "London")
        .replace("Boston = {}", "Boston = { place = \"Sydney\" }\nparis = { place = \"Paris\", gateway = true }\nperth = { place = \"Perth\", gateway = true }\nsydney = { place = \"-33,151\", gateway = true }")
        .replace("[flows.file]", "[links.sea]\nbetween = [\"paris\", \"perth\"]\n\n[links.desert]\nbetween = [\"perth\", \"sydney\"]\nrate = \"1 Gbit/s\"\ndelay = \"25 ms\"\n\n[flows.file]");
    let spec = spec(&text);
    // Glass from Paris to Perth: 14,300 km at two thirds of the speed of light.
    let delay = |link: usize| match spec.links[link].forward_link.last() {
        Some(ModelSpec::Delay(delay)) => *delay,
        other => panic!("{other:?}"),
    };
    assert!((delay(0).as_secs_f64() - 0.0714).abs() < 0.0005, "{}", delay(0));
    assert_eq!(delay(1), Span::from_millis(25));
    let summary = run(&spec, &mut Silent).expect("a run");
    assert!(summary.flows[0].complete, "{:?}", summary.flows[0]);
    assert!(summary.links[2].delivered > 100, "{:?}", summary.links[2]);
    let routes = &summary.constellation.expect("a constellation").routes;
    assert!(routes[0].changes.iter().any(|change| change.hops == 6), "{routes:?}");
}

/// Over Starlink with these lines in `[constellation]` and these stations.
fn starlink(lines: &str, stations: &str) -> String {
    let small = SMALL.replace("\"iridium\"", &format!("\"starlink\"\n{lines}"));
    small.replace("Berkeley = {}", "Berkeley = {}\n").replace("Boston = {}", stations)
}

#[test]
fn the_ground_stations_of_an_operator_carry_what_goes_to_a_host() {
    let spec = spec(&starlink("", "Boston = { place = \"Chicago\", host = true }"));
    let network = &spec.constellation.as_ref().expect("a constellation").network;
    assert!(matches!(network.stations()[0].policy, Policy::Slots(_)), "as the operator does it");
    assert_eq!(network.stations()[1].policy, Policy::CablesOnly);
    assert!(spec.nodes.iter().any(|node| node == "PoP Chicago"));
    let summary = run(&spec, &mut Silent).expect("a run");
    assert!(summary.flows[0].complete, "{:?}", summary.flows[0]);
    let carried = |from: &str, to: &str| {
        let found = summary.links.iter().find(|link| link.from == from && link.to == to);
        found.map_or(0, |link| link.delivered)
    };
    assert!(carried("Boston", "PoP Chicago") > 10 && carried("PoP Chicago", "Boston") > 10);
    assert!(summary.links.iter().all(|link| link.packets > 0), "idle ones are left out");
}

#[test]
fn a_handover_has_the_outage_the_loss_and_the_rate_of_the_table() {
    let text = starlink(
        "policy = \"slots\"\nhandover = { outage = [\"20 ms\", \"150 ms\"], loss = 0.02, rate = [0.4, 1] }",
        "Boston = { place = \"Chicago\", host = true }",
    );
    let handover = spec(&text).constellation.expect("a constellation").handover;
    let ms = Span::from_millis;
    assert_eq!((handover.outage, handover.loss), ([ms(20), ms(150)], 0.02));
    assert_eq!((handover.loss_time, handover.rate), (ms(1000), [0.4, 1.0]));
    let plain = starlink("", "Boston = { place = \"Chicago\", host = true }");
    let lost = |text: &str| {
        let summary = run(&spec(text), &mut Silent).expect("a run");
        assert!(summary.flows[0].complete, "{:?}", summary.flows[0]);
        summary.links.iter().map(|link| link.lost_blackout + link.lost_random).sum::<u64>()
    };
    let long = |text: &str| text.replace("size = \"100 kB\"", "size = \"8 MB\"");
    assert!(lost(&long(&text)) > lost(&long(&plain)));
}

#[test]
fn a_station_moves_along_its_track_and_what_stands_beside_it_moves_with_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let flight = "time_s,latitude,longitude\n0,50,-10\n3600,50,-20\n";
    std::fs::write(dir.path().join("flight.csv"), flight).expect("written");
    let place = |track: &str, seconds: u64| {
        let stations = format!(
            "plane = {{ track = {track} }}\ncabin = {{ beside = \"plane\" }}\nBoston = {{}}"
        );
        let text = starlink("ground_stations = \"none\"", &stations);
        let file = dir.path().join("scenario.toml");
        std::fs::write(&file, text).expect("written");
        let scenario =
            Scenario::open(file.to_str().expect("a path")).unwrap_or_else(|e| panic!("{e}"));
        let spec = scenario.run_spec(None, false).unwrap_or_else(|e| panic!("{e}"));
        let stations = spec.constellation.expect("a constellation").network.stations().to_vec();
        let at = Instant::ZERO + Span::from_secs(seconds);
        let [plane, cabin] = [1, 2].map(|n| stations[n].place_at(at));
        assert_eq!(plane, cabin);
        (plane.latitude().0, plane.longitude().0)
    };
    assert_eq!(place("\"flight.csv\"", 0), (50.0, -10.0));
    let (_, east) = place("\"flight.csv\"", 1800);
    assert!((east + 15.0).abs() < 1e-9, "{east}");
    let (_, east) = place("{ file = \"flight.csv\", start = \"30 min\" }", 0);
    assert!((east + 15.0).abs() < 1e-9, "{east}");
    let waypoints = "{ waypoints = [\"0,10\", \"0,20\"], speed = \"1000 km/h\" }";
    let (north, east) = place(waypoints, 3600);
    // An hour of 1000 km is 8.98 degrees of the equator.
    assert!(north.abs() < 1e-9 && (east - 18.983).abs() < 0.001, "{north}, {east}");
}

#[test]
fn a_track_that_cannot_be_is_refused_with_its_key() {
    for (track, key, said) in [
        ("{}", "track", "either a `file` or `waypoints`"),
        ("{ waypoints = [\"0,1\", \"0,2\"] }", "track.speed", "such as \"900 km/h\""),
        (
            "{ waypoints = [\"0,1\", \"Lodnon\"], speed = \"1 kn\" }",
            "track.waypoints",
            "did you mean `London`?",
        ),
        ("{ file = \"x\", waypoints = [\"Oslo\"] }", "track.waypoints", "either these or a `file`"),
        ("{ file = \"x\", speed = \"9 m/s\" }", "track.speed", "a file has times"),
        ("\"missing.gpx\"", "track.file", "missing.gpx: "),
        ("\"a.gpx\", place = \"Oslo\"", "place", "not with a `track`"),
        ("\"a.gpx\", host = true", "host", "not with a `track`"),
    ] {
        let error = refused("Boston = {}", &format!("Boston = {{ track = {track} }}"));
        let message = error.to_string();
        let key = format!("constellation.stations.Boston.{key}");
        assert!(message.contains(&key) && message.contains(said), "{track}: {message}");
    }
}

#[test]
fn files_stand_beside_the_scenario() {
    let dir = tempfile::tempdir().expect("a directory");
    let shells = "name = \"mine\"\n[[shells]]\nlongitudes = [-95]\nelevation_mask = \"5 deg\"\n";
    std::fs::write(dir.path().join("mine.toml"), shells).expect("a file");
    let path = dir.path().join("small.toml");
    let text = SMALL.replace("name = \"iridium\"", "file = \"mine.toml\"");
    std::fs::write(&path, text).expect("a file");
    let scenario = Scenario::open(path.to_str().expect("a path")).expect("a scenario");
    let constellation =
        scenario.run_spec(None, false).expect("a run").constellation.expect("a constellation");
    assert_eq!(constellation.network.constellation().name(), "mine");
}

#[test]
fn satellites_that_have_no_number_are_refused_by_their_count() {
    let dir = tempfile::tempdir().expect("a directory");
    let walker = "name = \"mine\"\n[[shells]]\naltitude = \"550 km\"\ninclination = \"53 deg\"\n\
                  planes = 256\nsatellites_per_plane = 256\nelevation_mask = \"25 deg\"\n";
    let path = dir.path().join("small.toml");
    let text = SMALL.replace("name = \"iridium\"", "file = \"mine.toml\"");
    std::fs::write(dir.path().join("mine.toml"), walker).expect("a file");
    std::fs::write(&path, text).expect("a file");
    let error = Scenario::open(path.to_str().expect("a path")).expect_err("65,538 nodes");
    assert_eq!(error.key.as_deref(), Some("constellation.file"), "{error}");
    assert!(error.message.contains("65536 satellites and 2 stations"), "{error}");
    assert!(error.message.contains("at most 65535"), "{error}");
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_its_key() {
    for (old, new, line, key, said) in [
        (
            "\"iridium\"",
            "\"iridium\"\nground_stations = \"operator\"",
            Some(8),
            "constellation.ground_stations",
            "they are of starlink, oneweb, telesat",
        ),
        (
            "\"iridium\"",
            "\"iridium\"\nslots = { period = \"0 s\" }\npolicy = \"slots\"",
            Some(8),
            "constellation.slots.period",
            "such as 15 s",
        ),
        (
            "\"iridium\"",
            "\"iridium\"\nhandover = { rate = [0.5, 0.2] }",
            Some(8),
            "constellation.handover.rate",
            "the smaller one first",
        ),
        (
            "\"iridium\"",
            "\"iridium\"\nhandover = { outage = [\"2 s\", \"1 s\"] }",
            Some(8),
            "constellation.handover.outage",
            "the shorter one comes first",
        ),
        (
            "\"iridium\"",
            "\"iridium\"\nhandover = { outage = \"1 y\" }",
            Some(8),
            "constellation.handover.outage",
            "neither a value",
        ),
        (
            "\"iridium\"",
            "\"iridium\"\nshared_downlinks = true\nhandover = { rate = 0.5 }",
            Some(8),
            "constellation.shared_downlinks",
            "leave one of them out",
        ),
        (
            "Boston = {}",
            "Boston = { host = true }",
            Some(19),
            "constellation.stations.Boston.host",
            "no cable reaches it",
        ),
        ("iridium", "iridum", Some(7), "constellation.name", "did you mean `iridium`?"),
        ("name = \"iridium\"\n", "", Some(6), "constellation", "`name` or a `file`"),
        ("\"iridium\"", "\"iridium\"\nfile = \"x\"", Some(6), "constellation", "either"),
        ("\"iridium\"", "\"iridium\"\nstart = \"x\"", Some(8), "constellation.start", "`x`"),
        ("\"iridium\"", "\"iridium\"\nnearest = 4", Some(7), "constellation.name", "element sets"),
        ("\"10 s\"", "\"0 s\"", Some(8), "constellation.update_interval", "1 ms or more"),
        (
            "Berkeley",
            "Berkley",
            Some(18),
            "constellation.stations.west.place",
            "did you mean `Berkeley`?",
        ),
        (
            "Boston = {}",
            "Boston = { policy = \"most\" }",
            Some(19),
            "constellation.stations.Boston.policy",
            "`longest-hold`",
        ),
        (
            "{ place = \"Berkeley\" }",
            "{ place = \"Berkeley\", links = 0 }",
            Some(18),
            "constellation.stations.west",
            "at least 1",
        ),
        ("\"1.5 Mbit/s\"", "\"fast\"", Some(11), "constellation.ground.rate", "such as"),
        ("rate = \"25 Mbit/s\"", "queue = \"9 B\"", Some(15), "constellation.isl.queue", "`rate`"),
        ("name = \"small\"", "name = \"small\"\nnodes = [\"a\"]", Some(3), "nodes", "stations"),
        ("to = \"Boston\"", "to = \"boston\"", Some(23), "flows.file.to", "`Boston`"),
    ] {
        let error = refused(old, new);
        assert_eq!((error.line, error.key.as_deref()), (line, Some(key)), "{error}");
        assert!(error.message.contains(said), "{error}");
    }
    let unrated = SMALL
        .replace("rate = \"1.5 Mbit/s\"\nqueue = \"50 packets\"", "up = { rate = \"1 Mbit/s\" }")
        .replace("\"iridium\"", "\"iridium\"\nshared_downlinks = true");
    let error = Scenario::parse("test.toml", &unrated).expect_err("nothing to share");
    assert!(error.message.contains("no link to a station has a `rate`"), "{error}");
    let polar = SMALL.replace("iridium", "starlink").replace("Berkeley", "80,0");
    let error = Scenario::parse("test.toml", &polar).expect_err("no coverage");
    assert_eq!(error.key.as_deref(), Some("constellation.stations.west"));
    assert!(error.message.contains("ever comes above"), "{error}");
}
