//! Addresses that come and go while an association is open (RFC 5061), and the codes that they need (RFC 4895).

use std::net::IpAddr;

use bentpipe_testkit::{Direction, Fate, SctpPair, client_address, pattern};
use bentpipe_transport::sctp::{Config, Notice, ReaddressError, State};
use bentpipe_transport::{Endpoint, PathId};
use bentpipe_units::Instant;
use bentpipe_wire::sctp::{
    AddressChange, Asconf, AsconfAck, AsconfAnswer, AsconfOutcome, AsconfRequest, Auth, Cause,
    Chunk, Packet, Parameter, bytes_of,
};
use bytes::Bytes;

use crate::key::Key;
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
        let taken = association.write(now, &mut bytes);
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
fn a_move_is_believed_once_and_in_its_own_association() {
    let mut pair = SctpPair::new(moving(), moving(), &[ms(100)]).staying_open().with_script(|c| {
        if has_asconf(&c.packet) && c.path == PathId(1) { Fate::Drop } else { Fate::Pass }
    });
    pair.run_to(at(500));
    pair.readdress(Some(1), false, None).expect("agreed");
    let moved = pair.log.iter().find(|c| has_asconf(&c.packet)).expect("ASCONF").packet.clone();
    let believes = |pair: &SctpPair, path| {
        pair.server.association().is_move_to(client_address(PathId(path)), &moved)
    };
    assert!(believes(&pair, 1));
    assert!(!believes(&pair, 6), "nobody else can send it");
    pair.run_to(at(20_000));
    assert!(notices(&pair.client.notices).contains(&Notice::Readdressed), "from the old address");
    assert!(!believes(&pair, 1), "who records it cannot send it again");
    pair.restart_client(moving());
    pair.run_to(at(25_000));
    assert!(notices(&pair.server.notices).contains(&Notice::Restarted));
    assert!(!believes(&pair, 1), "the key is another one");
    pair.readdress(Some(2), true, None).expect("agreed anew");
    pair.run_to(at(30_000));
    let told = notices(&pair.client.notices);
    assert!(told.contains(&Notice::PathConfirmed(PathId(2))), "{told:?}");
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

#[test]
fn neither_reports_nor_the_end_leave_from_an_address_that_the_peer_does_not_know() {
    let mut pair = open(moving(), 1);
    let mut bytes = pattern(20_000);
    pair.change(Direction::Return, |association, now| {
        association.write(now, &mut bytes).expect("it is open");
    });
    pair.run_to(pair.now + ms(60));
    pair.readdress(Some(1), true, Some(0)).expect("agreed");
    let moved = pair.now;
    pair.change(Direction::Forward, Endpoint::close);
    pair.run_to(moved + ms(199));
    let sent = |pair: &SctpPair| {
        let from_new = pair.log.iter().filter(|c| c.path == PathId(1));
        from_new.filter(|c| c.direction == Direction::Forward).cloned().collect::<Vec<_>>()
    };
    assert!(sent(&pair).iter().all(|c| has_asconf(&c.packet)), "{:?}", sent(&pair));
    pair.run_to(moved + secs(30));
    assert!(sent(&pair).iter().any(|c| c.sack().is_some()), "reports go on afterwards");
    assert_eq!(pair.client.inbox, pattern(20_000));
}

#[test]
fn an_address_that_flaps_within_a_round_trip_is_told_once_more_before_it_is_used() {
    let mut pair = open(moving(), 1);
    pair.readdress(Some(1), true, None).expect("agreed");
    pair.readdress(None, false, Some(1)).expect("agreed");
    pair.readdress(Some(1), true, None).expect("agreed");
    for _ in 0..8 {
        write_chunks(&mut pair, 2);
        pair.run_to(pair.now + ms(60));
    }
    pair.run_to(at(10_000));
    let changes: Vec<_> = pair.log.iter().filter(|c| has_asconf(&c.packet)).collect();
    let answered: Vec<_> = pair.log.iter().filter(|c| has_ack(&c.packet)).collect();
    assert_eq!((changes.len(), answered.len()), (3, 3));
    assert_eq!(changes[1].path, PathId(0), "not from the address that it deletes");
    let first = pair.log.iter().find(|c| {
        c.direction == Direction::Forward && c.path == PathId(1) && c.data().next().is_some()
    });
    assert!(first.expect("DATA").at >= answered[2].at + ms(100));
    let told = notices(&pair.client.notices);
    assert!(!told.iter().any(|notice| matches!(notice, Notice::ReaddressRefused(_))), "{told:?}");
    assert_eq!(pair.server.inbox.len(), 16 * 1452);
}

/// Everything that the client asks for is refused, by an answer or by an ERROR.
fn refused(how: impl Fn(&Asconf) -> Chunk, sealed: bool) {
    let mut pair = open_with_log();
    write_chunks(&mut pair, 1);
    pair.run_to(at(1_000));
    pair = pair.with_script(|c| if has_asconf(&c.packet) { Fate::Drop } else { Fate::Pass });
    pair.readdress(Some(1), true, Some(0)).expect("agreed");
    let asconf = pair.log.iter().flat_map(|c| &c.packet.chunks).find_map(|chunk| match chunk {
        Chunk::Asconf(asconf) => Some((**asconf).clone()),
        _ => None,
    });
    let key = Key::of(&pair);
    let answer = how(&asconf.expect("ASCONF"));
    let chunks = if sealed { key.seal(answer) } else { vec![answer] };
    let mut packet = from_server(key.client_tag, chunks[0].clone());
    packet.chunks = chunks.into();
    give(&mut pair, packet);
    write_chunks(&mut pair, 3);
    pair.run_to(at(60_000));
    assert_eq!(pair.server.inbox.len(), 4 * 1452, "the old address goes on");
    let told = notices(&pair.client.notices);
    assert!(told.iter().any(|notice| matches!(notice, Notice::ReaddressRefused(_))), "{told:?}");
}

#[test]
fn where_all_is_refused_the_old_address_is_there_again() {
    let all = |asconf: &Asconf| {
        let answers = asconf.requests.iter().map(|request| AsconfAnswer {
            correlation: request.correlation,
            outcome: AsconfOutcome::Refused(vec![Cause::Other { code: 0xa1, value: Bytes::new() }]),
        });
        let answers = answers.collect();
        Chunk::AsconfAck(Box::new(AsconfAck { serial: asconf.serial, answers }))
    };
    refused(all, true);
    let not_known = |asconf: &Asconf| {
        let whole = bytes_of(&[Chunk::Asconf(Box::new(asconf.clone()))]);
        Chunk::Error(vec![Cause::UnrecognizedChunk(whole)])
    };
    refused(not_known, false);
}

#[test]
fn a_peer_that_moves_and_dies_is_given_up() {
    let config = Config { asconf: true, ..Config::default() };
    let mut pair =
        SctpPair::new(config.clone(), config, &[ms(100)]).staying_open().with_script(|c| {
            if c.at >= at(700) && !has_ack(&c.packet) { Fate::Drop } else { Fate::Pass }
        });
    pair.run_to(at(500));
    pair.readdress(Some(1), true, Some(0)).expect("agreed");
    pair.run_to(at(800));
    let mut bytes = pattern(10_000);
    pair.change(Direction::Return, |association, now| {
        association.write(now, &mut bytes).expect("it is open");
    });
    pair.run_to(at(3_600_000));
    assert_eq!(pair.server.association().state(), State::Closed);
}

#[test]
fn what_was_lost_on_an_address_that_is_gone_leaves_on_one_that_is_not_well_known_either() {
    for heartbeat in [secs(30), secs(0)] {
        let config = Config { asconf: true, heartbeat, ..Config::default() };
        let mut pair = SctpPair::new(config.clone(), config, &[ms(100), ms(100)])
            .staying_open()
            .with_script(|c| {
                let dark = c.path == PathId(1) && c.at < at(320_000);
                let tells = has_asconf(&c.packet) || has_ack(&c.packet);
                if dark && !tells { Fate::Drop } else { Fate::Pass }
            });
        pair.run_to(at(300_000));
        write_chunks(&mut pair, 2);
        pair.readdress(None, false, Some(0)).expect("agreed");
        write_chunks(&mut pair, 2);
        pair.run_to(at(3_600_000));
        assert_eq!(pair.server.inbox.len(), 4 * 1452, "{heartbeat}");
    }
}

#[test]
fn a_peer_with_the_key_takes_no_more_than_sixteen_addresses_whatever_it_asks() {
    let mut pair = open_with_log();
    let key = Key::of(&pair);
    let mut number = 0_u128;
    for serial in 0..200 {
        let adds = (0..14).map(|_| {
            number += 1;
            AddressChange::Add(std::net::Ipv6Addr::from_bits((0x2001_0db8 << 96) | number).into())
        });
        key.ask(&mut pair, serial, adds.collect());
    }
    assert!(pair.server.association().peer_addresses().len() <= 16);
    key.ask(&mut pair, 200, vec![AddressChange::Delete([0, 0, 0, 0].into())]);
    assert!(pair.server.association().peer_addresses().is_empty(), "all but the source");
    // More requests than anybody has a use for get no answer, and no packet longer than the path.
    let before = pair.log.len();
    let odd = AddressChange::Other { kind: 0xc0ff, value: Bytes::new() };
    key.ask(&mut pair, 201, vec![odd; 170]);
    assert_eq!(pair.log.len(), before);
}

#[test]
fn requests_are_done_in_their_order() {
    for deleted in [client_address(PathId(5)), [0, 0, 0, 0].into(), mapped(PathId(5))] {
        let mut pair = open_with_log();
        let key = Key::of(&pair);
        let added = client_address(PathId(5));
        key.ask(&mut pair, 0, vec![AddressChange::Add(added), AddressChange::Delete(deleted)]);
        let told = notices(&pair.server.notices);
        assert!(!told.contains(&Notice::PeerAddressAdded(added)), "{deleted}: {told:?}");
        assert!(pair.server.association().peer_addresses().is_empty(), "{deleted}");
    }
}

#[test]
fn an_unspecified_address_is_the_source_also_where_it_is_to_be_the_first() {
    let mut pair = open_with_log();
    Key::of(&pair).ask(&mut pair, 0, vec![AddressChange::SetPrimary([0, 0, 0, 0].into())]);
    let answer = pair.log.iter().rev().find(|c| has_ack(&c.packet)).expect("an answer");
    let Chunk::AsconfAck(ack) = &answer.packet.chunks[1] else { panic!("{answer:?}") };
    assert!(ack.answers.is_empty(), "{ack:?}");
}

fn mapped(path: PathId) -> IpAddr {
    match client_address(path) {
        IpAddr::V4(address) => address.to_ipv6_mapped().into(),
        other => other,
    }
}

#[test]
fn chunks_that_can_not_be_authenticated_mean_nothing_in_a_list() {
    let mut pair = SctpPair::new(moving(), moving(), &[ms(100)]).staying_open().with_script(|c| {
        for chunk in &mut c.packet.chunks {
            let Chunk::InitAck(init) = chunk else { continue };
            for parameter in &mut init.parameters {
                if let Parameter::Chunks(kinds) = parameter {
                    *kinds = Bytes::from_static(&[0xc1, 0x80, 1, 2, 14, 15]);
                }
            }
        }
        Fate::Pass
    });
    pair.run_to(at(500));
    assert_eq!(pair.client.association().state(), State::Established);
}

/// An open pair whose log begins with INIT.
fn open_with_log() -> SctpPair {
    let mut pair = SctpPair::new(moving(), moving(), &[ms(100)]).staying_open();
    pair.run_to(at(500));
    pair
}

/// A sealed ASCONF of the client that comes to the server by a path that it does not know.
fn ask_from_elsewhere(pair: &mut SctpPair, change: AddressChange) -> AsconfAck {
    let serial = init_of(pair).initial_tsn;
    let requests = vec![AsconfRequest { correlation: 0, change }];
    let asconf = Asconf { serial, known: client_address(PathId(1)), requests };
    let key = Key::of(pair);
    let mut packet = from_client(server_tag(pair), Chunk::Asconf(Box::new(asconf.clone())));
    packet.chunks = key.seal(Chunk::Asconf(Box::new(asconf))).into();
    pair.change(Direction::Return, |association, now| {
        association.handle_segment(now, PathId(7), &mut bentpipe_wire::Segment::Sctp(packet));
    });
    let answer = pair.log.iter().rev().find(|c| has_ack(&c.packet)).expect("an answer");
    let Chunk::AsconfAck(ack) = &answer.packet.chunks[1] else { panic!("{answer:?}") };
    (**ack).clone()
}

fn server_tag(pair: &SctpPair) -> u32 {
    let tag = |chunk: &Chunk| if let Chunk::InitAck(init) = chunk { Some(init.tag) } else { None };
    pair.log.iter().find_map(|crossing| tag(&crossing.packet.chunks[0])).expect("an INIT ACK")
}

#[test]
fn the_first_address_may_be_deleted_from_one_to_which_no_path_leads() {
    let mut pair = SctpPair::new(moving(), moving(), &[ms(100), ms(100)]).staying_open();
    pair.run_to(at(500));
    let ack = ask_from_elsewhere(&mut pair, AddressChange::Delete(client_address(PathId(0))));
    assert_eq!(ack.answers, []);
    assert!(!pair.server.association().has_path(PathId(0)));
}

#[test]
fn all_addresses_but_an_unknown_one_are_not_deleted() {
    let mut pair = SctpPair::new(moving(), moving(), &[ms(100), ms(100)]).staying_open();
    pair.run_to(at(500));
    let ack = ask_from_elsewhere(&mut pair, AddressChange::Delete([0, 0, 0, 0].into()));
    assert_ne!(ack.answers, []);
    assert!([0, 1].iter().all(|path| pair.server.association().has_path(PathId(*path))));
}

#[test]
fn an_address_that_is_there_is_not_added() {
    let mut pair = SctpPair::new(moving(), moving(), &[ms(100), ms(100)]).staying_open();
    pair.run_to(at(500));
    let again = pair.readdress(Some(1), true, None);
    assert!(matches!(again, Err(ReaddressError::Known(_))), "{again:?}");
}

#[test]
fn an_association_ends_whose_peer_takes_away_its_address_and_refuses_the_next() {
    let mut pair = SctpPair::new(moving(), moving(), &[ms(100)])
        .staying_open()
        .with_script(|c| if has_asconf(&c.packet) { Fate::Drop } else { Fate::Pass });
    pair.run_to(at(500));
    pair.readdress(Some(1), true, Some(0)).expect("agreed");
    let asconf = pair.log.iter().flat_map(|crossing| &crossing.packet.chunks);
    let asconf = asconf.filter_map(|chunk| match chunk {
        Chunk::Asconf(asconf) => Some((**asconf).clone()),
        _ => None,
    });
    let asconf = asconf.last().expect("an ASCONF");
    let full = Cause::Other { code: 0xa1, value: Bytes::new() };
    let answers = vec![AsconfAnswer {
        correlation: asconf.requests[0].correlation,
        outcome: AsconfOutcome::Refused(vec![full]),
    }];
    let ack = Chunk::AsconfAck(Box::new(AsconfAck { serial: asconf.serial, answers }));
    let key = Key::of(&pair);
    let mut packet = from_server(key.client_tag, ack.clone());
    packet.chunks = key.seal(ack).into();
    give(&mut pair, packet);
    assert_eq!(pair.client.association().state(), State::Closed);
}
