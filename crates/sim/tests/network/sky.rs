//! Flows over satellites that move.

use bentpipe_link::{HandoverSpec, ModelSpec};
use bentpipe_orbit::{
    Constellation, ConstellationSpec, IslRules, Network, Node, Orbits, Place, Policy, Station,
    known,
};
use bentpipe_record::{ConstellationSummary, LinkSummary, RunSummary};
use bentpipe_sim::{BuildError, GroundSpec, RunSpec, SatelliteNetworkSpec, Silent, run};
use bentpipe_units::{Degrees, Instant, Span};

use crate::support::{assert_all_arrived, flow, link, outcome, rate, spec};

const BERKELEY: &str = "Berkeley";
const BOSTON: &str = "Boston";

fn station(name: &str) -> Station {
    Station::terminal(name, name.parse().expect(name))
}

fn network(constellation: Constellation, stations: Vec<Station>, check: u64) -> Network {
    Network::new(constellation, stations, &[], Span::from_secs(check)).expect("a network")
}

fn constellation(name: &str) -> Constellation {
    Constellation::new(&known(name).expect(name).expect(name)).expect(name)
}

/// A run over a network whose links have these models, from its first station to its second.
fn over(network: Network, ground: Vec<ModelSpec>, isl: Vec<ModelSpec>, kilobytes: u64) -> RunSpec {
    let nodes: Vec<String> = network.stations().iter().map(|s| s.name.clone()).collect();
    let ground = vec![GroundSpec { up: ground.clone(), down: ground }; nodes.len()];
    RunSpec {
        constellation: Some(SatelliteNetworkSpec {
            network,
            ground,
            isl,
            handover: HandoverSpec::default(),
            shared_downlinks: false,
        }),
        duration: Span::from_secs(7200),
        nodes: nodes.clone(),
        ..spec(nodes.len(), vec![], vec![flow("file", 0, 1, kilobytes)])
    }
}

/// Iridium from Berkeley to Boston with ground links of 1.5 Mbit/s; links change every 10 s.
fn iridium(policy: Policy, noise: f64, kilobytes: u64) -> RunSpec {
    let stations = [BERKELEY, BOSTON].map(|name| Station { policy, ..station(name) });
    let ground = vec![rate("1.5 Mbit/s", 50), ModelSpec::BitErrors(noise)];
    let isl = vec![rate("25 Mbit/s", 50), ModelSpec::BitErrors(noise)];
    over(network(constellation("iridium"), stations.to_vec(), 10), ground, isl, kilobytes)
}

fn sky(run: &RunSummary) -> &ConstellationSummary {
    run.constellation.as_ref().expect("a constellation")
}

fn ground<'a>(run: &'a RunSummary, from: &str, to: &str) -> &'a LinkSummary {
    let mut links = run.links.iter();
    links.find(|link| (link.from.as_str(), link.to.as_str()) == (from, to)).expect("a link")
}

#[test]
fn over_a_satellite_that_stands_still_it_is_as_over_two_links_with_its_delays() {
    let stations = vec![station(BERKELEY), station(BOSTON)];
    let network = network(constellation("geo:-95"), stations, 10);
    let light = |station| {
        let ends = (Node::Station(station), Node::Satellite(0));
        let time = network.light_time(ends.0, ends.1, Instant::ZERO).expect("in orbit");
        ModelSpec::Delay(time.expect("both ends"))
    };
    let hop =
        |name: &str, ends, station| link(name, ends, vec![rate("2 Mbit/s", 100), light(station)]);
    let links = vec![hop("up", [0, 2], 0), hop("down", [2, 1], 1)];
    let still = outcome(&spec(3, links, vec![flow("file", 0, 1, 3000)]));
    let moving = over(network, vec![rate("2 Mbit/s", 100)], vec![], 3000);
    let run = outcome(&moving);
    assert_all_arrived(&moving, &run);
    assert_eq!(run.flows[0].source, still.flows[0].source);
    assert_eq!(run.flows[0].sink, still.flows[0].sink);
    assert_eq!(run.packet_hops, still.packet_hops);
    let seconds = |run: &RunSummary| run.flows[0].metrics.connection_time.expect("complete");
    assert!((seconds(&run) - seconds(&still)).abs() < 1e-7);
    let route = &sky(&run).routes[0];
    assert_eq!((route.changes.len(), route.changes[0].hops), (1, 2));
    assert!((route.mean_delay.expect("a route") - 0.25).abs() < 0.01);
    assert_eq!(sky(&run).handovers, []);
}

/// Files of 1 MB from Berkeley to Boston and from Oslo to Paris, by one satellite.
fn two_pairs(shared: bool, down: [&str; 2]) -> RunSpec {
    let names = [BERKELEY, BOSTON, "Oslo", "Paris"].map(station);
    let network = network(constellation("geo:-45"), names.to_vec(), 10);
    let mut spec = over(network, vec![rate("2 Mbit/s", 100)], vec![], 1000);
    spec.flows.push(flow("other", 2, 3, 1000));
    let sky = spec.constellation.as_mut().expect("a constellation");
    sky.shared_downlinks = shared;
    for (station, down) in [1, 3].into_iter().zip(down) {
        sky.ground[station].down = vec![rate(down, 100)];
    }
    spec
}

/// When both files are there, in seconds.
fn both_are_there(spec: &RunSpec) -> f64 {
    let run = outcome(spec);
    assert_all_arrived(spec, &run);
    run.flows.iter().filter_map(|flow| flow.metrics.connection_time).fold(0.0, f64::max)
}

#[test]
fn stations_below_a_satellite_share_its_transmitter_where_they_are_said_to() {
    let own = both_are_there(&two_pairs(false, ["200 kbit/s"; 2]));
    let shared = both_are_there(&two_pairs(true, ["200 kbit/s"; 2]));
    // Each file takes 40 s at least.
    assert!(own < 60.0 && shared > 80.0, "{own} {shared}");
    // What has another rate is sent by another transmitter.
    let different = ["200 kbit/s", "300 kbit/s"];
    assert_eq!(outcome(&two_pairs(true, different)), outcome(&two_pairs(false, different)));
}

#[test]
fn one_station_alone_notices_nothing_of_a_shared_transmitter() {
    let own = iridium(Policy::HighestElevation, 1e-6, 60_000);
    let mut shared = own.clone();
    shared.constellation.as_mut().expect("a constellation").shared_downlinks = true;
    let [own, shared] = [own, shared].map(|spec| outcome(&spec));
    assert!(!sky(&own).handovers.is_empty());
    assert_eq!(own, shared);
}

#[test]
fn bytes_on_the_links_change_nothing_of_what_happens() {
    let typed = iridium(Policy::HighestElevation, 1e-6, 60_000);
    let wire = RunSpec { wire: true, ..typed.clone() };
    let (typed_run, wire_run) = (outcome(&typed), outcome(&wire));
    assert_eq!(typed_run, wire_run);
    assert_all_arrived(&typed, &typed_run);
    let isl = ground(&typed_run, "satellite", "satellite");
    assert!(isl.corrupted > 100, "{isl:?}");
    assert!(!sky(&typed_run).handovers.is_empty());
    assert_ne!(outcome(&RunSpec { seed: 2, ..typed }), typed_run);
}

#[test]
fn at_a_handover_what_waits_is_lost_and_nothing_else() {
    // One station changes its satellite while its queue is full; links lose nothing otherwise.
    let spec = iridium(Policy::LongestHold, 0.0, 100_000);
    let run = outcome(&spec);
    assert_all_arrived(&spec, &run);
    let handovers = &sky(&run).handovers;
    assert!(handovers.iter().any(|handover| handover.station == BERKELEY), "{handovers:?}");
    let up = ground(&run, BERKELEY, "satellite");
    // At most the packet on the line and the 50 behind it, for each handover.
    assert!((1..=51 * handovers.len() as u64).contains(&up.lost_blackout), "{up:?}");
    let first = handovers.first().expect("a handover").at;
    for link in &run.links {
        let at = link.first_loss_ns.unwrap_or(u64::MAX);
        assert!(link.lost_blackout == 0 || at as f64 >= first * 1e9 || link.lost_queue_full > 0);
        assert_eq!(link.lost_random + link.lost_channel + link.lost_scripted, 0);
    }
    assert_eq!(sky(&run).lost_no_route, 0);
}

#[test]
fn a_transfer_waits_while_no_satellite_is_there_and_goes_on() {
    // Nine satellites above the equator: between two of them nothing joins the stations for a while.
    let mut shell = known("iridium").expect("known").expect("a constellation").shells.remove(0);
    let Orbits::Planes(planes) = &mut shell.orbits else { panic!("planes") };
    (planes.inclination, planes.planes, planes.per_plane) = (Degrees(0.0), 1, 9);
    shell.isl = IslRules::NONE;
    let belt = ConstellationSpec { name: "belt".into(), shells: vec![shell] };
    let belt = Constellation::new(&belt).expect("a constellation");
    let place = |east| Place::new(Degrees(0.0), Degrees(east)).expect("a place");
    let stations = [("west", 0.0), ("east", 5.0)].map(|(name, east)| Station {
        policy: Policy::All,
        ..Station::terminal(name, place(east))
    });
    let network = network(belt, stations.to_vec(), 1);
    let spec = over(network, vec![rate("1 Mbit/s", 50)], vec![], 100_000);
    let run = outcome(&spec);
    assert_all_arrived(&spec, &run);
    let changes = &sky(&run).routes[0].changes;
    let gone = changes.iter().position(|change| change.delay.is_none()).expect("an outage");
    let outage = changes[gone + 1].at - changes[gone].at;
    assert!((80.0..110.0).contains(&outage), "{outage}");
    assert!(run.simulated_seconds > changes[gone + 1].at && sky(&run).lost_no_route > 0);
}

#[test]
fn a_satellite_that_comes_down_ends_the_run_with_its_name() {
    let text = include_str!("../../../orbit/tests/data/falling.tle");
    let falling =
        Constellation::from_elements("falling", text, None, Degrees(10.0), IslRules::NONE);
    let network = network(falling.expect("in orbit"), vec![station(BERKELEY), station(BOSTON)], 60);
    let mut spec = over(network, vec![], vec![], 1);
    spec.flows[0].source.start = Instant::ZERO + Span::from_secs(100 * 86_400);
    spec.duration = Span::from_secs(200 * 86_400);
    let error = run(&spec, &mut Silent).expect_err("it comes down");
    assert!(matches!(&error, BuildError::Orbit(_)) && error.to_string().contains("FALLING"));
}
