use super::super::links::LinkPlan;
use super::*;

fn route(n: u8) -> Route {
    std::net::SocketAddr::from(([10, 0, 0, n], 25_300)).into()
}

fn probe(path: u8, serial: u32, main: u8, up: u8) -> PathProbe {
    PathProbe {
        path,
        link: path,
        is_metered: false,
        spills: false,
        round_trip: Span::ZERO,
        serial,
        main,
        up,
        multipath: Multipath::Failover,
    }
}

const NOW: Instant = Instant::ZERO;

/// Hears a probe by this route, and whatever has to be proved is.
fn receive(paths: &mut Paths, probe: PathProbe, from: Route) -> bool {
    let changed = paths.handle_probe(NOW, probe, from, || 7);
    prove(paths) || changed
}

/// The peer answers the challenges from where they were sent.
fn prove(paths: &mut Paths) -> bool {
    let due = paths.challenges(NOW);
    due.into_iter().any(|(route, token)| paths.proved(token, route))
}

#[test]
fn without_probes_the_path_leads_to_where_the_peer_has_proved_to_be() {
    let mut paths = Paths::single(route(1));
    paths.came_by(NOW, route(1), || 7);
    assert!(!prove(&mut paths));
    paths.came_by(NOW, route(2), || 7);
    assert_eq!(paths.get(0).route(), route(1), "a copy may come from anywhere");
    assert!(prove(&mut paths));
    assert_eq!(paths.get(0).route(), route(2));
    assert!(receive(&mut paths, probe(0, 1, 0, 1), route(3)));
    paths.came_by(NOW, route(4), || 7);
    assert!(!prove(&mut paths));
    assert_eq!(paths.get(0).route(), route(3));
}

#[test]
fn a_handshake_proves_where_the_peer_is() {
    let mut paths = Paths::single(route(1));
    assert!(paths.is_at(route(2)) && !paths.is_at(route(2)));
    assert_eq!(paths.get(0).route(), route(2));
}

#[test]
fn a_host_does_as_it_is_told_by_the_newest_beat() {
    let mut paths = Paths::single(route(1));
    // The second path is not known yet.
    receive(&mut paths, probe(0, 1, 1, 3), route(1));
    assert_eq!((paths.main(), paths.is_up(1)), (0, false));
    assert!(!paths.handle_probe(NOW, probe(1, 2, 1, 2), route(9), || 7) || paths.main() == 0);
    assert!(!paths.is_up(1), "nobody has proved to be there");
    assert!(prove(&mut paths));
    assert_eq!((paths.main(), paths.get(1).route(), paths.get(1).link()), (1, route(9), 1));
    assert!(!receive(&mut paths, probe(0, 1, 0, 3), route(1)), "an old one");
    assert!(receive(&mut paths, probe(0, 3, 0, 3), route(1)));
    assert_eq!((paths.main(), paths.is_up(1)), (0, true));
    assert!(!receive(&mut paths, probe(200, 4, 0, 3), route(1)), "no such path");
}

#[test]
fn connections_are_spread_over_the_links_that_work() {
    let mut paths = Paths::single(route(1));
    receive(
        &mut paths,
        PathProbe { multipath: Multipath::LoadBalance, ..probe(1, 1, 0, 3) },
        route(2),
    );
    paths.get_mut(0).set_link(0, LinkPlan::default(), Span::ZERO);
    assert_eq!(paths.open(), [0, 1]);
    assert!(!paths.must_leave(1));
    receive(&mut paths, PathProbe { multipath: Multipath::Bond, ..probe(1, 2, 0, 3) }, route(2));
    assert_eq!((paths.open(), paths.in_use()), (vec![0], vec![0, 1]));
    receive(
        &mut paths,
        PathProbe { multipath: Multipath::LoadBalance, ..probe(1, 3, 1, 2) },
        route(2),
    );
    assert_eq!((paths.open(), paths.in_use()), (vec![1], vec![1]));
    assert!(paths.must_leave(0));
}

#[test]
fn an_address_of_this_host_is_kept_only_where_one_was_given() {
    let to_me = Route { local: Some([10, 9, 9, 9].into()), ..route(2) };
    let mut paths = Paths::single(route(1));
    paths.came_by(NOW, to_me, || 7);
    prove(&mut paths);
    assert_eq!(paths.get(0).route(), route(2));
    let mut paths = Paths::single(to_me);
    let elsewhere = Route { local: Some([10, 9, 9, 8].into()), ..route(3) };
    paths.came_by(NOW, elsewhere, || 7);
    prove(&mut paths);
    assert_eq!(paths.get(0).route(), elsewhere);
}

#[test]
fn where_two_links_lead_to_one_address_that_of_this_host_tells_them_apart() {
    let lte = Some([10, 9, 9, 9].into());
    let own = Route { local: lte, ..route(1) };
    let paths = vec![PlannedPath { route: route(1), link: 0 }, PlannedPath { route: own, link: 1 }];
    let links = [LinkPlan { is_metered: true, ..LinkPlan::default() }; LINKS];
    let plan = Plan { paths, links, multipath: Multipath::Failover };
    let mut paths = Paths::planned(NOW, &plan);
    let elsewhere = Route { local: Some([10, 0, 0, 99].into()), ..route(1) };
    assert_eq!((paths.of(&own), paths.of(&elsewhere)), (1, 0));
    paths.count(paths.of(&own), 1_000);
    assert_eq!(paths.carried()[..2], [0, 1_000]);
}

#[test]
fn an_answer_by_a_link_that_was_closed_meanwhile_does_not_open_it() {
    let paths = [0, 1].map(|link| PlannedPath { route: route(1 + link as u8), link }).to_vec();
    let plan = Plan { paths, links: [LinkPlan::default(); LINKS], multipath: Multipath::Failover };
    let mut paths = Paths::planned(NOW, &plan);
    paths.set_link_open(NOW, 1, false);
    paths.answered_by(1);
    assert_eq!((paths.main(), paths.is_up(1)), (0, false));
}

#[test]
fn an_answer_by_another_path_than_the_peer_uses_is_no_reason_to_leave_that() {
    let mut paths = Paths::single(route(1));
    receive(&mut paths, probe(1, 1, 0, 1), route(2));
    receive(&mut paths, probe(0, 2, 0, 1), route(1));
    paths.answered_by(1);
    assert_eq!(paths.main(), 0, "the peer said so");
    receive(&mut paths, probe(1, 3, 1, 2), route(2));
    paths.answered_by(0);
    assert_eq!(paths.main(), 1);
}
