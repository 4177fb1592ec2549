//! The time of one step: links, handovers and routes of Starlink's first shell and 100 stations.

use bentpipe_orbit::{Constellation, Degrees, Network, Node, Place, Station, known};
use bentpipe_units::Span;

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
