//! Terminals of `shortest-path` beside a computation that knows nothing of links, antennas and routes.

use bentpipe_orbit::{Constellation, Network, Node, Place, Policy, Station, known};
use bentpipe_units::{Instant, Span};

const CHECK: Span = Span::from_secs(10);
/// Starlink's first shell.
const PLANES: usize = 72;
const PER_PLANE: usize = 22;
const PHASING: usize = 39;
const MASK: f64 = 25.0;
/// Kilometres per second.
const LIGHT: f64 = 299_793.0;
/// Share of the speed of light at which signals go through glass.
const FIBRE: f64 = 2.0 / 3.0;

fn network(from: &str, to: &str) -> Network {
    let constellation = Constellation::new(&known("starlink").expect("known").expect("a shell"));
    let terminal = |name: &str| Station {
        policy: Policy::ShortestPath,
        ..Station::terminal(name, name.parse().expect("a city"))
    };
    let stations = vec![terminal(from), terminal(to)];
    Network::new(constellation.expect("a constellation"), stations, &[], CHECK).expect("covered")
}

/// The four neighbours of a satellite: along its plane and across, where the last plane meets the first one with the
/// shift that the phasing adds up to.
fn neighbours(satellite: usize) -> [usize; 4] {
    let (plane, slot) = (satellite / PER_PLANE, satellite % PER_PLANE);
    let east = if plane + 1 < PLANES {
        (plane + 1) * PER_PLANE + slot
    } else {
        (slot + PHASING) % PER_PLANE
    };
    let west = if plane > 0 {
        (plane - 1) * PER_PLANE + slot
    } else {
        (PLANES - 1) * PER_PLANE + (slot + PER_PLANE * PHASING - PHASING) % PER_PLANE
    };
    let along = |by: usize| plane * PER_PLANE + (slot + by) % PER_PLANE;
    [along(1), along(PER_PLANE - 1), east, west]
}

/// Milliseconds that light takes between two nodes.
fn light(network: &Network, a: Node, b: Node, at: Instant) -> f64 {
    network.light_time(a, b, at).expect("in orbit").expect("nodes").as_secs_f64() * 1e3
}

/// The least delay in milliseconds by Dijkstra's method as he wrote it down: without a heap, without a graph.
fn brute_force(network: &Network, at: Instant, seen_at: Instant) -> f64 {
    let count = PLANES * PER_PLANE;
    let earth = network.constellation().earth();
    let (ground, orbit) = (earth.radius().0, earth.radius().0 + 550.0);
    let satellite = |number: usize| Node::Satellite(number as u32);
    let sees = |station: u32, number: usize| {
        let time = light(network, Node::Station(station), satellite(number), seen_at);
        let range = time / 1e3 * LIGHT;
        let sine = (orbit * orbit - ground * ground - range * range) / (2.0 * ground * range);
        sine > MASK.to_radians().sin()
    };
    let up: Vec<f64> = (0..count)
        .map(|number| match sees(0, number) {
            true => light(network, Node::Station(0), satellite(number), at),
            false => f64::INFINITY,
        })
        .collect();
    let (mut cost, mut done) = (up, vec![false; count]);
    while let Some(nearest) = (0..count)
        .filter(|number| !done[*number] && cost[*number].is_finite())
        .min_by(|a, b| cost[*a].total_cmp(&cost[*b]))
    {
        done[nearest] = true;
        for next in neighbours(nearest) {
            let total = cost[nearest] + light(network, satellite(nearest), satellite(next), at);
            cost[next] = cost[next].min(total);
        }
    }
    (0..count)
        .filter(|number| sees(1, *number))
        .map(|number| cost[number] + light(network, satellite(number), Node::Station(1), at))
        .fold(f64::INFINITY, f64::min)
}

/// The delays of samples over a quarter of an hour in milliseconds, each within 1 ms of what brute force finds.
fn delays(to: &str) -> Vec<f64> {
    let mut network = network("London", to);
    let mut delays = Vec::new();
    for second in (0..900).step_by(53) {
        let at = Instant::ZERO + Span::from_secs(second);
        network.advance(at, |_, _| {}).expect("in orbit");
        let route = network.route(Node::Station(0), Node::Station(1), at).expect("in orbit");
        let delay = route.expect("a route").delay.as_secs_f64() * 1e3;
        let least = brute_force(&network, at, network.checked_at());
        assert!((delay - least).abs() < 1.0, "{to}, {second} s: {delay} ms and {least} ms");
        delays.push(delay);
    }
    delays
}

/// Milliseconds through glass along the great circle.
fn fibre(from: &str, to: &str) -> f64 {
    let place = |name: &str| name.parse::<Place>().expect("a city");
    let arc = place(from).arc_to(place(to)).0.to_radians();
    arc * 6_378.0 / (LIGHT * FIBRE) * 1e3
}

#[test]
fn london_to_boston_and_new_york_takes_less_than_1_4_times_the_great_circle_in_glass() {
    for city in ["Boston", "New York"] {
        let (delays, glass) = (delays(city), fibre("London", city));
        let longest = delays.iter().copied().fold(0.0, f64::max);
        assert!(longest < 1.4 * glass, "{city}: {longest} ms and {glass} ms of glass");
    }
}

#[test]
fn london_to_frankfurt_and_cape_town_is_the_shortest_path() {
    let (near, far) = (delays("Frankfurt"), delays("Cape Town"));
    assert!(near.iter().all(|delay| *delay < 20.0), "{near:?}");
    assert!(far.iter().all(|delay| *delay > 35.0), "{far:?}");
}
