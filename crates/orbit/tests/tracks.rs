//! Stations that move: what they see on their way.

use bentpipe_orbit::{
    Cable, Constellation, Network, Node, Place, Policy, Station, Survey, Track, TrackPoint, known,
};
use bentpipe_units::{Instant, Km, Span, Speed};

fn constellation(name: &str) -> Constellation {
    let spec = known(name).expect("known").expect("a constellation");
    Constellation::new(&spec).expect("a constellation")
}

fn place(text: &str) -> Place {
    text.parse().expect("a place")
}

fn network(name: &str, stations: Vec<Station>) -> Network {
    Network::new(constellation(name), stations, &[], Span::from_secs(5)).expect("a network")
}

fn flight() -> Track {
    Track::along(&[place("London"), place("55,-30"), place("Boston")], Speed(900.0))
        .expect("a track")
}

#[test]
fn at_every_moment_it_sees_what_a_station_sees_that_stands_there() {
    let policy = Policy::ShortestPath;
    let end = || Station { policy, ..Station::terminal("Oslo", place("Oslo")) };
    let plane = Station { policy, ..Station::moving("plane", flight()) };
    let mut moving = network("starlink", vec![plane, end()]);
    for minutes in [0, 7, 100, 349, 500] {
        let at = Instant::ZERO + Span::from_secs(60 * minutes);
        moving.advance(at, |_, _| {}).expect("in orbit");
        let there = flight().at(at).place;
        assert_eq!(moving.place(Node::Station(0), at).expect("in orbit"), Some(there));
        let still = Station { policy, ..Station::terminal("still", there) };
        let mut standing = network("starlink", vec![still, end()]);
        standing.advance(at, |_, _| {}).expect("in orbit");
        let route = |network: &mut Network| {
            let (from, to) = (Node::Station(0), Node::Station(1));
            network.route(from, to, at).expect("in orbit").expect("a route")
        };
        assert_eq!(route(&mut moving), route(&mut standing), "after {minutes} min");
    }
}

#[test]
fn a_plane_that_leaves_a_satellite_behind_takes_the_next_one() {
    // The satellite stands above one place; the plane flies out of its sight.
    let track = Track::along(&[place("0,-30"), place("0,120")], Speed(90_000.0)).expect("a track");
    let mut network = network("geo:-30,90", vec![Station::moving("plane", track)]);
    let mut used = Vec::new();
    for second in 0..700 {
        let at = Instant::ZERO + Span::from_secs(second);
        network.advance(at, |_, _| {}).expect("in orbit");
        let now: Vec<u32> = network.satellites_of(0).collect();
        if used.last() != Some(&now) {
            used.push(now);
        }
    }
    assert_eq!(used, [vec![0], vec![1]]);
}

#[test]
fn height_brings_a_station_nearer_to_what_is_above_it() {
    let at = Instant::ZERO;
    let high = |km| {
        let point = TrackPoint { at, place: place("0,-30"), altitude: Km(km) };
        Station::moving("mast", Track::new(vec![point]).expect("a track"))
    };
    let network = network("geo:-30", vec![high(0.0), high(12.0)]);
    let time = |station| {
        let time = network.light_time(Node::Station(station), Node::Satellite(0), at);
        time.expect("in orbit").expect("both are there")
    };
    let shorter = time(0).as_nanos() - time(1).as_nanos();
    assert!((40_026..=40_028).contains(&shorter), "12 km take 40.03 us: {shorter} ns");
}

#[test]
fn a_survey_follows_a_flight_over_its_whole_way() {
    let mut network = network(
        "starlink",
        vec![
            Station { policy: Policy::ShortestPath, ..Station::moving("plane", flight()) },
            Station {
                policy: Policy::ShortestPath,
                ..Station::terminal("London", place("London"))
            },
        ],
    );
    let step = Span::from_secs(60);
    let survey = Survey {
        from: 0,
        to: 1,
        first: Instant::ZERO,
        end: Instant::ZERO + flight().length(),
        step,
    };
    let mut delays = Vec::new();
    let report = survey.run(&mut network, |sample| {
        delays.extend(sample.route.as_ref().map(|route| route.delay));
    });
    let report = report.expect("in orbit");
    assert_eq!(report.connected, report.samples);
    let (first, last) = (delays[0], delays[delays.len() - 1]);
    assert!(first < Span::from_millis(8), "up and down: {first}");
    assert!(last > Span::from_millis(18), "and over 5,260 km: {last}");
}

#[test]
fn no_cable_reaches_what_moves() {
    let stations =
        vec![Station::moving("plane", flight()), Station::gateway("Oslo", place("Oslo"))];
    let cable = Cable { a: 0, b: 1, delay: None };
    let refused = Network::new(constellation("starlink"), stations, &[cable], Span::from_secs(5));
    let said = refused.expect_err("a cable").to_string();
    assert_eq!(said, "station plane: it moves: a cable does not reach it");
}
