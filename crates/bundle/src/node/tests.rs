//! Nodes beside each other, without connections between them.

use std::collections::BTreeSet;

use bentpipe_units::Span;
use proptest::prelude::*;

use super::*;
use crate::making::{Reports, Request, Status, read_report};
use crate::{MemoryFolder, NodeId, endpoint};

mod copies;
mod others;

const NAMES: [&str; 3] = ["dtn://earth/", "dtn://relay/", "dtn://mars/"];
const NOW: DtnTime = DtnTime::from_millis(800_000_000_000);

/// The configuration of a node of the chain.
fn config(place: usize) -> Config {
    let node = |name: &str| -> NodeId { name.parse().expect("a node") };
    let all = |via| Route { to: "*".parse().expect("a pattern"), via };
    let (neighbours, routes) = match place {
        1 => (vec![node(NAMES[0]), node(NAMES[2])], vec![]),
        _ => (vec![node(NAMES[1])], vec![all(0)]),
    };
    let limits = Limits { bytes: 100_000, bundles: 40, largest: 20_000, ..Limits::default() };
    Config { node: node(NAMES[place]), neighbours, routes, limits, retry: Span::from_secs(30) }
}

fn open(place: usize, folder: &MemoryFolder) -> Node<MemoryFolder> {
    Node::open(config(place), folder.clone(), NOW, 7).expect("a folder that works")
}

fn fresh(place: usize) -> Node<MemoryFolder> {
    open(place, &MemoryFolder::new(place as u64))
}

fn request(payload: &[u8], reports: Reports) -> Request {
    Request {
        to: endpoint("dtn://mars/mail").expect("an endpoint"),
        from: endpoint("dtn://earth/mail").expect("an endpoint"),
        report_to: endpoint("dtn://earth/reports").expect("an endpoint"),
        reports,
        lifetime: Span::from_secs(3600),
        payload: payload.to_vec(),
    }
}

/// Takes the next bundle from a queue as bytes.
fn next(
    node: &mut Node<MemoryFolder>,
    session: SessionId,
    now: DtnTime,
) -> Option<(BundleId, Vec<u8>)> {
    let Outgoing { id, mut bundle } = node.next(now, session, u64::MAX)?;
    Some((id, bundle.to_bytes()))
}

/// Moves all bundles of one node that wait for a neighbour into another one.
fn hop(
    from: &mut Node<MemoryFolder>,
    queue: usize,
    to: &mut Node<MemoryFolder>,
    now: DtnTime,
) -> usize {
    let session = from.begin(Queue::Neighbour(queue));
    let mut count = 0;
    while let Some((id, bytes)) = next(from, session, now) {
        let taken = to.receive(now, &bytes, Origin::Known).expect("taken");
        assert_eq!(taken.id(), &id);
        from.answered(now, session, &id, Answer::Accepted).expect("the medium works");
        count += 1;
    }
    from.end(session);
    count
}

/// Takes all bundles at an endpoint.
fn deliver(node: &mut Node<MemoryFolder>, at: &str, now: DtnTime) -> Vec<Checked> {
    let session = node.begin(Queue::Endpoint(at.to_owned()));
    let mut all = Vec::new();
    while let Some(Outgoing { id, bundle }) = node.next(now, session, u64::MAX) {
        node.answered(now, session, &id, Answer::Accepted).expect("the medium works");
        all.push(bundle);
    }
    node.end(session);
    all
}

#[test]
fn a_bundle_goes_hop_by_hop_and_is_gone_behind_it() {
    let [mut earth, mut relay, mut mars] = [0, 1, 2].map(fresh);
    let payload: Vec<u8> = (0..10_000).map(|n| n as u8).collect();
    let id = earth.submit(NOW, &request(&payload, Reports::default())).expect("taken");
    assert_eq!(hop(&mut earth, 0, &mut relay, NOW), 1);
    assert_eq!((earth.holds().0, relay.holds().0), (0, 1));
    assert_eq!(hop(&mut relay, 1, &mut mars, NOW), 1);
    let got = deliver(&mut mars, "dtn://mars/mail", NOW);
    assert_eq!(got.len(), 1);
    assert_eq!((got[0].id(), got[0].payload()), (&id, &payload[..]));
    assert_eq!([earth.holds(), relay.holds(), mars.holds()], [(0, 0); 3]);
    assert_eq!((mars.counters().delivered, relay.counters().forwarded), (1, 1));
}

#[test]
fn what_comes_a_second_time_is_known_also_after_a_restart() {
    let folder = MemoryFolder::new(3);
    let (mut earth, mut mars) = (fresh(0), open(2, &folder));
    earth.submit(NOW, &request(b"once", Reports::default())).expect("taken");
    let session = earth.begin(Queue::Neighbour(0));
    let (_, bytes) = next(&mut earth, session, NOW).expect("a bundle");
    assert!(matches!(mars.receive(NOW, &bytes, Origin::Known), Ok(Taken::Stored(_))));
    assert!(matches!(mars.receive(NOW, &bytes, Origin::Known), Ok(Taken::Known(_))));
    assert_eq!(deliver(&mut mars, "dtn://mars/mail", NOW).len(), 1);
    let mut mars = open(2, &folder.lose_power());
    assert!(matches!(mars.receive(NOW, &bytes, Origin::Known), Ok(Taken::Known(_))));
    assert!(deliver(&mut mars, "dtn://mars/mail", NOW).is_empty());
}

#[test]
fn a_bundle_that_goes_in_a_circle_is_kept_over_restarts_until_it_has_been_too_many_hops() {
    let folders = [0, 1].map(MemoryFolder::new);
    let open = |place: usize| {
        let all = Route { to: "*".parse().expect("a pattern"), via: 0 };
        let other = NAMES[1 - place].parse().expect("a node");
        let circle = Config { neighbours: vec![other], routes: vec![all], ..config(place) };
        Node::open(circle, folders[place].clone(), NOW, 7).expect("a folder that works")
    };
    let mut nodes = [0, 1].map(open);
    let reports = Reports { deletion: true, ..Reports::default() };
    let venus = Request {
        to: endpoint("dtn://venus/mail").expect("an endpoint"),
        ..request(b"where", reports)
    };
    let id = nodes[0].submit(NOW, &venus).expect("taken");
    let mut hops = 0;
    loop {
        let [earth, relay] = &mut nodes;
        let (from, to) = if hops % 2 == 0 { (earth, relay) } else { (relay, earth) };
        hops += hop(from, 0, to, NOW);
        if nodes.iter().any(|node| node.counters().deleted > 0) {
            break;
        }
        assert!(hops <= 40, "it goes round for ever");
        let held = nodes.iter().map(|node| node.holds().0).sum::<usize>();
        assert_eq!(held, 1, "after {hops} hops");
        nodes = [0, 1].map(open);
    }
    let [earth, relay] = &mut nodes;
    hop(relay, 0, earth, NOW);
    let mut told = deliver(&mut nodes[0], "dtn://earth/reports", NOW);
    let told = read_report(&told.pop().expect("a report")).expect("a report");
    assert_eq!((&told.about[..], told.status[0].0), (id.name(), Status::Deleted));
}

#[test]
fn a_node_whose_calendar_is_not_set_takes_nothing_from_its_applications() {
    let mut earth = fresh(0);
    let refusal = earth.submit(DtnTime::default(), &request(b"when", Reports::default()));
    assert!(refusal.expect_err("no time").to_string().contains("calendar"));
    assert_eq!(earth.holds(), (0, 0));
}

#[test]
fn what_is_too_long_for_a_neighbour_once_it_leaves_is_refused_and_holds_up_nothing() {
    let mut earth = fresh(0);
    let [first, second] = [3_000, 1]
        .map(|len| earth.submit(NOW, &request(&vec![1; len], Reports::default())).expect("taken"));
    let session = earth.begin(Queue::Neighbour(0));
    let len = earth.entries().next().expect("the first").len;
    let out = earth.next(NOW, session, len).expect("the second");
    assert_eq!(out.id, second);
    let refused: Vec<_> = earth.entries().filter(|it| it.is_refused).map(|it| it.id).collect();
    assert_eq!(refused, [first]);
}

#[test]
fn a_calendar_that_is_set_back_holds_up_nothing() {
    let mut earth = fresh(0);
    let id = earth.submit(NOW, &request(b"1", Reports::default())).expect("taken");
    let session = earth.begin(Queue::Neighbour(0));
    assert_eq!(next(&mut earth, session, NOW).expect("a bundle").0, id);
    let version = earth.version();
    earth.answered(NOW, session, &id, Answer::Later).expect("works");
    assert_ne!(earth.version(), version, "somebody has to wait for that time");
    let before = DtnTime::from_millis(NOW.as_millis() - 3_600_000);
    assert_eq!(next(&mut earth, session, before).expect("again").0, id);
}

#[test]
fn a_node_with_smaller_limits_gives_away_what_it_has() {
    let folder = MemoryFolder::new(1);
    let id = open(0, &folder).submit(NOW, &request(&[1; 9_000], Reports::default()));
    let id = id.expect("taken");
    let limits = Limits { largest: 1_000, ..config(0).limits };
    let smaller = Config { limits, ..config(0) };
    let mut earth = Node::open(smaller, folder, NOW, 8).expect("a folder that works");
    let session = earth.begin(Queue::Neighbour(0));
    assert_eq!(next(&mut earth, session, NOW).expect("a bundle").0, id);
}

#[test]
fn lifetimes_end_also_of_what_waits_and_reports_say_so() {
    let mut earth = fresh(0);
    let reports = Reports { deletion: true, ..Reports::default() };
    let id = earth.submit(NOW, &request(b"soon", reports)).expect("taken");
    let later = NOW.plus(Span::from_secs(3600));
    assert_eq!(earth.next_deadline(), Some(later));
    earth.expire(later);
    let told = deliver(&mut earth, "dtn://earth/reports", later);
    let told = read_report(&told[0]).expect("a report");
    assert_eq!((&told.about[..], told.reason), (id.name(), 1));
    assert_eq!(told.status, [(Status::Deleted, Some(later))]);
    assert_eq!(earth.holds(), (0, 0));
}

#[test]
fn each_hop_that_is_asked_reports() {
    let [mut earth, mut relay, mut mars] = [0, 1, 2].map(fresh);
    let reports = Reports { reception: true, forwarding: true, delivery: true, deletion: true };
    let id = earth.submit(NOW, &request(b"hello", reports)).expect("taken");
    hop(&mut earth, 0, &mut relay, NOW);
    hop(&mut relay, 1, &mut mars, NOW);
    assert_eq!(deliver(&mut mars, "dtn://mars/mail", NOW).len(), 1);
    hop(&mut mars, 0, &mut relay, NOW);
    hop(&mut relay, 0, &mut earth, NOW);
    let told = deliver(&mut earth, "dtn://earth/reports", NOW);
    let mut told: Vec<_> = told
        .iter()
        .map(|bundle| {
            let told = read_report(bundle).expect("a report");
            assert_eq!(told.about, id.name());
            (bundle.source().to_string(), told.status[0].0.name())
        })
        .collect();
    told.sort();
    let said = [
        ("dtn://earth/", "forwarded"),
        ("dtn://mars/", "delivered"),
        ("dtn://mars/", "received"),
        ("dtn://relay/", "forwarded"),
        ("dtn://relay/", "received"),
    ];
    assert_eq!(told, said.map(|(node, what)| (node.to_owned(), what)));
}

#[test]
fn a_node_that_is_full_takes_nothing_and_loses_nothing() {
    let mut earth = fresh(0);
    let mut taken = 0;
    let refusal = loop {
        match earth.submit(NOW, &request(&[0; 10_000], Reports::default())) {
            Ok(_) => taken += 1,
            Err(refusal) => break refusal,
        }
    };
    assert!(matches!(&refusal, Refusal::Full { bundles, .. } if *bundles == taken), "{refusal}");
    assert_eq!((taken, earth.holds().0, refusal.is_final()), (9, 9, false));
    let large = earth.submit(NOW, &request(&[0; 20_000], Reports::default()));
    assert!(large.expect_err("too large").is_final());
}

#[test]
fn what_is_refused_for_now_is_offered_again_and_what_is_refused_for_good_is_kept() {
    let mut earth = fresh(0);
    let [first, second] = [b"1", b"2"]
        .map(|payload| earth.submit(NOW, &request(payload, Reports::default())).expect("taken"));
    let session = earth.begin(Queue::Neighbour(0));
    assert_eq!(next(&mut earth, session, NOW).expect("a bundle").0, first);
    assert_eq!(next(&mut earth, session, NOW).expect("a bundle").0, second);
    earth.answered(NOW, session, &first, Answer::Later).expect("works");
    earth.answered(NOW, session, &second, Answer::Never).expect("works");
    assert_eq!(next(&mut earth, session, NOW), None);
    let later = NOW.plus(Span::from_secs(30));
    assert_eq!(earth.next_deadline(), Some(later));
    assert_eq!(next(&mut earth, session, later).expect("again").0, first);
    assert_eq!(next(&mut earth, session, later), None);
    assert_eq!(earth.entries().filter(|entry| entry.is_refused).count(), 1);
}

#[test]
fn a_session_that_ends_gives_back_and_the_last_one_gets_bundles() {
    let mut earth = fresh(0);
    let id = earth.submit(NOW, &request(b"1", Reports::default())).expect("taken");
    let first = earth.begin(Queue::Neighbour(0));
    assert!(next(&mut earth, first, NOW).is_some());
    let second = earth.begin(Queue::Neighbour(0));
    assert_eq!(next(&mut earth, second, NOW), None);
    earth.end(first);
    assert_eq!(next(&mut earth, second, NOW).expect("again").0, id);
    let more: Vec<_> = (0..3).map(|_| earth.begin(Queue::Neighbour(0))).collect();
    assert!(!earth.is_over(second) && earth.sessions(&Queue::Neighbour(0)) == 4);
    earth.begin(Queue::Neighbour(0));
    assert!(earth.is_over(second) && !earth.is_over(more[0]));
    // An answer that comes late is an answer.
    earth.answered(NOW, second, &id, Answer::Accepted).expect("works");
    assert_eq!(earth.holds().0, 0);
}

#[test]
fn a_node_that_closes_gives_nothing_out_and_takes_answers() {
    let mut earth = fresh(0);
    for payload in [b"1", b"2"] {
        earth.submit(NOW, &request(payload, Reports::default())).expect("taken");
    }
    let session = earth.begin(Queue::Neighbour(0));
    let (id, _) = next(&mut earth, session, NOW).expect("a bundle");
    earth.close();
    assert_eq!(next(&mut earth, session, NOW), None);
    earth.answered(NOW, session, &id, Answer::Accepted).expect("works");
    assert!(earth.has_sessions() && earth.holds().0 == 1);
    earth.end(session);
    assert!(!earth.has_sessions());
}

#[test]
fn too_many_hops_are_the_end() {
    let [mut earth, mut relay] = [0, 1].map(fresh);
    earth.submit(NOW, &request(b"far", Reports::default())).expect("taken");
    let session = earth.begin(Queue::Neighbour(0));
    let bytes = next(&mut earth, session, NOW).expect("a bundle").1;
    let mut bundle = bp7::Bundle::try_from(bytes.as_slice()).expect("a bundle");
    for block in &mut bundle.canonicals {
        if block.block_type == bp7::HOP_COUNT_BLOCK {
            block.set_data(bp7::CanonicalData::HopCount(32, 32));
        }
    }
    relay.receive(NOW, &bundle.to_cbor(), Origin::Known).expect("taken");
    let session = relay.begin(Queue::Neighbour(1));
    assert_eq!(next(&mut relay, session, NOW), None);
    assert_eq!((relay.holds().0, relay.counters().deleted), (0, 1));
}

#[test]
fn wrong_bundles_are_refused_for_good() {
    let mut mars = fresh(2);
    let mut earth = fresh(0);
    earth.submit(NOW, &request(b"a payload", Reports::default())).expect("taken");
    let session = earth.begin(Queue::Neighbour(0));
    let (_, bytes) = next(&mut earth, session, NOW).expect("a bundle");
    for at in 0..bytes.len() {
        let mut wrong = bytes.clone();
        wrong[at] ^= 1;
        // No flipped bit passes: each block has a CRC.
        match mars.receive(NOW, &wrong, Origin::Known) {
            Err(refusal) => assert!(refusal.is_final(), "{at}: {refusal}"),
            Ok(taken) => panic!("{at}: {taken:?}"),
        }
    }
    for len in 0..bytes.len() {
        assert!(mars.receive(NOW, &bytes[..len], Origin::Known).is_err(), "{len}");
    }
    assert_eq!(mars.holds().0, 0);
}

#[test]
fn without_a_checksum_a_bundle_is_taken_only_where_that_is_allowed() {
    let dst = "dtn://mars/mail".try_into().expect("an endpoint");
    let src = "dtn://earth/mail".try_into().expect("an endpoint");
    let mut bundle = bp7::bundle::new_std_payload_bundle(src, dst, b"hello".to_vec());
    bundle.primary.creation_timestamp =
        bp7::CreationTimestamp::with_time_and_seq(NOW.as_millis(), 1);
    let bytes = bundle.to_cbor();
    let refusal = fresh(2).receive(NOW, &bytes, Origin::Known).expect_err("refused");
    assert!(refusal.to_string().contains("no checksum"), "{refusal}");
    let mut config = config(2);
    config.limits.requires_crc = false;
    let mut mars = Node::open(config, MemoryFolder::new(1), NOW, 1).expect("a node");
    assert!(matches!(mars.receive(NOW, &bytes, Origin::Known), Ok(Taken::Stored(_))));
}

/// What happens to three nodes in a row, step by step.
struct World {
    folders: [MemoryFolder; 3],
    nodes: [Node<MemoryFolder>; 3],
    submitted: BTreeMap<BundleId, Vec<u8>>,
    /// Of these the application was told that the medium fails; they may be there all the same.
    doubtful: BTreeMap<BundleId, Vec<u8>>,
    has: BTreeSet<BundleId>,
    confirmed: BTreeSet<BundleId>,
    sequence: u8,
}

impl World {
    fn new(seed: u64) -> Self {
        let folders = [0, 1, 2].map(|place| MemoryFolder::new(seed ^ place));
        let nodes = [0, 1, 2].map(|place| open(place, &folders[place]));
        let ((submitted, doubtful), (has, confirmed)) = Default::default();
        Self { folders, nodes, submitted, doubtful, has, confirmed, sequence: 0 }
    }

    fn step(&mut self, what: u8, detail: u8) {
        match what {
            0 | 1 => self.submit(detail),
            2 | 3 => self.hop(0, detail),
            4 | 5 => self.hop(1, detail),
            6 | 7 => self.deliver(detail),
            8 => self.restart(usize::from(detail % 3)),
            9 => self.folders[usize::from(detail % 3)].fail(200),
            10 => self.folders[usize::from(detail % 3)].die_after(u64::from(detail / 3 % 8)),
            _ => self.folders[usize::from(detail % 3)].fail(0),
        }
    }

    fn submit(&mut self, detail: u8) {
        self.sequence += 1;
        let payload = vec![self.sequence; 1 + usize::from(detail) * 8];
        match self.nodes[0].submit(NOW, &request(&payload, Reports::default())) {
            Ok(id) => {
                let before = self.submitted.insert(id, payload);
                assert!(before.is_none(), "a name was given twice");
            }
            Err(Refusal::Medium { id, .. }) => {
                self.doubtful.insert(id, payload);
            }
            Err(_) => {}
        }
    }

    fn hop(&mut self, from: usize, detail: u8) {
        let (before, after) = self.nodes.split_at_mut(from + 1);
        let (from_node, to) = (&mut before[from], &mut after[0]);
        let session = from_node.begin(Queue::Neighbour(from));
        if let Some((id, bytes)) = next(from_node, session, NOW) {
            let taken = to.receive(NOW, &bytes, Origin::Known);
            // An answer may get lost.
            if !detail.is_multiple_of(3) {
                let answer = if taken.is_ok() { Answer::Accepted } else { Answer::Later };
                let _ = from_node.answered(NOW, session, &id, answer);
            }
        }
        from_node.end(session);
    }

    fn deliver(&mut self, detail: u8) {
        let mars = &mut self.nodes[2];
        let session = mars.begin(Queue::Endpoint("dtn://mars/mail".to_owned()));
        if let Some(Outgoing { id, bundle }) = mars.next(NOW, session, u64::MAX) {
            let sent = self.submitted.get(&id).or_else(|| self.doubtful.get(&id));
            assert_eq!(sent.map(Vec::as_slice), Some(bundle.payload()), "{id}");
            assert!(!self.confirmed.contains(&id), "{id} twice");
            if !detail.is_multiple_of(3) {
                // The application has it, and may be given it again as long as the node has not said that it knows.
                self.has.insert(id.clone());
                if mars.answered(NOW, session, &id, Answer::Accepted).is_ok() {
                    self.confirmed.insert(id);
                }
            }
        }
        mars.end(session);
    }

    fn restart(&mut self, place: usize) {
        self.folders[place] = self.folders[place].lose_power();
        self.nodes[place] = open(place, &self.folders[place]);
    }

    /// Everything works again; what is on its way arrives.
    fn calm(&mut self) {
        for place in 0..3 {
            self.restart(place);
        }
        for _ in 0..self.submitted.len() + self.doubtful.len() {
            self.hop(0, 1);
            self.hop(1, 1);
            self.deliver(1);
        }
        for id in self.submitted.keys() {
            assert!(self.has.contains(id), "{id} is lost");
        }
        assert_eq!([0, 1, 2].map(|place| self.nodes[place].holds()), [(0, 0); 3]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whatever_fails_all_that_was_taken_arrives_whole_and_once(
        seed: u64,
        steps in prop::collection::vec((0..12u8, any::<u8>()), 0..120),
    ) {
        let mut world = World::new(seed);
        for (what, detail) in steps {
            world.step(what, detail);
        }
        world.calm();
    }

    #[test]
    fn what_peers_send_breaks_nothing(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut mars = fresh(2);
        prop_assert!(mars.receive(NOW, &bytes, Origin::Known).is_err());
    }

    #[test]
    fn what_peers_change_breaks_nothing(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut: prop::sample::Index,
        cuts: bool,
    ) {
        let [mut earth, mut mars] = [0, 2].map(fresh);
        let reports = Reports { reception: true, ..Reports::default() };
        earth.submit(NOW, &request(b"a payload", reports)).expect("taken");
        let session = earth.begin(Queue::Neighbour(0));
        let mut bytes = next(&mut earth, session, NOW).expect("a bundle").1;
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if cuts {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = mars.receive(NOW, &bytes, Origin::Known);
        for bundle in deliver(&mut mars, "dtn://mars/mail", NOW) {
            prop_assert_eq!(bundle.payload(), b"a payload");
        }
    }
}
