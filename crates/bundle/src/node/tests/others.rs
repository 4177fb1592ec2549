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

/// Two nodes each of which leads everything to the other one.
fn circle() -> [Node<MemoryFolder>; 2] {
    let all = Route { to: "*".parse().expect("a pattern"), via: 0 };
    [0, 1].map(|place| {
        let other = NAMES[1 - place].parse().expect("a node");
        let circle = Config { neighbours: vec![other], routes: vec![all.clone()], ..config(place) };
        Node::open(circle, MemoryFolder::new(1), NOW, place as u64).expect("a node")
    })
}

#[test]
fn what_comes_back_in_a_circle_before_it_is_answered_for_goes_on_whatever_the_answer() {
    for answer in [Answer::Accepted, Answer::Later, Answer::Never] {
        let [mut earth, mut relay] = circle();
        let id = earth.submit(NOW, &request(b"round", Reports::default())).expect("taken");
        let first = earth.begin(Queue::Neighbour(0));
        let (_, bytes) = next(&mut earth, first, NOW).expect("a bundle");
        relay.receive(NOW, &bytes, Origin::Known).expect("taken");
        // The relay's answer is on its way when the bundle itself comes back, by a layer without answers.
        let back = relay.begin(Queue::Neighbour(0));
        let (_, bytes) = next(&mut relay, back, NOW).expect("a bundle");
        relay.answered(NOW, back, &id, Answer::Accepted).expect("works");
        assert!(matches!(earth.receive(NOW, &bytes, Origin::Known), Ok(Taken::Stored(_))));
        earth.answered(NOW, first, &id, answer).expect("works");
        assert_eq!((earth.holds().0, relay.holds().0), (1, 0), "{answer:?}");
        let now = NOW.plus(Span::from_secs(31));
        earth.expire(now);
        let (_, bytes) = next(&mut earth, first, now).expect("the copy that came back");
        assert!(matches!(relay.receive(now, &bytes, Origin::Known), Ok(Taken::Stored(_))));
    }
}

/// The bundle with this hop limit, after so many hops.
pub(super) fn after_hops(bytes: &[u8], limit: u8, hops: u8) -> Vec<u8> {
    let mut bundle = bp7::Bundle::try_from(bytes).expect("a bundle");
    for block in &mut bundle.canonicals {
        if block.block_type == bp7::HOP_COUNT_BLOCK {
            block.set_data(bp7::CanonicalData::HopCount(limit, hops));
        }
    }
    bundle.to_cbor()
}

#[test]
fn a_copy_that_can_go_no_further_takes_not_the_place_of_one_that_can() {
    let mut earth = fresh(0);
    earth.submit(NOW, &request(b"far", Reports::default())).expect("taken");
    let session = earth.begin(Queue::Neighbour(0));
    let (_, bytes) = next(&mut earth, session, NOW).expect("a bundle");
    for spent in [(32, 32), (1, 1)] {
        let folder = MemoryFolder::new(9);
        let mut relay = open(1, &folder);
        relay.receive(NOW, &after_hops(&bytes, spent.0, spent.1), Origin::Stranger).expect("taken");
        assert!(matches!(relay.receive(NOW, &bytes, Origin::Known), Ok(Taken::Stored(_))));
        assert_eq!(relay.holds().0, 1);
        let mut relay = open(1, &folder.lose_power());
        let session = relay.begin(Queue::Neighbour(1));
        assert!(next(&mut relay, session, NOW).is_some(), "{spent:?}: it has been too many hops");
    }
}

#[test]
fn a_copy_that_claims_to_be_old_does_not_end_the_life_of_one_that_is_not() {
    let mut mars = fresh(2);
    let bundle = |age: u64| {
        let dst = "dtn://mars/mail".try_into().expect("an endpoint");
        let src = "dtn://earth/mail".try_into().expect("an endpoint");
        let mut bundle = bp7::bundle::new_std_payload_bundle(src, dst, b"hello".to_vec());
        bundle.primary.creation_timestamp = bp7::CreationTimestamp::with_time_and_seq(0, 1);
        bundle.primary.lifetime = std::time::Duration::from_secs(3600);
        let flags = bp7::flags::BlockControlFlags::empty();
        bundle.add_canonical_block(bp7::canonical::new_bundle_age_block(2, flags, age));
        bundle.set_crc(bp7::crc::CRC_32);
        bundle.to_cbor()
    };
    mars.receive(NOW, &bundle(3_598_500), Origin::Stranger).expect("taken");
    assert!(matches!(mars.receive(NOW, &bundle(100), Origin::Known), Ok(Taken::Stored(_))));
    assert!(matches!(mars.receive(NOW, &bundle(100), Origin::Known), Ok(Taken::Known(_))));
    let later = NOW.plus(Span::from_secs(60));
    mars.expire(later);
    assert_eq!(deliver(&mut mars, "dtn://mars/mail", later).len(), 1);
}

#[test]
fn reports_that_a_stranger_makes_a_node_send_are_of_its_share() {
    let mut config = config(1);
    config.limits = Limits { bytes: 100_000, strangers: 25_000, ..config.limits };
    let mut relay = Node::open(config, MemoryFolder::new(1), NOW, 1).expect("a node");
    let mut earth = fresh(0);
    let session = earth.begin(Queue::Neighbour(0));
    let reports = Reports { reception: true, ..Reports::default() };
    for _ in 0..30 {
        earth.submit(NOW, &request(b"x", reports)).expect("taken");
        let (id, bytes) = next(&mut earth, session, NOW).expect("a bundle");
        earth.answered(NOW, session, &id, Answer::Accepted).expect("works");
        let _ = relay.receive(NOW, &bytes, Origin::Stranger);
    }
    assert_eq!(relay.holds().0, 10, "a quarter of 40, reports among them");
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
    let absent = earth.delete_named(NOW, "0-0@dtn://earth/mail");
    assert!(matches!(absent, Err(NotDeleted::Absent(_))));
    // A medium that refuses is told, and the bundle is still there.
    folder.fail(1000);
    assert!(matches!(earth.delete_named(NOW, id.name()), Err(NotDeleted::Medium(..))));
    folder.fail(0);
    assert_eq!((earth.holds().0, earth.delete_named(NOW, id.name())), (2, Ok(id.clone())));
    let mut earth = open(0, &folder.lose_power());
    let told = deliver(&mut earth, "dtn://earth/reports", NOW);
    let told = read_report(&told[0]).expect("a report");
    assert_eq!((&told.about[..], told.status[0].0), (id.name(), Status::Deleted));
    assert_eq!(earth.holds().0, 1);
}

#[test]
fn of_several_bundles_of_one_name_that_is_deleted_whose_hash_is_said() {
    let (mut earth, mut mars) = (fresh(0), fresh(2));
    let id = earth.submit(NOW, &request(b"the right one", Reports::default())).expect("taken");
    let session = earth.begin(Queue::Neighbour(0));
    let (_, bytes) = next(&mut earth, session, NOW).expect("a bundle");
    mars.receive(NOW, &bytes, Origin::Known).expect("taken");
    let other = mars.receive(NOW, &impostor(&bytes, b"another one"), Origin::Stranger);
    let other = other.expect("taken").id().clone();
    let error = mars.delete_named(NOW, id.name()).expect_err("which one?").to_string();
    assert!(error.contains(&id.hash_text()) && error.contains(&other.hash_text()), "{error}");
    assert_eq!(mars.delete_named(NOW, &other.hash_text()), Ok(other));
    assert_eq!(deliver(&mut mars, "dtn://mars/mail", NOW)[0].payload(), b"the right one");
}

#[test]
fn refusals_are_told_once_in_a_second_with_how_many_there_were() {
    let mut mars = fresh(2);
    let told = |mars: &mut Node<MemoryFolder>, now| {
        (0..100).for_each(|_| assert!(mars.receive(now, b"junk", Origin::Stranger).is_err()));
        mars.take_news()
    };
    let [News::NotTaken(why, 1)] = &told(&mut mars, NOW)[..] else { panic!("one, the first") };
    assert!(why.contains("form of a bundle"), "{why}");
    assert_eq!(told(&mut mars, NOW), []);
    let later = NOW.plus(Span::from_secs(1));
    assert!(matches!(told(&mut mars, later)[..], [News::NotTaken(_, 201)]));
}
