//! Addresses that come and go while an association is open (RFC 5061), and the codes that they need (RFC 4895).

use bentpipe_testkit::{Direction, Fate, SctpPair, client_address, pattern};
use bentpipe_transport::PathId;
use bentpipe_transport::sctp::{Config, Notice, ReaddressError};
use bentpipe_units::Instant;
use bentpipe_wire::sctp::{
    AddressChange, Asconf, AsconfRequest, Auth, Chunk, Packet, Parameter, bytes_of,
};
use bytes::Bytes;

use crate::support::*;

/// Changes of addresses are offered; nobody asks idle paths.
fn moving() -> Config {
    Config { asconf: true, ..quiet() }
}

fn has_asconf(packet: &Packet) -> bool {
    packet.chunks.iter().any(|chunk| matches!(chunk, Chunk::Asconf(_)))
}

fn has_ack(packet: &Packet) -> bool {
    packet.chunks.iter().any(|chunk| matches!(chunk, Chunk::AsconfAck(_)))
}

fn notices(notices: &[(Instant, Notice)]) -> Vec<Notice> {
    notices.iter().map(|(_, notice)| *notice).collect()
}

#[test]
fn a_host_goes_on_from_its_new_address_though_the_old_one_is_gone() {
    let bytes = pattern(300_000);
    // From 1 s on nothing gets through on the first path.
    let mut pair = SctpPair::new(moving(), moving(), &[ms(100)])
        .sending(bytes.clone())
        .with_script(|crossing| {
            let dark = crossing.path == PathId(0) && crossing.at >= at(1_000);
            if dark { Fate::Drop } else { Fate::Pass }
        });
    pair.run_to(at(1_100));
    let before = pair.server.inbox.len();
    pair.readdress(Some(1), true, Some(0)).expect("agreed");
    assert!(pair.run(secs(60)), "it ends");
    assert!(before < 300_000, "the move is in the middle");
    assert_eq!(pair.server.inbox, bytes);
    let told = notices(&pair.server.notices);
    assert!(told.contains(&Notice::PeerAddressDeleted(client_address(PathId(0)))), "{told:?}");
    assert!(notices(&pair.client.notices).contains(&Notice::Readdressed));
    // One round trip for the change: data go on 200 ms later.
    let again = pair.log.iter().find(|c| c.path == PathId(1) && c.data().next().is_some());
    assert_eq!(again.expect("DATA").at, at(1_300));
}

#[test]
fn nothing_but_asconf_leaves_from_a_new_address_before_the_answer() {
    let mut pair = open(moving(), 1);
    pair.readdress(Some(1), true, None).expect("agreed");
    write_chunks(&mut pair, 3);
    pair.run_to(at(699));
    let from_new = |pair: &SctpPair| {
        let new = pair.log.iter().filter(|c| c.path == PathId(1));
        new.filter(|c| c.direction == Direction::Forward).cloned().collect::<Vec<_>>()
    };
    let sent = from_new(&pair);
    assert_eq!(sent.len(), 1);
    assert!(has_asconf(&sent[0].packet), "{:?}", sent[0].packet);
    assert!(matches!(sent[0].packet.chunks[0], Chunk::Auth(_)), "AUTH goes before it");
    // The old address goes on until then; from the answer on the new one carries data.
    assert!(pair.log.iter().any(|c| c.path == PathId(0) && c.data().next().is_some()));
    pair.run_to(at(2_000));
    write_chunks(&mut pair, 1);
    let last = pair.log.iter().rev().find(|c| c.data().next().is_some()).expect("DATA");
    assert_eq!(last.path, PathId(1));
}

#[test]
fn the_peer_sends_to_a_new_address_once_it_was_tried() {
    let mut pair = open(moving(), 1);
    pair.readdress(Some(1), true, Some(0)).expect("agreed");
    let mut bytes = pattern(10_000);
    pair.change(Direction::Return, |association, now| {
        let taken = bentpipe_transport::Endpoint::write(association, now, &mut bytes);
        assert_eq!(taken, Ok(10_000));
    });
    pair.run_to(at(20_000));
    assert_eq!(pair.client.inbox, pattern(10_000));
    let to_new: Vec<_> = pair
        .log
        .iter()
        .filter(|c| c.direction == Direction::Return && c.path == PathId(1))
        .collect();
    let asked = to_new.iter().position(|c| matches!(c.packet.chunks[0], Chunk::Heartbeat(_)));
    let data = to_new.iter().position(|c| c.data().next().is_some());
    assert!(asked.expect("a HEARTBEAT") < data.expect("DATA"));
}

#[test]
fn a_change_is_told_until_it_is_answered_and_done_once() {
    let mut lost = [3, 2]; // of ASCONF, of its answer
    let mut pair =
        SctpPair::new(moving(), moving(), &[ms(100)]).staying_open().with_script(move |crossing| {
            let which = usize::from(has_ack(&crossing.packet));
            let counts = has_asconf(&crossing.packet) || which == 1;
            if counts && lost[which] > 0 {
                lost[which] -= 1;
                return Fate::Drop;
            }
            Fate::Pass
        });
    pair.run_to(at(500));
    pair.readdress(Some(1), false, None).expect("agreed");
    pair.run_to(at(120_000));
    let asked = pair.log.iter().filter(|c| has_asconf(&c.packet)).count();
    assert_eq!(asked, 3 + 2 + 1);
    // Not from the new address alone: that may be what fails.
    let paths: Vec<_> =
        pair.log.iter().filter(|c| has_asconf(&c.packet)).map(|c| c.path.0).collect();
    assert_eq!(paths, [1, 0, 1, 0, 1, 0]);
    let added = Notice::PeerAddressAdded(client_address(PathId(1)));
    let told = notices(&pair.server.notices);
    assert!(told.iter().filter(|notice| **notice == added).count() <= 1, "{told:?}");
    assert_eq!(
        notices(&pair.client.notices).iter().filter(|n| **n == Notice::Readdressed).count(),
        1
    );
}

#[test]
fn several_changes_are_told_one_after_the_other() {
    let mut pair = SctpPair::new(moving(), moving(), &[ms(100)]).staying_open();
    pair.run_to(at(500));
    pair.readdress(Some(1), false, None).expect("agreed");
    pair.readdress(Some(2), true, Some(0)).expect("agreed");
    pair.readdress(None, false, Some(1)).expect("agreed");
    pair.run_to(at(30_000));
    let serials: Vec<_> = pair
        .log
        .iter()
        .filter_map(|c| match c.packet.chunks.get(1) {
            Some(Chunk::Asconf(asconf)) => Some(asconf.serial),
            _ => None,
        })
        .collect();
    let first = init_of(&pair).initial_tsn;
    assert_eq!(serials, [0, 1, 2].map(|n| first.plus(n)));
    write_chunks(&mut pair, 2);
    pair.run_to(at(60_000));
    assert_eq!(pair.server.inbox.len(), 2 * 1452);
    let data = pair.log.iter().rev().find(|c| c.data().next().is_some()).expect("DATA");
    assert_eq!(data.path, PathId(2));
}

#[test]
fn a_change_without_a_code_or_with_a_wrong_one_is_none() {
    let mut pair = SctpPair::new(moving(), moving(), &[ms(100)]).staying_open();
    pair.run_to(at(500));
    let tag = pair.log.iter().find_map(|c| match &c.packet.chunks[0] {
        Chunk::InitAck(init) => Some((init.tag, init.initial_tsn)),
        _ => None,
    });
    let (server_tag, _) = tag.expect("INIT ACK");
    let asconf = Chunk::Asconf(Box::new(Asconf {
        serial: init_of(&pair).initial_tsn,
        known: client_address(PathId(0)),
        requests: vec![
            AsconfRequest { correlation: 1, change: AddressChange::Add([10, 6, 6, 6].into()) },
            AsconfRequest {
                correlation: 2,
                change: AddressChange::SetPrimary([10, 6, 6, 6].into()),
            },
        ],
    }));
    let auth = |algorithm, length| {
        let covered = bytes_of(std::slice::from_ref(&asconf));
        let code = Bytes::from(vec![7; length]);
        Chunk::Auth(Box::new(Auth { key: 0, algorithm, code, covered }))
    };
    let before = pair.server.notices.len();
    for forged in [
        vec![asconf.clone()],
        vec![auth(3, 32), asconf.clone()],
        vec![auth(1, 20), asconf.clone()],
        vec![auth(3, 0), asconf.clone()],
        vec![auth(9, 32), asconf.clone()],
    ] {
        let mut packet = from_client(server_tag, forged[0].clone());
        packet.chunks = forged.into();
        give_to_server(&mut pair, packet);
    }
    pair.run_to(at(5_000));
    assert_eq!(pair.server.notices.len(), before, "{:?}", pair.server.notices);
    assert!(!pair.log.iter().any(|c| has_ack(&c.packet)));
    // The true owner is still heard.
    pair.readdress(Some(1), false, None).expect("agreed");
    pair.run_to(at(8_000));
    assert!(notices(&pair.client.notices).contains(&Notice::Readdressed));
}

#[test]
fn a_code_of_one_association_is_none_in_another() {
    let mut pair = open(moving(), 1);
    pair.readdress(Some(1), false, None).expect("agreed");
    pair.run_to(at(1_000));
    let old = pair.log.iter().find(|c| has_asconf(&c.packet)).expect("ASCONF").packet.clone();
    assert!(pair.server.association().is_genuine_change(&old));
    pair.restart_client(moving());
    pair.run_to(at(5_000));
    assert!(notices(&pair.server.notices).contains(&Notice::Restarted));
    assert!(!pair.server.association().is_genuine_change(&old), "the key is another one");
    pair.readdress(Some(2), true, None).expect("agreed anew");
    pair.run_to(at(9_000));
    assert!(notices(&pair.client.notices).contains(&Notice::Readdressed));
}

#[test]
fn what_can_not_be_told_is_refused_and_changes_nothing() {
    let mut pair = open(moving(), 1);
    let only = client_address(PathId(0));
    assert_eq!(pair.readdress(None, false, Some(0)), Err(ReaddressError::NotDeletable(only)));
    let other = client_address(PathId(5));
    assert_eq!(pair.readdress(Some(1), true, Some(5)), Err(ReaddressError::NotDeletable(other)));
    assert!(!pair.log.iter().any(|c| has_asconf(&c.packet)));
    for path in 1..=15 {
        assert_eq!(pair.readdress(Some(path), false, None), Ok(()), "path {path}");
    }
    assert_eq!(pair.readdress(Some(16), false, None), Err(ReaddressError::TooMany));
    let mut waits = SctpPair::new(moving(), moving(), &[ms(100)]).staying_open();
    assert_eq!(waits.readdress(Some(1), false, None), Err(ReaddressError::NotOpen));
}

#[test]
fn who_does_not_offer_changes_gets_none() {
    for (client, server) in [(moving(), quiet()), (quiet(), moving()), (quiet(), quiet())] {
        let mut pair = SctpPair::new(client, server, &[ms(100)]).staying_open();
        pair.run_to(at(500));
        let answer = pair.log.iter().find_map(|c| match &c.packet.chunks[0] {
            Chunk::InitAck(init) => Some(init.parameters.clone()),
            _ => None,
        });
        let random = |parameter: &Parameter| matches!(parameter, Parameter::Random(_));
        assert!(!answer.expect("INIT ACK").iter().any(random));
        assert_eq!(pair.readdress(Some(1), false, None), Err(ReaddressError::NotAgreed));
    }
}

#[test]
fn both_ends_that_open_at_once_have_the_same_key() {
    let mut pair = SctpPair::new(moving(), moving(), &[ms(100)]).staying_open();
    pair.both_open(moving());
    pair.run_to(at(2_000));
    pair.readdress(Some(1), true, Some(0)).expect("agreed");
    pair.run_to(at(4_000));
    assert!(notices(&pair.client.notices).contains(&Notice::Readdressed));
    let gone = Notice::PeerAddressDeleted(client_address(PathId(0)));
    assert!(notices(&pair.server.notices).contains(&gone));
}
