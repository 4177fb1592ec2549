//! Links, handovers and routes over time.

use std::collections::BTreeSet;

use bentpipe_orbit::{
    Cable, Change, Constellation, IslPattern, IslRules, Network, Node, OrbitError, Place, Policy,
    Station, known,
};
use bentpipe_units::{Degrees, Instant, Span};

const CHECK: Span = Span::from_secs(10);

fn constellation(name: &str) -> Constellation {
    Constellation::new(&known(name).expect(name).expect(name)).expect(name)
}

fn city(name: &str) -> Station {
    Station::terminal(name, name.parse().expect(name))
}

fn network(name: &str, stations: Vec<Station>) -> Network {
    Network::new(constellation(name), stations, &[], CHECK).expect(name)
}

fn at(secs: u64) -> Instant {
    Instant::ZERO + Span::from_secs(secs)
}

fn ms(span: Span) -> f64 {
    span.as_secs_f64() * 1e3
}

/// The links between satellites, and whether they stay in a plane of so many.
fn isls(network: &Network, per_plane: u32) -> Vec<(u32, u32, bool)> {
    let both = |(a, b)| match (a, b) {
        (Node::Satellite(a), Node::Satellite(b)) => Some((a, b, a / per_plane == b / per_plane)),
        _ => None,
    };
    network.links().filter_map(both).collect()
}

#[test]
fn iridium_starts_with_66_links_in_planes_and_30_of_55_between_them() {
    let mut network = network("iridium", vec![]);
    let (along, across): (Vec<_>, Vec<_>) = isls(&network, 11).into_iter().partition(|l| l.2);
    assert_eq!((along.len(), across.len()), (66, 30));
    let mut delay = |(a, b, _): (u32, u32, bool)| {
        let delay = network.delay(Node::Satellite(a), Node::Satellite(b), at(0)).expect("in orbit");
        ms(delay.expect("a link"))
    };
    assert!(along.into_iter().all(|link| (delay(link) - 13.45).abs() < 0.01));
    // 3405 to 4436 km.
    let lengths: Vec<f64> = across.into_iter().map(|link| delay(link) * 299.793).collect();
    let (low, high) = lengths.iter().fold((f64::MAX, 0.0f64), |(l, h), x| (l.min(*x), h.max(*x)));
    assert!((low - 3405.0).abs() < 1.0 && (high - 4436.0).abs() < 1.0, "{low} {high}");
}

#[test]
fn a_teledesic_satellite_has_four_links_in_its_plane_and_one_over_the_seam() {
    let network = network("teledesic-staggered", vec![]);
    let links = isls(&network, 24);
    let of = |satellite: u32| links.iter().filter(move |l| l.0 == satellite || l.1 == satellite);
    // Satellite 0 of plane 0 is above the equator.
    assert_eq!(of(0).filter(|l| l.2).count(), 4);
    let planes: Vec<u32> = of(0).filter(|l| !l.2).map(|l| l.0.max(l.1) / 24).collect();
    assert_eq!(planes.iter().collect::<BTreeSet<_>>(), BTreeSet::from([&1, &2, &11]));
    // One in the middle has two planes on either side.
    assert_eq!(of(5 * 24).count(), 8);
}

#[test]
fn a_link_across_the_seam_goes_to_the_nearest_satellite_there() {
    let mut network = network("iridium-cross-seam", vec![]);
    let mut seen = BTreeSet::new();
    let mut positions = Vec::new();
    for check in 1..600 {
        network.advance(at(10 * check), |_, _| {}).expect("in orbit");
        network.constellation().positions(at(10 * check), &mut positions).expect("in orbit");
        for (a, b, _) in isls(&network, 11).into_iter().filter(|l| l.1 / 11 - l.0 / 11 == 5) {
            let distance = |b: &u32| positions[a as usize].distance(positions[*b as usize]);
            let nearest = (55..66).min_by(|x, y| distance(x).total_cmp(&distance(y)));
            assert_eq!(nearest, Some(b), "satellite {a} at check {check}");
            seen.insert((a, b));
        }
    }
    // In a period each satellite of the first plane meets seven of the last below 60 degrees.
    assert_eq!(seen.len(), 11 * 7);
}

#[test]
fn a_link_across_the_seam_catches_up_when_several_slots_went_by_between_two_checks() {
    // A slot of Iridium takes 548 s, and the planes of the seam run against each other.
    let check = Span::from_secs(1_100);
    let mut network =
        Network::new(constellation("iridium-cross-seam"), vec![], &[], check).expect("a network");
    let mut positions = Vec::new();
    let mut looked = 0;
    for n in 1..100 {
        let now = at(1_100 * n);
        network.advance(now, |_, _| {}).expect("in orbit");
        network.constellation().positions(now, &mut positions).expect("in orbit");
        for (a, b, _) in isls(&network, 11).into_iter().filter(|l| l.1 / 11 - l.0 / 11 == 5) {
            let distance = |b: &u32| positions[a as usize].distance(positions[*b as usize]);
            let nearest = (55..66).min_by(|x, y| distance(x).total_cmp(&distance(y)));
            assert_eq!(nearest, Some(b), "satellite {a} at check {n}");
            looked += 1;
        }
    }
    assert!(looked > 300, "{looked}");
}

#[test]
fn changes_tell_the_whole_story_of_the_links() {
    let mut network = network("teledesic-staggered", vec![city("Berkeley"), city("Boston")]);
    let mut links: BTreeSet<(Node, Node)> = network.links().collect();
    let mut changes = 0;
    for check in 1..200 {
        let satellite = Node::Satellite;
        network
            .advance(at(10 * check), |when, change| {
                assert_eq!(when, at(10 * check));
                changes += 1;
                let (gone, new) = match change {
                    Change::IslUp { a, b } => (None, Some((satellite(a), satellite(b)))),
                    Change::IslDown { a, b } => (Some((satellite(a), satellite(b))), None),
                    Change::Handover { station, from, to } => {
                        let link = |s| (satellite(s), Node::Station(station));
                        (from.map(link), to.map(link))
                    }
                };
                assert!(gone.is_none_or(|link| links.remove(&link)), "{change:?}");
                assert!(new.is_none_or(|link| links.insert(link)), "{change:?}");
            })
            .expect("in orbit");
        assert_eq!(links, network.links().collect());
    }
    assert!(changes > 500, "{changes}");
}

#[test]
fn stepping_from_change_to_change_is_the_same_as_going_there_at_once() {
    let end = at(3600);
    let mut stepped = network("iridium", vec![city("Oslo")]);
    let (mut first, mut second) = (Vec::new(), Vec::new());
    while let Some(when) =
        stepped.advance_to_change(end, |when, change| first.push((when, change))).expect("in orbit")
    {
        assert_eq!((stepped.checked_at(), when), (when, first.last().expect("a change").0));
    }
    let mut leaped = network("iridium", vec![city("Oslo")]);
    leaped.advance(end, |when, change| second.push((when, change))).expect("in orbit");
    assert_eq!(first, second);
    assert_eq!(leaped.next_check(), at(3610));
    assert!(first.len() > 50);
}

#[test]
fn a_station_that_holds_keeps_its_satellite_longer_than_one_that_wants_the_best() {
    let handovers = |policy| {
        let mut network = network("iridium", vec![Station { policy, ..city("Boston") }]);
        let mut count = 0;
        let see = |_, change| count += u32::from(matches!(change, Change::Handover { .. }));
        network.advance(at(86_400), see).expect("in orbit");
        count
    };
    let (hold, best) = (handovers(Policy::LongestHold), handovers(Policy::HighestElevation));
    assert!(hold + 20 < best, "hold {hold}, best {best}");
}

#[test]
fn iridium_leaves_no_gap_but_slivers_at_the_equator() {
    // Planes 31.6 degrees apart need footprints of 31.54; they have 31.44 where they are narrowest.
    let latitude = |n: i32| f64::from(n * 37 % 141 - 70);
    let spot = |n: i32| place(latitude(n), f64::from(n * 101 % 360 - 180));
    let station = |n: i32| Station {
        policy: Policy::HighestElevation,
        ..Station::terminal(n.to_string(), spot(n))
    };
    let mut network = network("iridium", (0..40).map(station).collect());
    let mut gaps = 0;
    for check in 0..2880 {
        network.advance(at(30 * check), |_, _| {}).expect("in orbit");
        for number in 0..40 {
            if network.satellites_of(number).next().is_none() {
                gaps += 1;
                assert!(latitude(number as i32).abs() < 5.0, "{number} at {check}");
            }
        }
    }
    assert!(gaps < 12, "{gaps} of 115,200");
}

#[test]
fn two_links_of_a_station_go_to_different_satellites() {
    for policy in [Policy::LongestHold, Policy::HighestElevation] {
        let mut network = network("starlink", vec![Station { policy, links: 2, ..city("London") }]);
        for check in 0..300 {
            network.advance(at(10 * check), |_, _| {}).expect("in orbit");
            let used: Vec<u32> = network.satellites_of(0).collect();
            assert!(used.len() == 2 && used[0] != used[1], "{used:?}");
        }
    }
}

#[test]
fn the_delay_of_a_route_is_the_sum_of_those_of_its_links_also_between_checks() {
    let mut network = network("teledesic-staggered", vec![city("Berkeley"), city("Boston")]);
    let mut last = None;
    for half in 0..400 {
        let now = Instant::ZERO + Span::from_millis(500 * half);
        network.advance(now, |_, _| {}).expect("in orbit");
        let (from, to) = (Node::Station(0), Node::Station(1));
        let route = network.route(from, to, now).expect("in orbit").expect("a route");
        let mut sum = 0;
        for pair in route.nodes.windows(2) {
            let delay = network.delay(pair[0], pair[1], now).expect("in orbit").expect("a link");
            assert_eq!(network.delay(pair[1], pair[0], now), Ok(Some(delay)));
            assert_eq!(network.light_time(pair[0], pair[1], now), Ok(Some(delay)));
            sum += delay.as_nanos();
        }
        assert_eq!(route.delay.as_nanos(), sum);
        assert_eq!(network.routes_to(to, now).expect("in orbit").route(from), Some(route.clone()));
        // Satellites move all the time.
        assert_ne!(last, Some(route.delay));
        last = Some(route.delay);
    }
}

#[test]
fn a_terminal_forwards_nothing_and_a_gateway_does() {
    // Two satellites that stand still and nothing but a station in the middle sees both.
    let ends = [place(0.0, -100.0), place(0.0, 100.0), place(0.0, 0.0)];
    let stations = |middle: Station| {
        vec![Station::terminal("west", ends[0]), Station::terminal("east", ends[1]), middle]
    };
    let route = |middle| {
        let mut network = network("geo:-60,60", stations(middle));
        network.route(Node::Station(0), Node::Station(1), at(0)).expect("in orbit")
    };
    let gateway = Station::gateway("middle", ends[2]);
    let through = route(gateway.clone()).expect("a route");
    assert_eq!(through.hops(), 4);
    assert_eq!(through.nodes[2], Node::Station(2));
    let terminal = Station { policy: Policy::All, ..Station::terminal("middle", ends[2]) };
    assert_eq!(route(terminal), None);
}

fn place(latitude: f64, longitude: f64) -> Place {
    Place::new(Degrees(latitude), Degrees(longitude)).expect("a place")
}

#[test]
fn cables_join_gateways_that_see_different_satellites() {
    let stations = vec![
        Station::terminal("west", place(0.0, -100.0)),
        Station::terminal("east", place(0.0, 100.0)),
        Station::gateway("left", place(0.0, -90.0)),
        Station::gateway("right", place(0.0, 90.0)),
    ];
    let hops = |cable: Cable| {
        let constellation = constellation("geo:-100,100");
        let network = Network::new(constellation, stations.clone(), &[cable], CHECK);
        let route = network
            .expect("a network")
            .route(Node::Station(0), Node::Station(1), at(0))
            .expect("up");
        let route = route.expect("a route");
        assert_eq!(route.hops(), 5);
        ms(route.delay)
    };
    let fixed = hops(Cable { a: 2, b: 3, delay: Some(Span::from_millis(7)) });
    let glass = hops(Cable { a: 2, b: 3, delay: None });
    // Half the globe at two thirds of the speed of light.
    let half = std::f64::consts::PI * 6378.0 / (299.793 * 2.0 / 3.0);
    assert!((glass - fixed - (half - 7.0)).abs() < 1e-3, "{glass} {fixed}");
}

#[test]
fn links_to_the_nearest_are_those_of_both_ends_and_in_sight() {
    let mut spec = known("iridium").expect("known").expect("a constellation");
    spec.shells[0].isl = IslRules { pattern: IslPattern::Nearest(4), ..IslRules::NONE };
    let constellation = Constellation::new(&spec).expect("a constellation");
    let mut network = Network::new(constellation, vec![], &[], CHECK).expect("a network");
    for check in 1..100 {
        network.advance(at(10 * check), |_, _| {}).expect("in orbit");
        let links = isls(&network, 11);
        assert!((66 * 2..=66 * 4).contains(&links.len()), "{}", links.len());
        assert_eq!(links.len(), links.iter().collect::<BTreeSet<_>>().len());
        for satellite in 0..66 {
            assert!(links.iter().filter(|l| l.0 == satellite || l.1 == satellite).count() >= 4);
        }
    }
}

#[test]
fn networks_that_can_not_be_say_why() {
    let refused = |name: &str, stations, cables: &[Cable], check| {
        Network::new(constellation(name), stations, cables, check).expect_err(name).to_string()
    };
    let pole = Station::terminal("pole", place(85.0, 0.0));
    let said = refused("starlink", vec![pole.clone()], &[], CHECK);
    assert_eq!(said, "pole (85,0): no satellite of starlink ever comes above 25 deg there");
    assert!(refused("geo", vec![pole.clone()], &[], CHECK).contains("above 0 deg"));
    assert!(Network::new(constellation("iridium"), vec![pole], &[], CHECK).is_ok());
    let said = refused("iridium", vec![Station { links: 0, ..city("Oslo") }], &[], CHECK);
    assert!(said.starts_with("station Oslo: 0 links"), "{said}");
    assert!(refused("iridium", vec![], &[], Span::ZERO).starts_with("update_interval: "));
    let cable = Cable { a: 0, b: 7, delay: None };
    assert_eq!(
        refused("iridium", vec![city("Oslo")], &[cable], CHECK),
        "cable: there is no station 7"
    );
}

#[test]
fn a_satellite_that_comes_down_on_the_way_ends_the_run_with_its_name() {
    let text = include_str!("data/falling.tle");
    let start = None;
    let falling =
        Constellation::from_elements("falling", text, start, Degrees(10.0), IslRules::NONE);
    let falling = falling.expect("still in orbit");
    let mut network = Network::new(falling, vec![], &[], Span::from_secs(3600)).expect("a network");
    let error = network.advance(at(30 * 86_400), |_, _| {}).expect_err("it comes down");
    assert!(
        matches!(&error, OrbitError::Decayed { satellite, .. } if satellite == "FALLING"),
        "{error}"
    );
}
