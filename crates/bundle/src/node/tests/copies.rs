//! Copies of one bundle that have been on different ways.

use super::others::after_hops;
use super::*;

/// A bundle for mars from a source without a clock, so old, after so many hops of a limit, with so much in a block that nobody
/// knows.
fn copy(age: Span, hops: (u8, u8), ballast: usize) -> Vec<u8> {
    copy_with(age, hops, ballast, false)
}

fn copy_with(age: Span, (limit, hops): (u8, u8), ballast: usize, reports: bool) -> Vec<u8> {
    let dst = "dtn://mars/mail".try_into().expect("an endpoint");
    let src = "dtn://earth/mail".try_into().expect("an endpoint");
    let mut bundle = bp7::bundle::new_std_payload_bundle(src, dst, b"hello".to_vec());
    bundle.primary.creation_timestamp = bp7::CreationTimestamp::with_time_and_seq(0, 1);
    bundle.primary.lifetime = std::time::Duration::from_secs(3600);
    if reports {
        let wanted = bp7::flags::BundleControlFlags::BUNDLE_STATUS_REQUEST_RECEPTION;
        bundle.primary.bundle_control_flags = wanted.bits();
        bundle.primary.report_to = "dtn://earth/reports".try_into().expect("an endpoint");
    }
    let flags = bp7::flags::BlockControlFlags::empty;
    let age = age.as_nanos() / 1_000_000;
    bundle.add_canonical_block(bp7::canonical::new_bundle_age_block(2, flags(), age));
    bundle.add_canonical_block(bp7::canonical::new_hop_count_block(3, flags(), limit));
    if ballast > 0 {
        let data = bp7::CanonicalData::Unknown(vec![0; ballast]);
        bundle.add_canonical_block(bp7::canonical::new_canonical_block(
            77,
            4,
            flags().bits(),
            data,
        ));
    }
    bundle.set_crc(bp7::crc::CRC_32);
    after_hops(&bundle.to_cbor(), limit, hops)
}

#[test]
fn a_copy_that_was_given_away_takes_not_the_place_of_one_that_came_back() {
    let folder = MemoryFolder::new(1);
    let mut relay = open(1, &folder);
    let from_earth = copy(Span::ZERO, (32, 2), 0);
    relay.receive(NOW, &from_earth, Origin::Known).expect("taken");
    let session = relay.begin(Queue::Neighbour(1));
    let (id, _) = next(&mut relay, session, NOW).expect("a bundle");
    relay.answered(NOW, session, &id, Answer::Accepted).expect("works");
    let came_back = copy(Span::ZERO, (32, 8), 0);
    assert!(matches!(relay.receive(NOW, &came_back, Origin::Known), Ok(Taken::Stored(_))));
    // Earth has not heard the answer and offers its copy again.
    assert!(matches!(relay.receive(NOW, &from_earth, Origin::Known), Ok(Taken::Known(_))));
    assert_eq!(relay.holds().0, 1);
    assert_eq!(open(1, &folder.lose_power()).holds().0, 1);
}

#[test]
fn of_two_copies_it_keeps_what_is_better_of_each() {
    let (young, old) = (Span::from_millis(10), Span::from_millis(3_598_500));
    for [first, second] in [
        // One is about to die of age, the other one of hops.
        [copy(old, (32, 2), 0), copy(young, (32, 32), 0)],
        [copy(young, (32, 32), 0), copy(old, (32, 2), 0)],
    ] {
        let folder = MemoryFolder::new(1);
        let mut relay = open(1, &folder);
        relay.receive(NOW, &first, Origin::Stranger).expect("taken");
        let now = NOW.plus(Span::from_millis(100));
        assert!(matches!(relay.receive(now, &second, Origin::Known), Ok(Taken::Stored(_))));
        drop(relay);
        let mut relay = open(1, &folder.lose_power());
        let later = NOW.plus(Span::from_secs(60));
        relay.expire(later);
        let session = relay.begin(Queue::Neighbour(1));
        let (_, bytes) = next(&mut relay, session, later).expect("it can go on");
        let mut mars = fresh(2);
        mars.receive(later, &bytes, Origin::Known).expect("taken");
        assert_eq!(deliver(&mut mars, "dtn://mars/mail", later)[0].payload(), b"hello");
    }
}

#[test]
fn what_a_stranger_makes_longer_is_of_the_strangers_share() {
    let mut config = config(1);
    config.limits = Limits { bytes: 100_000, strangers: 5_000, ..config.limits };
    for from in [Origin::Stranger, Origin::Known] {
        let mut relay = Node::open(config.clone(), MemoryFolder::new(1), NOW, 1).expect("a node");
        relay.receive(NOW, &copy(Span::ZERO, (10, 1), 0), from).expect("taken");
        let longer = |ballast| copy(Span::ZERO, (11, 1), ballast);
        let refusal = relay.receive(NOW, &longer(10_000), Origin::Stranger);
        let refusal = refusal.expect_err("it is too long for a stranger's");
        assert!(!refusal.is_final(), "{refusal}");
        assert!(relay.holds().1 < 1_000);
        relay.receive(NOW, &longer(1_000), Origin::Stranger).expect("there is room for this one");
        let longer = copy(Span::ZERO, (12, 1), 10_000);
        relay.receive(NOW, &longer, Origin::Known).expect("and for what a neighbour sends");
    }
}

#[test]
fn copies_do_not_make_a_node_hold_a_bundle_for_longer_or_report_it_again() {
    let mut config = config(1);
    config.limits.lifetime = Some(Span::from_secs(60));
    let mut relay = Node::open(config, MemoryFolder::new(1), NOW, 1).expect("a node");
    for round in 0..6 {
        let now = NOW.plus(Span::from_secs(10 * u64::from(round)));
        let copy = copy_with(Span::ZERO, (10 + round, 1), 0, true);
        assert!(matches!(relay.receive(now, &copy, Origin::Known), Ok(Taken::Stored(_))));
    }
    let session = relay.begin(Queue::Neighbour(0));
    let reports = std::iter::from_fn(|| relay.next(NOW, session, u64::MAX)).count();
    assert_eq!(reports, 1);
    relay.end(session);
    relay.expire(NOW.plus(Span::from_secs(60)));
    assert_eq!(relay.counters().deleted, 2, "the bundle and the report");
}

#[test]
fn what_an_application_may_have_is_not_given_to_it_again_once_it_is_deleted() {
    for restarts in [false, true] {
        let folder = MemoryFolder::new(1);
        let mut mars = open(2, &folder);
        let bytes = copy(Span::ZERO, (32, 2), 0);
        mars.receive(NOW, &bytes, Origin::Known).expect("taken");
        let session = mars.begin(Queue::Endpoint("dtn://mars/mail".to_owned()));
        let (id, _) = next(&mut mars, session, NOW).expect("a bundle");
        mars.delete_named(NOW, id.name()).expect("deleted");
        mars.answered(NOW, session, &id, Answer::Accepted).expect("works");
        if restarts {
            mars = open(2, &folder.lose_power());
        }
        // The node before has not heard that it was taken.
        assert!(matches!(mars.receive(NOW, &bytes, Origin::Known), Ok(Taken::Known(_))));
        assert_eq!(deliver(&mut mars, "dtn://mars/mail", NOW).len(), 0);
    }
}
