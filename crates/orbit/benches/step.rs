//! The time of one step: links, handovers and routes of Starlink's first shell and 100 stations, and of 4,000 element
//! sets.

use bentpipe_orbit::{Constellation, IslPattern, IslRules, Network, Node, Place, Station, known};
use bentpipe_testkit::elements::walker_shell;
use bentpipe_units::{Degrees, Span};

const STATIONS: u32 = 100;
const STEP: Span = Span::from_secs(1);

fn main() {
    divan::main();
}

/// Stations all over the latitudes that the shell covers.
fn network() -> Network {
    let spec = known("starlink").expect("known").expect("a constellation");
    let constellation = Constellation::new(&spec).expect("a constellation");
    let station = |n: u32| {
        let (latitude, longitude) = (f64::from(n * 37 % 105) - 52.0, f64::from(n * 101 % 360));
        let place = Place::new(Degrees(latitude), Degrees(longitude - 180.0)).expect("a place");
        Station::terminal(n.to_string(), place)
    };
    Network::new(constellation, (0..STATIONS).map(station).collect(), &[], STEP).expect("a network")
}

/// Checks all links.
#[divan::bench]
fn links(bencher: divan::Bencher<'_, '_>) {
    let mut network = network();
    bencher.bench_local(|| {
        let next = network.next_check();
        network.advance(next, |_, _| {}).expect("in orbit");
    });
}

/// Checks all links and finds the ways from everywhere to every station.
#[divan::bench]
fn links_and_routes(bencher: divan::Bencher<'_, '_>) {
    let mut network = network();
    bencher.bench_local(|| {
        let next = network.next_check();
        network.advance(next, |_, _| {}).expect("in orbit");
        for station in 0..STATIONS {
            divan::black_box(network.routes_to(Node::Station(station), next).expect("in orbit"));
        }
    });
}

/// 4,032 satellites by SGP4, each linked to its four nearest.
fn elements(text: &str) -> Network {
    let isl = IslRules { pattern: IslPattern::Nearest(4), ..IslRules::NONE };
    let constellation = Constellation::from_elements("walker", text, None, Degrees(25.0), isl);
    let station = |city: &str| Station::terminal(city, city.parse().expect("a city"));
    let stations = vec![station("London"), station("Boston")];
    Network::new(constellation.expect("elements"), stations, &[], STEP).expect("a network")
}

/// Reads the element sets and makes the first check.
#[divan::bench]
fn elements_read(bencher: divan::Bencher<'_, '_>) {
    let text = walker_shell(72, 56);
    bencher.bench_local(|| elements(&text));
}

/// Moves the satellites and finds one way.
#[divan::bench]
fn elements_moved(bencher: divan::Bencher<'_, '_>) {
    let mut network = elements(&walker_shell(72, 56));
    let mut at = network.checked_at();
    bencher.bench_local(|| {
        at += Span::from_millis(1);
        network.route(Node::Station(0), Node::Station(1), at).expect("in orbit")
    });
}

/// Moves the satellites, checks all links and finds one way.
#[divan::bench]
fn elements_checked(bencher: divan::Bencher<'_, '_>) {
    let mut network = elements(&walker_shell(72, 56));
    bencher.bench_local(|| {
        let next = network.next_check();
        network.advance(next, |_, _| {}).expect("in orbit");
        network.route(Node::Station(0), Node::Station(1), next).expect("in orbit")
    });
}
