//! Bundles of those who mean no good, and of those whom a node does not know.

use super::*;

/// A bundle of the same name that carries something else.
fn impostor(bytes: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bundle = bp7::Bundle::try_from(bytes).expect("a bundle");
    bundle.set_payload(payload.to_vec());
    bundle.to_cbor()
}

#[test]
fn a_bundle_of_the_same_name_takes_the_place_of_no_other_one() {
    for is_delivered in [false, true] {
        let folder = MemoryFolder::new(3);
        let (mut earth, mut mars) = (fresh(0), open(2, &folder));
        let id = earth.submit(NOW, &request(b"the right one", Reports::default())).expect("taken");
        let session = earth.begin(Queue::Neighbour(0));
        let (_, bytes) = next(&mut earth, session, NOW).expect("a bundle");
        let other = impostor(&bytes, b"another one");
        let taken = mars.receive(NOW, &other, Origin::Stranger).expect("taken");
        assert_eq!(taken.id().name(), id.name());
        let mut got = Vec::new();
        if is_delivered {
            got.extend(deliver(&mut mars, "dtn://mars/mail", NOW));
        }
        let mut mars = open(2, &folder.lose_power());
        assert!(matches!(mars.receive(NOW, &bytes, Origin::Known), Ok(Taken::Stored(_))));
        assert!(matches!(mars.receive(NOW, &bytes, Origin::Known), Ok(Taken::Known(_))));
        got.extend(deliver(&mut mars, "dtn://mars/mail", NOW));
        let payloads: BTreeSet<&[u8]> = got.iter().map(Checked::payload).collect();
        assert_eq!(payloads, BTreeSet::from([&b"the right one"[..], b"another one"]));
    }
}

#[test]
fn the_numbers_of_bundles_tell_nothing_of_the_next_one() {
    let mut numbers = BTreeSet::new();
    for salt in 0..20 {
        let mut node = Node::open(config(0), MemoryFolder::new(1), NOW, salt).expect("a node");
        for _ in 0..20 {
            let id = node.submit(NOW, &request(b"x", Reports::default())).expect("taken");
            let (_, number) = id.name().split_once('-').expect("a number");
            let number = number.split_once('@').expect("a source").0;
            numbers.insert(number.parse::<u64>().expect("a number"));
        }
    }
    let numbers: Vec<u64> = numbers.into_iter().collect();
    assert_eq!(numbers.len(), 400);
    assert!(numbers.windows(2).all(|two| two[1] - two[0] > 1000), "they follow each other");
}

#[test]
fn what_comes_back_in_a_circle_before_it_is_answered_for_stays_where_it_is() {
    let all = Route { to: "*".parse().expect("a pattern"), via: 0 };
    let circle = |place: usize| {
        let other = NAMES[1 - place].parse().expect("a node");
        let circle = Config { neighbours: vec![other], routes: vec![all.clone()], ..config(place) };
        Node::open(circle, MemoryFolder::new(1), NOW, place as u64).expect("a node")
    };
    let [mut earth, mut relay] = [0, 1].map(circle);
    let id = earth.submit(NOW, &request(b"round", Reports::default())).expect("taken");
    let first = earth.begin(Queue::Neighbour(0));
    let (_, bytes) = next(&mut earth, first, NOW).expect("a bundle");
    relay.receive(NOW, &bytes, Origin::Known).expect("taken");
    // The relay's answer is on its way when the bundle itself comes back.
    let back = relay.begin(Queue::Neighbour(0));
    let (_, bytes) = next(&mut relay, back, NOW).expect("a bundle");
    let refusal = earth.receive(NOW, &bytes, Origin::Known).expect_err("not yet");
    assert!(matches!(refusal, Refusal::Circle(_)) && !refusal.is_final(), "{refusal}");
    relay.answered(NOW, back, &id, Answer::Later).expect("works");
    earth.answered(NOW, first, &id, Answer::Accepted).expect("works");
    assert_eq!((earth.holds().0, relay.holds().0), (0, 1));
    let now = NOW.plus(Span::from_secs(31));
    relay.expire(now);
    let (_, bytes) = next(&mut relay, back, now).expect("it is offered once more");
    assert!(matches!(earth.receive(now, &bytes, Origin::Known), Ok(Taken::Stored(_))));
}

#[test]
fn strangers_fill_their_share_and_no_more_also_after_a_restart() {
    let folder = MemoryFolder::new(2);
    let open = |folder: &MemoryFolder| {
        let mut config = config(2);
        config.limits = Limits { bytes: 100_000, strangers: 25_000, ..config.limits };
        Node::open(config, folder.clone(), NOW, 7).expect("a node")
    };
    let (mut earth, mut mars) = (fresh(0), open(&folder));
    let session = earth.begin(Queue::Neighbour(0));
    let mut offer = |len: usize| {
        earth.submit(NOW, &request(&vec![7; len], Reports::default())).expect("taken");
        let (id, bytes) = next(&mut earth, session, NOW).expect("a bundle");
        earth.answered(NOW, session, &id, Answer::Accepted).expect("works");
        bytes
    };
    let (first, second, third) = (offer(12_000), offer(12_000), offer(12_000));
    mars.receive(NOW, &first, Origin::Stranger).expect("taken");
    mars.receive(NOW, &second, Origin::Stranger).expect("taken");
    let refusal = mars.receive(NOW, &third, Origin::Stranger).expect_err("too much");
    assert!(!refusal.is_final() && refusal.to_string().contains("2 bundles with 24"), "{refusal}");
    let mut mars = open(&folder.lose_power());
    mars.receive(NOW, &third, Origin::Stranger).expect_err("too much after a restart too");
    mars.receive(NOW, &third, Origin::Known).expect("there is room for a neighbour");
    // Of the number they have the same share: a quarter of 40.
    let small: Vec<Vec<u8>> = (0..11).map(|_| offer(1)).collect();
    assert_eq!(deliver(&mut mars, "dtn://mars/mail", NOW).len(), 3);
    let taken = small.iter().filter(|it| mars.receive(NOW, it, Origin::Stranger).is_ok()).count();
    assert_eq!(taken, 10);
}

#[test]
fn a_node_holds_a_bundle_as_long_as_it_is_told_at_most() {
    let mut config = config(2);
    config.limits.lifetime = Some(Span::from_secs(60));
    let mut mars = Node::open(config, MemoryFolder::new(1), NOW, 1).expect("a node");
    let mut earth = fresh(0);
    earth.submit(NOW, &request(b"for an hour", Reports::default())).expect("taken");
    hop(&mut earth, 0, &mut mars, NOW);
    mars.expire(NOW.plus(Span::from_secs(59)));
    assert_eq!(mars.holds().0, 1);
    mars.expire(NOW.plus(Span::from_secs(60)));
    assert_eq!(mars.holds().0, 0);
}

#[test]
fn what_is_deleted_by_its_name_is_gone_after_a_restart_and_reported() {
    let folder = MemoryFolder::new(1);
    let mut earth = open(0, &folder);
    let reports = Reports { deletion: true, ..Reports::default() };
    let id = earth.submit(NOW, &request(b"a mistake", reports)).expect("taken");
    earth.submit(NOW, &request(b"another one", reports)).expect("taken");
    assert_eq!(earth.delete_named(NOW, "0-0@dtn://earth/mail"), 0);
    assert_eq!(earth.delete_named(NOW, id.name()), 1);
    let mut earth = open(0, &folder.lose_power());
    let told = deliver(&mut earth, "dtn://earth/reports", NOW);
    let told = read_report(&told[0]).expect("a report");
    assert_eq!((&told.about[..], told.status[0].0), (id.name(), Status::Deleted));
    assert_eq!(earth.holds().0, 1);
}
