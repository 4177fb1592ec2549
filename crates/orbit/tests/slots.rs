//! Terminals that are assigned satellites for slots of time, over Starlink's first shell.

use bentpipe_orbit::{Change, Constellation, Network, Node, Place, Policy, Slots, Station, known};
use bentpipe_units::{Instant, Span};

const CHECK: Span = Span::from_secs(10);
/// Samples of half an hour.
const SLOTS: u64 = 120;

fn at(second: u64) -> Instant {
    Instant::ZERO + Span::from_secs(second)
}

fn network(city: &str, slots: Slots) -> Network {
    let spec = known("starlink").expect("known").expect("a shell");
    let constellation = Constellation::new(&spec).expect("a constellation");
    let place = city.parse().expect("a city");
    let station = Station { policy: Policy::Slots(slots), ..Station::terminal(city, place) };
    Network::new(constellation, vec![station], &[], CHECK).expect("covered")
}

/// North-east-up coordinates of a satellite as a place sees it, by the plain formulas of a sphere.
struct Seen {
    elevation: f64,
    north: f64,
}

/// Kilometres in a frame that turns with the earth.
fn fixed(place: Place, radius: f64) -> [f64; 3] {
    let (lat, lon) = (place.latitude().0.to_radians(), place.longitude().0.to_radians());
    [radius * lat.cos() * lon.cos(), radius * lat.cos() * lon.sin(), radius * lat.sin()]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn towards(from: [f64; 3], to: [f64; 3]) -> [f64; 3] {
    let range = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
    let length = dot(range, range).sqrt();
    range.map(|part| part / length)
}

fn see(station: Place, satellite: Place) -> Seen {
    let here = fixed(station, 6378.0);
    let up = here.map(|part| part / 6378.0);
    let line = towards(here, fixed(satellite, 6928.0));
    let (lat, lon) = (station.latitude().0.to_radians(), station.longitude().0.to_radians());
    let north = [-lat.sin() * lon.cos(), -lat.sin() * lon.sin(), lat.cos()];
    Seen { elevation: dot(line, up).asin().to_degrees(), north: dot(line, north) }
}

/// Degrees between a satellite and the nearest point of the geostationary arc above the horizon.
fn from_arc(station: Place, satellite: Place) -> f64 {
    let here = fixed(station, 6378.0);
    let line = towards(here, fixed(satellite, 6928.0));
    let arc = (0..3600).map(|tenth| {
        let east = f64::from(tenth).to_radians() / 10.0;
        towards(here, [42_164.0 * east.cos(), 42_164.0 * east.sin(), 0.0])
    });
    let visible = arc.filter(|point| dot(*point, here) > 0.0);
    visible.map(|point| dot(point, line).acos().to_degrees()).fold(f64::INFINITY, f64::min)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn place_of(network: &mut Network, satellite: u32, at: Instant) -> Place {
    network.place(Node::Satellite(satellite), at).expect("in orbit").expect("there")
}

#[test]
fn terminals_change_at_the_seconds_12_27_42_and_57_only_and_most_times() {
    let mut network = network("London", Slots::default());
    let mut changes = Vec::new();
    let see = |at: Instant, change| {
        if matches!(change, Change::Handover { .. }) {
            changes.push(at.as_nanos());
        }
    };
    network.advance(at(15 * SLOTS), see).expect("in orbit");
    assert!(changes.iter().all(|at| at % 15_000_000_000 == 12_000_000_000), "{changes:?}");
    assert!((80..=120).contains(&changes.len()), "{} of {SLOTS}", changes.len());
}

#[test]
fn who_is_assigned_stays_above_the_mask_and_away_from_the_arc() {
    for city in ["London", "Singapore", "Santiago"] {
        let mut network = network(city, Slots::default());
        let station = network.stations()[0].place;
        for second in (12..15 * SLOTS).step_by(15) {
            network.advance(at(second), |_, _| {}).expect("in orbit");
            for satellite in network.satellites_of(0).collect::<Vec<_>>() {
                let [begin, end] = [second, second + 14]
                    .map(|second| place_of(&mut network, satellite, at(second)));
                let [first, last] = [begin, end].map(|place| see(station, place).elevation);
                assert!(first > 25.0 && last > 24.5, "{city}, {second} s: {first} to {last}");
                let arc = from_arc(station, begin);
                assert!(arc > 17.9, "{city}, {second} s: {arc}");
            }
        }
    }
}

#[test]
fn high_satellites_towards_the_pole_are_likelier_than_others() {
    for (city, poleward) in [("London", 1.0), ("Sydney", -1.0)] {
        let mut network = network(city, Slots::default());
        let station = network.stations()[0].place;
        let (mut chosen, mut others, mut towards) = (Vec::new(), Vec::new(), 0);
        for second in (12..15 * SLOTS).step_by(15) {
            network.advance(at(second), |_, _| {}).expect("in orbit");
            let satellite = network.satellites_of(0).next().expect("one");
            for number in 0..network.constellation().satellites() as u32 {
                let seen = see(station, place_of(&mut network, number, at(second)));
                if number == satellite {
                    towards += u64::from(seen.north * poleward > 0.0);
                    chosen.push(seen.elevation);
                }
                if seen.elevation > 25.0 {
                    others.push(seen.elevation);
                }
            }
        }
        let gain = median(&mut chosen) - median(&mut others);
        assert!((10.0..40.0).contains(&gain), "{city}: {gain} degrees higher");
        assert!(towards * 10 > SLOTS * 6, "{city}: {towards} of {SLOTS} towards the pole");
    }
}

#[test]
fn another_seed_is_another_assignment_and_the_same_seed_the_same() {
    let assigned = |seed| {
        let mut network = network("London", Slots { seed, ..Slots::default() });
        let satellites = (12..15 * SLOTS).step_by(15).map(|second| {
            network.advance(at(second), |_, _| {}).expect("in orbit");
            network.satellites_of(0).collect::<Vec<_>>()
        });
        satellites.collect::<Vec<_>>()
    };
    assert_eq!(assigned(1), assigned(1));
    assert_ne!(assigned(1), assigned(2));
}

#[test]
fn two_antennas_have_two_satellites_and_what_is_told_is_what_is_used() {
    let spec = known("starlink").expect("known").expect("a shell");
    let constellation = Constellation::new(&spec).expect("a constellation");
    let place = "Oslo".parse().expect("a city");
    let policy = Policy::Slots(Slots::default());
    let station = Station { policy, links: 2, ..Station::terminal("Oslo", place) };
    let mut network = Network::new(constellation, vec![station], &[], CHECK).expect("covered");
    let mut told: Vec<u32> = network.satellites_of(0).collect();
    for second in 1..15 * SLOTS {
        let changed = |_, change| {
            if let Change::Handover { from, to, .. } = change {
                told.retain(|satellite| Some(*satellite) != from);
                told.extend(to);
            }
        };
        network.advance(at(second), changed).expect("in orbit");
        let mut used: Vec<u32> = network.satellites_of(0).collect();
        told.sort_unstable();
        used.sort_unstable();
        assert_eq!(told, used, "{second} s");
        used.dedup();
        assert_eq!(used.len(), told.len());
    }
}

#[test]
fn slots_of_real_satellites_follow_the_clock_on_the_wall() {
    let text = include_str!("data/satellites.tle");
    let start = "2026-11-21T12:00:05".parse().expect("a time");
    let constellation = Constellation::from_elements(
        "real",
        text,
        Some(start),
        bentpipe_units::Degrees(5.0),
        bentpipe_orbit::IslRules::NONE,
    );
    let place = "London".parse().expect("a city");
    let policy = Policy::Slots(Slots::default());
    let station = Station { policy, ..Station::terminal("London", place) };
    let network = Network::new(constellation.expect("in orbit"), vec![station], &[], CHECK);
    assert_eq!(network.expect("a network").next_check(), at(7));
}

#[test]
fn slots_that_take_next_to_no_time_are_refused() {
    let spec = known("starlink").expect("known").expect("a shell");
    let constellation = Constellation::new(&spec).expect("a constellation");
    let policy = Policy::Slots(Slots { period: Span::from_nanos(1), ..Slots::default() });
    let station = Station { policy, ..Station::terminal("a", "Oslo".parse().expect("a city")) };
    let error = Network::new(constellation, vec![station], &[], CHECK).expect_err("no time");
    assert!(error.to_string().contains("are too short"), "{error}");
}
